/**
 * Runs of agents and flows: what was said, what it cost, the steps of the journal, and where a flow stands.
 */

import { kindMark } from "./call_view.js";
import { button, choice, facts, folded, h, labelled, link, muted, replace, section, table, textBlock } from "./dom.js";
import { flowView } from "./flow_graph.js";
import { formatJson } from "./json.js";
import { attempt, clock, duration, makeSplit, notice, readLatest } from "./layout.js";
import { makeList } from "./list.js";
import { get, getRows, post } from "./server.js";

const RELOAD_MS = 500;

export async function show(main, place, app) {
  let runs = [];
  let next;
  let isLoading = true;
  let asked = 0;
  let current = place.name;
  let timer = 0;
  const status = choice(["all", ...app.about.statuses]);
  const state = h("div", { role: "status" });
  const list = makeList("Runs, the newest first", {
    draw: (row) => [kindMark(row.status), h("span", { class: "name" }, row.about || row.id), muted(row.kind)],
    onOpen: (row) => { location.hash = `#/runs/${encodeURIComponent(row.id)}`; },
    onEnd: () => loadMore(),
  });
  const { flows } = await getRows("flows").catch(() => ({ flows: [] }));
  const flowLinks = flows.map(({ name }) => h("a", { href: `#/runs?flow=${encodeURIComponent(name)}` }, name));
  const filters = h("div", { class: "filters" }, labelled("Status", status));
  const split = makeSplit(main, "Runs", [filters, state, list.element, section("Flows", flowLinks)], "runs");

  const draw = () => list.set(runs, (row) => row.id === current);

  async function reload() {
    asked += 1;
    next = undefined;
    runs = [];
    isLoading = false;
    await loadMore();
  }

  async function loadMore() {
    if (isLoading || next === null) return;
    isLoading = true;
    const mine = asked;
    const answer = await attempt(state, () => getRows("runs", { status: status.value, limit: 100, after: next }));
    if (mine !== asked) return;
    isLoading = false;
    next = answer?.next ?? null;
    if (!answer) return;
    const known = new Set(runs.map((run) => run.id));
    runs = [...runs, ...answer.runs.filter((run) => !known.has(run.id)).map((run) => ({ ...run, key: run.id }))];
    const words = !runs.length && h("p", { class: "muted" }, "No runs yet.");
    replace(state, answer.problem ? notice(answer.problem, "bad") : words);
    draw();
  }

  async function open(to) {
    current = to.name;
    draw();
    const flow = flows.find((entry) => entry.name === to.query?.get("flow"));
    if (!current && flow) return split.open(flowView(flow, null));
    if (!current) return split.open();
    const run = await readLatest(split.detail, () => get("run", { id: current }));
    if (run && current === to.name) split.open(runView(run, flows, () => reload().then(() => open({ name: current }))));
    return undefined;
  }

  const reopen = () => { timer = 0; return open({ name: current }); };

  app.on("run", (row) => {
    const index = runs.findIndex((run) => run.id === row.id);
    const kept = !status.value || row.status === status.value ? [{ ...row, key: row.id }] : [];
    if (index >= 0) runs.splice(index, 1, ...kept);
    else runs.unshift(...kept);
    draw();
    if (row.id === current) timer ||= setTimeout(reopen, RELOAD_MS);
  });
  app.on("reset", () => reload().then(reopen));
  status.addEventListener("change", reload);
  app.onAddress = open;
  await reload();
  await open(place);
}

function runView(run, flows, onChange) {
  const known = flows.find((entry) => entry.name === run.flow?.name);
  const nodes = Object.keys(run.flow?.steps ?? {}).map((name) => ({ name }));
  const flow = run.flow && (known ?? { name: run.flow.name, nodes, edges: [] });
  const steps = run.steps ?? [];
  const uncertain = steps.filter((step) => step.uncertain).length;
  const state = (step) => (step.uncertain ? h("span", { class: "mark bad" }, "uncertain") : step.state);
  const stepRows = steps.map((step) =>
    [step.key, state(step), step.what, clock(step.began_at), duration(step.seconds)]);
  const eventRows = (run.events ?? []).map((event) => [clock(event.at), event.kind, event.text]);
  return h("article", { class: "run" },
    h("h3", {}, run.about || run.id), h("p", {}, kindMark(run.status), " ", run.reason),
    (run.waits ?? []).map((text) => notice(text, "open")),
    uncertain > 0 && notice(`Steps that may or may not have happened: ${uncertain}.`, "bad"),
    actions(run, onChange),
    facts([
      ["id", run.id], ["kind", run.kind], ["from", run.source], ["for", run.principal],
      ["started", clock(run.created_at)], ["changed", clock(run.updated_at)], ["worked", duration(run.seconds)],
      ["part of", run.parent && link("runs", run.parent)],
    ]),
    flow && flowView(flow, run.flow),
    run.plan && folded("Plan", textBlock(typeof run.plan === "string" ? run.plan : formatJson(run.plan, 2))),
    run.messages?.length > 0 && h("section", {}, h("h4", {}, "Conversation"), run.messages.map(messageView)),
    run.usage && usageView(run.usage),
    section("Requests", run.requests?.map((request) =>
      [`${request.tool} `, request.is_decided ? "answered" : link("approvals", request.id)])),
    section("Runs inside", run.subs?.map((sub) => (sub.messages.length > 0
      ? folded([kindMark(sub.status), " ", sub.id], sub.messages.map(messageView))
      : [kindMark(sub.status), " ", link("runs", sub.id)]))),
    steps.length > 0 && folded(`Steps of the journal (${steps.length})`,
      table("Steps", ["step", "state", "what", "began", "took"], stepRows)),
    eventRows.length > 0 && folded(`What happened (${eventRows.length})`,
      table("Events", ["when", "kind", "text"], eventRows)));
}

function actions(run, onChange) {
  if (!run.can?.length) return null;
  const reason = h("input", { type: "text", autocomplete: "off" });
  const said = h("div", { "aria-live": "polite" });
  const act = async (path, body) => {
    const answer = await attempt(said, () => post(path, { id: run.id, ...body }));
    if (answer) await onChange();
  };
  const cancel = () => act("run/cancel", { reason: reason.value });
  return h("div", { class: "filters" },
    run.can.includes("cancel") && [labelled("Reason", reason), button("Cancel the run", cancel, "danger")],
    run.can.includes("retry") && button("Retry the run", () => act("run/retry", {})), said);
}

function messageView(message) {
  const calls = (message.calls ?? []).map((call) =>
    folded(["calls ", h("strong", {}, call.tool)], textBlock(formatJson(call.arguments, 2))));
  const results = (message.results ?? []).map((result) =>
    folded([kindMark(result.kind), " ", h("strong", {}, result.tool)], textBlock(result.text ?? "")));
  return h("div", { class: `message ${message.role}` },
    h("p", { class: "muted" }, message.role), message.text && textBlock(message.text), calls, results);
}

function usageView(usage) {
  const rows = [
    ["input", usage.input_tokens], ["output", usage.output_tokens], ["from a cache", usage.cached_tokens],
    ["definitions", usage.definition_tokens], ["the rest", usage.rest_tokens],
    ...Object.entries(usage.result_tokens ?? {}).map(([tool, tokens]) => [`results of ${tool}`, tokens]),
  ];
  const price = typeof usage.dollars === "number" ? `$${usage.dollars.toFixed(4)}` : "price not known";
  return folded(`Tokens (${price})`, table("Tokens", ["part", "tokens"], rows.filter(([, tokens]) => tokens >= 0)));
}
