/**
 * Which rule, check, fact or mode decides about a call. Nothing runs, and nobody is asked.
 */

import { problemList, verdictView } from "./call_view.js";
import { h, labelled, replace, table, uniqueId } from "./dom.js";
import { makeForm } from "./form.js";
import { attempt, dropReadings, notice, readLatest } from "./layout.js";
import { get, getRows, post } from "./server.js";

const MAX_NAMES = 30;
const NO_MODE = "There are no permissions: only safety checks, approvals of tools and hooks decide.";

export async function show(main, place, app) {
  const names = h("datalist", { id: uniqueId() });
  const name = h("input", { type: "text", autocomplete: "off", list: names.id, spellcheck: "false" });
  const session = h("input", { type: "text", autocomplete: "off", placeholder: app.about.session });
  const box = h("div", {});
  const verdict = h("div", { "aria-live": "polite" });
  const submit = h("button", { type: "submit", class: "main" }, "Which rule decides?");
  const filters = h("div", { class: "filters" }, labelled("Tool", name), labelled("Conversation", session), names);
  const form = h("form", { class: "panel", "aria-label": "A call", novalidate: true }, filters, box, submit, verdict);
  const mode = h("p", { class: "muted" }, app.about.mode ? `Mode ${app.about.mode}.` : NO_MODE);
  main.append(h("h2", {}, "Rules"), mode, form);
  const { tools } = (await attempt(box, () => getRows("tools"))) ?? { tools: [] };
  let fields = null;

  async function choose() {
    const asked = name.value;
    const near = tools.filter((tool) => tool.name.toLowerCase().includes(asked.toLowerCase())).slice(0, MAX_NAMES);
    replace(names, near.map((tool) => h("option", { value: tool.name })));
    fields = null;
    for (const shown of [box, verdict]) {
      dropReadings(shown);
      replace(shown);
    }
    if (!tools.some((tool) => tool.name === asked)) return;
    const tool = await readLatest(box, () => get("tool", { name: asked }));
    if (!tool?.schema || asked !== name.value) return;
    fields = makeForm(tool.schema, tool.secrets);
    replace(box, fields.element);
  }

  async function explain() {
    const { value, problems } = fields ? fields.read() : { value: {}, problems: [] };
    dropReadings(verdict);
    if (problems.length) return replace(verdict, notice(problems.join("; "), "bad"));
    const body = { tool: name.value, arguments: value, ...(session.value && { session: session.value }) };
    const answer = await readLatest(verdict, () => post("explain", body));
    if (!answer) return undefined;
    const refusal = "The arguments do not fit, so no rule is asked.";
    if (!answer.verdict) return replace(verdict, notice(refusal, "bad"), problemList(answer));
    const { findings: given = [] } = answer.verdict;
    const rows = given.map(({ word, by, source, reason }) => [word, by, source ?? "", reason]);
    const findings = rows.length > 0 && table("Findings", ["says", "by", "source", "reason"], rows);
    return replace(verdict, verdictView({ ...answer.verdict, findings: [] }), findings);
  }

  name.addEventListener("input", choose);
  form.addEventListener("submit", (event) => { event.preventDefault(); explain(); });
  app.onAddress = (to) => { name.value = to.name; return choose(); };
  await app.onAddress(place);
}
