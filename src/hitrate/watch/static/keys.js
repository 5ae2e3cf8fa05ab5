// Keys that hold for a whole page, and the dialog that lists them.

import { byId } from "./dom.js";

export function listen(actions) {
  const help = byId("help");
  const all = { t: () => byId("theme").click(), "?": () => help.showModal(), ...actions };
  byId("help-open").addEventListener("click", () => help.showModal());
  help.addEventListener("click", (event) => event.target === help && help.close());
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || help.open) return;
    const act = all[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
