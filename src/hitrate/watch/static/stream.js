// The events of the page's own server. The browser connects again by itself and says what it knows already.

import { byId, setText } from "./dom.js";

const STATES = { open: "live", waiting: "connecting again", ended: "not connected" };

export function stream(base, onUpdate) {
  const tell = (state) => {
    byId("connection").dataset.state = state;
    setText(byId("connection-text"), STATES[state]);
  };
  const source = new EventSource(`${base}/events`);
  source.onopen = () => tell("open");
  source.onerror = () => tell(source.readyState === EventSource.CLOSED ? "ended" : "waiting");
  source.onmessage = (event) => onUpdate(JSON.parse(event.data));
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
}
