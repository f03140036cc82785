"""What the reference leaves open: each gap is a mixin over the correct class."""

from .registry import GAPS, REFERENCE, Gap, UnknownGap, resolve, with_gaps

__all__ = ["GAPS", "REFERENCE", "Gap", "UnknownGap", "resolve", "with_gaps"]
