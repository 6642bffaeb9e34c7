/**
 * A flow as a drawing: its steps in layers, where it stands, and what is done. A list beside it says the same in words.
 */

import { facts, h, svg } from "./dom.js";
import { notice } from "./layout.js";

const BOX = { width: 168, height: 44, across: 24, down: 40 };
const LABEL_CHARS = 20;
const WORDS = { here: "stands here", uncertain: "may or may not have happened" };

/** Return the graph of a flow; `run` is the flow of a run, or null. */
export function flowView(flow, run) {
  const stepOf = (name) => run?.steps[name] ?? {};
  const items = flow.nodes.map((node) => {
    const { state, check, undo } = stepOf(node.name);
    const words = [
      WORDS[state] ?? state, node.start && "start", node.takes && `takes ${node.takes}`,
      check ?? (node.check && "has a check"), undo ?? (node.undo && "can be undone"),
      node.back_to && `back to ${node.back_to}`, node.attempts > 1 && `${node.attempts} attempts`,
    ];
    return h("li", {}, h("strong", {}, node.name), ` ${words.filter(Boolean).join(", ")}`);
  });
  return h("section", { class: "flow" },
    h("h4", {}, `Flow ${flow.name}`), flow.problem && notice(flow.problem, "bad"),
    items.length > 0 && [drawGraph(flow, stepOf), h("ul", {}, items)],
    run && facts([["has changed", run.left.join("; ")]]));
}

function drawGraph(flow, stepOf) {
  const names = flow.nodes.map((node) => node.name);
  const edges = flow.edges.filter((edge) => names.includes(edge.source) && names.includes(edge.target));
  const layers = layersOf(names, edges);
  const step = BOX.width + BOX.across;
  const width = Math.max(...layers.map((layer) => layer.length)) * step;
  const height = layers.length * (BOX.height + BOX.down) - BOX.down + 8;
  const places = new Map(layers.flatMap((layer, row) => layer.map((name, column) => {
    const left = (width - layer.length * step + BOX.across) / 2;
    return [name, { x: left + column * step, y: 4 + row * (BOX.height + BOX.down) }];
  })));
  const lines = edges.map((edge) => drawEdge(places.get(edge.source), places.get(edge.target), edge.is_fan_out));
  const boxes = flow.nodes.map(({ name, check, undo }) => {
    const { x, y } = places.get(name);
    const { state = "" } = stepOf(name);
    const words = [
      name.length > LABEL_CHARS ? `${name.slice(0, LABEL_CHARS - 1)}…` : name,
      [state, check && "check", undo && "undo"].filter(Boolean).join(" · "),
    ].filter(Boolean);
    const top = y + BOX.height / 2 + 5 - 8 * (words.length - 1);
    return svg("g", { class: `node ${state}` },
      svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }),
      words.map((line, row) => svg("text", { x: x + BOX.width / 2, y: top + 17 * row, "text-anchor": "middle" }, line)));
  });
  const tip = { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" };
  const arrow = svg("defs", {}, svg("marker", tip, svg("path", { d: "M0 0 8 4 0 8z" })));
  const label = `Steps of ${flow.name}; the list below has them in words`;
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const drawing = svg("svg", { ...size, role: "img", "aria-label": label }, arrow, lines, boxes);
  return h("div", { class: "graph", tabindex: "0", role: "region", "aria-label": `Drawing of ${flow.name}` }, drawing);
}

/** Return the names in layers: each one below all that lead to it; a way back does not count. */
function layersOf(names, edges) {
  const depth = new Map(names.map((name) => [name, 0]));
  const forward = edges.filter(({ source, target }) => names.indexOf(target) > names.indexOf(source));
  for (let round = 0; round < names.length; round += 1) {
    for (const { source, target } of forward) depth.set(target, Math.max(depth.get(target), depth.get(source) + 1));
  }
  const layers = [];
  for (const [name, level] of depth) (layers[level] ??= []).push(name);
  return layers;
}

function drawEdge(from, to, isFanOut) {
  const attributes = { class: isFanOut ? "edge many" : "edge", "marker-end": "url(#arrow)" };
  if (to.y > from.y) {
    const [fromX, toX, start, end] = [from.x + BOX.width / 2, to.x + BOX.width / 2, from.y + BOX.height, to.y];
    const middle = (start + end) / 2;
    return svg("path", { ...attributes, d: `M${fromX} ${start}C${fromX} ${middle} ${toX} ${middle} ${toX} ${end}` });
  }
  const side = Math.max(from.x, to.x) + BOX.width + 20;
  const [start, end] = [from.y + BOX.height / 2, to.y + BOX.height / 2];
  const [fromX, toX] = [from.x + BOX.width, to.x + BOX.width];
  return svg("path", { ...attributes, d: `M${fromX} ${start}C${side} ${start} ${side} ${end} ${toX} ${end}` });
}
