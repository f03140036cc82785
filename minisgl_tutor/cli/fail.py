"""How a command ends when what it was asked for cannot be done."""

from __future__ import annotations

from typing import NoReturn

import typer


def fail(sentence: str, status: int = 2) -> NoReturn:
    """One sentence on standard error, and the exit status."""
    typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(status)
