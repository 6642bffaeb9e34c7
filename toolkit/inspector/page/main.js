/**
 * The page: its views by the address after `#`, and the events that all of them hear.
 */

import { append, count, h, replace } from "./dom.js";
import { get, listen, takeToken } from "./server.js";

const VIEWS = {
  catalog: "Catalog", calls: "Calls", approvals: "Approvals", runs: "Runs", search: "Search", rules: "Rules",
  numbers: "Numbers",
};
const main = document.getElementById("main");
const status = document.getElementById("status");
const events = new EventTarget();
let leave = () => {};
let shown = "";

/** Return the view and what follows it in the address: `#/catalog/read_file?again=7`. */
function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  const names = rest.map((name) => { try { return decodeURIComponent(name); } catch { return name; } });
  return { view: VIEWS[view] ? view : "catalog", name: names.join("/"), query: new URLSearchParams(query) };
}

function drawViews(current, openCount) {
  const links = Object.entries(VIEWS).map(([view, words]) => {
    const count = view === "approvals" && openCount ? h("span", { class: "count" }, openCount) : null;
    return h("a", { href: `#/${view}`, "aria-current": view === current ? "page" : null }, words, count && " ", count);
  });
  replace(document.getElementById("views"), links);
}

async function show(app) {
  const place = readAddress();
  drawViews(place.view, app.openCount);
  document.title = `${VIEWS[place.view]} · ${app.about.name}`;
  if (shown === place.view && app.onAddress) return app.onAddress(place);
  shown = place.view;
  leave();
  const hearing = new AbortController();
  leave = () => hearing.abort();
  app.onAddress = null;
  app.on = (kind, heard) => events.addEventListener(kind, (event) => heard(event.detail), { signal: hearing.signal });
  const module = await import(`./${place.view}.js`);
  if (shown !== place.view || hearing.signal.aborted) return undefined;
  main.replaceChildren();
  main.className = place.view;
  return module.show(main, place, app);
}

async function countRequests(app) {
  const { open } = await get("approvals");
  app.openCount = open.length;
  drawViews(readAddress().view, app.openCount);
}

async function start() {
  takeToken();
  let about;
  try {
    about = await get("about");
  } catch (problem) {
    const advice = problem.status === 401 ? " Open the address that the command printed, with its token." : "";
    replace(main, h("p", { class: "notice bad", role: "alert" }, problem.message, advice));
    return;
  }
  const app = { about, openCount: 0, onAddress: null, on: null };
  replace(document.getElementById("title"), about.name);
  const notes = [about.mode && `mode ${about.mode}`, about.read_only && "read-only", `${count(about.tools)} tools`];
  const state = h("span", { class: "state" }, "connecting");
  append(status, [notes.filter(Boolean).join(" · "), " · ", state]);
  addEventListener("hashchange", () => show(app));
  await show(app);
  countRequests(app).catch(() => {});
  for (const kind of ["approval", "reset"]) events.addEventListener(kind, () => countRequests(app).catch(() => {}));
  listen(
    (kind, data) => events.dispatchEvent(new CustomEvent(kind, { detail: data })),
    (words) => { replace(state, words); state.dataset.state = words === "live" ? "live" : "lost"; },
  );
}

start();
