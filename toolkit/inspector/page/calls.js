/**
 * The calls as they happen: a waterfall by conversation and turn, filters, and one call in full.
 */

import { callView, kindMark } from "./call_view.js";
import { choice, count, h, labelled, muted, replace } from "./dom.js";
import { attempt, clock, duration, makeSplit, readLatest } from "./layout.js";
import { makeList } from "./list.js";
import { get, getRows } from "./server.js";

const PAGE_ROWS = 5000;
const DRAW_MS = 200;
const BURST_SECONDS = 2;

export async function show(main, place, app) {
  const tool = h("input", { type: "search", autocomplete: "off" });
  const session = h("input", { type: "search", autocomplete: "off" });
  const kind = choice(["all", "running", ...app.about.kinds]);
  const slow = h("input", { type: "text", inputmode: "decimal", placeholder: "seconds" });
  const failed = h("input", { type: "checkbox" });
  const state = h("p", { class: "muted", role: "status" });
  const list = makeList("Calls, the newest first", {
    draw: (row) => (row.group ? groupLine(row.group) : callLine(row.call, row.of)),
    isHeader: (row) => Boolean(row.group),
    onOpen: (row) => { location.hash = `#/calls/${row.call.number}`; },
    onEnd: () => loadMore(),
  });
  const filters = [
    labelled("Tool", tool), labelled("Kind", kind), labelled("Conversation", session), labelled("Slower than", slow),
    labelled("Failed", failed, "check"),
  ];
  const split = makeSplit(main, "Calls", [h("div", { class: "filters" }, filters), state, list.element], "calls");
  let calls = new Map();
  const heard = []; // calls heard while a list was on its way: newer than the list
  let next;
  let total = 0;
  let isLoading = true;
  let asked = 0;
  let timer = 0;
  let openTimer = 0;
  let current = place.name;

  function draw() {
    timer = 0;
    const words = next ? ", more when you scroll" : "";
    replace(state, `${count(calls.size)} of ${count(Math.max(total, calls.size))} calls${words}`);
    const newest = [...calls.values()].sort((left, right) => right.number - left.number);
    list.set(groupCalls(newest), (row) => String(row.call?.number) === current);
  }

  async function reload() {
    asked += 1;
    calls = new Map();
    next = undefined;
    isLoading = false;
    await loadMore();
  }

  async function loadMore() {
    if (isLoading || next === null) return;
    isLoading = true;
    const mine = asked;
    const chosen = { tool: tool.value, kind: kind.value, session: session.value, slow: slow.value };
    const query = { ...chosen, failed: failed.checked ? 1 : "", limit: PAGE_ROWS, before: next };
    const answer = await attempt(state, () => getRows("calls", query));
    if (mine !== asked) return;
    isLoading = false;
    next = answer?.next ?? null;
    if (answer) {
      total = answer.total;
      for (const call of answer.calls) calls.set(call.number, call);
      draw();
    }
    heard.splice(0).forEach(hear);
  }

  /** A call that is new or has changed: kept if it fits the filters, as the server has them. */
  function hear(call) {
    if (isLoading) heard.push(call);
    const isKept = (!tool.value || call.tool === tool.value) && (!session.value || call.session === session.value)
      && (!kind.value || (call.kind ?? "running") === kind.value) && (!slow.value || call.seconds >= Number(slow.value))
      && (!failed.checked || !["ok", "waiting", null].includes(call.kind));
    total += Number(isKept) - Number(calls.has(call.number));
    if (isKept) calls.set(call.number, call);
    else calls.delete(call.number);
    timer ||= setTimeout(draw, DRAW_MS);
    if (String(call.number) === current) openTimer ||= setTimeout(reopen, DRAW_MS);
  }

  function reopen() {
    openTimer = 0;
    return open({ name: current });
  }

  async function open(to) {
    current = to.name;
    draw();
    if (!current) return split.open();
    const call = await readLatest(split.detail, () => get(`calls/${encodeURIComponent(current)}`));
    if (!call || current !== to.name) return undefined;
    const address = `#/catalog/${encodeURIComponent(call.tool)}?again=${call.number}`;
    const again = call.arguments !== undefined && h("a", { class: "button", href: address }, "Send again");
    return split.open(h("h3", {}, `Call ${call.number}`), callView(call), again);
  }

  for (const control of [tool, session, slow]) control.addEventListener("input", reload);
  for (const control of [kind, failed]) control.addEventListener("change", reload);
  app.on("call", hear);
  app.on("reset", () => reload().then(reopen));
  app.onAddress = open;
  await reload();
  await open(place);
}

/** Return the rows of the list: the calls of one turn of a conversation together, under a line that names it. */
function groupCalls(calls) {
  const groups = new Map();
  const bursts = new Map();
  for (const call of calls) {
    const start = call.started_at ?? 0;
    let turn = call.turn;
    if (turn === null || turn === undefined) {
      // Without turns, calls that follow each other closely belong together.
      const burst = bursts.get(call.session);
      turn = burst && burst.start - start - call.seconds < BURST_SECONDS ? burst.turn : `burst ${call.number}`;
      bursts.set(call.session, { turn, start });
    }
    const key = `${call.session}\n${turn}`;
    const group = groups.get(key) ?? { session: call.session, turn: call.turn, calls: [], start, end: 0 };
    groups.set(key, group);
    group.calls.push(call);
    group.start = Math.min(group.start, start);
    group.end = Math.max(group.end, start + call.seconds);
  }
  const rows = [];
  for (const group of groups.values()) {
    rows.push({ group });
    for (const call of group.calls.reverse()) rows.push({ call, of: group, key: call.number });
  }
  return rows;
}

function groupLine(group) {
  const turn = group.turn === null || group.turn === undefined ? clock(group.start) : `turn ${group.turn}`;
  const many = group.calls.length > 1 ? `, ${group.calls.length} calls` : "";
  const about = muted(`${turn}${many}, ${duration(group.end - group.start)}`);
  return [h("span", { class: "name" }, group.session || "no conversation"), about];
}

/** Return the line of a call: its bar begins where the call began in the turn, so parallel calls lie side by side. */
function callLine(call, group) {
  const span = Math.max(group.end - group.start, 1e-6);
  const tone = { ok: "", waiting: "", null: "running" }[call.kind] ?? "bad";
  const bar = h("span", { class: `bar ${tone}` });
  const left = Math.min(((call.started_at ?? group.start) - group.start) / span, 0.99);
  bar.style.left = `${left * 100}%`;
  bar.style.width = `${Math.max(Math.min(call.seconds / span, 1 - left), 0.01) * 100}%`;
  const { progress } = call;
  const notes = [
    call.attempts > 1 && `${call.attempts} attempts`, call.repairs > 0 && "repaired",
    progress && `${progress.current}${progress.total ? ` of ${progress.total}` : ""} ${progress.message ?? ""}`,
  ];
  return [
    kindMark(call.kind), h("span", { class: "name" }, call.tool),
    h("span", { class: "muted notes" }, notes.filter(Boolean).join(", ")), h("span", { class: "track" }, bar),
    h("span", { class: "muted time" }, call.kind === null ? "…" : duration(call.seconds)),
  ];
}
