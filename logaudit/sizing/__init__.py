"""The allocation that SGLang's formula gives for the figures of a launch, term by term."""

from logaudit.sizing.changes import Changed, fraction_for_tokens, with_changes
from logaudit.sizing.expectation import expect
from logaudit.sizing.fraction import AutomaticFraction, automatic_fraction, infer_fraction, smallest_fraction
from logaudit.sizing.model import Expectation, Input, PrintedPool, SizingInputs, StageReadings, Term

__all__ = [
    "AutomaticFraction",
    "Changed",
    "Expectation",
    "Input",
    "PrintedPool",
    "SizingInputs",
    "StageReadings",
    "Term",
    "automatic_fraction",
    "expect",
    "fraction_for_tokens",
    "infer_fraction",
    "smallest_fraction",
    "with_changes",
]
