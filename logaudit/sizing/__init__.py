"""The allocation that SGLang's formula gives for the figures of a launch, term by term."""

from logaudit.sizing.expectation import expect
from logaudit.sizing.model import Expectation, Input, PrintedPool, SizingInputs, StageReadings, Term

__all__ = ["Expectation", "Input", "PrintedPool", "SizingInputs", "StageReadings", "Term", "expect"]
