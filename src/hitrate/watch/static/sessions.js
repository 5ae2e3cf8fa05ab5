// The list of sessions: live ones first, the newest on top, so that rows seldom move. Arrow keys go through the cells.

import { byId, setText } from "./dom.js";
import { Row, isLive } from "./strip.js";
import { count, plural } from "./words.js";

export class Sessions {
  constructor(base) {
    this.base = base;
    this.list = byId("sessions");
    this.rows = new Map();
    this.list.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(state, now) {
    for (const [id, row] of this.rows) {
      if (!state.sessions.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    }
    for (const [id, session] of state.sessions) {
      let row = this.rows.get(id);
      if (!row) {
        row = new Row(id, this.base);
        this.rows.set(id, row);
      }
      if (row.revision !== session.revision) row.update(session);
      row.revision = session.revision;
    }
    this.order(now);
    const hidden = state.update.sessions_seen - state.sessions.size;
    byId("sessions-more").hidden = hidden <= 0;
    setText(byId("sessions-more"), `${plural(hidden, "older session")} not shown; the sums count ${hidden === 1 ? "it" : "them"}.`);
  }

  order(now) {
    const wanted = [...this.rows.values()].sort(
      (one, other) => isLive(other.head, now) - isLive(one.head, now) || other.head.id - one.head.id,
    );
    wanted.forEach((row, place) => {
      row.tell(now);
      if (this.list.children[place] !== row.element) this.list.insertBefore(row.element, this.list.children[place] ?? null);
    });
    // Widths are asked for once everything is in place: each answer in between would be a layout of the whole page.
    const behind = wanted.filter((row) => row.follows).map((row) => [row.strip, row.strip.scrollWidth]);
    for (const [strip, width] of behind) strip.scrollLeft = width;
  }

  live(now) {
    return [...this.rows.values()].filter((row) => isLive(row.head, now)).length;
  }

  focusFirst() {
    this.rowsInOrder()[0]?.tabStop?.focus();
  }

  rowsInOrder() {
    const byElement = new Map([...this.rows.values()].map((row) => [row.element, row]));
    return [...this.list.children].map((element) => byElement.get(element));
  }

  onKey(event) {
    const cell = event.target.closest(".cell");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = this.rowsInOrder();
    const at = rows.findIndex((row) => row.strip === cell.parentElement);
    const row = rows[at];
    const go = {
      ArrowLeft: () => row.focus(cell.previousElementSibling),
      ArrowRight: () => row.focus(cell.nextElementSibling),
      Home: () => row.focus(row.strip.firstElementChild),
      End: () => row.focus(row.strip.lastElementChild),
      ArrowUp: () => rows[at - 1]?.tabStop?.focus(),
      ArrowDown: () => rows[at + 1]?.tabStop?.focus(),
    }[event.key];
    if (!go) return;
    event.preventDefault();
    go();
  }
}

export const sessionsInWords = (live, seen) => `${live === 1 ? "session" : "sessions"} live, ${count(seen)} in all`;
