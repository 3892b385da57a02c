"""What a server said in the last minutes before it died."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.traffic import last_minutes

CODE = "serving_crash"
SEVERITIES = ("critical", "warning")


def find(case: Case) -> Found | None:
    """Fires when a server died after it had come up and had printed batches."""
    failure = case.launch.failure
    if failure is None or failure.phase not in {"serving", "warmup"}:
        return None
    last = last_minutes(case.launch)
    if last is None:
        return None
    by_memory = failure.kind in {"memory", "host_memory"}
    numbers = {
        "batches": last.batches,
        "span": last.span_s,
        "last_usage": last.last_usage,
        "highest_usage": last.highest_usage,
        "last_running": last.last_running,
        "most_running": last.most_running,
        "last_queued": last.last_queued,
        "most_queued": last.most_queued,
        "retractions": last.retractions,
        "retracted": last.retracted,
        "largest_chunk": last.largest_chunk,
        "last_chunk": last.last_chunk,
        "left": (lambda free: None if free is None else free.value)(m.left(case)),
        "tokens": case.comparison.actual_tokens,
    }
    severity = "critical" if by_memory else "warning"
    return Found(CODE, severity, numbers, (*last.evidence, failure.line))
