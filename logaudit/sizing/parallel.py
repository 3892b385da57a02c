"""How the ranks share the model: attention tensor parallelism, pipeline stages, replicas."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from packaging.version import Version

from logaudit.sizing.arguments import Arguments

_EVEN_REMAINDER_SINCE = Version("0.5.6")
_MOST_RANKS = 1 << 16


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the parallel groups of one replica."""

    tp: int
    pp: int
    dp: int
    """Replicas (plain data parallelism) or attention data-parallel groups."""
    dp_attention: bool
    attn_dp: int
    attn_cp: int
    dcp: int

    @property
    def attn_tp(self) -> int:
        """Ranks that share the KV heads: tp // attn_dp // attn_cp (compute_dp_attention_world_info)."""
        return max(1, self.tp // self.attn_dp // self.attn_cp)

    @property
    def world(self) -> int:
        """Ranks of one replica, over which the minimum of the readings is taken."""
        return self.tp * self.pp

    @property
    def replicas(self) -> int:
        """Independent copies of the model."""
        return 1 if self.dp_attention else self.dp


def _ranks(args: Arguments, name: str) -> int:
    """A number of ranks; 1 where the log gives none that can be."""
    ranks = args.whole(name)
    return ranks if ranks is not None and 1 <= ranks <= _MOST_RANKS else 1


def layout(args: Arguments) -> Layout:
    """The groups from the server arguments; from 0.5.22 the dump names attention data parallelism `attn_dp_size`."""
    tp = _ranks(args, "tp_size")
    pp = _ranks(args, "pp_size")
    dp = _ranks(args, "dp_size")
    attn_dp = _ranks(args, "attn_dp_size") if args.given("attn_dp_size") else 1
    attention = args.flag("enable_dp_attention")
    if attention and attn_dp == 1:
        attn_dp = dp
    if attn_dp > 1:
        attention, dp = True, attn_dp
    return Layout(
        tp=tp,
        pp=pp,
        dp=dp,
        dp_attention=attention,
        attn_dp=attn_dp,
        attn_cp=_ranks(args, "attn_cp_size") if args.given("attn_cp_size") else 1,
        dcp=_ranks(args, "dcp_size") if args.given("dcp_size") else 1,
    )


def stage_layers(layers: int, stages: int, release: Version) -> tuple[range, ...]:
    """Layer ids of each pipeline stage (get_pp_indices).

    Until 0.5.5.post3 the last stage takes the whole remainder, afterwards the last stages take one layer more each. The
    variable SGLANG_PP_LAYER_PARTITION, which no log shows, can choose another partition.
    """
    base, rest = divmod(layers, stages)
    if release < _EVEN_REMAINDER_SINCE:
        return tuple(range(i * base, (i + 1) * base if i < stages - 1 else layers) for i in range(stages))
    sizes = [base + (1 if i >= stages - rest else 0) for i in range(stages)]
    ends = accumulate(sizes)
    return tuple(range(end - size, end) for end, size in zip(ends, sizes, strict=True))
