/**
 * The controls of a form that hold one value. Each has `element`, `read(problems)` and `write(value)`.
 */

import { h } from "./dom.js";
import { formatJson, parseJson, parseNumber, sameJson, typeOf } from "./json.js";

const EXAMPLES = {
  "date-time": "2026-05-01T12:30:00Z", date: "2026-05-01", time: "12:30", duration: "P1DT2H30M", uri: "https://…",
  email: "name@example.com", uuid: "00000000-0000-0000-0000-000000000000", ipv4: "192.0.2.1", decimal: "12.50",
};

/** A value that cannot be changed. */
export function makeConstant(value) {
  return { element: h("code", { class: "constant" }, formatJson(value)), read: () => value, write: () => {} };
}

/** Any value as JSON text. */
export function makeJsonControl(context, rows = "2") {
  const classes = context.secret ? "code secret" : "code";
  const control = h("textarea", { class: classes, rows, spellcheck: "false", autocomplete: "off" });
  return {
    element: control,
    control,
    read(problems) {
      try {
        return parseJson(control.value);
      } catch (error) {
        const words = control.value.trim() ? `not JSON: ${error.message}` : "write a JSON value";
        problems.push({ control, words });
        return undefined;
      }
    },
    write: (value) => { control.value = formatJson(value, 2); },
  };
}

/** A text; a secret one is hidden. */
export function makeText(schema, context) {
  const attributes = { placeholder: EXAMPLES[schema.format], autocomplete: "off", spellcheck: "false" };
  const control = context.secret
    ? h("input", { ...attributes, type: "password" })
    : h("textarea", { ...attributes, rows: "1", class: "text" });
  return {
    element: control,
    control,
    read: () => control.value,
    write: (value) => { control.value = typeof value === "string" ? value : ""; },
  };
}

/** A number of any size. */
export function makeNumber(schema, context) {
  const type = context.secret ? "password" : "text";
  const control = h("input", { type, inputmode: "decimal", autocomplete: "off", class: "number" });
  return {
    element: control,
    control,
    read(problems) {
      const value = parseNumber(control.value);
      if (value === undefined) problems.push({ control, words: "write a number" });
      return value;
    },
    write: (value) => { control.value = typeOf(value) === "number" ? formatJson(value) : ""; },
  };
}

/** True or false. */
export function makeSwitch() {
  const control = h("input", { type: "checkbox", class: "switch" });
  const write = (value) => { control.checked = value === true; };
  return { element: control, control, read: () => control.checked, write };
}

/** One of several values. */
export function makeChoice(choices) {
  const options = choices.map((choice, index) => h("option", { value: String(index) }, formatJson(choice)));
  const control = h("select", {}, options);
  return {
    element: control,
    control,
    read: () => choices[control.selectedIndex],
    write: (value) => { control.selectedIndex = choices.findIndex((choice) => sameJson(choice, value)); },
  };
}
