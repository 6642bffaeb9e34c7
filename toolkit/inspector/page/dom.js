/**
 * Elements of the page. Every text enters as a text node, and characters that act or hide are shown as their code.
 */

// Control, format, private and unassigned characters, odd spaces, and letters that take no room. Lines and tabs stay.
const HIDDEN = new RegExp(
  "(?![\\n\\t])[\\p{C}\\p{Zl}\\p{Zp}]|(?! )\\p{Zs}"
    + "|[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0d]", "gu");
const WORD = /[\p{L}\p{M}]+/gu;
const LOOK_ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/gu;
const PLAIN = /^[ -~\n\t]*$/;
const PROPERTIES = new Set(["value", "checked", "hidden", "disabled", "open", "indeterminate"]);

/** Return a text in which no character acts, hides, or passes for a letter of another script. */
function makeVisible(text) {
  if (PLAIN.test(text)) return text;
  return text.replace(HIDDEN, escapeCharacter).replace(WORD, (word) => {
    const mixed = /\p{Script=Latin}/u.test(word);
    return mixed ? word.replace(LOOK_ALIKE, (letter) => `‹${letter} U+${hex(letter, 4).toUpperCase()}›`) : word;
  });
}

function escapeCharacter(character) {
  if (character === "\r") return "\\r";
  const code = character.codePointAt(0);
  if (code > 0xffff) return `\\U${hex(character, 8)}`;
  return code < 0x100 ? `\\x${hex(character, 2)}` : `\\u${hex(character, 4)}`;
}

function hex(character, digits) {
  return character.codePointAt(0).toString(16).padStart(digits, "0");
}

/**
 * Make an element: `h("button", {onclick: save, class: "ghost"}, "Save")`.
 * Attributes that are null or false are left out. Children are elements, texts, or lists of them.
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : makeVisible(String(value)));
  }
  append(element, children);
  return element;
}

/** Add children to an element; texts are made visible. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(makeVisible(String(child))));
  }
}

/** Put children in the place of what an element holds. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let lastId = 0;

/** Return an id that no other element of the page has. */
export function uniqueId() {
  lastId += 1;
  return `id-${lastId}`;
}

/** Return words that matter less. */
export const muted = (...children) => h("span", { class: "muted" }, children);

/** Return a button that does something on the page. */
export const button = (words, onclick, className = "", more = {}) =>
  h("button", { type: "button", class: className, onclick, ...more }, words);

/** Return a link to a place of the page: `link("runs", run.id)`. */
export const link = (view, id, words = id) => h("a", { href: `#/${view}/${encodeURIComponent(id)}` }, words);

/** Return a list with a heading; nothing if it has no items. */
export const section = (title, items) =>
  items?.length > 0 && h("section", {}, h("h4", {}, title), h("ul", {}, items.map((item) => h("li", {}, item))));

/** Return a choice among words; "all" stands for no choice. */
export const choice = (words) =>
  h("select", {}, words.map((word) => h("option", { value: word === "all" ? "" : word }, word)));

/** Return a part of the page that can be folded. */
export const folded = (title, ...children) => h("details", {}, h("summary", {}, title), children);

/** Return a whole number with separators. */
export const count = (number) => Number(number).toLocaleString("en");

/** Return a label with its control: `labelled("Filter", h("input", {type: "search"}))`. */
export function labelled(text, control, className = "") {
  control.id ||= uniqueId();
  return h("div", { class: `labelled ${className}` }, h("label", { for: control.id }, text), control);
}

/** Return a table with a heading, columns and rows of cells. */
export function table(caption, columns, rows) {
  const head = h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)));
  const body = rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))));
  const parts = [h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body)];
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption }, h("table", {}, parts));
}

/** Return a list of names with values; pairs without a value are left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value || value === 0);
  return h("dl", {}, shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

const SHOWN_CHARS = 20_000;

/** Return a block of text as it is; of a long text the beginning, and a button for more. */
export function textBlock(text) {
  const block = h("pre", { class: "block", tabindex: "0" }, text.slice(0, SHOWN_CHARS));
  if (text.length <= SHOWN_CHARS) return block;
  let end = SHOWN_CHARS;
  const more = button("Show more", () => {
    append(block, [text.slice(end, end + 10 * SHOWN_CHARS)]);
    end += 10 * SHOWN_CHARS;
    if (end >= text.length) more.remove();
  }, "ghost");
  return h("div", {}, block, h("p", { class: "muted" }, `${count(text.length)} characters. `, more));
}
