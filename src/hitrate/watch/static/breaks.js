// Breaks, the newest on top: where, what changed, what it cost, what to do.

import { byId, make, setText } from "./dom.js";
import { ago, lossInWords, plural } from "./words.js";

const WIDE = matchMedia("(min-width: 1021px)");
const mostAtOnce = () => (WIDE.matches ? 12 : 3);

class Entry {
  constructor(one, base) {
    this.where = make("a", { href: `${base}/session/${one.session}#break-${one.id}` });
    this.when = make("span", { class: "when" });
    this.price = make("p", { class: "price" });
    this.summary = make("p", { class: "summary" });
    this.advice = make("span");
    this.cause = make("span", { class: "cause" });
    this.voice = make("span");
    this.adviceLine = make("p", { class: "advice" }, make("span", { "aria-hidden": "true" }, "→ "), this.advice);
    this.element = make(
      "li",
      { class: "break" },
      make("h3", {}, make("span", { class: "glyph broken", "aria-hidden": "true" }, "◆ "), this.where, this.when),
      this.price,
      this.summary,
      this.adviceLine,
      make("p", { class: "facts-line" }, this.cause, this.voice),
    );
  }

  update(one) {
    this.one = one;
    const times = one.finding.occurrences;
    setText(this.where, `turn ${one.turn} of ${one.session_name}`);
    setText(this.price, lossInWords(one.finding.lost_tokens, one.finding.lost_usd) + (times > 1 ? `, in ${plural(times, "call")}` : ""));
    setText(this.summary, one.summary);
    setText(this.advice, one.advice);
    this.adviceLine.hidden = !one.advice;
    setText(this.cause, one.finding.cause);
    setText(this.voice, `${one.voice} · ${one.finding.confidence}`);
  }
}

export class Breaks {
  constructor(base) {
    this.base = base;
    this.list = byId("breaks");
    this.entries = new Map();
  }

  update(state, news, now) {
    const newest = [...state.breaks.values()].reverse().slice(0, mostAtOnce());
    const wanted = new Set(newest.map((one) => one.id));
    for (const [id, entry] of this.entries) {
      if (wanted.has(id)) continue;
      entry.element.remove();
      this.entries.delete(id);
    }
    const fresh = new Set(news.map((one) => one.id));
    newest.forEach((one, place) => {
      let entry = this.entries.get(one.id);
      if (!entry) {
        entry = new Entry(one, this.base);
        this.entries.set(one.id, entry);
        if (fresh.has(one.id)) entry.element.classList.add("fresh");
      }
      if (entry.one !== one) entry.update(one);
      if (this.list.children[place] !== entry.element) this.list.insertBefore(entry.element, this.list.children[place] ?? null);
    });
    this.tell(now);
    byId("breaks-none").hidden = newest.length > 0;
    const hidden = state.breaks.size - newest.length;
    byId("breaks-more").hidden = hidden <= 0;
    setText(byId("breaks-more"), `${plural(hidden, "earlier break")}: see the sessions.`);
    if (news.length) this.announce(news.at(-1));
  }

  announce(one) {
    const said = `Break in turn ${one.turn} of ${one.session_name}: ${one.finding.cause}, ${lossInWords(one.finding.lost_tokens, one.finding.lost_usd)}.`;
    byId("announce").replaceChildren(make("span", {}, said));
  }

  tell(now) {
    for (const { when, one } of this.entries.values()) setText(when, ago(one.at, now));
  }

  focusFirst() {
    (this.list.querySelector("a") ?? byId("breaks-title")).focus();
  }
}
