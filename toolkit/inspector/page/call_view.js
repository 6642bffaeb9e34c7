/**
 * One call: its kind, the verdict about it, a diff, and the whole of it.
 */

import { facts, folded, h, link, muted, section, textBlock } from "./dom.js";
import { formatJson } from "./json.js";
import { clock, duration, notice } from "./layout.js";

/** Return the kind of a result as a mark with a colour; the word says it too. */
export function kindMark(kind) {
  const tones = { ok: "good", done: "good", waiting: "open", running: "open", queued: "open", planned: "open" };
  return h("span", { class: `mark ${tones[kind ?? "running"] ?? "bad"}` }, kind ?? "running");
}

/** Return the verdict about a call: the word, what decides, and every finding. */
export function verdictView(verdict) {
  const words = { allow: "would run", ask: "would ask", deny: "would be denied" };
  const tone = { allow: "good", ask: "open" }[verdict.word] ?? "bad";
  const mark = h("span", { class: `mark ${tone}` }, words[verdict.word] ?? verdict.word);
  const findings = (verdict.findings ?? []).map((finding) =>
    h("li", {}, h("strong", {}, finding.word), ` by ${finding.by}: ${finding.reason}`));
  return h("div", { class: "verdict" },
    h("p", {}, mark, " ", verdict.by && h("strong", {}, verdict.by), " ", verdict.reason),
    findings.length > 1 && folded(`${findings.length} findings`, h("ul", {}, findings)),
    (verdict.warnings ?? []).map((warning) => h("p", { class: "muted" }, warning)));
}

/** Return problems of arguments as a list. */
export function problemList(answer) {
  const problems = answer.problems ?? [{ message: answer.error }];
  return h("ul", { class: "problems" }, problems.map(({ path, message }) =>
    h("li", {}, path?.length ? `${path.join(".")}: ` : "", message)));
}

/** Return a text as a block; the lines of a diff have their colours. */
export function diffBlock(text) {
  if (!/^@@ /m.test(text)) return textBlock(text);
  const tones = { "+": "added", "-": "gone", "@": "place" };
  const lines = text.slice(0, 100_000).split("\n").map((line) => h("span", { class: tones[line[0]] }, line, "\n"));
  return h("pre", { class: "block diff", tabindex: "0", "aria-label": "Changes" }, lines);
}

/** Return what an entry of a list says. */
export const inWords = (item) => (typeof item === "string" ? item : item.text ?? item.message ?? formatJson(item));

/** Return one call in full: what happened, when, and what came of it. */
export function callView(call) {
  const result = call.result ?? {};
  const hasValue = result.value !== null && result.value !== undefined;
  return h("article", { class: "call" },
    h("p", {}, kindMark(call.kind), " ", h("strong", {}, call.tool), " ", muted(duration(call.seconds))),
    call.request && h("p", {}, link("approvals", call.request, "Answer the request")),
    call.forgotten && notice("Only the row of this call is left; the newest calls are kept in full."),
    call.cut?.length > 0 && notice(`Too long to keep in full: ${call.cut.join(", ")}.`),
    section("Repairs", result.repairs?.map(inWords)),
    result.text !== undefined && [h("h4", {}, "What the model reads"), textBlock(result.text ?? "")],
    hasValue && folded("Value", textBlock(formatJson(result.value, 2))),
    result.parts?.length > 0 && folded("Parts", textBlock(formatJson(result.parts, 2))),
    result.error && folded("Error", textBlock(inWords(result.error))),
    section("Attempts that failed", result.retries?.map(inWords)),
    call.arguments !== undefined && folded("Arguments", textBlock(formatJson(call.arguments, 2))),
    call.verdict && folded("Verdict", verdictView(call.verdict)),
    call.steps?.length > 0 && folded("Timing", stepList(call)),
    facts([
      ["called", call.alias && `as ${call.alias}`], ["conversation", call.session], ["turn", call.turn],
      ["call id", call.id], ["for", call.principal], ["started", call.started_at && clock(call.started_at)],
      ["attempts", call.attempts > 1 && call.attempts], ["cost", call.cost > 0 && `$${call.cost}`],
      ["from", call.source === "audit" && "the audit log"], ["number", call.number],
    ]));
}

function stepList(call) {
  const start = call.started_at ?? call.steps[0].at;
  return h("ol", { class: "steps" }, call.steps.map(({ at, what, number, text }) =>
    h("li", {}, muted(`+${duration(at - start)}`), " ", h("strong", {}, what), ` ${number ?? ""} ${text ?? ""}`)));
}
