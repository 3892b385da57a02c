"""Small documents for the command line's tests."""

from __future__ import annotations

import msgspec

from logaudit.report.document import (
    Capacity,
    Document,
    FailureInfo,
    LaunchDoc,
    LineSpan,
    ModelInfo,
    Parallelism,
    Reconciliation,
    SourceInfo,
    VersionBracket,
)


def document(*launches: LaunchDoc) -> Document:
    return Document(1, "0.1.0", [SourceInfo("server.log", 6, 1, "utf-8")], list(launches))


def ready() -> LaunchDoc:
    return LaunchDoc(
        index=0,
        source=0,
        outcome="ready",
        failure=None,
        lines=LineSpan(1, 1),
        started_at=None,
        ready_at=None,
        sglang_version=VersionBracket("0.5.9", "0.5.9", True),
        model=ModelInfo("m", None, None, "mha", None),
        parallelism=Parallelism(1, 1, 1, 1, None, 1, False),
        server_args={},
        mem_fraction_static=None,
        ranks=[],
        capacity=Capacity(1000, None, None, None, None, None, None),
        expected=None,
        reconciliation=Reconciliation("explained", 1000, None, 0, None, [], []),
        naive=[],
        ledger=[],
        options=[],
        findings=[],
        unrecognised=[],
        verdict=["Ready. The KV cache holds 1,000 tokens."],
    )


def with_status(status: str) -> LaunchDoc:
    return msgspec.structs.replace(ready(), reconciliation=Reconciliation(status, 1000, None, None, None, [], []))


def unexplained() -> LaunchDoc:
    return with_status("unexplained")


def not_checkable() -> LaunchDoc:
    return with_status("not_checkable")


def crashed(index: int = 0) -> LaunchDoc:
    failure = FailureInfo("not_memory", "launch", "port in use", 1, None)
    return msgspec.structs.replace(ready(), index=index, outcome="crashed", failure=failure)
