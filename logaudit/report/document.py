"""The document: what every face of the report says, and the contract of its JSON form."""

from __future__ import annotations

from typing import Any

import msgspec

from logaudit.interval import Interval

SCHEMA_VERSION = 1


class Bounds(msgspec.Struct, frozen=True):
    """A figure with the interval that rounding leaves it."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, interval: Interval) -> Bounds:
        return cls(interval.value, interval.low, interval.high)


class SourceInfo(msgspec.Struct, frozen=True):
    name: str
    bytes: int
    lines: int
    encoding: str
    wrappers: list[str] = []


class FailureInfo(msgspec.Struct, frozen=True):
    kind: str
    phase: str
    text: str
    line: int
    rank: RankInfo | None


class LineSpan(msgspec.Struct, frozen=True):
    first: int
    last: int


class VersionBracket(msgspec.Struct, frozen=True):
    low: str | None
    high: str | None
    exact: bool
    evidence: list[str] = []


class ModelInfo(msgspec.Struct, frozen=True):
    path: str | None
    architecture: str | None
    quantization: str | None
    attention: str | None
    config: str | None
    """`given`, `found` or null."""


class Parallelism(msgspec.Struct, frozen=True):
    tp: int | None
    pp: int | None
    dp: int | None
    ep: int | None
    attn_cp: int | None
    nnodes: int | None
    dp_attention: bool


class FractionInfo(msgspec.Struct, frozen=True):
    value: float
    low: float
    high: float
    origin: str


class RankInfo(msgspec.Struct, frozen=True):
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    node: int | None = None


class PoolInfo(msgspec.Struct, frozen=True):
    name: str
    tokens: int | None
    slots: int | None
    gib: float | None
    line: int | None = None


class RankRow(msgspec.Struct, frozen=True):
    worker: str
    draft_index: int | None
    rank: RankInfo
    before_load_gib: float | None
    after_load_gib: float | None
    weights_gib: float | None
    kv_dtype: str | None
    kv_tokens: int | None
    k_gib: float | None
    v_gib: float | None
    kv_gib: float | None
    pools: list[PoolInfo]
    pool_end_gib: float | None
    graphs_gib: float | None
    final_gib: float | None


class Capacity(msgspec.Struct, frozen=True):
    max_total_num_tokens: int | None
    full_tokens: int | None
    swa_tokens: int | None
    max_running_requests: int | None
    context_length: int | None
    mamba_slots: int | None
    host_gb: float | None
    replicas: int | None = None
    total_tokens: int | None = None
    per_rank: list[dict[str, Any]] = []


class TermInput(msgspec.Struct, frozen=True):
    name: str
    value: str
    origin: str
    line: int | None


class TermRow(msgspec.Struct, frozen=True):
    name: str
    text: str
    gib: Bounds | None
    tokens: Bounds | None
    inputs: list[TermInput]
    source: str = ""
    number: Bounds | None = None
    unit: str = ""


class Expected(msgspec.Struct, frozen=True):
    formula: str
    terms: list[TermRow]
    kv_budget_gib: Bounds | None
    bytes_per_token: Bounds | None
    tokens: Bounds | None
    swa_tokens: Bounds | None
    mamba_slots: Bounds | None
    max_running_requests: Bounds | None
    mamba_gib: Bounds | None
    assumptions: list[str] = []


class Cause(msgspec.Struct, frozen=True):
    code: str
    gib: Bounds | None
    tokens: float | None
    evidence: list[int]
    detail: str = ""


class Reconciliation(msgspec.Struct, frozen=True):
    status: str
    actual_tokens: int | None
    expected_tokens: Bounds | None
    gap_tokens: int | None
    gap_gib: Bounds | None
    causes: list[Cause]
    missing: list[str]


class NaiveSum(msgspec.Struct, frozen=True):
    belief: str
    gib: float
    tokens: float | None
    off_by_gib: float
    why: str


class LedgerItem(msgspec.Struct, frozen=True):
    item: str
    gib: Bounds
    evidence: list[int]
    detail: str = ""
    computed: bool = False
    """True when no line prints it and the tool computed it."""
    kind: str = ""
    """What it is, for the picture: `weights`, `kv`, `state`, `graphs`, `draft-weights`, `draft-kv`, `other`, `rest`
    (not accounted for), `left` (free at the end); empty: read off the words of `item`."""


class LedgerRow(msgspec.Struct, frozen=True):
    worker: str
    rank: RankInfo
    items: list[LedgerItem]
    alike: int = 1
    """How many ranks have these figures (within rounding)."""
    before_evidence: list[int] = []
    """The line that printed what was free before loading."""
    above: list[LedgerItem] = []
    """Where the card's memory is known: its size, then what was in use before loading; the rest was free."""


class Option(msgspec.Struct, frozen=True):
    change: str
    flag: str
    tokens: Bounds | None
    headroom_gib: Bounds | None
    risk: str
    why: str


class Finding(msgspec.Struct, frozen=True):
    code: str
    severity: str
    title: str
    detail: str
    evidence: list[int]
    action: str


class Unrecognised(msgspec.Struct, frozen=True):
    line: int
    text: str
    similar: str | None = None


class TimelineStep(msgspec.Struct, frozen=True):
    """One free-memory reading of the first rank over the start."""

    line: int
    at: str | None
    free_gib: float
    what: str


class Quote(msgspec.Struct, frozen=True):
    """The text of a line that something in the document refers to."""

    line: int
    text: str


class LaunchDoc(msgspec.Struct, frozen=True):
    index: int
    source: int
    outcome: str
    failure: FailureInfo | None
    lines: LineSpan
    started_at: str | None
    ready_at: str | None
    sglang_version: VersionBracket
    model: ModelInfo
    parallelism: Parallelism
    server_args: dict[str, Any]
    mem_fraction_static: FractionInfo | None
    ranks: list[RankRow]
    capacity: Capacity
    expected: Expected | None
    reconciliation: Reconciliation
    naive: list[NaiveSum]
    ledger: list[LedgerRow]
    options: list[Option]
    findings: list[Finding]
    unrecognised: list[Unrecognised]
    verdict: list[str] = []
    """The title and the sentences of the first screen, plain text."""
    timeline: list[TimelineStep] = []
    quotes: list[Quote] = []
    adjusted_args: list[dict[str, Any]] = []
    """Arguments that SGLang changed by itself: {name, value, line, text}."""
    corrected_command: str | None = None
    notes: list[str] = []


class Document(msgspec.Struct, frozen=True):
    schema_version: int
    logaudit_version: str
    sources: list[SourceInfo]
    launches: list[LaunchDoc]
    redacted: dict[str, int] = {}
    """What was redacted, counted by kind."""


def to_json(document: Document, *, indent: int = 2) -> str:
    """The document as JSON text, keys in the order of the contract."""
    return msgspec.json.format(msgspec.json.encode(document), indent=indent).decode()


def from_json(data: bytes | str) -> Document:
    """A document read back; unknown keys are ignored. Raises msgspec.ValidationError."""
    return msgspec.json.decode(data, type=Document)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the document, made from these structs."""
    return msgspec.json.schema(Document)
