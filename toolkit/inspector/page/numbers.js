/**
 * Numbers of each tool: calls, failures, and how long calls take.
 */

import { button, count, h, labelled, link, replace, table } from "./dom.js";
import { duration, notice, readLatest } from "./layout.js";
import { getRows } from "./server.js";

const ORDERS = { calls: "calls", failed: "failures", p95_seconds: "p95", p99_seconds: "p99", cost: "cost" };
const COLUMNS = ["tool", "calls", "failures", "retries", "p50", "p95", "p99", "tokens", "cost"];
const PAGE_ROWS = 200;
const RELOAD_MS = 2000;

export async function show(main, place, app) {
  const filter = h("input", { type: "search", autocomplete: "off" });
  const order = h("select", {}, Object.entries(ORDERS).map(([value, words]) => h("option", { value }, words)));
  const state = h("div", { role: "status" });
  const box = h("div", {});
  const filters = h("div", { class: "filters" }, labelled("Tool", filter), labelled("Most first by", order));
  main.append(h("h2", {}, "Numbers"), filters, state, box);
  let tools = [];
  let shown = PAGE_ROWS;
  let timer = 0;

  function draw() {
    const key = order.value;
    const rows = tools.filter((row) => row.tool.toLowerCase().includes(filter.value.toLowerCase()));
    rows.sort((left, right) => (right[key] ?? 0) - (left[key] ?? 0) || left.tool.localeCompare(right.tool));
    const cells = rows.slice(0, shown).map((row) => [
      link("catalog", row.tool), count(row.calls),
      Object.entries(row.failures).map(([kind, times]) => `${times} ${kind}`).join(", "), row.retries || "",
      duration(row.p50_seconds), duration(row.p95_seconds), duration(row.p99_seconds),
      count(row.tokens ?? 0), row.cost ? `$${row.cost.toFixed(4)}` : "",
    ]);
    const showMore = () => { shown += PAGE_ROWS; draw(); };
    const more = rows.length > shown && button(`Show more of ${count(rows.length)}`, showMore);
    const empty = h("p", { class: "muted" }, "No calls yet.");
    replace(box, cells.length ? table("Numbers of each tool", COLUMNS, cells) : empty, more);
  }

  async function load() {
    timer = 0;
    const answer = await readLatest(state, () => getRows("numbers"));
    if (!answer) return;
    replace(state, answer.problem && notice(answer.problem, "bad"));
    const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
    tools = answer.tools.map((row) => ({ ...row, failed: sum(Object.values(row.failures)) }));
    draw();
  }

  filter.addEventListener("input", draw);
  order.addEventListener("change", draw);
  app.on("call", () => { timer ||= setTimeout(load, RELOAD_MS); });
  app.on("reset", load);
  await load();
}
