// The events of the page's own server. A connection that broke is made again by the browser, which says what the page
// knows already; one that was refused, as while the recorder is started again, is made again here.

import { byId, setText } from "./dom.js";

const STATES = { open: "live", waiting: "connecting again" };
const AGAIN_MS = 2_000;

export function stream(base, onUpdate) {
  let source;
  const tell = (state) => {
    byId("connection").dataset.state = state;
    setText(byId("connection-text"), STATES[state]);
  };
  const connect = () => {
    source = new EventSource(`${base}/events`);
    source.onopen = () => tell("open");
    source.onerror = () => {
      tell("waiting");
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
    };
    source.onmessage = (event) => onUpdate(JSON.parse(event.data));
  };
  connect();
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
}
