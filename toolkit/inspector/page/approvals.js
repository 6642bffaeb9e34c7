/**
 * Requests that wait for a person, the oldest first, and what was decided.
 */

import { callView, diffBlock } from "./call_view.js";
import {
  button, facts, folded, h, labelled, link, muted, replace, section, table, textBlock, uniqueId,
} from "./dom.js";
import { makeForm } from "./form.js";
import { formatJson } from "./json.js";
import { attempt, clock, makeSerial, makeSplit, notice } from "./layout.js";
import { makeList } from "./list.js";
import { get, post } from "./server.js";

const NAME_KEY = "inspector-name";
const MENDABLE = ["arguments", "answers", "grant", "store"];

export async function show(main, place, app) {
  const state = h("div", { role: "status" });
  const decided = h("div", {});
  const list = makeList("Open requests, the oldest first", {
    draw: (row) => [h("span", { class: "name" }, row.tool), muted(clock(row.created_at))],
    onOpen: (row) => { location.hash = `#/approvals/${encodeURIComponent(row.id)}`; },
  });
  const split = makeSplit(main, "Approvals", [state, list.element, decided], "approvals");
  let requests = [];
  let current = place.name;
  let panel = null;

  const load = makeSerial(async () => {
    const answer = await attempt(state, () => get("approvals"));
    if (!answer) return;
    requests = answer.open.map((request) => ({ ...request, key: request.id }));
    const words = requests.length ? `${requests.length} open` : "Nothing waits for an answer.";
    replace(state, answer.problem ? notice(answer.problem, "bad") : h("p", { class: "muted" }, words));
    list.set(requests, (row) => row.id === current);
    // An answer is noted a moment before the request is taken from the store, or after it.
    const entry = answer.decided.find((decision) => decision.id === panel?.id);
    const isOpen = answer.problem || requests.some((row) => row.id === panel?.id);
    if (panel && (entry || !isOpen)) panel.close(entry);
    const rows = answer.decided.map((entry) =>
      [clock(entry.at), entry.tool, entry.approved ? "approved" : "denied", entry.by ?? "", entry.reason ?? ""]);
    const columns = ["when", "tool", "decision", "by", "reason"];
    replace(decided, rows.length > 0 && folded(`${rows.length} decided`, table("Decisions", columns, rows)));
  });

  async function open(to) {
    current = to.name;
    list.set(requests, (row) => row.id === current);
    if (!current) return split.open();
    const request = requests.find((row) => row.id === current);
    if (!request && panel?.id === current) return undefined;
    if (!request) return split.open(notice("This request is not open: it was answered, or it is over."));
    const tool = await get("tool", { name: request.tool }).catch(() => null);
    if (current !== to.name) return undefined;
    panel = requestPanel(request, tool, app);
    return split.open(panel.element);
  }

  app.on("approval", async (event) => {
    await load();
    if (event.id === current && event.state === "open" && panel?.id !== current) open({ name: current });
  });
  app.on("reset", load);
  app.onAddress = open;
  await load();
  // A small screen begins with the list.
  const isWide = matchMedia("(min-width: 821px)").matches;
  await open(place.name || !requests.length || !isWide ? place : { name: requests[0].id });
}

function requestPanel(request, tool, app) {
  const questions = (request.questions ?? []).map(questionView);
  const isQuestion = questions.length > 0;
  const by = h("input", { type: "text", autocomplete: "name", value: localStorage.getItem(NAME_KEY) ?? "" });
  const reason = h("input", { type: "text", autocomplete: "off" });
  const grants = grantChoice(request.grants ?? []);
  const changes = tool?.schema && !isQuestion ? changesView(request, tool) : null;
  const said = h("div", { "aria-live": "assertive" });
  const approve = h("button", { type: "submit", class: "main" }, isQuestion ? "Answer" : "Approve");
  const deny = button(isQuestion ? "Refuse to answer" : "Deny", () => send("deny"), "danger");
  const names = [labelled("Your name", by), labelled("Reason, if you deny (the model reads it)", reason, "wide")];
  const controls = h("fieldset", { class: "controls" }, h("legend", {}, "Your answer"),
    questions.map((question) => question.element), grants.element, changes?.element,
    h("div", { class: "filters" }, names), h("p", { class: "buttons" }, approve, deny));
  let isSending = false;
  let isOver = false; // and who answered, if anybody, is not known yet

  async function send(action) {
    const body = { id: request.id, action, reason: reason.value };
    if (by.value) body.by = by.value;
    const problems = action === "approve" ? readAnswer(body) : [];
    if (problems.length) return replace(said, notice(problems.join("; "), "bad"));
    localStorage.setItem(NAME_KEY, by.value);
    isSending = controls.disabled = true;
    try {
      const answer = await post("approvals", body);
      replace(said, notice(action === "approve" ? "Your answer was taken." : "Denied."), outcome(answer, request.tool));
    } catch (problem) {
      // One answer counts. The other page says so, and its controls stay closed; what can be mended leaves them open.
      controls.disabled = [404, 409].includes(problem.status) && !MENDABLE.includes(problem.why);
      replace(said, notice(`Not taken: ${problem.message}`, "bad"));
    }
    isSending = false;
    return undefined;
  }

  function readAnswer(body) {
    const problems = [];
    const given = questions.map((question) => [question.key, question.read(problems)]);
    if (isQuestion) body.answers = Object.fromEntries(given.filter(([, answer]) => answer !== undefined));
    if (isQuestion) body.declined = given.filter(([, answer]) => answer === undefined).map(([key]) => key);
    const grant = grants.read();
    if (grant !== null) body.grant = grant;
    const changed = changes?.read(problems);
    if (changed !== undefined) body.arguments = changed;
    return problems;
  }

  /** Say that the request was answered in another page, by its *entry* among the decisions, or that it is over. */
  function close(entry) {
    if (isSending || (controls.disabled && !(isOver && entry))) return;
    isOver = !entry;
    controls.disabled = true;
    const verb = entry?.approved ? "Approved" : "Denied";
    const words = entry && `${verb} by ${entry.by || "somebody else"} at ${clock(entry.at)}, not here.`;
    replace(said, notice(words ?? "This request is not open any more: it was answered elsewhere, or it is over.", "open"));
  }

  const changed = [...(request.repairs ?? []), ...(request.edits ?? [])];
  const element = h("form", { class: "request", "aria-label": `Request of ${request.tool}` },
    h("h3", {}, request.tool), h("p", {}, request.reason),
    request.auth && authView(request.auth),
    request.preview && diffBlock(request.preview),
    request.is_cut && h("p", { class: "muted" }, "The preview is longer than what is shown."),
    section("Changed before", changed.map((text) => (typeof text === "string" ? text : formatJson(text)))),
    folded("Arguments", textBlock(formatJson(request.arguments ?? {}, 2))),
    facts([
      ["asked by", request.asked_by?.join(", ")], ["conversation", request.session], ["for", request.principal],
      ["asked at", clock(request.created_at)], ["expires", request.expires_at && clock(request.expires_at)],
      ["run", request.run && link("runs", request.run)],
    ]),
    app.about.read_only ? h("p", { class: "muted" }, "This page only reads, so it answers nothing.") : controls, said);
  element.addEventListener("submit", (event) => { event.preventDefault(); send("approve"); });
  return { id: request.id, element, close };
}

function outcome({ run, result }, tool) {
  if (run) return h("p", {}, "The run goes on: ", link("runs", run.id));
  return result && callView({ tool, kind: result.kind, seconds: NaN, request: result.request, result });
}

function questionView(question) {
  const { $defs, ...answer } = question.schema;
  const properties = { answer };
  const form = makeForm({ type: "object", properties, required: ["answer"], additionalProperties: false, $defs });
  const decline = h("input", { type: "checkbox" });
  decline.addEventListener("change", () => { form.element.hidden = decline.checked; });
  const parts = [h("legend", {}, question.message), form.element, labelled("I do not answer this", decline, "check")];
  return {
    key: question.key,
    element: h("fieldset", { class: "question" }, parts),
    read: (problems) => (decline.checked ? undefined : readForm(form, problems)?.answer),
  };
}

function grantChoice(grants) {
  const name = uniqueId();
  const options = ["This call only", ...grants.map((grant) => grant.shown ?? formatJson(grant))];
  const radios = options.map((_, index) => h("input", { type: "radio", name, checked: index === 0 }));
  const rows = radios.map((radio, index) => labelled(options[index], radio, "check"));
  return {
    element: grants.length > 0 && h("fieldset", { class: "grants" }, h("legend", {}, "Approve"), rows),
    read: () => (radios[0].checked ? null : radios.findIndex((radio) => radio.checked) - 1),
  };
}

function changesView(request, tool) {
  const form = makeForm(tool.schema, tool.secrets);
  const words = h("p", { class: "muted" }, "Changed arguments are checked and judged anew.");
  const details = folded("Change the arguments", words, form.element);
  form.write(request.arguments ?? {});
  return { element: details, read: (problems) => (details.open ? readForm(form, problems) : undefined) };
}

function readForm(form, problems) {
  const answer = form.read();
  problems.push(...answer.problems);
  return answer.value;
}

function authView(auth) {
  const address = auth.url ?? "";
  const scopes = auth.scopes?.length > 0 && ` for ${auth.scopes.join(", ")}`;
  const attributes = { href: address, target: "_blank", rel: "noopener noreferrer" };
  // An address of another kind, such as `javascript:`, stays text.
  const shown = /^https?:\/\//i.test(address) ? h("a", attributes, `Log in: ${address}`) : address;
  const words = h("p", {}, `It needs a login at ${auth.provider}`, scopes, auth.reason && `: ${auth.reason}`);
  return h("div", { class: "notice open" }, words, h("p", {}, shown));
}
