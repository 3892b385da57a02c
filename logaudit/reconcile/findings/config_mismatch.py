"""The model config does not fit the pools in the log."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found

CODE = "config_mismatch"
SEVERITIES = ("warning",)


def find(case: Case) -> Found | None:
    """Fires when a printed pool has another size than the config gives for its own tokens."""
    if case.expectation is None or not case.expectation.inconsistent:
        return None
    numbers = {"texts": case.expectation.inconsistent, "name": case.given.config.name if case.given.config else ""}
    lines = [pool.line for pool in (case.inputs.pools if case.inputs is not None else ())[:2]]
    return Found(CODE, "warning", numbers, tuple(lines))
