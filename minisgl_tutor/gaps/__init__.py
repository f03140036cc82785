"""Faults that this server does not have: each gap is a mixin over the correct class that puts one back."""

from .registry import GAPS, OBSERVED, REFERENCE, Gap, UnknownGap, claims_of, resolve, with_gaps

__all__ = ["GAPS", "OBSERVED", "REFERENCE", "Gap", "UnknownGap", "claims_of", "resolve", "with_gaps"]
