/**
 * The search as a model has it: scores, the words that matched, and what the model would be told.
 */

import { choice, folded, h, labelled, link, replace, table, textBlock } from "./dom.js";
import { formatJson } from "./json.js";
import { dropReadings, notice, readLatest } from "./layout.js";
import { get } from "./server.js";

export async function show(main, place, app) {
  const query = h("input", { type: "search", autocomplete: "off", placeholder: "what a model would ask for" });
  const group = choice(["all", ...Object.keys(app.about.groups ?? {})]);
  const found = h("div", { "aria-live": "polite" });
  const submit = h("button", { type: "submit", class: "main" }, "Search");
  const controls = [labelled("Search for", query, "wide"), labelled("Group", group), submit];
  const form = h("form", { class: "filters", role: "search" }, controls);
  main.append(h("h2", {}, "Search"), form, found);

  async function search() {
    dropReadings(found);
    if (!query.value.trim()) return replace(found);
    const answer = await readLatest(found, () => get("search", { query: query.value, group: group.value }));
    if (!answer) return undefined;
    const rows = answer.results.map((hit) =>
      [link("catalog", hit.name), hit.score.toFixed(2), hit.words.join(", "), hit.description]);
    const columns = ["tool", "score", "matched", "description"];
    return replace(found,
      rows.length ? table("Found", columns, rows) : h("p", {}, "Nothing was found."),
      answer.advice && notice(answer.advice), folded("What the model is told", textBlock(formatJson(answer.told, 2))));
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const next = `#/search?q=${encodeURIComponent(query.value)}`;
    if (location.hash === next) search();
    else location.hash = next;
  });
  app.onAddress = (to) => { query.value = to.query.get("q") ?? ""; return search(); };
  await app.onAddress(place);
}
