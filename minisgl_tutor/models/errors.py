"""The one error of this package."""

from __future__ import annotations


class ModelError(Exception):
    """A model cannot be had or used. Made with a ``Sentence``: what is wrong, what to do."""
