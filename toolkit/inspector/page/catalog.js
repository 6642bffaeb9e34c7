/**
 * The catalog: tools by group and origin, each with its schema, and a form that calls it.
 */

import { callView, inWords, kindMark, problemList, verdictView } from "./call_view.js";
import { button, choice, count, facts, folded, h, labelled, muted, replace, table, textBlock } from "./dom.js";
import { makeForm } from "./form.js";
import { formatJson, typeOf } from "./json.js";
import { attempt, clock, dropReadings, duration, makeSerial, makeSplit, notice, readLatest } from "./layout.js";
import { makeList } from "./list.js";
import { schemaTree } from "./schemas.js";
import { get, getRows, post } from "./server.js";

const EXPLAIN_MS = 300;

export async function show(main, place, app) {
  const filter = h("input", { type: "search", placeholder: "name, description or fact", autocomplete: "off" });
  const by = choice(["group", "origin"]);
  const state = h("p", { class: "muted", role: "status" });
  const list = makeList("Tools", {
    draw: (row) => row.header ?? [h("span", { class: "name" }, row.name), muted(row.facts)],
    isHeader: (row) => row.header !== undefined,
    onOpen: (row) => { location.hash = `#/catalog/${encodeURIComponent(row.name)}`; },
  });
  const problems = (app.about.problems ?? []).map(({ of, text }) => h("li", {}, h("strong", {}, of), " ", text));
  const split = makeSplit(main, "Tools", [
    h("div", { class: "filters" }, labelled("Filter", filter), labelled("By", by)), state, list.element,
    problems.length > 0 && folded(`Problems of skills and servers: ${problems.length}`, h("ul", {}, problems)),
  ], "catalog");
  let tools = [];
  let current = place.name;

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = tools.filter((tool) => words.every((word) => tool.found.includes(word)));
    const groups = Map.groupBy(shown, (tool) => tool[by.value] ?? "no group");
    const rows = [...groups].flatMap(([name, tools]) => [{ header: `${name} (${count(tools.length)})` }, ...tools]);
    replace(state, `${count(shown.length)} of ${count(tools.length)} tools`);
    list.set(groups.size > 1 || by.value === "origin" ? rows : shown, (row) => row.name === current);
  }

  const load = makeSerial(async () => {
    const answer = await attempt(state, () => getRows("tools"));
    if (!answer) return;
    tools = answer.tools.map((tool) => {
      const found = [tool.name, tool.description, tool.facts, tool.group ?? "", tool.origin].join("\n").toLowerCase();
      return { ...tool, key: tool.name, found };
    });
    draw();
  });

  async function open(next) {
    current = next.name;
    draw();
    if (!current) return split.open();
    const tool = await readLatest(split.detail, () => get("tool", { name: current }));
    if (tool && current === next.name) split.open(toolView(tool, app, next.query.get("again")));
    return undefined;
  }

  filter.addEventListener("input", draw);
  by.addEventListener("change", draw);
  app.on("catalog", load);
  app.on("reset", load);
  app.onAddress = open;
  await load();
  await open(place);
}

function toolView(tool, app, again) {
  const schemas = [["arguments", tool.schema], ["result", tool.output_schema]].filter(([, schema]) => schema);
  const trees = schemas.map(([name, schema]) => schemaTree(name, schema));
  for (const tree of trees) if (tree.tagName === "DETAILS") tree.open = true;
  return h("article", {},
    h("h3", {}, tool.name), h("p", { class: "muted" }, tool.words),
    h("p", { class: "description" }, tool.description),
    tool.problem && notice(tool.problem, "bad"),
    facts([
      ["also called", tool.aliases?.join(", ")], ["origin", tool.origin], ["place", tool.place],
      ["group", tool.facts?.group],
    ]),
    tool.schema && callPanel(tool, app, again),
    folded("Schema", trees),
    tool.formats && folded("As each provider gets it", formatsView(tool.formats)),
    tool.advice?.length > 0 && folded(`Advice (${tool.advice.length})`, h("ul", {}, tool.advice.map((hint) =>
      h("li", {}, h("strong", {}, hint.rule), ` ${hint.place ?? ""}: ${hint.message} `, muted(hint.remedy))))),
    folded("All facts", textBlock(formatJson(tool.facts ?? {}, 2))));
}

function formatsView(formats) {
  const names = Object.keys(formats);
  const select = choice(names);
  const box = h("div", {});
  const draw = () => {
    const format = formats[select.value] ?? { error: "No provider is known." };
    if (format.error) return replace(box, notice(format.error, "bad"));
    const notes = (format.notes ?? []).map((note) => h("p", { class: "muted" }, inWords(note)));
    return replace(box, notes, textBlock(formatJson(format.definition, 2)));
  };
  select.addEventListener("change", draw);
  draw();
  const rows = names.map((name) => [name, formats[name].error ? "none" : `about ${count(formats[name].tokens)}`]);
  return [table("Tokens for each provider", ["provider", "tokens"], rows), labelled("Definition for", select), box];
}

/** The form of a tool: what would decide about the call, the call itself, and the last ones to send again. */
function callPanel(tool, app, again) {
  const form = makeForm(tool.schema, tool.secrets);
  const before = h("div", { class: "before", role: "status" });
  const after = h("div", { class: "after", "aria-live": "polite" });
  const submit = h("button", { type: "submit", class: "main" }, "Call");
  const last = h("div", {});
  const examples = (tool.examples ?? []).map((example, index) =>
    button(`Example ${index + 1}`, () => { form.write(example.arguments ?? example); explain(); }, "ghost"));
  const panel = h("form", { class: "panel", "aria-label": `Call ${tool.name}`, novalidate: true },
    h("h4", {}, "Call it"), examples.length > 0 && h("p", {}, examples), form.element, before,
    app.about.read_only ? muted("This page only reads, so it calls nothing.") : submit, after, last);
  let timer = 0;

  async function explain() {
    const { value, problems } = form.read(false);
    dropReadings(before);
    if (problems.length) return replace(before, h("p", { class: "muted" }, `To fill in: ${problems.join("; ")}`));
    const answer = await readLatest(before, () => post("explain", { tool: tool.name, arguments: value }));
    if (!answer) return undefined;
    if (answer.verdict) return replace(before, verdictView(answer.verdict));
    const words = h("p", {}, h("span", { class: "mark bad" }, "does not fit"), " A repair may still help.");
    return replace(before, words, problemList(answer));
  }

  async function call() {
    const { value, problems } = form.read();
    if (problems.length) return replace(after, notice(problems.join("; "), "bad"));
    submit.disabled = true;
    replace(after, h("p", { class: "muted" }, "Running…"));
    const answer = await attempt(after, () => post("call", { tool: tool.name, arguments: value }));
    submit.disabled = false;
    if (answer) replace(after, callView(answer.call));
    return showLast();
  }

  async function showLast() {
    const answer = await attempt(last, () => getRows("calls", { tool: tool.name, limit: 10 }));
    if (!answer?.calls.length) return;
    const rows = answer.calls.map((row) => {
      const label = { "aria-label": `Fill in the arguments of call ${row.number}` };
      const fill = button("Fill in again", () => refill(row.number), "ghost", label);
      return h("li", {}, kindMark(row.kind), ` ${clock(row.started_at)} `, muted(duration(row.seconds)), " ", fill);
    });
    replace(last, h("h4", {}, "Last calls"), h("ul", { class: "plain" }, rows));
  }

  async function refill(number) {
    const row = await attempt(after, () => get(`calls/${number}`));
    if (!row) return undefined;
    const gone = "The arguments of this call are no longer kept.";
    if (typeOf(row.arguments) !== "object") return replace(after, notice(gone, "bad"));
    form.write(row.arguments);
    replace(after, notice(`The form has the arguments of call ${number}.`));
    return explain();
  }

  panel.addEventListener("submit", (event) => { event.preventDefault(); call(); });
  for (const kind of ["input", "change", "click"]) {
    form.element.addEventListener(kind, () => { clearTimeout(timer); timer = setTimeout(explain, EXPLAIN_MS); });
  }
  if (again) refill(again);
  else explain();
  showLast();
  return panel;
}
