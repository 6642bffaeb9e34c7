/**
 * A form made from a JSON Schema. What it reads is JSON, and what is written to it is read back unchanged.
 *
 * Each control has `element`, `read(problems)` and `write(value)`. A value that a control cannot hold, such as a text
 * with a carriage return in a text field, is shown as JSON text in its place.
 */

import { makeChoice, makeConstant, makeJsonControl, makeNumber, makeSwitch, makeText } from "./controls.js";
import { button, h, muted, replace, uniqueId } from "./dom.js";
import { formatJson, sameJson, typeOf } from "./json.js";
import { describeType, fits, furtherSchema, itemSchema, membersOf, memberName, plainType, resolve } from "./schemas.js";

const MAX_DEPTH = 12;
const NO_PLACE = "The form cannot show this value, because the schema has no place for all of it.";

/**
 * Make a form with a switch to raw JSON.
 *
 * @param {object} schema The schema of the whole value.
 * @param {string[]} secrets Names of properties whose values are never shown, and are not written.
 * @returns An object with `element`, `write(value)`, and `read(isMarked)`, which returns the value and the problems,
 *     and shows them at their fields unless `isMarked` is false.
 */
export function makeForm(schema, secrets = []) {
  const context = { root: schema, secrets: new Set(secrets), secret: false, depth: 0 };
  const control = makeControl(resolve(schema, schema), context);
  const raw = makeJsonControl({ ...context, secret: holdsSecret(schema, context) }, "8");
  raw.control.setAttribute("aria-label", "Arguments as JSON");
  const problem = h("p", { class: "problem", role: "alert" });
  const rawBox = h("div", { class: "raw", hidden: true }, raw.element);
  const formBox = h("div", { class: "members" }, control.element);
  const isRaw = () => !rawBox.hidden;
  // What an old call or a request has in their place are masks.
  const withoutSecrets = (value) => (typeOf(value) !== "object" ? value
    : Object.fromEntries(Object.entries(value).filter(([name]) => !context.secrets.has(name))));
  const formButton = button("Form", () => change(false), "tab", { "aria-pressed": "true" });
  const rawButton = button("Raw JSON", () => change(true), "tab", { "aria-pressed": "false" });

  function show(toRaw) {
    rawBox.hidden = !toRaw;
    formBox.hidden = toRaw;
    rawButton.setAttribute("aria-pressed", String(toRaw));
    formButton.setAttribute("aria-pressed", String(!toRaw));
  }

  function change(toRaw) {
    if (toRaw === isRaw()) return;
    const { value, problems } = form.read(false);
    replace(problem);
    if (toRaw) {
      raw.write(value); // what is not filled in yet is left out
    } else {
      if (problems.length) return void replace(problem, problems.join("; "));
      control.write(value);
      if (!sameJson(control.read([]), value)) return void replace(problem, NO_PLACE);
    }
    show(toRaw);
  }

  const form = {
    element: h("div", { class: "form" }, h("div", { class: "tabs" }, formButton, rawButton), problem, formBox, rawBox),
    read(isMarked = true) {
      const problems = [];
      const value = (isRaw() ? raw : control).read(problems);
      if (isMarked) mark(form.element, problems);
      return { value, problems: problems.map(({ name, words }) => (name ? `${name}: ${words}` : words)) };
    },
    write(value) {
      const given = withoutSecrets(value);
      replace(problem);
      control.write(given);
      raw.write(given);
      show(!sameJson(withoutSecrets(control.read([])), given));
    },
  };
  return form;
}

/** Show each problem at its field, and take away those of the last time. */
function mark(element, problems) {
  for (const box of element.querySelectorAll(".problem")) replace(box);
  for (const control of element.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  for (const { box, control, words } of problems) {
    control.setAttribute("aria-invalid", "true");
    if (box) replace(box, words);
  }
}

function holdsSecret(schema, context) {
  const names = Object.keys(resolve(schema, context.root).properties ?? {});
  if (names.some((name) => context.secrets.has(name))) return true;
  return /"writeOnly":true|"format":"password"/.test(formatJson(schema));
}

/** Make the control for a resolved schema. */
function makeControl(schema, context) {
  if (context.depth > MAX_DEPTH) return makeJsonControl(context);
  if ("const" in schema) return makeConstant(schema.const);
  if (Array.isArray(schema.enum)) return makeChoice(schema.enum);
  const members = membersOf(schema, context.root);
  if (members) return makeUnion(members, context);
  const makers = {
    object: makeObject, array: makeList, string: makeText, integer: makeNumber, number: makeNumber, boolean: makeSwitch,
    null: () => makeConstant(null), any: () => makeJsonControl(context),
  };
  return (makers[plainType(schema)] ?? makers.any)(schema, context);
}

/** A union: a choice of its members, and the control of the chosen one. */
function makeUnion(members, context) {
  const names = members.map((member) => h("option", {}, memberName(member, context.root)));
  const control = h("select", { class: "member" }, names);
  const body = h("div", { class: "member-body" });
  let chosen;
  const choose = (index) => {
    control.selectedIndex = index;
    chosen = makeControl(members[index], { ...context, depth: context.depth + 1 });
    chosen.control?.setAttribute("aria-label", `${context.label ?? "Value"} as ${control.value}`);
    replace(body, plainType(members[index]) === "null" ? [] : chosen.element);
  };
  control.addEventListener("change", () => choose(control.selectedIndex));
  // Null first, because a schema that holds itself ends there.
  choose(Math.max(0, members.findIndex((member) => plainType(member) === "null")));
  return {
    element: h("div", { class: "union" }, control, body),
    control,
    read: (problems) => chosen.read(problems),
    write(value) {
      choose(Math.max(0, members.findIndex((member) => fits(member, value, context.root))));
      chosen.write(value);
    },
  };
}

/** An object: a field for each property, and rows for further ones where the schema takes them. */
function makeObject(schema, context) {
  const inside = { ...context, depth: context.depth + 1 };
  const named = Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const isSecret = context.secret || (context.depth === 0 && context.secrets.has(name));
    return makeField(name, part, { ...inside, secret: isSecret }, isRequired);
  });
  const rows = h("div", { class: "members rows" });
  const further = furtherSchema(schema);
  const entries = [];
  const add = (name, value) => {
    const entry = makeRow(name, further, inside, () => entries.splice(entries.indexOf(entry), 1));
    if (value !== undefined) entry.field.write(value);
    entries.push(entry);
    rows.append(entry.element);
    return entry;
  };
  for (const name of schema.required ?? []) if (!Object.hasOwn(schema.properties ?? {}, name)) add(name);
  const more = further !== false && button("Add a property", () => add("").key.focus(), "ghost add");
  return {
    element: h("div", { class: "members" }, named.map((field) => field.element), rows, more),
    read(problems) {
      const pairs = named.filter((field) => field.isSent()).map((field) => [field.name, field.read(problems)]);
      const names = new Set(pairs.map(([name]) => name));
      for (const entry of entries) {
        const name = entry.key.value;
        if (names.has(name)) problems.push({ control: entry.key, words: `two properties are ${formatJson(name)}` });
        names.add(name);
        pairs.push([name, entry.field.read(problems)]);
      }
      return Object.fromEntries(pairs);
    },
    write(value) {
      const given = typeOf(value) === "object" ? value : {};
      for (const entry of entries.splice(0)) entry.element.remove();
      for (const field of named) {
        field.clear();
        field.send(Object.hasOwn(given, field.name));
        if (Object.hasOwn(given, field.name)) field.write(given[field.name]);
      }
      const names = new Set(named.map((field) => field.name));
      if (further !== false) {
        for (const [name, item] of Object.entries(given)) if (!names.has(name)) add(name, item);
      }
    },
  };
}

function makeRow(name, schema, context, onRemove) {
  const label = { "aria-label": "Name of the property", spellcheck: "false" };
  const key = h("textarea", { rows: "1", class: "text key", value: name, ...label });
  const field = makeField("value", schema, context, true);
  const about = { "aria-label": "Remove this property" };
  const remove = button("Remove", () => { onRemove(); element.remove(); }, "ghost", about);
  const element = h("div", { class: "row" }, key, field.element, remove);
  return { element, key, field };
}

/** A list: fields that can be added and removed. */
function makeList(schema, context) {
  const inside = { ...context, depth: context.depth + 1 };
  const box = h("div", { class: "members items" });
  const items = [];
  const max = schema.items === false ? schema.prefixItems?.length ?? 0 : schema.maxItems ?? Infinity;
  const more = button("Add an item", () => { add(); relabel(); }, "ghost add");

  function add(value) {
    const field = makeField("", itemSchema(schema, items.length), inside, true);
    const remove = button("Remove", () => {
      const rest = items.slice(items.indexOf(item) + 1).map((other) => other.field.read([]));
      // Each place of a tuple has its own schema, so the later values move up one place.
      for (const gone of items.splice(items.indexOf(item))) gone.element.remove();
      for (const value of rest) add(value);
      relabel();
      more.focus();
    }, "ghost");
    const item = { field, remove, element: h("div", { class: "row" }, field.element, remove) };
    if (value !== undefined) field.write(value);
    items.push(item);
    box.append(item.element);
  }

  function relabel() {
    items.forEach((item, index) => {
      item.field.rename(`${context.label ?? "item"}[${index}]`);
      item.remove.setAttribute("aria-label", `Remove ${context.label ?? "item"}[${index}]`);
    });
    more.disabled = items.length >= max;
  }

  for (let count = 0; count < Math.min(schema.minItems ?? 0, 20); count += 1) add();
  relabel();
  return {
    element: h("div", { class: "list" }, box, more),
    read: (problems) => items.map((item) => item.field.read(problems)),
    write(value) {
      for (const gone of items.splice(0)) gone.element.remove();
      for (const item of Array.isArray(value) ? value : []) add(item);
      relabel();
    },
  };
}

/** A control with its label, its hint, a switch for optional values, and a switch to JSON text. */
function makeField(name, part, context, isRequired) {
  const schema = resolve(part, context.root);
  const isSecret = context.secret || schema.writeOnly === true || schema.format === "password";
  const inside = { ...context, secret: isSecret, label: name || context.label };
  const { element, label, sent, asJson, body, problem, hintId } = makeFrame(name, schema, inside, isRequired);
  let control;

  function use(next) {
    control = next;
    asJson.setAttribute("aria-pressed", String(next.isJson ?? false));
    const target = next.control ?? next.element;
    target.id ||= uniqueId();
    if (next.control) {
      label.htmlFor = target.id;
    } else if (target.tagName !== "CODE") {
      target.setAttribute("role", "group");
      target.setAttribute("aria-labelledby", label.id);
    }
    if (schema.description) target.setAttribute("aria-describedby", hintId);
    replace(body, next.element);
  }

  const useForm = () => use(makeControl(schema, inside));
  const useJson = () => use({ ...makeJsonControl(inside), isJson: true });
  const field = {
    name,
    element,
    isSent: () => isRequired || sent.checked,
    read(problems) {
      const start = problems.length;
      const value = control.read(problems);
      for (const entry of problems.slice(start)) {
        entry.box ??= problem;
        entry.name ??= field.name;
      }
      return value;
    },
    write(value) {
      if (!control || control.isJson) useForm();
      control.write(value);
      if (sameJson(control.read([]), value)) return;
      useJson();
      control.write(value);
    },
    /** Forget what was filled in. */
    clear() {
      control = undefined;
      replace(body);
      if (isRequired) useForm();
    },
    /** Say whether the value is sent. */
    send(isSent) {
      if (sent) sent.checked = isSent;
      body.hidden = asJson.hidden = !field.isSent();
    },
    rename(text) {
      field.name = inside.label = element.dataset.name = text;
      replace(label, text);
      asJson.setAttribute("aria-label", `${text} as JSON`);
    },
  };
  sent?.addEventListener("change", () => {
    // What was typed before stays; the first time, the default is there.
    const isFirst = !control;
    if (isFirst) useForm();
    field.send(sent.checked);
    if (isFirst && "default" in schema) field.write(schema.default);
  });
  asJson.addEventListener("click", () => {
    const problems = [];
    const value = field.read(problems);
    if (control.isJson) return problems.length ? undefined : field.write(value);
    useJson();
    return problems.length ? undefined : control.write(value);
  });
  field.clear();
  field.send(false);
  return field;
}

/** The elements of a field around its control. */
function makeFrame(name, schema, context, isRequired) {
  const hintId = uniqueId();
  const label = h("label", { id: uniqueId() }, name);
  const problem = h("p", { class: "problem", role: "alert" });
  const body = h("div", { class: "body" });
  const asJson = button("{ }", null, "ghost json", { "aria-label": `${name} as JSON` });
  const sent = isRequired ? null : h("input", { type: "checkbox", "aria-label": `Send ${name}` });
  const notes = [
    describeType(schema, context.root), context.secret && "secret", schema.deprecated && "deprecated",
    "default" in schema && `default ${formatJson(schema.default)}`,
  ];
  const about = muted(notes.filter(Boolean).join(", "));
  const head = h("div", { class: "field-head" }, sent, label, about, !("const" in schema) && asJson);
  const hint = schema.description && h("p", { class: "hint", id: hintId }, schema.description);
  const element = h("div", { class: "field", "data-name": name }, head, hint, body, problem);
  return { element, label, sent, asJson, body, problem, hintId };
}
