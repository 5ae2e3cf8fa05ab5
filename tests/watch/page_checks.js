// What the tests ask a page about itself; each gives what is wrong with it. Read by test_browser.py.
(() => {
  const every = (selector) => [...document.querySelectorAll(selector)];
  const start = (element) => element.outerHTML.slice(0, 120);

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };

  // As WCAG 2.2 defines relative luminance and contrast.
  const luminance = (colour) => {
    const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = rgba(colour).map(linear);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (rgba(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());

  const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent.trim();
  const levels = () => every("h1, h2, h3").filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]));

  return {
    poorContrast: () =>
      every("main *, header *, footer *")
        .filter((one) => hasText(one) && one.checkVisibility() && !one.closest("svg, [aria-hidden]"))
        .filter((one) => contrast(getComputedStyle(one).color, behind(one)) < 4.5)
        .map(start),

    tooWide: () => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const outside = (one) => one.getBoundingClientRect().right > clientWidth && !one.closest(".strip, .scroll");
      return scrollWidth <= clientWidth ? [] : every("body *").filter(outside).map(start);
    },

    withoutName: () =>
      every("a, button, [role=img], [role=group], [role=region]")
        .filter((one) => !nameOf(one) && !one.hasAttribute("aria-labelledby"))
        .map(start),

    brokenLabels: () =>
      every("[aria-labelledby]")
        .flatMap((one) => one.getAttribute("aria-labelledby").split(" "))
        .filter((id) => !document.getElementById(id)),

    repeatedIds: () => {
      const ids = every("[id]").map((one) => one.id);
      return ids.filter((id, place) => ids.indexOf(id) !== place);
    },

    oddHeadings: () => {
      const found = levels();
      const skipped = found.filter((level, place) => level > (found[place - 1] ?? 0) + 1);
      return found.filter((level) => level === 1).length === 1 ? skipped : ["not one h1"];
    },

    missingLandmarks: () => ["header", "main", "footer"].filter((name) => every(name).length !== 1),

    headlessTables: () => every("table").filter((one) => !one.querySelector("th[scope=col]")).map(start),
  };
})();
