// The live page: takes updates in, draws at most once a frame.

import { Breaks } from "./breaks.js";
import { byId, make, setText } from "./dom.js";
import { listen } from "./keys.js";
import { firstTokenPlot, firstTokensInWords, waterfallPlot } from "./plots.js";
import { Sessions, sessionsInWords } from "./sessions.js";
import { State } from "./state.js";
import { stream } from "./stream.js";
import { count, dollars, percent, plural } from "./words.js";

const BASE = new URL(".", location.href).pathname.replace(/\/$/, "");
const TELL_TIME_EVERY_MS = 10_000;

const state = new State();
const sessions = new Sessions(BASE);
const breaks = new Breaks(BASE);
let news = [];
let wanted = false;

const now = () => Date.now() / 1000;

function glance() {
  const { update } = state;
  const { sums, lately } = update;
  setText(byId("rate"), percent(lately.hit_rate));
  const all = sums.calls > lately.calls ? ` in the last ${plural(lately.calls, "reporting call")}; ${percent(sums.hit_rate)} since the start` : "";
  setText(byId("rate-text"), lately.hit_rate === null ? "cached tokens are not reported, so no hit rate" : `of the prompt tokens came from cache${all}`);
  // Without a price, as on a machine of one's own, tokens say what money would.
  setText(byId("saved"), sums.usd === null ? count(sums.cached_tokens) : dollars(sums.usd_saved));
  const unpriced = sums.unpriced_calls ? `; ${count(sums.unpriced_calls)} of ${plural(sums.calls, "call")} without a known price` : "";
  setText(byId("saved-text"), sums.usd === null ? "tokens came from cache; no price is known" : `saved by the cache; ${dollars(sums.usd)} spent${unpriced}`);
  const lost = update.lost_tokens;
  setText(byId("lost"), sums.usd === null || (lost && update.lost_usd === null) ? count(lost) : dollars(update.lost_usd ?? 0));
  byId("lost").parentElement.classList.toggle("bad", lost > 0);
  setText(byId("lost-text"), sums.usd === null ? "tokens lost to breaks" : lost ? `lost to breaks: about ${plural(lost, "token")}` : "lost to breaks");
}

function told() {
  const targets = [...new Set([...state.sessions.values()].map(({ head }) => head.target))].filter(Boolean).sort();
  setText(byId("where"), [...targets, `recording ${state.update.recording}`, ...(state.update.content_kept ? [] : ["without content"])].join(" · "));
  const { progress, sums, oddities, rule_set: ruleSet } = state.update;
  const text = progress.fault ?? (progress.behind && sums.calls ? `Catching up with the recording: ${plural(sums.calls, "call")} read` : "");
  byId("progress").hidden = !text;
  byId("progress").classList.toggle("fault", progress.fault !== null);
  setText(byId("progress"), text);
  const said = oddities.map((one) => `${one.summary} ${one.advice}`);
  if (said.join("\n") !== told.said) {
    told.said = said.join("\n");
    byId("oddities").replaceChildren(...oddities.map((one) => make("p", { class: "oddity" }, make("strong", {}, one.cause), ` ${one.summary} ${one.advice}`)));
  }
  setText(byId("tokens-said"), `≈ estimated from the reported prompt tokens and the text; the others were reported.${ruleSet ? ` Expected by ${ruleSet}.` : ""}`);
}

function plots() {
  const { firstTokens, update } = state;
  const newest = `${update.revision}:${byId("times-plot").clientWidth}`;
  if (plots.drawn === newest) return;
  plots.drawn = newest;
  setText(byId("times-said"), firstTokensInWords(firstTokens));
  const width = Math.max(260, byId("times-plot").clientWidth);
  byId("times-plot").replaceChildren(...(firstTokens.length ? [firstTokenPlot(firstTokens, width)] : []));
  byId("tokens-plot").replaceChildren(...(update.waterfall.prompt_tokens ? waterfallPlot(update.waterfall) : []));
}

function tellTime() {
  if (!state.update) return;
  const live = sessions.live(now());
  setText(byId("live"), count(live));
  setText(byId("live-text"), sessionsInWords(live, state.update.sessions_seen));
  sessions.order(now());
  breaks.tell(now());
}

function render() {
  wanted = false;
  const { update } = state;
  byId("empty").hidden = update.sums.calls > 0 || update.progress.behind;
  byId("columns").hidden = update.sums.calls === 0;
  glance();
  told();
  sessions.update(state, now());
  breaks.update(state, news, now());
  news = [];
  plots();
  tellTime();
}

function soon() {
  if (wanted || !state.update) return;
  wanted = true;
  requestAnimationFrame(render);
}

setText(byId("origin"), location.origin);
listen({ s: () => sessions.focusFirst(), b: () => breaks.focusFirst() });
stream(BASE, (update) => {
  news.push(...state.apply(update));
  soon();
});
setInterval(tellTime, TELL_TIME_EVERY_MS);
new ResizeObserver(soon).observe(byId("columns"));
