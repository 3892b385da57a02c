"""One log of a fleet as rows: read, held against the formula, redacted; whatever fails becomes a row too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from logaudit.auditing import ReadSource, cases_of, launches_of, read_source
from logaudit.errors import ConfigError, LogauditError
from logaudit.frame import rank_rows
from logaudit.interval import Interval
from logaudit.reconcile import measures
from logaudit.reconcile.case import Case
from logaudit.reconcile.inputs import Given, device_of
from logaudit.reconcile.naive import card_size_gb
from logaudit.report.build import launch_document
from logaudit.report.document import LaunchDoc
from logaudit.report.redact import Redactor
from logaudit.report.sections.arguments import matters
from logaudit.sources.interface import Source
from logaudit.sources.stamp import Stamp, stamp

_TEXT = 500
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class HostRule:
    """How a log's machine is told from its name."""

    pattern: str = ""
    """A regular expression whose first group, else whole match, is the host; empty: the built-in rule."""

    def host_of(self, name: str) -> str:
        """The machine of a log: as the pattern finds it, else an ssh address's host, else the folder of the log."""
        if self.pattern:
            import regex

            found = regex.search(self.pattern, name, timeout=1)
            return "" if found is None else str(found[1] if found.re.groups else found[0]) or ""
        parts = urlsplit(name)
        if parts.scheme == "ssh":
            return parts.hostname or ""
        folder = name.rpartition("/")[0]
        return folder.rpartition("/")[2]


def host_rule(pattern: str) -> HostRule:
    """The rule of a pattern. Raises ConfigError where it is no regular expression."""
    import regex

    try:
        regex.compile(pattern)
    except regex.error as problem:
        raise ConfigError(f"no regular expression: {problem}", where="--host-from", do="correct it") from None
    return HostRule(pattern)


def rows_of(source: Source, name: str, given: Given, hosts: HostRule, known: Stamp | None) -> list[dict[str, Any]]:
    """The rows of one log: one per start, worker and rank; one where it holds no start, or cannot be read."""
    base: dict[str, Any] = {"source": name}
    try:
        base["host"] = hosts.host_of(name)
        found = known if known is not None else stamp(source)
        if found is not None:
            base |= {"etag": found.etag, "size_bytes": found.size_bytes, "modified_at": found.modified_at}
        read = read_source(source)
        rows = _rows(read, base | {"lines": read.stats.lines}, given)
    except LogauditError as problem:
        return [base | {"error": Redactor().text(str(problem))[:_TEXT]}]
    except Exception as fault:
        # One log must not end a run of thousands: even a fault of ours is this log's row.
        return [base | {"error": Redactor().text(f"internal error, {type(fault).__name__}: {fault}")[:_TEXT]}]
    return rows


def _rows(read: ReadSource, base: Mapping[str, Any], given: Given) -> list[dict[str, Any]]:
    redactor = Redactor()
    rows: list[dict[str, Any]] = []
    for case in cases_of(launches_of([read]), given):
        start = _launch(case, redactor)
        ranks = rank_rows([case.launch]) or [{"launch": case.launch.index, "outcome": case.launch.outcome}]
        rows += [{**rank, **start, **base} for rank in ranks]
    return rows or [dict(base)]


def _launch(case: Case, redactor: Redactor) -> dict[str, Any]:
    document = launch_document(case)
    # Numbers and switches are no secrets; texts are, also those of arguments that have no part in memory.
    args = redactor.args(
        {name: value for name, value in document.server_args.items() if matters(name) or isinstance(value, str)}
    )
    expected, comparison = case.expectation, case.comparison
    before, headroom, rule = measures.before(case), measures.left(case), measures.yardstick(case)
    failure = document.failure
    return {
        "first_line": document.lines.first,
        "started_at": document.started_at,
        "ready_at": document.ready_at,
        "failure_kind": None if failure is None else failure.kind,
        "failure_phase": None if failure is None else failure.phase,
        "failure_text": None if failure is None else redactor.text(failure.text)[:_TEXT],
        "sglang_low": document.sglang_version.low,
        "sglang_high": document.sglang_version.high,
        **_model(document, redactor),
        "device": device_of(case.launch),
        "card_gib": None if before is None else card_size_gb(before.value, case.given.gpu_memory_gib)[0],
        "mem_fraction_static": None if case.fraction is None else case.fraction.interval.value,
        "fraction_origin": None if case.fraction is None else case.fraction.origin,
        "kv_cache_dtype": _text(args.get("kv_cache_dtype")),
        "max_total_tokens": _whole(args.get("max_total_tokens")),
        "speculative_algorithm": _text(args.get("speculative_algorithm")),
        "flags": _flags(args),
        "tokens": comparison.actual_tokens,
        "total_tokens": document.capacity.total_tokens or comparison.actual_tokens,
        "status": comparison.status,
        **_bounds("expected_tokens", comparison.expected),
        "gap_tokens": comparison.gap_tokens,
        "gap_gib": _value(comparison.gap_gib),
        "kv_budget_gib": None if expected is None else _value(expected.kv_budget_gib),
        "bytes_per_token": None if expected is None else _value(expected.bytes_per_token),
        "headroom_gib": _value(headroom),
        "reserve_rule_gib": None if rule is None else rule.gib,
        "causes": [cause.code for cause in case.causes],
        "findings": [finding.code for finding in document.findings],
        "warnings": [finding.code for finding in document.findings if finding.severity in ("warning", "critical")],
    }


def _model(document: LaunchDoc, redactor: Redactor) -> dict[str, Any]:
    model, parallelism = document.model, document.parallelism
    return {
        "model_path": None if model.path is None else redactor.text(model.path)[:_TEXT],
        "architecture": model.architecture,
        "quantization": model.quantization,
        "attention": model.attention,
        "tp_size": parallelism.tp,
        "pp_size": parallelism.pp,
        "dp_size": parallelism.dp,
        "nnodes": parallelism.nnodes,
    }


def _flags(args: Mapping[str, Any]) -> str:
    told = {name: value for name, value in sorted(args.items()) if matters(name) and value not in (None, False, "")}
    return json.dumps(told, ensure_ascii=False, default=str)[: 8 * _TEXT]


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:_TEXT]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _bounds(name: str, interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {}
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def table_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as an Arrow table of the fleet's schema; a number that no log can mean is left out."""
    import pyarrow as pa

    from logaudit.fleet.columns import arrow_schema, columns

    arrays = []
    for name, kind in columns().items():
        values = [row.get(name) for row in rows]
        if kind == "int64":
            values = [value if isinstance(value, int) and -_INT64 <= value < _INT64 else None for value in values]
        elif kind == "list":
            values = [None if value is None else list(value) for value in values]
        arrays.append(pa.array(values, arrow_schema().field(name).type))
    return pa.table(arrays, schema=arrow_schema())
