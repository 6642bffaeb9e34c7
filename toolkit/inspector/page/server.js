/**
 * The server's side: requests with the token of the address, and what happens there as events.
 */

import { formatJson, parseJson } from "./json.js";

const KEY = "inspector-token";
const WAIT_MAX = 10_000;

/** An answer of the server that is an error; `status` and `why` say which. */
class ServerProblem extends Error {
  constructor(status, message, why = "") {
    super(message);
    Object.assign(this, { status, why });
  }
}

/** Take the token out of the address bar, so that no bookmark and no picture of the window has it. */
export function takeToken() {
  const match = /^#token=([^&]+)(?:&(.*))?$/.exec(location.hash);
  if (!match) return;
  sessionStorage.setItem(KEY, decodeURIComponent(match[1]));
  history.replaceState(null, "", `#${match[2] ?? ""}`);
}

function headers(more = {}) {
  return { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, ...more };
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ServerProblem(0, "The inspector does not answer. Is it still running?");
  }
  const text = await response.text();
  if (response.ok) return text;
  let problem = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  throw new ServerProblem(response.status, problem.error ?? `The server answered ${response.status}.`, problem.why);
}

function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `api/${path}?${new URLSearchParams(given)}` : `api/${path}`;
}

/** Return the answer to a GET, with every number as it was written. */
export async function get(path, query = {}) {
  return parseJson(await request(address(path, query), { headers: headers() }));
}

/** Return the answer to a GET of many rows; numbers are JavaScript's, which is several times as fast. */
export async function getRows(path, query = {}) {
  return JSON.parse(await request(address(path, query), { headers: headers() }));
}

/** Return the answer to a POST. */
export async function post(path, body) {
  const options = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: formatJson(body) };
  return parseJson(await request(address(path, {}), options));
}

/**
 * Listen to the events, for ever; a connection that breaks is made again from the last place.
 *
 * @param {string} place The id of the event after which to begin.
 * @param {(kind: string, data: any) => void} onEvent Told every event.
 * @param {(state: string) => void} onState Told "live", or why there is no connection.
 */
export async function listen(place, onEvent, onState) {
  let last = place;
  for (let wait = 500; ; wait = Math.min(2 * wait, WAIT_MAX)) {
    try {
      const response = await fetch(address("events", { after: last }), { headers: headers() });
      if (response.status === 401) return onState("The token is missing or wrong: open the printed address again.");
      if (response.ok) {
        onState("live");
        wait = 500;
        await readEvents(response.body, (id, kind, data) => {
          last = id || last;
          onEvent(kind, data);
        });
      }
    } catch {
      // The server stopped, or the machine slept. Both end, so ask again.
    }
    onState("Not connected. Trying again.");
    await new Promise((resume) => setTimeout(resume, wait));
  }
}

async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.data !== undefined) onEvent(fields.id, fields.event, JSON.parse(fields.data));
    }
  }
}
