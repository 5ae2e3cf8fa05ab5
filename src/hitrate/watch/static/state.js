// What the page knows. An update is the whole of it or what changed; both are bounded as the server's own state is.

const MOST_TURNS = 200;
const MOST_FIRST_TOKENS = 200;

export class State {
  constructor() {
    this.update = null;
    this.clear();
  }

  clear() {
    this.sessions = new Map();
    this.breaks = new Map();
    this.firstTokens = [];
  }

  // Takes an update in. Gives the breaks that are new to a page that was open already.
  apply(update) {
    if (update.whole) this.clear();
    const news = [];
    this.update = update;
    for (const { head, turns, revision } of update.sessions) {
      const known = this.sessions.get(head.id) ?? { turns: new Map() };
      for (const turn of turns) known.turns.set(turn.turn, turn);
      dropOldest(known.turns, MOST_TURNS);
      this.sessions.set(head.id, { head, turns: known.turns, revision });
    }
    for (const one of update.breaks) {
      if (!update.whole && !this.breaks.has(one.id)) news.push(one);
      this.breaks.set(one.id, one);
    }
    this.sessions = only(this.sessions, update.shown_sessions);
    this.breaks = only(this.breaks, update.shown_breaks);
    this.firstTokens = [...this.firstTokens, ...update.first_tokens].slice(-MOST_FIRST_TOKENS);
    return news;
  }
}

// The entries that the server keeps, too, in its order.
const only = (map, ids) => new Map(ids.filter((id) => map.has(id)).map((id) => [id, map.get(id)]));

function dropOldest(map, most) {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
