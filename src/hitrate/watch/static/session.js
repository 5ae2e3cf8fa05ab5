// A session's page: drawn by the server; when the session changes, the parts of it that differ are put in place.

import { byId } from "./dom.js";
import { listen } from "./keys.js";
import { stream } from "./stream.js";

const [, BASE, ID] = location.pathname.match(/^(.*)\/session\/(\d+)$/);
let fetching = false;
let again = false;

async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const answer = await fetch(location.pathname);
    if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The stream says that the connection is gone, and the next change asks again.
  }
  fetching = false;
  if (again) {
    again = false;
    refresh();
  }
}

function put(page) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const now = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (now && now.innerHTML !== part.innerHTML) part.replaceChildren(...now.childNodes);
  }
}

listen({ b: () => byId("breaks-title").focus(), s: () => byId("turns-title").focus(), u: () => location.assign(`${BASE}/`) });
stream(BASE, (update) => {
  if (update.sessions.some(({ head }) => head.id === Number(ID))) refresh();
});
