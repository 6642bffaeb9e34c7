/**
 * A list of any length that draws only the rows in sight. Arrows, Page Up and Down, Home and End move; Enter opens.
 */

import { h, uniqueId } from "./dom.js";

const ROW_PIXELS = 34;
const EXTRA_ROWS = 8;

/**
 * Make a list.
 *
 * @param {string} label The name of the list.
 * @param {object} options `draw(row)` returns the content of a row, `isHeader(row)` says that it cannot be opened,
 *     `onOpen(row)` is told a row that was opened, and `onEnd()` that the end is in sight.
 */
export function makeList(label, { draw, isHeader = () => false, onOpen, onEnd = () => {} }) {
  const id = uniqueId();
  const space = h("div", { class: "list-space", role: "presentation" });
  const box = h("div", { class: "virtual", role: "listbox", tabindex: "0", "aria-label": label }, space);
  let rows = [];
  let active = -1;
  let chosen = () => false;
  let isPlanned = false;
  let drawn = new Map();

  function plan() {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(show);
  }

  function show() {
    isPlanned = false;
    space.style.height = `${rows.length * ROW_PIXELS}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_PIXELS) - EXTRA_ROWS);
    const end = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW_PIXELS) + EXTRA_ROWS);
    const next = new Map();
    for (let index = first; index < end; index += 1) next.set(index, drawn.get(index) ?? makeRow(index));
    for (const [index, element] of drawn) if (!next.has(index)) element.remove();
    drawn = next;
    // An id that names no element is an error for a screen reader.
    if (drawn.has(active)) box.setAttribute("aria-activedescendant", `${id}-${active}`);
    else box.removeAttribute("aria-activedescendant");
    if (end >= rows.length - EXTRA_ROWS) onEnd();
  }

  function makeRow(index) {
    const row = rows[index];
    const header = isHeader(row);
    const element = h("div", {
      id: `${id}-${index}`, role: "option", class: header ? "list-row header" : "list-row",
      "aria-selected": String(!header && chosen(row)), "aria-disabled": header ? "true" : null,
      "aria-setsize": rows.length, "aria-posinset": index + 1, "data-active": index === active,
    }, draw(row));
    element.style.top = `${index * ROW_PIXELS}px`;
    element.style.height = `${ROW_PIXELS}px`;
    if (!header) element.addEventListener("click", () => open(index));
    space.append(element);
    return element;
  }

  function redraw() {
    for (const element of drawn.values()) element.remove();
    drawn = new Map();
    plan();
  }

  function open(index) {
    if (!rows[index] || isHeader(rows[index])) return;
    active = index;
    onOpen(rows[index]);
    redraw();
  }

  function move(index, step) {
    let target = Math.min(Math.max(index, 0), rows.length - 1);
    while (rows[target] && isHeader(rows[target])) target += step;
    if (!rows[target]) return;
    active = target;
    const top = target * ROW_PIXELS;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_PIXELS > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_PIXELS - box.clientHeight;
    redraw();
  }

  box.addEventListener("scroll", plan, { passive: true });
  new ResizeObserver(plan).observe(box);
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW_PIXELS) - 1);
    const moves = {
      ArrowDown: [active + 1, 1], ArrowUp: [active - 1, -1], PageDown: [active + page, 1], PageUp: [active - page, -1],
      Home: [0, 1], End: [rows.length - 1, -1],
    };
    if (event.key === "Enter" || event.key === " ") open(active);
    else if (moves[event.key]) move(...moves[event.key]);
    else return;
    event.preventDefault();
  });

  return {
    element: box,
    /** Show other rows. `isChosen(row)` says which one is open; the place of the active row is kept by its `key`. */
    set(next, isChosen = chosen) {
      const key = rows[active]?.key;
      rows = next;
      chosen = isChosen;
      if (key !== undefined && rows[active]?.key !== key) active = rows.findIndex((row) => row.key === key);
      redraw();
    },
  };
}
