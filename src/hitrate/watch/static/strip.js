// A session: one row of figures, and one cell a turn. A cell's height is the prompt, its filled part what came from
// cache; a sign above it says in shape what the colour says.

import { make, setAttribute, setText } from "./dom.js";
import { ago, count, dollars, lossInWords, milliseconds, percent, plural } from "./words.js";

const LIVE_FOR_S = 300;

export const isLive = (head, now) => head.last_at !== null && now - head.last_at < LIVE_FOR_S;

const sign = (turn) => {
  if (turn.state === "failed") return "×";
  if (turn.causes.length) return "◆";
  return turn.cached_tokens === null ? "○" : "";
};

export function turnInWords(turn) {
  const parts = [`turn ${turn.turn}`];
  if (turn.state === "failed") parts.push(`failed${turn.status === null ? "" : `, status ${turn.status}`}`);
  parts.push(turn.prompt_tokens === null ? "tokens not reported" : plural(turn.prompt_tokens, "prompt token"));
  if (turn.prompt_tokens !== null) {
    parts.push(turn.cached_tokens === null ? "cached not reported" : `${count(turn.cached_tokens)} from cache`);
  }
  if (turn.hit_rate !== null) parts.push(percent(turn.hit_rate));
  if (turn.ttft_ms !== null) parts.push(`first token ${milliseconds(turn.ttft_ms)}`);
  if (turn.causes.length) parts.push(`${turn.causes.join(", ")}: ${lossInWords(turn.lost_tokens, turn.lost_usd)}`);
  else if (turn.state !== "failed" && turn.cached_tokens !== null) parts.push(turn.state);
  return parts.join(" · ");
}

export class Row {
  constructor(id, base) {
    this.address = `${base}/session/${id}`;
    this.cells = new Map();
    this.shown = null;
    this.link = make("a", { href: this.address });
    this.about = make("span", { class: "about" });
    this.rate = make("span", { class: "rate" });
    this.loss = make("span", { class: "loss" });
    this.when = make("span", { class: "when" });
    this.strip = make("div", { class: "strip", role: "group" });
    this.readout = make("p", { class: "readout" });
    this.element = make(
      "article",
      { class: "session", id: `session-${id}` },
      make("h3", {}, this.link, this.when),
      make("p", { class: "facts-line" }, this.about, this.rate, this.loss),
      this.strip,
      this.readout,
    );
    const show = (event) => event.target.turn && this.read(event.target.turn);
    this.strip.addEventListener("pointerover", show);
    this.strip.addEventListener("focusin", show);
    this.strip.addEventListener("pointerleave", () => this.readNewest());
    this.strip.addEventListener("focusout", () => this.readNewest());
    // The strip stays at its newest turn until somebody scrolls away from it.
    this.follows = true;
    this.strip.addEventListener("scroll", () => {
      this.follows = this.strip.scrollLeft + this.strip.clientWidth >= this.strip.scrollWidth - 30;
    });
  }

  update({ head, turns }) {
    this.head = head;
    const named = head.named ? `session ${head.name}` : `conversation ${head.name}`;
    setText(this.link, named);
    setText(this.about, [head.model, plural(head.sums.calls, "turn")].filter(Boolean).join(" · "));
    setText(this.rate, head.sums.hit_rate === null ? "hit rate not reported" : `${percent(head.sums.hit_rate)} from cache`);
    const lost = head.lost_tokens ? `${head.lost_usd === null ? plural(head.lost_tokens, "token") : dollars(head.lost_usd)} lost` : "";
    setText(this.loss, lost && `◆ ${lost}`);
    setAttribute(this.strip, "aria-label", `Turns of ${named}`);
    const most = Math.max(1, ...[...turns.values()].map((turn) => turn.prompt_tokens ?? 0));
    for (const number of this.cells.keys()) {
      if (turns.has(number)) break;
      this.cells.get(number).remove();
      this.cells.delete(number);
    }
    for (const turn of turns.values()) this.updateCell(turn, most);
    if (most !== this.most) for (const [number, cell] of this.cells) cell.style.setProperty("--height", height(turns.get(number), most));
    this.most = most;
    this.newest = [...turns.values()].at(-1);
    if (!this.strip.contains(document.activeElement)) this.rove(this.cells.get(this.newest?.turn));
    if (!this.strip.matches(":hover, :focus-within")) this.readNewest();
  }

  updateCell(turn, most) {
    let cell = this.cells.get(turn.turn);
    if (cell?.turn === turn) return;
    if (!cell) {
      cell = make("a", { href: `${this.address}#turn-${turn.turn}`, tabindex: "-1" });
      this.cells.set(turn.turn, cell);
      this.strip.append(cell);
    }
    cell.turn = turn;
    const prompt = turn.prompt_tokens ?? 0;
    const share = (tokens) => `${prompt ? Math.min(100, (100 * (tokens ?? 0)) / prompt).toFixed(2) : 0}%`;
    cell.style.setProperty("--height", height(turn, most));
    cell.style.setProperty("--kept-part", share(turn.cached_tokens));
    cell.style.setProperty("--lost-part", share(turn.lost_tokens));
    setAttribute(cell, "class", `cell${turn.cached_tokens === null ? " unknown" : ""}${turn.causes.length ? " broken" : ""}${turn.state === "failed" ? " failed" : ""}`);
    setAttribute(cell, "data-sign", sign(turn) || null);
    setAttribute(cell, "aria-label", turnInWords(turn));
  }

  // One cell of a strip is in the tab order; the arrow keys go to the others.
  rove(cell) {
    if (!cell || cell === this.tabStop) return;
    this.tabStop?.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
    this.tabStop = cell;
  }

  focus(cell) {
    this.rove(cell);
    cell?.focus();
  }

  read(turn) {
    setText(this.readout, turnInWords(turn));
    this.readout.classList.toggle("broken", turn.causes.length > 0);
  }

  readNewest() {
    if (this.newest) this.read(this.newest);
  }

  tell(now) {
    const live = isLive(this.head, now);
    this.element.classList.toggle("live", live);
    setText(this.when, live ? "● live" : ago(this.head.last_at, now));
  }
}

const height = (turn, most) => `${Math.max(2, (100 * (turn?.prompt_tokens ?? 0)) / most).toFixed(2)}%`;
