"""The whole formula: from the readings of a launch to the tokens that SGLang's own code computes from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing import attention as kinds
from logaudit.sizing import cell as cells
from logaudit.sizing import draft as drafts
from logaudit.sizing import dsv4, hybrid, kv_dtype, page_size, printed, swa
from logaudit.sizing import requests as request_limits
from logaudit.sizing.arguments import Arguments, is_eagle_like, speculation
from logaudit.sizing.budget import static_budget
from logaudit.sizing.limits import floor_page, minimum, profiled_tokens
from logaudit.sizing.model import Expectation, Input, PrintedPool, SizingInputs, Term
from logaudit.sizing.parallel import Layout, layout, stage_layers
from logaudit.sizing.unprinted import unprinted

_FIRST = Version("0.4.0")
_LAST = Version("0.5.23")
_HEADROOM = (Version("0.4.3.post3"), Version("0.5.7"))
_EAGLE_ONLY_HEADROOM_SINCE = Version("0.5.3")
_FLOOR_BEFORE_CAP_SINCE = Version("0.5.11")
_PAGES_SINCE = Version("0.4.4")
_LOGICAL_COUNT_SINCE = Version("0.5.22")
_STAGE_MINIMUM_SINCE = Version("0.5.2")
_SIZE_SLACK = 1e-6
_LLAMA4_CHUNK = 8192
_CONTEXT_PARALLEL_PRINTED = "decode context parallelism: the rules are as read, no launch was there to try them on"


@dataclass(slots=True)
class _Work:
    """What has been found so far."""

    inputs: SizingInputs
    args: Arguments
    layout: Layout
    kind: kinds.Attention
    page: int
    dtype: kv_dtype.KvDtype | None
    terms: list[Term] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    stages: tuple[range, ...] = ()
    from_log: bool = False
    stored: Interval | None = None
    """Bytes per token that the pool stores where the formula counts fewer."""
    counted: Interval | None = None
    """What the formula counts for them."""
    rows: dict[tuple[str, int], float] = field(default_factory=dict)
    """Bytes of one row of a pool by its name and stage, where the config gives them."""

    @property
    def release(self) -> Version:
        return self.inputs.release

    @property
    def context_length(self) -> int | None:
        if self.inputs.context_length is not None:
            return self.inputs.context_length
        asked = self.args.whole("context_length")
        if asked:
            return asked
        return self.inputs.config.context_length if self.inputs.config else None


@dataclass(frozen=True, slots=True)
class _Counts:
    """Tokens after every limit."""

    budget: Interval
    """GiB that the KV pool may take."""
    cell: Interval
    """Bytes per token of the count named max_total_num_tokens."""
    profiled: Interval
    """Before cap, pages and stages: what the request estimate stood on until 0.5.9."""
    tokens: Interval
    uncapped: Interval
    full: Interval | None = None
    window: Interval | None = None
    per_stage: Mapping[int, Interval] = field(default_factory=dict)


def expect(inputs: SizingInputs) -> Expectation:
    """The allocation that SGLang's formula gives for these inputs, with every step as a term.

    With a model config the bytes per token are exact and the bounds are the rounding of the readings; without one
    they are read off the printed pools; what neither gives is named in `missing`. A what-if calls this with changed
    `args` (and, where they depend on what changed, `kv_dtype`, `page_size`, `context_length`, `printed_requests` and
    `printed_mamba_slots` set to None).
    """
    inputs = replace(inputs, pools=printed.labelled(inputs.pools))
    args = Arguments(inputs.args, known=inputs.args_known, release=inputs.release, line=inputs.args_line)
    groups = layout(args)
    kind, said = kinds.classify(inputs, args)
    if kind == "hybrid" and hybrid.switches_radix_cache_off(inputs, args.release):
        args = args.with_changes(disable_radix_cache=True)
    requests = None if inputs.args_known else request_limits.speculative_default(args, args.release)
    if requests is not None:
        args = args.with_changes(max_running_requests=requests)
    page, _ = page_size.resolve(inputs, args, kind)
    work = _Work(inputs, args, groups, kind, page, kv_dtype.resolve(inputs, args))
    work.assumptions.extend(said)
    if requests is not None:
        work.assumptions.append(f"max_running_requests {requests}: the default of {args.release} with speculation")
    if inputs.config is not None:
        work.assumptions.extend(inputs.config.notes)
        work.stages = stage_layers(inputs.config.num_attention_layers, groups.pp, inputs.release)
    _note_release(work)
    budget = static_budget(inputs, groups)
    work.terms.extend(budget.terms)
    work.missing.extend(budget.missing)
    work.assumptions.extend(budget.assumptions)
    _note_unsupported(work)
    state, rest = _state(work, budget.rest)
    counts = _counts(work, rest) if rest is not None else None
    return _answer(work, state, rest, counts)


def _note_release(work: _Work) -> None:
    release = work.release
    if work.inputs.device == "tpu":
        work.missing.append("the sizing rules of sglang-jax, which are its own")
    elif release < _FIRST:
        work.missing.append(f"the formula of {release}: known from {_FIRST} on")
    elif release > _LAST and release.release[:3] > _LAST.release[:3]:
        work.assumptions.append(f"{release} is newer than {_LAST}: its formula is taken to be the same")


def _note_unsupported(work: _Work) -> None:
    args = work.args
    if args.flag("enable_unified_memory"):
        work.missing.append("the split of the unified memory pool, which is not fixed at start")
    if work.inputs.post_capture:
        work.missing.append("the free memory after graph capture, from which this launch sized its KV pool again")
    if args.flag("prefill_only_disable_kv_cache"):
        work.missing.append("a KV pool: it is switched off (prefill_only_disable_kv_cache)")
    if work.layout.dcp > 1:
        work.assumptions.append(_CONTEXT_PARALLEL_PRINTED)
    if work.kind == "hybrid" and (args.flag("enable_linear_replayssm_spec") or args.flag("enable_gdn_replayssm_spec")):
        work.missing.append("the ReplaySSM ring buffers, which take part of the state budget")
    if args.flag("enable_hisparse"):
        work.missing.append("the HiSparse host-to-device ratio")
    if args.flag("enable_dsa_cache_layer_split") and (args.whole("attn_cp_size") or 1) > 1:
        work.missing.append("how the layers of the cache are shared out over the context-parallel ranks")
    if any(name.startswith("Qwen4Exp") for name in kinds.names(work.inputs)):
        work.missing.append("the compressed index keys of this model (_compute_qsa_cell_size, 0.5.20+)")
    if args.text("quantization") == "minimax_m3_nvfp4" and work.release >= Version("0.5.23"):
        work.missing.append("the NVFP4 cache rows of this model")


def _state(work: _Work, rest: Interval | None) -> tuple[hybrid.StatePool | None, Interval | None]:
    """The recurrent state of a hybrid model, and the budget that it leaves."""
    if work.kind != "hybrid" or rest is None:
        return None, rest
    inputs, args = work.inputs, work.args
    config = inputs.config
    if config is not None and config.linear is not None:
        size, text = hybrid.state_bytes(config.linear, args, work.layout, work.release, config.num_hidden_layers)
        per = Interval.exact(size)
        if speculation(args) is None and work.layout.pp == 1:
            work.rows["mamba", 0] = float(size)
        origin = Input("state per request", f"{size} B", "model_config")
    else:
        found = _printed_state(work)
        if found is None:
            return None, None
        per, text, origin = found
    if per.low <= 0:
        work.missing.append("the size of a request's recurrent state")
        return None, None
    state = hybrid.state_pool(
        rest,
        per,
        text,
        args,
        work.layout,
        work.release,
        per_input=origin,
        printed_slots=inputs.printed_mamba_slots,
    )
    work.terms.extend(state.terms)
    return state, state.left


def _printed_state(work: _Work) -> tuple[Interval, str, Input] | None:
    """Bytes of a request's state from the printed pool and its padding slot."""
    pools = printed.find(work.inputs.pools, ("mamba",))
    if work.layout.pp > 1:
        work.missing.append(
            "the model config (one stage's state pool does not show the recurrent layers of the others)"
        )
        return None
    pool = pools[0] if pools else None
    if pool is not None and pool.state_gib is None and speculation(work.args) is not None:
        work.missing.append("the model config (with speculation the printed state pool holds draft states as well)")
        return None
    size = None if pool is None else pool.state_gib or pool.gib
    per = None if pool is None else printed.per_row(replace(pool, gib=size), 1)
    if pool is None or per is None or size is None:
        work.missing.append("the model config (the state pool is not printed with its size and slots)")
        return None
    work.from_log = True
    return (
        per,
        "printed pool over its slots and the padding slot",
        Input("state pool", f"{size.value:.2f} GiB for {pool.tokens} slots", "log", pool.line),
    )


def _counts(work: _Work, rest: Interval) -> _Counts | None:
    if work.release < _FIRST:
        return None
    if work.kind == "unknown":
        work.missing.append("the model config or a printed KV pool")
        return None
    if work.kind == "dsv4":
        return _compressed(work, rest)
    if work.kind == "swa":
        return _windowed(work, rest)
    return _plain(work, rest)


# -- one KV pool ------------------------------------------------------------------------------------------------------


def _plain(work: _Work, rest: Interval) -> _Counts | None:
    per_stage = _stage_cells(work)
    if per_stage is None:
        return None
    release = work.release
    counts, free, profiled = [], [], []
    for each in per_stage:
        if each.high <= 0:
            continue
        got = profiled_tokens(rest, each, release)
        profiled.append(got)
        limited, unlimited = _limit(work, got)
        counts.append(limited)
        free.append(unlimited)
    if not counts:
        work.missing.append("layers with a KV cache")
        return None
    binding = min(range(len(counts)), key=lambda i: counts[i].value)
    stages = dict(enumerate(counts))
    joined = release >= _STAGE_MINIMUM_SINCE
    tokens = minimum(counts) if joined else counts[0]
    uncapped = minimum(free) if joined else free[0]
    shown = profiled[binding if joined else 0]
    bound_cell = [each for each in per_stage if each.high > 0][binding if joined else 0]
    work.terms.append(
        Term(
            "profiled tokens",
            f"{rest.value:.2f} GiB / {bound_cell.value:.0f} B = {shown.value:.0f}",
            tokens=shown,
            source="profile_max_num_token" if release < Version("0.5.10") else "calculate_pool_sizes",
        )
    )
    _limit_terms(work, shown, tokens)
    if work.stored is not None and work.counted is not None:
        over = (work.stored - work.counted) * tokens / float(GIB)
        work.terms.append(
            Term(
                "pool over its budget",
                f"{tokens.value:.0f} tokens of {work.stored.value:.0f} B, of which the formula counts "
                f"{work.counted.value:.0f}: {over.value:.2f} GiB come out of the reserve",
                gib=over,
                source="get_cell_size_per_token" + ("" if work.inputs.device == "npu" else ", 0.5.4 to 0.5.16"),
            )
        )
    if len(counts) > 1 and joined and len({c.value for c in counts}) > 1:
        work.terms.append(
            Term(
                "stage minimum",
                f"stage {binding} holds the fewest tokens: " + ", ".join(f"{c.value:.0f}" for c in counts),
                tokens=tokens,
                source="init_memory_pool, 0.5.2+",
            )
        )
    if work.layout.dcp > 1 and release >= _LOGICAL_COUNT_SINCE:
        tokens, uncapped = tokens * float(work.layout.dcp), uncapped * float(work.layout.dcp)
    per = stages if not joined and len({(c.low, c.high) for c in counts}) > 1 else {}
    return _Counts(rest, bound_cell, profiled[0], tokens, uncapped, per_stage=per)


def _limit(work: _Work, tokens: Interval) -> tuple[Interval, Interval]:
    """Speculative headroom, the user's cap and whole pages, in the release's order: with the cap, and without it."""
    release, page = work.release, work.page
    tokens = tokens + _headroom(work, tokens)
    pages = page if release >= _PAGES_SINCE else 1
    cap = work.args.whole("max_total_tokens")
    if release >= _FLOOR_BEFORE_CAP_SINCE:
        tokens = floor_page(tokens, pages)
    capped = tokens if cap is None else tokens.clamp_high(float(cap))
    return floor_page(capped, pages), floor_page(tokens, pages)


def _headroom(work: _Work, tokens: Interval) -> Interval:
    """Tokens that 0.4.4 to 0.5.6 add after profiling for draft and verify tokens; no budget backs them."""
    release, args = work.release, work.args
    algorithm = speculation(args)
    zero = Interval.exact(0)
    if algorithm is None or not (_HEADROOM[0] <= release < _HEADROOM[1]):
        return zero
    if release >= _EAGLE_ONLY_HEADROOM_SINCE and not is_eagle_like(algorithm):
        return zero
    context = work.context_length
    requests = request_limits.table_size(args, tokens, context or 1, release)
    if requests is None or (context is None and not args.given("max_running_requests")):
        return zero
    if work.kind == "hybrid" and (slots := _slots(work)) is not None:
        requests = Interval.minimum(requests, (slots / float(hybrid.slots_per_request(args, release))).floor())
    steps = args.whole("speculative_num_steps") or 0
    topk = args.whole("speculative_eagle_topk") or 0
    draft_tokens = args.whole("speculative_num_draft_tokens") or 0
    return requests * float(steps * topk + draft_tokens) + 100


def _slots(work: _Work) -> Interval | None:
    return next((term.tokens for term in work.terms if term.name == "mamba state"), None)


def _limit_terms(work: _Work, profiled: Interval, tokens: Interval) -> None:
    args, page = work.args, work.page
    extra = _headroom(work, profiled)
    if extra.high > 0:
        work.terms.append(
            Term(
                "speculative headroom",
                f"+ requests x (steps x topk + draft tokens) + 100 = {extra.value:.0f}, over the budget",
                tokens=extra,
                source="init_memory_pool, 0.4.4 to 0.5.6",
            )
        )
    cap = args.whole("max_total_tokens")
    if cap is not None:
        binds = cap < (profiled + extra).value
        work.terms.append(
            Term(
                "user cap",
                f"--max-total-tokens {cap} {'binds' if binds else 'is above what fits and has no effect'}",
                tokens=Interval.exact(cap),
                inputs=(args.input("max_total_tokens", cap),),
                source="init_memory_pool, _apply_token_constraints",
            )
        )
    if page > 1 and work.release >= _PAGES_SINCE:
        work.terms.append(
            Term(
                "page floor",
                f"whole pages of {page}: {tokens.value:.0f}",
                tokens=tokens,
                inputs=(Input("page_size", str(page), "log" if work.inputs.page_size else "server_args"),),
            )
        )


def _stage_cells(work: _Work) -> list[Interval] | None:
    """Bytes per token of each pipeline stage."""
    config = work.inputs.config
    if (
        config is not None
        and work.dtype is not None
        and work.dtype.scheme == "fp4"
        and printed.keys_differ(work.inputs)
    ):
        work.assumptions.append("keys and values are kept in different types: the printed pool says what a token takes")
        return _printed_cells(work)
    return _config_cells(work, config) if config is not None else _printed_cells(work)


def _stage_kv_layers(work: _Work, config: ModelConfig) -> list[list[int]]:
    kv = set(config.kv_layers)
    whole_model = work.kind == "hybrid" and work.release < Version("0.5.8")
    return [sorted(kv) if whole_model else [i for i in stage if i in kv] for stage in work.stages]


def _config_cells(work: _Work, config: ModelConfig) -> list[Interval] | None:
    if work.dtype is None:
        work.missing.append("the type of the KV cache")
        return None
    release = work.release
    result: list[Interval] = []
    extra = drafts.counted_layers(work.inputs, work.args)
    for number, ids in enumerate(_stage_kv_layers(work, config)):
        base = cells.kv_cell(config, ids, work.dtype, work.layout, work.args, release, device=work.inputs.device)
        priced = base
        if work.dtype.scheme == "plain" and (config.mla or config.head_dim == config.v_head_dim):
            work.rows["kv", number] = work.rows["full", number] = float(base.pool_bytes or base.bytes)
        if number == 0 and base.pool_bytes is not None and base.pool_bytes > base.bytes:
            work.stored, work.counted = Interval.exact(float(base.pool_bytes)), Interval.exact(float(base.bytes))
        if extra is not None:
            npu = work.inputs.device == "npu" and config.is_dsa
            own_indexer = cells.npu_indexer_bytes(config, range(extra[0]), work.dtype, release) if npu else None
            priced = drafts.with_draft(base, extra[0], config, ids, work.layout, release, own_indexer=own_indexer)
        elif drafts.is_block_draft(work.args, release):
            own = drafts.with_block_draft(base, work.inputs, work.args, len(ids), work.layout)
            if own is None:
                work.missing.append("the draft's model config (its own cache is paid for by the same budget)")
                return None
            priced = own
        result.append(Interval(priced.bytes, priced.bytes, priced.bytes + base.uncertain_bytes))
        if base.uncertain_bytes:
            work.assumptions.append("the attention backends decide how many scales the FP4 cache keeps")
        if number == 0 or priced.bytes != result[0].value:
            suffix = f" (stage {number})" if len(work.stages) > 1 else ""
            work.terms.append(
                Term(
                    "bytes per token" + suffix,
                    base.text,
                    number=Interval.exact(float(base.bytes)),
                    unit="B",
                    inputs=(
                        Input("model config", config.architecture or config.name, "model_config"),
                        work.dtype.origin,
                    ),
                    source=base.source,
                )
            )
            if priced is not base:
                work.terms.append(
                    Term(
                        "bytes per token with draft" + suffix,
                        priced.text,
                        number=Interval.exact(float(priced.bytes)),
                        unit="B",
                        inputs=() if extra is None else (extra[1],),
                        source=priced.source,
                    )
                )
                if extra is not None and extra[1].origin == "assumed":
                    work.assumptions.append("the draft model has one layer")
    return result


def _printed_cells(work: _Work) -> list[Interval] | None:
    inputs = work.inputs
    pools = printed.find(inputs.pools, printed.kv_names())
    if not pools:
        work.missing.append("the model config or a printed KV pool")
        return None
    factor = printed.formula_factor(inputs, work.dtype, sparse=work.kind == "dsa")
    if factor is not None and work.kind == "mla" and kinds.may_be_sparse(kinds.names(inputs), work.args):
        same = printed.formula_factor(inputs, work.dtype, sparse=True)
        factor = factor if same == factor else None
    if factor is None:
        work.missing.append("the model config (the printed pool does not show what the formula counts)")
        return None
    stages: dict[int, PrintedPool] = {}
    for pool in pools:
        stages.setdefault(pool.pp or 0, pool)
    if work.layout.pp > 1 and len(stages) < work.layout.pp:
        work.missing.append("the model config (not every pipeline stage printed its pool)")
        return None
    result = []
    for number, pool in sorted(stages.items()):
        row = printed.per_row(pool, work.page)
        size = pool.gib
        if row is None or size is None:
            work.missing.append("the model config (the pool is not printed with its size and tokens)")
            return None
        each = row * factor[0]
        if drafts.counted_layers(inputs, work.args) is not None:
            more = printed.draft_per_token(inputs, row, work.page, bundled=drafts.is_bundled(inputs, work.args))
            if more is None:
                work.missing.append("the model config (the draft's pool does not show what the formula counts for it)")
                return None
            each = each + more * factor[0]
        elif drafts.is_block_draft(work.args, work.release):
            own = printed.block_draft_per_token(inputs, work.page)
            if own is None or work.release < drafts.BLOCK_DRAFT_PRICED_SINCE:
                work.missing.append("the model configs (the draft's pool does not show what the formula counts for it)")
                return None
            each = each + own * float(work.layout.dcp)
        result.append(each)
        if number == min(stages) and factor[0] < 1:
            work.stored, work.counted = row, row * factor[0]
        work.terms.append(
            Term(
                "bytes per token" + (f" (stage {number})" if len(stages) > 1 else ""),
                f"{size.value:.2f} GiB / ({pool.tokens} + {work.page}) = {row.value:.0f}"
                + (f", x {factor[0]:.4f}: {factor[1]}" if factor[1] else ""),
                number=each,
                unit="B",
                inputs=(Input("printed pool", f"{size.value:.2f} GiB, {pool.tokens} tokens", "log", pool.line),),
                source="init_memory_pool",
            )
        )
    work.from_log = True
    return result


def _windowed(work: _Work, rest: Interval) -> _Counts | None:
    costs = _window_costs(work)
    if costs is None:
        return None
    args, release, page = work.args, work.release, work.page
    if release >= Version("0.5.11"):
        return _windowed_direct(work, rest, costs)
    profiled = profiled_tokens(rest, costs.profiled, release)
    limited, unlimited = _limit(work, profiled)
    work.terms.append(
        Term(
            "profiled tokens",
            f"{rest.value:.2f} GiB / {costs.profiled.value:.0f} B = {profiled.value:.0f}",
            tokens=profiled,
            source="profile_max_num_token",
        )
    )
    _limit_terms(work, profiled, limited)
    if kinds.llama4_ratio(work.inputs, args):
        config = work.inputs.config
        chunk = config.attention_chunk_size if config else None
        if work.context_length is None:
            work.missing.append("the context length")
            return None
        if chunk is None:
            chunk = _LLAMA4_CHUNK
            work.assumptions.append(f"attention chunks of {chunk} tokens, as every Llama 4 has")
        split = swa.split_llama4(limited, unlimited, args, chunk, work.context_length, page)
    else:
        split = swa.split_early(limited, unlimited, costs, args, release, page)
    work.terms.append(split.term)
    cell = costs.full + costs.window * swa.ratio(args)
    return _Counts(rest, cell, profiled, split.full, split.uncapped, split.full, split.window)


def _windowed_direct(work: _Work, rest: Interval, costs: swa.Costs) -> _Counts:
    args, release, page = work.args, work.release, work.page
    config = work.inputs.config
    window = _window_tokens(work, config)
    cap = args.whole("max_total_tokens")
    no_full = costs.full.high <= 0
    pool = next(iter(printed.find(work.inputs.pools, ("swa", "SWA"))), None)
    from_pool = config is None and pool is not None and pool.tokens is not None
    capped = swa.is_request_capped(args, release, 1 if from_pool else window, full_layers=not no_full)
    fixed = 0
    if capped and window is not None:
        fixed = swa.cap_in_pages(args, work.layout, window, page)
    elif capped and pool is not None and pool.tokens is not None:
        fixed = pool.tokens
        work.assumptions.append("the window pool is sized for the requests: its printed tokens are taken as they are")
    if no_full:
        cell = costs.window + costs.draft
        free = floor_page(profiled_tokens(rest, cell, release), page)
    elif capped:
        free = swa.capped_tokens(rest, costs, fixed, release, page)
        cell = (rest * float(GIB)) / free if free.low > 0 else costs.full
    else:
        cell = costs.full + costs.window * swa.ratio(args) + costs.draft
        free = swa.direct_tokens(rest, costs, args, release, page)
    full = free if cap is None else floor_page(free.clamp_high(float(cap)), page)
    if no_full:
        window_tokens = full
    elif capped:
        window_tokens = Interval.exact(float(fixed)) if cap is None else full.clamp_high(float(fixed))
    else:
        window_tokens = swa.direct_window(full, args, page)
    _limit_terms(work, free, full)
    work.terms.append(swa.direct_term(full, window_tokens, args, cap=capped))
    return _Counts(rest, cell, free, full, free, full, window_tokens)


def _window_tokens(work: _Work, config: ModelConfig | None) -> int | None:
    """The window as SGLang's runner keeps it: one less than the config's, where the model counts the current token."""
    if config is None:
        return None
    if config.architecture.startswith("Llama4"):
        return config.attention_chunk_size
    size = config.sliding_window
    if size is None:
        return None
    return size - 1 if config.architecture in _WINDOW_WITHOUT_CURRENT else size


_WINDOW_WITHOUT_CURRENT = frozenset(
    {
        "GptOssForCausalLM",
        "Gemma2ForCausalLM",
        "Gemma3ForCausalLM",
        "Gemma3ForConditionalGeneration",
        "Gemma3nForCausalLM",
        "Gemma3nForConditionalGeneration",
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "Olmo2ForCausalLM",
        "Olmo3ForCausalLM",
    }
)


def _window_costs(work: _Work) -> swa.Costs | None:
    config = work.inputs.config
    if config is None:
        return _printed_window_costs(work)
    if work.dtype is None:
        work.missing.append("the type of the KV cache")
        return None
    release, args, groups, dtype = work.release, work.args, work.layout, work.dtype
    stage = set(work.stages[0]) if work.stages and groups.pp > 1 else set(range(config.num_attention_layers))
    n_full = sum(i in stage for i in config.full_layers)
    n_window = sum(i in stage for i in config.swa_layers)
    if config.mla:
        full_each = cells.latent_dim(config, dtype, args, release, device=work.inputs.device) * dtype.element_bytes
        if config.is_dsa:
            full_each += cells.indexer_bytes(config, (0,), release, every_layer=True)
        window_each = (config.swa_kv_lora_rank + config.swa_qk_rope_head_dim) * dtype.element_bytes
    else:
        heads = cells.kv_heads_per_rank(config.num_kv_heads, groups, release)
        window_heads = cells.kv_heads_per_rank(config.swa_num_kv_heads, groups, release)
        full_each = cells.head_bytes(heads, config.head_dim, config.v_head_dim, dtype, release)
        window_each = cells.head_bytes(window_heads, config.swa_head_dim, config.swa_v_head_dim, dtype, release)
        if dtype.scheme == "mxfp8":
            full_each += full_each // dtype.element_bytes // 32
            window_each += window_each // dtype.element_bytes // 32
    full, window = full_each * n_full, window_each * n_window
    if dtype.scheme == "plain":
        work.rows["full", 0], work.rows["swa", 0] = float(full), float(window)
    own_sizes = "MiMoV2FlashForCausalLM" in config.architectures
    if release < Version("0.5.9") and not own_sizes:
        window = full_each * n_window
    r = swa.ratio(args)
    layers = config.num_hidden_layers
    if release >= Version("0.5.9"):
        profiled, spread = full + window, (float(full + window), full + r * window)
    elif release >= Version("0.5.8"):
        profiled = full_each * layers + (window if own_sizes else 0)
        spread = (float(layers), r * n_window + n_full)
    elif release >= Version("0.5.7"):
        profiled = (full_each * n_full if n_full else full_each * layers) + (window if own_sizes else 0)
        spread = (float(layers), r * n_window + n_full)
    else:
        profiled, spread = full_each * layers, (float(layers), r * n_window + n_full)
    extra = drafts.counted_layers(work.inputs, args) if release >= drafts.SPLIT_POOL_COUNTED_SINCE else None
    draft_bytes = 0
    if extra is not None:
        sliding = 0
        if release >= Version("0.5.19") and work.inputs.draft_config is not None:
            sliding = len(work.inputs.draft_config.swa_layers)
        draft_bytes = full_each * max(0, extra[0] - sliding)
        window += window_each * min(sliding, extra[0])
        if extra[1].origin == "assumed":
            work.assumptions.append("the draft model has one layer")
    elif release >= drafts.BLOCK_DRAFT_PRICED_SINCE and drafts.is_block_draft(args, release):
        own = drafts.block_draft_bytes(work.inputs, args, groups)
        if own is None:
            work.missing.append("the draft's model config (its own cache is paid for by the same budget)")
            return None
        draft_bytes = own
    work.terms.append(
        Term(
            "bytes per token",
            f"{full_each} B x {n_full} full layers, {window_each} B x {n_window} window layers"
            + (f", {draft_bytes} B of draft layers" if draft_bytes else ""),
            number=Interval.exact(full + r * window + draft_bytes),
            unit="B",
            inputs=(Input("model config", config.architecture or config.name, "model_config"), dtype.origin),
            source="HybridSWAPoolConfigurator" if release >= Version("0.5.11") else "set_num_tokens_hybrid_swa",
        )
    )
    return swa.Costs(
        Interval.exact(float(full)),
        Interval.exact(float(window)),
        Interval.exact(float(profiled)),
        (Interval.exact(spread[0]), Interval.exact(spread[1])),
        Interval.exact(float(draft_bytes)),
    )


def _printed_window_costs(work: _Work) -> swa.Costs | None:
    inputs, release, args = work.inputs, work.release, work.args
    full_pools = printed.find(inputs.pools, ("full", "Full"))
    window_pools = printed.find(inputs.pools, ("swa", "SWA"))
    full = printed.per_row(full_pools[0], work.page) if full_pools else None
    window = printed.per_row(window_pools[0], work.page) if window_pools else None
    if full is None or window is None:
        work.missing.append(
            "the model config (the full and the sliding-window pool are not both printed with their sizes)"
        )
        return None
    found = kinds.names(inputs)
    if release < Version("0.5.9") and any(name.startswith("MiMoV2") for name in found):
        work.missing.append("the model config (the formula of this release counts this model's window layers twice)")
        return None
    if work.layout.pp > 1:
        work.missing.append("the model config (the pools of one stage do not show the others' layers)")
        return None
    block = drafts.is_block_draft(args, release) and release >= drafts.BLOCK_DRAFT_PRICED_SINCE
    if block or (drafts.counted_layers(inputs, args) is not None and release >= drafts.SPLIT_POOL_COUNTED_SINCE):
        work.missing.append("the model config (the draft's share of a split pool is not printed)")
        return None
    if work.dtype is not None and work.dtype.scheme != "plain":
        work.missing.append("the model config (block scales are not printed)")
        return None
    r = swa.ratio(args)
    profiled = full if Version("0.5.7") <= release < Version("0.5.8") else full + window
    work.terms.append(
        Term(
            "bytes per token",
            f"full pool {full.value:.0f} B, window pool {window.value:.0f} B x {r:g}",
            number=full + window * r,
            unit="B",
            inputs=tuple(
                Input(f"printed {p.name} pool", f"{p.gib.value:.2f} GiB, {p.tokens} tokens", "log", p.line)
                for p in (full_pools[0], window_pools[0])
                if p.gib is not None
            ),
        )
    )
    work.from_log = True
    return swa.Costs(full, window, profiled, (full + window, full + window * r))


def _compressed(work: _Work, rest: Interval) -> _Counts | None:
    inputs, args, release, page = work.inputs, work.args, work.release, work.page
    config = inputs.config
    if release < dsv4.FIRST and inputs.dsv4_bytes_per_token is None:
        work.missing.append(f"DeepSeek-V4 rules of {release}: known from {dsv4.FIRST} on")
        return None
    source = "DSV4PoolConfigurator"
    cap: int | None = None
    window_each = 0.0
    if config is not None and config.compress_ratios and release >= dsv4.FIRST:
        layers = list(stage_layers(config.num_hidden_layers, work.layout.pp, release)[0])
        ratios = dsv4.stage_ratios(config, layers, release)
        each, window_each = dsv4.bytes_per_token(config, ratios, args, release, page)
        asked = args.whole("max_running_requests")
        requests = max(1, asked // work.layout.attn_dp) if asked is not None else _estimated_requests(work, rest, each)
        fixed = Interval.exact(dsv4.fixed_bytes(config, ratios, args, release, requests=requests) / GIB)
        cell = Interval.exact(each)
        cap = dsv4.window_cap(config, args, work.layout, release, page)
        origin = Input("model config", config.architecture, "model_config")
        said = inputs.dsv4_bytes_per_token
        if said is not None and cap is None and not said.holds(each):
            # Layouts that environment variables choose (unified, FP8 rows, bounded replay) have a price of their own.
            work.assumptions.append(
                f"the log prints {said.value:.2f} bytes per token where the model config gives {each:.2f}: "
                "the log's are taken"
            )
            cell, fixed = said, inputs.dsv4_fixed_gib or Interval.exact(0)
            origin = Input("bytes_per_full_token", f"{said.value:.2f}", "log")
            work.from_log = True
    elif inputs.dsv4_bytes_per_token is not None:
        cell = inputs.dsv4_bytes_per_token
        fixed = inputs.dsv4_fixed_gib or Interval.exact(0)
        origin = Input("bytes_per_full_token", f"{cell.value:.2f}", "log")
        work.from_log = True
    else:
        work.missing.append("the model config or the DSV4 memory line")
        return None
    work.terms.append(
        Term("bytes per token", f"{cell.value:.2f} B", number=cell, unit="B", inputs=(origin,), source=source)
    )
    if cap is not None:
        r = dsv4.window_ratio(args)
        cell = cell - r * window_each
        fixed = fixed + cap * window_each / GIB
        work.assumptions.append("the window pool is sized for the requests, with the window as the config gives it")
    free = dsv4.tokens(rest, cell, fixed, args, page, source)
    user = args.whole("max_total_tokens")
    full = free.full if user is None else floor_page(free.full.clamp_high(float(user)), page)
    window = Interval.exact(float(cap)) if cap is not None else free.window
    if cap is None and user is not None:
        window = floor_page(
            Interval(*(float(int(x * dsv4.window_ratio(args))) for x in (full.value, full.low, full.high))), page
        )
    work.terms.extend(free.terms)
    _limit_terms(work, free.full, full)
    return _Counts(rest - fixed, cell, free.full, full, free.full, full, window)


def _estimated_requests(work: _Work, rest: Interval, each: float) -> int:
    tokens = int(max(0.0, rest.value) * GIB / each)
    context = work.context_length or 1
    return int(min(request_limits.estimated(Interval.exact(tokens), context).value, tokens // 2))


def _answer(
    work: _Work,
    state: hybrid.StatePool | None,
    rest: Interval | None,
    counts: _Counts | None,
) -> Expectation:
    args, release = work.args, work.release
    running = None
    if counts is not None:
        mamba_cap = None
        if state is not None:
            mamba_cap = (state.slots / float(state.per_request)).floor()
        running = request_limits.running(
            args,
            work.layout,
            release,
            profiled=counts.profiled,
            final=counts.tokens,
            context_length=work.context_length,
            mamba_cap=mamba_cap,
        )
        if running is not None:
            work.terms.append(running[2])
        else:
            work.assumptions.append("the context length is not known, so neither is max_running_requests")
    if args.assumed:
        work.assumptions.append("not in the log, taken at their defaults: " + ", ".join(sorted(args.assumed)))
    stop = bool(work.missing)
    sizes, inconsistent = _check_pools(work)
    base = Expectation(
        formula=f"{release}/{work.kind}",
        attention=work.kind,
        terms=tuple(work.terms),
        kv_budget_gib=counts.budget if counts is not None else rest,
        page_size=work.page,
        mamba_slots=state.slots if state else None,
        mamba_gib=state.gib if state else None,
        missing=tuple(dict.fromkeys(work.missing)),
        assumptions=tuple(dict.fromkeys(work.assumptions)),
        bytes_from_log=work.from_log,
        pools_gib=sizes,
        inconsistent=inconsistent,
    )
    if counts is None or stop:
        return base
    return replace(
        base,
        bytes_per_token=counts.cell,
        pool_bytes_per_token=work.stored,
        tokens=counts.tokens,
        full_tokens=counts.full,
        swa_tokens=counts.window,
        max_running_requests=running[0] if running else None,
        request_table_rows=running[1] if running else None,
        tokens_uncapped=counts.uncapped,
        tokens_per_stage=counts.per_stage,
        unprinted_gib=unprinted(
            args,
            work.layout,
            release,
            table_rows=running[1] if running else None,
            context_length=work.context_length,
            tokens=counts.tokens,
            window_tokens=counts.window,
            page_size=work.page,
        ),
    )


def _check_pools(work: _Work) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """What the config says that each printed pool takes, and the pools whose printed size is another."""
    sizes: dict[str, Interval] = {}
    wrong = []
    config = work.inputs.config
    sparse_before_indexer = work.kind == "dsa" and work.release < Version("0.5.3.post1")
    stage_unknown = work.kind == "hybrid" and work.layout.pp > 1 and work.release < Version("0.5.8")
    if config is None or sparse_before_indexer or stage_unknown or work.args.flag("enable_unified_memory"):
        return sizes, ()
    for pool in work.inputs.pools:
        row = work.rows.get((pool.name, pool.pp or 0))
        if pool.draft or row is None or pool.gib is None or not pool.tokens:
            continue
        padding = 1 if pool.name == "mamba" else work.page
        taken = Interval.exact(row * (pool.tokens + padding) / GIB)
        name = pool.name if work.layout.pp == 1 else f"{pool.name} (stage {pool.pp or 0})"
        sizes[name] = taken
        if pool.gib.low - _SIZE_SLACK > taken.value or pool.gib.high + _SIZE_SLACK < taken.value:
            wrong.append(
                f"the {name} pool prints {pool.gib.value:.2f} GiB for {pool.tokens} "
                f"{'slots' if pool.name == 'mamba' else 'tokens'}, which take {taken.value:.2f} GiB by the model config"
            )
    return sizes, tuple(wrong)
