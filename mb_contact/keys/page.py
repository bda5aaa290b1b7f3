# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Reference pages of keys, made from the JSON Schema of their declarations."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

UNIT = re.compile(r"^(.*?)(?: \[([^]]*)\])?$")  #: of a description
ESCAPED = str.maketrans({"*": r"\*", "<": r"\<"})  #: what Markdown takes for its own
SIGNS = {
    "exclusiveMinimum": "> ", "minimum": "≥ ", "exclusiveMaximum": "< ", "maximum": "≤ ", "multipleOf": "multiple of ",
}  # fmt: skip


def page(head: str, schema: dict[str, Any]) -> str:
    """A page with a table for the keys of a schema, and one for each record in it.

    Parameters
    ----------
    head : str
        Title and first paragraph.
    schema : dict
        JSON Schema, whose records have titles.
    """
    records = {schema["title"]: schema}
    for title, record in _records(schema):
        records.setdefault(title, record)
    return "\n".join([head, *(line for title, record in records.items() for line in _table(title, record))]) + "\n"


def _records(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(title, schema) of the records within a schema, in the order in which they appear."""
    for entry in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        if isinstance(entry, dict) and "properties" in entry and "title" in entry:
            yield entry["title"], entry
        yield from _records(entry)


def _table(title: str, record: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n\n{record['$comment'].replace('``', '`')}\n"
    yield "| key | type | unit | range | default | | example |"
    yield "|---|---|---|---|---|---|---|"
    for name, about in record["properties"].items():
        text, unit = UNIT.findall(about["description"])[0]
        default = yaml_text(about["default"]) if "default" in about else ""
        example = yaml_text({name: example_of(about)})[1:-1]
        bold = f"**{name}**" if name in record.get("required", ()) else name
        cells = (bold, words(about), unit, bounds(about), default, text.translate(ESCAPED), f"`{example}`")
        yield f"| {' | '.join(cells)} |"
    yield ""


def words(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(words(entry) for entry in schema["anyOf"])
    if "additionalProperties" in schema and schema["additionalProperties"]:
        return f"mapping from names to {words(schema['additionalProperties'])}"
    if "items" in schema:
        entries = words(schema["items"])
        plural = "s" if entries.endswith(("number", "text")) else ""
        return f"list of {schema.get('minItems', '')} {entries}{plural}".replace("  ", " ")
    if "title" in schema:
        return f"[{schema['title']}](#{schema['title'].lower()})"
    names = {"integer": "whole number", "string": "text", "boolean": "`true`, `false`", "number": "number"}
    return names.get(str(schema["type"]), "text, number, `true` or `false`")


def bounds(schema: dict[str, Any]) -> str:
    """The range of the numbers of a type."""
    inner = schema.get("items") or schema.get("additionalProperties") or next(iter(schema.get("anyOf", ())), None)
    if inner and "properties" not in inner:
        return bounds(inner)
    return ", ".join(f"{sign}{schema[name]:.10g}" for name, sign in SIGNS.items() if name in schema)


def example_of(schema: dict[str, Any]) -> Any:
    """The example of a key, or one of its type and of what is in it."""
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return next((word for word in schema["enum"] if word != schema.get("default")), schema["enum"][0])
    if "anyOf" in schema:
        return example_of({**schema["anyOf"][0], "default": schema.get("default")})
    if "items" in schema:
        return [example_of(schema["items"])]
    if "properties" in schema:
        names = schema.get("required") or list(schema["properties"])[:1]
        return {name: example_of(schema["properties"][name]) for name in names}
    if "additionalProperties" in schema:
        return {"NAME": example_of(schema["additionalProperties"])}
    return not schema.get("default")


def yaml_text(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    return str(text).removesuffix("...\n").strip()
