"""The one error of this package."""

from __future__ import annotations


class ModelError(Exception):
    """A model cannot be had or used. The message is one sentence for the user: what is wrong, what to do."""
