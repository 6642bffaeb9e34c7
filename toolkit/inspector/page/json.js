/**
 * JSON without loss. A number that JavaScript would round, such as 2**53 + 1 or 1e999, is kept as it was written.
 */

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
const NUMBER_PARTS = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** Return the value of a JSON text; a number that would be rounded becomes an object of `JSON.rawJSON`. */
export function parseJson(text) {
  return JSON.parse(text, (key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return isSameNumber(String(value), context.source) ? value : JSON.rawJSON(context.source);
  });
}

function isSameNumber(text, source) {
  return text === source || digitsOf(text) === digitsOf(source);
}

/** Return a number as its digits and its exponent, so that 1.0, 1e0 and 1 are the same. 0 has no sign. */
function digitsOf(text) {
  const [, sign, whole, fraction = "", exponent = "0"] = NUMBER_PARTS.exec(text) ?? [];
  if (whole === undefined) return text; // Infinity
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  const power = BigInt(exponent) + BigInt(digits.length - short.length - fraction.length);
  return short && `${sign}${short}e${power}`;
}

/** Return the JSON text of a value, in several lines if `indent` is given. */
export function formatJson(value, indent = 0) {
  return JSON.stringify(value, null, indent) ?? "null";
}

/** Return the number that a text is in JSON; undefined if it is none. */
export function parseNumber(text) {
  return NUMBER.test(text.trim()) ? parseJson(text.trim()) : undefined;
}

/** Return the name of a value's type in JSON Schema. */
export function typeOf(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "object") return JSON.isRawJSON(value) ? "number" : "object";
  return typeof value;
}

/** Return whether two values are the same JSON; the order of properties does not count. */
export function sameJson(left, right) {
  return formatJson(sorted(left)) === formatJson(sorted(right));
}

function sorted(value) {
  const type = typeOf(value);
  if (type === "array") return value.map(sorted);
  if (type !== "object") return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}
