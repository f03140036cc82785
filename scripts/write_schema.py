#!/usr/bin/env python3
"""Writes docs/recording.schema.json, the JSON Schema of a recording's lines, from their types."""

from __future__ import annotations

from pathlib import Path

from minisgl_tutor.recording.schema import schema_text

if __name__ == "__main__":
    file = Path(__file__).resolve().parent.parent / "docs" / "recording.schema.json"
    file.write_text(schema_text(), encoding="utf-8")
