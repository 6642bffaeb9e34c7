/**
 * The page: its views by the address after `#`, and the events that all of them hear.
 */

import { append, count, h, replace } from "./dom.js";
import { makeSerial } from "./layout.js";
import { get, listen, takeToken } from "./server.js";

const VIEWS = {
  catalog: "Catalog", calls: "Calls", approvals: "Approvals", runs: "Runs", search: "Search", rules: "Rules",
  numbers: "Numbers",
};
const main = document.getElementById("main");
const status = document.getElementById("status");
const openCount = h("span", { class: "count" });
const events = new EventTarget();
let leave = () => {};
let shown = { name: "" };

/** Return the view and what follows it in the address: `#/catalog/read_file?again=7`. */
function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  const names = rest.map((name) => { try { return decodeURIComponent(name); } catch { return name; } });
  const known = Object.hasOwn(VIEWS, view) ? view : "catalog";
  return { view: known, name: names.join("/"), query: new URLSearchParams(query) };
}

/** Mark the link of the view that is shown. The links stay, or the keyboard would lose its place. */
function markView(current) {
  for (const link of document.querySelectorAll("#views a")) {
    if (link.hash === `#/${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Show the view of the address. A view hears events with `on`, and stays if it sets `onAddress`. */
async function show(about) {
  const place = readAddress();
  markView(place.view);
  document.title = `${VIEWS[place.view]} · ${about.name}`;
  if (shown.name === place.view && shown.onAddress) return shown.onAddress(place);
  leave();
  const hearing = new AbortController();
  leave = () => hearing.abort();
  const on = (kind, heard) => events.addEventListener(kind, (event) => heard(event.detail), { signal: hearing.signal });
  const app = (shown = { name: place.view, about, on, onAddress: null });
  const module = await import(`./${place.view}.js`);
  if (hearing.signal.aborted) return undefined;
  // A view that still loads when another one is opened writes to a box that is gone.
  const box = h("div", { class: `view ${place.view}` });
  main.replaceChildren(box);
  return module.show(box, place, app);
}

const countRequests = makeSerial(async () => {
  const { open } = await get("approvals").catch(() => ({ open: [] }));
  replace(openCount, open.length ? ` ${open.length}` : "");
});

async function start() {
  takeToken();
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address after `#` is the place in the page
    main.focus();
  });
  let about;
  try {
    about = await get("about");
  } catch (problem) {
    const advice = problem.status === 401 ? " Open the address that the command printed, with its token." : "";
    replace(main, h("p", { class: "notice bad", role: "alert" }, problem.message, advice));
    return;
  }
  replace(document.getElementById("title"), about.name);
  const notes = [about.mode && `mode ${about.mode}`, about.read_only && "read-only", `${count(about.tools)} tools`];
  const state = h("span", { class: "state" }, "connecting");
  append(status, [notes.filter(Boolean).join(" · "), " · ", state]);
  const links = Object.entries(VIEWS).map(([view, words]) =>
    h("a", { href: `#/${view}` }, words, view === "approvals" && openCount));
  append(document.getElementById("views"), links);
  addEventListener("hashchange", () => show(about));
  await show(about);
  for (const kind of ["approval", "reset"]) events.addEventListener(kind, countRequests);
  countRequests();
  listen(
    about.place, // older than all lists, so that nothing is missed between them and the beginning of the stream
    (kind, data) => events.dispatchEvent(new CustomEvent(kind, { detail: data })),
    (words) => { replace(state, words); state.dataset.state = words === "live" ? "live" : "lost"; },
  );
}

start();
