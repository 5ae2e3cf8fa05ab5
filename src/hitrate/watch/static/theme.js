// Light, dark, or as the system says: before anything is drawn, so that nothing flashes. Kept on this machine.
(() => {
  const choices = ["system", "light", "dark"];
  const root = document.documentElement;
  let chosen = "system";
  try {
    chosen = localStorage.getItem("hitrate-theme") ?? "system";
  } catch {
    // A browser that keeps nothing shows what the system says.
  }

  const apply = (theme) => {
    chosen = choices.includes(theme) ? theme : "system";
    root.dataset.theme = chosen;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = { system: "◐", light: "☀", dark: "☾" }[chosen];
      button.setAttribute("aria-label", `Theme: ${{ system: "as the system", light: "light", dark: "dark" }[chosen]}`);
    }
  };

  const next = () => {
    apply(choices[(choices.indexOf(chosen) + 1) % choices.length]);
    try {
      localStorage.setItem("hitrate-theme", chosen);
    } catch {
      // It holds as long as the page is open.
    }
  };

  apply(chosen);
  document.addEventListener("DOMContentLoaded", () => {
    apply(chosen);
    document.getElementById("theme").addEventListener("click", next);
  });
})();
