"""
Fill in a form of the inspector as a person does: choose members of unions, add items, tick boxes, type texts.

The driver reads the schema and not the code of the page, so the two can disagree, and a test then fails.
"""

from __future__ import annotations

import decimal
import json
from typing import Any

import jsonschema

__all__ = ["fill_form", "is_same_json"]

MAX_DEPTH = 9


class NeedsJson(Exception):
    """The value cannot be typed into its control: it is written as JSON text in place of the field."""


def fill_form(form: Any, schema: dict[str, Any], value: Any) -> None:
    """Fill in the *form*, a locator of `.form`, which was made from *schema*, with the whole *value*."""
    try:
        FormDriver(schema).fill(form.locator(":scope > .members"), schema, value, 0)
    except NeedsJson:
        form.get_by_role("button", name="Raw JSON").click()
        form.locator(".raw textarea").fill(json.dumps(value))


def is_same_json(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON: 1.0 and 1e0 are 1, and true is not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return decimal.Decimal(str(left)) == decimal.Decimal(str(right))  # what is written, without rounding
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same_json(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same_json, left, right))
    return left == right


class FormDriver:
    """Fills in controls of a form for the schema *root*."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def resolve(self, schema: Any) -> dict[str, Any]:
        """Return *schema* with its reference put in its place, and the only type of a list of types."""
        schema = {} if schema is True else schema
        if isinstance(schema.get("type"), list) and len(schema["type"]) == 1:
            schema = {**schema, "type": schema["type"][0]}
        if "$ref" not in schema:
            return schema
        target = self.root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return {**self.resolve(target), **{name: part for name, part in schema.items() if name != "$ref"}}

    def is_valid(self, schema: dict[str, Any], value: Any) -> bool:
        """Return whether *value* fits a part of the root."""
        validator = jsonschema.Draft202012Validator({**schema, "$defs": self.root.get("$defs", {})})
        return validator.is_valid(value)

    def fill(self, box: Any, part: Any, value: Any, depth: int) -> None:
        """Fill in the control in *box*."""
        schema = self.resolve(part)
        if depth > MAX_DEPTH:
            raise NeedsJson
        if "const" in schema:
            if not is_same_json(schema["const"], value):
                raise NeedsJson
        elif "enum" in schema:
            index = next(index for index, choice in enumerate(schema["enum"]) if is_same_json(choice, value))
            box.locator(":scope > select").select_option(index=index)
        elif isinstance(schema.get("type"), list) or "anyOf" in schema or "oneOf" in schema:
            self._fill_union(box, schema, value, depth)
        else:
            kind = schema.get("type", "any")
            fill = {"object": self._fill_object, "array": self._fill_list}.get(kind)
            if fill is not None:
                fill(box, schema, value, depth + 1)
            else:
                _fill_scalar(box, kind, value)

    def _fill_union(self, box: Any, schema: dict[str, Any], value: Any, depth: int) -> None:
        beside = {name: part for name, part in schema.items() if name not in {"anyOf", "oneOf", "type"}}
        members = schema.get("anyOf") or schema.get("oneOf") or [{**beside, "type": kind} for kind in schema["type"]]
        index = next(index for index, member in enumerate(members) if self.is_valid(self.resolve(member), value))
        box.locator(":scope > .union > select").select_option(index=index)
        if value is not None or "enum" in self.resolve(members[index]):  # the member `null` has no control
            self.fill(box.locator(":scope > .union > .member-body"), members[index], value, depth + 1)

    def _fill_object(self, box: Any, schema: dict[str, Any], value: dict[str, Any], depth: int) -> None:
        members = box.locator(":scope > .members")
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        for index, (name, part) in enumerate(_in_page_order(properties)):
            field = members.locator(":scope > .field").nth(index)
            assert field.get_attribute("data-name") == name
            if name in value:
                if name not in required:
                    field.locator(":scope > .field-head input").check()
                self._fill_field(field, part, value[name], depth)
        for name in value.keys() - properties.keys():
            if "\r" in name:
                raise NeedsJson
        rows = members.locator(":scope > .rows > .row")
        for index, name in enumerate(sorted(value.keys() - properties.keys())):
            members.locator(":scope > .add").click()
            rows.nth(index).locator(":scope > .key").fill(name)
            self._fill_field(rows.nth(index).locator(":scope > .field"), _further(schema), value[name], depth)

    def _fill_list(self, box: Any, schema: dict[str, Any], value: list[Any], depth: int) -> None:
        rows = box.locator(":scope > .list > .items > .row")
        first = schema.get("prefixItems", [])
        for _ in range(rows.count(), len(value)):
            box.locator(":scope > .list > .add").click()
        for index, item in enumerate(value):
            part = first[index] if index < len(first) else schema.get("items", True)
            self._fill_field(rows.nth(index).locator(":scope > .field"), part, item, depth)

    def _fill_field(self, field: Any, part: Any, value: Any, depth: int) -> None:
        try:
            self.fill(field.locator(":scope > .body"), part, value, depth)
        except NeedsJson:
            field.locator(":scope > .field-head .json").click()
            field.locator(":scope > .body > textarea.code").fill(json.dumps(value))


def _fill_scalar(box: Any, kind: str, value: Any) -> None:
    if kind == "boolean":
        box.locator(":scope > input").set_checked(value)
    elif kind in {"integer", "number"}:
        box.locator(":scope > input").fill(json.dumps(value))
    elif kind == "string":
        if "\r" in value:  # a text field turns it into a newline
            raise NeedsJson
        box.locator(":scope > textarea, :scope > input").fill(value)
    elif kind != "null":
        box.locator(":scope > textarea.code").fill(json.dumps(value))


def _further(schema: dict[str, Any]) -> Any:
    return schema.get("additionalProperties", True)


def _in_page_order(properties: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the properties as JavaScript orders them: names that are whole numbers come first."""
    numbers = [name for name in properties if name.isascii() and name.isdigit() and str(int(name)) == name]
    return [
        (name, properties[name])
        for name in [*sorted(numbers, key=int), *(name for name in properties if name not in numbers)]
    ]
