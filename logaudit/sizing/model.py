"""What the formula is given and what it answers: inputs with their origin, named terms, bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sglang.model_config import ModelConfig


@dataclass(frozen=True, slots=True)
class Input:
    """One figure that a term stands on, and where it came from."""

    name: str
    value: str
    """As shown: `0.88`, `94.04 GiB`, `61`."""
    origin: str
    """`log`, `server_args`, `command_line`, `model_config`, `default of 0.5.9`, `given`, `inferred`, `assumed`."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """One named step of the formula with its result."""

    name: str
    """`static budget`, `mamba state`, `bytes per token`, `page floor`, …"""
    text: str
    """The step with the numbers in it: `21.71 - 94.04 x (1 - 0.88)`."""
    gib: Interval | None = None
    tokens: Interval | None = None
    """Tokens, slots or requests; bytes per token go in `number`."""
    number: Interval | None = None
    unit: str = ""
    """Unit of `number`."""
    inputs: tuple[Input, ...] = ()
    source: str = ""
    """SGLang release range and function the step was read from."""


@dataclass(frozen=True, slots=True)
class StageReadings:
    """The readings of one rank that the budget needs."""

    tp: int | None
    pp: int | None
    dp: int | None
    before_load: Interval | None
    before_line: int | None
    after_load: Interval | None
    """Free memory when the pool is sized: after the target's weights, from 0.5.14 after the draft's too."""
    after_line: int | None


@dataclass(frozen=True, slots=True)
class PrintedPool:
    """A pool as the target (or draft) printed it, for bytes per token without a model config."""

    name: str
    """`kv`, `full`, `swa`, `mamba`."""
    tokens: int | None
    gib: Interval | None
    line: int
    dtype: str | None = None
    mla: bool = False
    """Printed as one `KV size` rather than K and V."""
    draft: bool = False
    pp: int | None = None
    state_gib: Interval | None = None
    """Of a state pool: convolution and recurrent state alone, without the draft tokens' intermediate buffers."""
    keys_gib: Interval | None = None
    """Share of the keys, where keys and values are printed apart."""


@dataclass(frozen=True, slots=True)
class SizingInputs:
    """Everything that sizing one launch needs. Ranks that printed nothing are absent, never guessed."""

    release: Version
    """The release whose rules are applied."""
    args: Mapping[str, object]
    """Server arguments as dumped; absent names fall back on the release's defaults."""
    args_known: bool
    """Whether a full dump was read: if not, an absent name is unknown rather than default."""
    mem_fraction_static: Interval | None
    fraction_origin: str
    readings: tuple[StageReadings, ...]
    all_ranks_print: bool
    """False for 0.4.7 to 0.5.3, where only TP0's readings are in the log."""
    pools: tuple[PrintedPool, ...] = ()
    config: ModelConfig | None = None
    draft_config: ModelConfig | None = None
    architecture: str | None = None
    """From the load line, when there is no config."""
    draft_architecture: str | None = None
    context_length: int | None = None
    """As the scheduler printed it."""
    page_size: int | None = None
    """Resolved page size, when a line or the dump gives it."""
    kv_dtype: str | None = None
    """As printed (`torch.bfloat16`)."""
    mm_reserve_gib: Interval | None = None
    """The multimodal reservation line, when printed."""
    page_shard_scratch_gib: Interval | None = None
    gpu_memory_gib: float | None = None
    printed_requests: int | None = None
    """max_running_requests of the scheduler line, for terms that need it where nothing else gives it."""
    printed_mamba_slots: int | None = None
    device: str = "cuda"
    draft_kv_dtype: str | None = None
    dsv4_bytes_per_token: Interval | None = None
    """`bytes_per_full_token` of the DSV4 memory line, when printed."""
    dsv4_fixed_gib: Interval | None = None
    """The sum of that line's `…_fixed` figures."""
    pools_taken_gib: Interval | None = None
    """Free memory when the pools were sized less that after their allocation, on one rank: what they really took."""
    post_capture: bool = False
    """Whether the log announces that the KV pool is sized again after graph capture."""
    args_line: int | None = None
    """Line of the server arguments, for the terms that rest on them."""
    printed_budget_gib: Interval | None = None
    """The budget as the build itself printed it, the lowest of all ranks: what it divided by the bytes per token."""
    printed_budget_line: int | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What SGLang's formula gives for these inputs; None where it cannot be computed, with the reason in `missing`."""

    formula: str
    """Identifier of the rule set: `0.5.9/mla`."""
    attention: str
    """`mha`, `mla`, `dsa`, `swa`, `hybrid`, `dsv4`, `unknown`."""
    terms: tuple[Term, ...]
    kv_budget_gib: Interval | None = None
    bytes_per_token: Interval | None = None
    """kv_budget over the count that is named max_total_num_tokens."""
    tokens: Interval | None = None
    full_tokens: Interval | None = None
    swa_tokens: Interval | None = None
    mamba_slots: Interval | None = None
    mamba_gib: Interval | None = None
    max_running_requests: Interval | None = None
    tokens_uncapped: Interval | None = None
    """Tokens without the user's --max-total-tokens."""
    page_size: int | None = None
    tokens_per_stage: Mapping[int, Interval] = field(default_factory=dict)
    """Per pipeline stage where they differ (0.4.7 to 0.5.1)."""
    unprinted_gib: Mapping[str, Interval] = field(default_factory=dict)
    """Memory that no line prints: `request table`, `padding page`, `free list`, … per rank."""
    missing: tuple[str, ...] = ()
    """What would be needed, when something could not be computed."""
    assumptions: tuple[str, ...] = ()
    """What was assumed, to be said in the report."""
    bytes_from_log: bool = False
    """True when bytes per token came from the printed pool, not from a model config."""
    pool_bytes_per_token: Interval | None = None
    """What the pool stores per token where the formula counts less (sparse attention with FP8 until 0.5.16)."""
    pools_gib: Mapping[str, Interval] = field(default_factory=dict)
    """With a config: what each printed pool of the target takes for its own tokens and the padding page."""
    inconsistent: tuple[str, ...] = ()
    """Printed pools whose size does not fit their own tokens by the model config, in words."""
    request_table_rows: Interval | None = None
    """Rows of the request table before the padding row."""
