"""The JSON Schema of a recording's lines, made of their types."""

from __future__ import annotations

import json

import msgspec

from .lines import VERSION, Line


def schema_text() -> str:
    """The schema as a file has it."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of a recording, version {VERSION}",
        **msgspec.json.schema(Line),
    }
    return json.dumps(schema, indent=2) + "\n"
