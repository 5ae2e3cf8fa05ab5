// Two plots: the time to first token of the newest calls, and the stack of where all prompt tokens went. Drawn at the
// width at hand, so that text keeps its size on a phone.

import { draw, make } from "./dom.js";
import { UNKNOWN, count, dollars, median, milliseconds, percent, plural } from "./words.js";

const LABELS = ["served", "new", "behind a break", "below granularity", "expired", "routed or evicted", "not marked", "key changed", "not reported"];

const HEIGHT = 230;
const LEFT = 52;
const WIDE = 420;
const TOP = 14;
const BOTTOM = 28;

const kindOf = ({ warm }) => (warm === null ? "unknown" : warm ? "kept" : "computed");

function mark(x, y, kind) {
  if (kind === "computed") return draw("path", { d: `M${x} ${y - 5}l5 5l-5 5l-5-5z`, class: kind });
  return draw("circle", { cx: x, cy: y, r: 4, class: kind });
}

// Powers of ten around the values, each a tick.
function decades(values) {
  const low = Math.floor(Math.log10(Math.max(0.1, Math.min(...values))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: high - low + 1 }, (_, step) => low + step);
}

export function firstTokenPlot(points, width) {
  const ticks = decades(points.map((point) => point.ttft_ms));
  const low = ticks[0];
  const span = ticks.at(-1) - low;
  const bottom = HEIGHT - BOTTOM;
  const yOf = (ms) => (bottom - ((Math.log10(Math.max(ms, 10 ** low)) - low) / span) * (bottom - TOP)).toFixed(1);
  const right = width < WIDE ? width - 8 : width - 118; // the medians stand beside the plot where there is room
  const pitch = (right - LEFT) / Math.max(20, points.length);
  const xOf = (place) => (LEFT + pitch * (place + 0.5)).toFixed(1);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": firstTokensInWords(points) });
  for (const tick of ticks) {
    const y = yOf(10 ** tick);
    svg.append(draw("line", { x1: LEFT, x2: right, y1: y, y2: y, class: tick === low ? "base" : "grid" }));
    svg.append(draw("text", { x: LEFT - 8, y: +y + 4, class: "tick", "text-anchor": "end" }, tick < 3 ? `${10 ** tick} ms` : `${count(10 ** (tick - 3))} s`));
  }
  for (const [kind, name] of [["computed", "cold"], ["kept", "warm"]]) {
    const middle = median(points.filter((point) => kindOf(point) === kind).map((point) => point.ttft_ms));
    if (middle === null) continue;
    svg.append(draw("line", { x1: LEFT, x2: right, y1: yOf(middle), y2: yOf(middle), class: "median" }));
    if (width >= WIDE) svg.append(draw("text", { x: right + 8, y: +yOf(middle) + 4, class: "label strong" }, `${name} ${milliseconds(middle)}`));
  }
  points.forEach((point, place) => svg.append(mark(+xOf(place), +yOf(point.ttft_ms), kindOf(point))));
  svg.append(draw("text", { x: LEFT, y: HEIGHT - 8, class: "tick" }, "older"));
  svg.append(draw("text", { x: right, y: HEIGHT - 8, class: "tick", "text-anchor": "end" }, "newest call"));
  return svg;
}

export function firstTokensInWords(points) {
  if (!points.length) return "No call has reported a first token yet.";
  const of = (warm) => points.filter((point) => point.warm === warm).map((point) => point.ttft_ms);
  const [cold, warm, unknown] = [of(false), of(true), of(null)];
  const told = (name, times) => times.length && `${name} ${milliseconds(median(times))} (${plural(times.length, "call")})`;
  const times = warm.length && cold.length ? `Cold is ${(median(cold) / median(warm)).toFixed(1)} times warm. ` : "";
  const parts = [told("● warm", warm), told("◆ cold", cold), told("○ not reported", unknown)].filter(Boolean);
  return `${times}Medians: ${parts.join(", ")}. Warm: at least half of the prompt came from cache.`;
}

export function waterfallPlot(waterfall) {
  const whole = waterfall.prompt_tokens;
  const sums = LABELS.map((label, number) => {
    const own = waterfall.labels.filter((one) => one.label === label);
    const amounts = own.map((one) => one.usd);
    const usd = amounts.some((one) => one === null) ? null : amounts.reduce((sum, one) => sum + one, 0);
    return { label, number, tokens: own.reduce((sum, one) => sum + one.tokens, 0), usd };
  }).filter((one) => one.tokens > 0);
  const bar = draw("svg", { viewBox: "0 0 1000 34", preserveAspectRatio: "none", class: "stack", "aria-hidden": "true" });
  let x = 0;
  for (const { number, tokens } of sums) {
    const part = (1000 * tokens) / whole;
    bar.append(draw("rect", { x: x.toFixed(2), y: 0, width: part.toFixed(2), height: 34, class: `part-${number}` }));
    x += part;
  }
  const rows = sums.map(({ label, number, tokens, usd }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("span", { class: `swatch part-${number}`, "aria-hidden": "true" }), label),
      make("td", { class: "number" }, `${label === "served" ? "" : "≈ "}${count(tokens)}`),
      make("td", { class: "number" }, percent(tokens / whole)),
      make("td", { class: "number" }, usd === null ? UNKNOWN : dollars(usd)),
    ),
  );
  const head = ["", "tokens", "share", "cost"].map((text) => make("th", { scope: "col", class: text && "number" }, text));
  const table = make("table", { class: "stack-key" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  return [bar, table];
}
