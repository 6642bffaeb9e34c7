/**
 * Reading JSON Schema: references, unions, what fits, and a tree to look at.
 */

import { h, muted } from "./dom.js";
import { formatJson, sameJson, typeOf } from "./json.js";

const MAX_REFERENCES = 50;
const MAX_CHOICES = 20;

/** Return a schema as an object, with its `$ref` and `allOf` put together with what stands beside them. */
export function resolve(schema, root) {
  if (schema === true || schema === undefined) return {};
  if (schema === false) return { not: {} };
  for (let count = 0; typeof schema.$ref === "string" && count < MAX_REFERENCES; count += 1) {
    const { $ref, ...beside } = schema;
    schema = combine(find(root, $ref), beside);
  }
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...beside } = schema;
  return allOf.reduce((sum, part) => combine(sum, resolve(part, root)), beside);
}

function find(root, reference) {
  const names = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
  const steps = names.map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
  const target = steps.reduce((part, name) => part?.[name], root);
  return typeof target === "object" && target !== null ? target : {};
}

function combine(first, second) {
  const combined = { ...first, ...second };
  if (first.properties) combined.properties = { ...first.properties, ...second.properties };
  if (first.required) combined.required = [...new Set([...first.required, ...(second.required ?? [])])];
  return combined;
}

/** Return the members of a union as resolved schemas; null if the schema is no union. */
export function membersOf(schema, root) {
  const { anyOf, oneOf, title, description, default: _default, examples, ...beside } = schema;
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) return members.map((member) => combine(beside, resolve(member, root)));
  if (Array.isArray(schema.type) && schema.type.length === 1) return null;
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...beside, type })) : null;
}

/** Return the one type of a schema that is no union; "any" if it does not say. */
export function plainType(schema) {
  const type = [schema.type].flat()[0];
  if (type) return type;
  if (schema.properties) return "object";
  return schema.items || schema.prefixItems ? "array" : "any";
}

/** Return whether a value fits the parts of a schema that decide between the members of a union. */
export function fits(schema, value, root, depth = 0) {
  const resolved = resolve(schema, root);
  if (depth > MAX_REFERENCES) return true;
  if (resolved.not && Object.keys(resolved.not).length === 0) return false;
  if ("const" in resolved && !sameJson(resolved.const, value)) return false;
  if (resolved.enum && !resolved.enum.some((choice) => sameJson(choice, value))) return false;
  const { anyOf, oneOf } = resolved;
  if ((anyOf || oneOf) && !(anyOf ?? oneOf).some((member) => fits(member, value, root, depth + 1))) return false;
  const type = typeOf(value);
  const types = [resolved.type ?? type].flat();
  const isInteger = type === "number" && Number.isInteger(Number(value.rawJSON ?? value));
  if (!types.includes(type) && !(isInteger && types.includes("integer"))) return false;
  if (type === "string" && resolved.pattern) return matches(resolved.pattern, value);
  if (type === "array") return value.every((item, index) => fits(itemSchema(resolved, index), item, root, depth + 1));
  return type !== "object" || fitsObject(resolved, value, root, depth + 1);
}

function fitsObject(schema, value, root, depth) {
  if (schema.required?.some((name) => !Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, item]) => {
    const isNamed = schema.properties && Object.hasOwn(schema.properties, name);
    return fits(isNamed ? schema.properties[name] : furtherSchema(schema), item, root, depth);
  });
}

function matches(pattern, text) {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // a pattern that only Python can read
  }
}

/** Return the schema of the item of an array at an index. */
export function itemSchema(schema, index) {
  return schema.prefixItems?.[index] ?? schema.items ?? true;
}

/** Return the schema of properties that an object does not name; false if it takes none. */
export function furtherSchema(schema) {
  const further = schema.additionalProperties ?? schema.unevaluatedProperties ?? true;
  const patterns = Object.values(schema.patternProperties ?? {});
  if (!patterns.length) return further;
  return { anyOf: further === false ? patterns : [...patterns, further] };
}

const LIMITS = {
  minimum: "at least", exclusiveMinimum: "more than", maximum: "at most", exclusiveMaximum: "less than",
  minLength: "length at least", maxLength: "length at most", minItems: "items at least", maxItems: "items at most",
  multipleOf: "a multiple of", format: "format", pattern: "pattern",
};

/** Return what a schema asks for, in a few words: "integer, at least 1". */
export function describeType(schema, root) {
  if ("const" in schema) return `always ${formatJson(schema.const)}`;
  if (schema.enum) return `one of ${schema.enum.length}`;
  const members = membersOf(schema, root);
  if (members) return [...new Set(members.map((member) => memberName(member, root)))].join(" or ");
  const { pattern, ...short } = schema;
  const shown = (pattern?.length ?? 0) <= 30 ? schema : short;
  const limits = Object.entries(LIMITS).filter(([name]) => name in shown);
  return [plainType(schema), ...limits.map(([name, words]) => `${words} ${formatPlain(schema[name])}`)].join(", ");
}

function formatPlain(value) {
  return typeof value === "string" ? value : formatJson(value);
}

/** Return a short name for a member of a union: its title, the constant that marks it, or its type. */
export function memberName(schema, root) {
  if (schema.title) return schema.title;
  if ("const" in schema) return formatJson(schema.const);
  const tags = Object.entries(schema.properties ?? {}).filter(([, part]) => part && "const" in part);
  if (tags.length) return tags.map(([name, part]) => `${name} ${formatJson(part.const)}`).join(", ");
  const members = membersOf(schema, root);
  if (members) return members.map((member) => memberName(member, root)).join(" or ");
  const type = plainType(schema);
  if (type === "array" && schema.items) return `list of ${plainType(resolve(schema.items, root))}`;
  return schema.format ? `${type} (${schema.format})` : type;
}

/** Return a schema as a tree that opens level by level, so that a schema that holds itself is no matter. */
export function schemaTree(name, schema, root = schema, isRequired = true) {
  const resolved = resolve(schema, root);
  const children = [
    ...Object.entries(resolved.properties ?? {}).map(([key, part]) => [key, part, resolved.required?.includes(key)]),
    ...(membersOf(resolved, root) ?? []).map((part) => [memberName(part, root), part, true]),
    ...(resolved.prefixItems ?? []).map((part, index) => [`[${index}]`, part, true]),
    ...(typeof resolved.items === "object" ? [["[…]", resolved.items, true]] : []),
    ...(typeof resolved.additionalProperties === "object" ? [["{…}", resolved.additionalProperties, false]] : []),
  ];
  const choices = resolved.enum?.slice(0, MAX_CHOICES).map((choice) => formatJson(choice));
  const notes = [
    describeType(resolved, root), !isRequired && "optional", choices && choices.join(" "),
    "default" in resolved && `default ${formatJson(resolved.default)}`,
  ];
  const about = h("span", { class: "hint" }, ` ${resolved.description ?? ""}`);
  const line = [h("code", {}, name), " ", muted(notes.filter(Boolean).join(", ")), about];
  if (!children.length) return h("div", { class: "leaf" }, line);
  const details = h("details", {}, h("summary", {}, line));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    for (const [key, part, required] of children) details.append(schemaTree(key, part, root, required));
  });
  return details;
}
