"""SGLang's own line prefix, of every release and of custom logging configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan.line import NO_RANK, RankTag

TIMEOUT_S = 2.0
"""How long one search on one line may take before the line is taken as it stands."""

_CLOCK = r"\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_DATE = r"\d{4}-\d{2}-\d{2}"
_STAMP = rf"(?:{_DATE}[ T])?{_CLOCK}(?:Z|[+-]\d{{2}}:?\d{{2}})?"
_RANK = r"(?:DP|PP|ATTN_CP|ATTN_TP|ATTN_DP|MOE_DP|MOE_EP|MOE_TP|DCP|CP|TP|EP)\d+(?:(?:\.\.+|-|…)\d+)?"
_WORD = r"[A-Za-z_][\w.\-=]*(?:\[\d+\])?"

BRACKET = lazy_pattern(rf"\[(?P<stamp>{_STAMP})(?P<tag>(?:[ ,]+(?:{_RANK}|{_WORD}|{_STAMP})){{0,12}}) *\](?: |$)?")
_BRACKET_LOST = lazy_pattern(rf"{_DATE} {_CLOCK}(?: {_RANK}){{0,8}}\] (?!\[)")
"""SGLang's prefix without its first character, the one that is missed most when a log is marked by hand."""
_STAMPED_TAG = lazy_pattern(rf"\[(?P<tag>{_RANK}(?:[ ,]+(?:{_RANK}|{_WORD})){{0,12}})\](?: |$|(?=\[))")
_GPU = lazy_pattern(r"\[gpu_id=(?P<gpu>\d{1,4})\](?: |$)")
_RANK_ITEM = lazy_pattern(r"(?P<kind>[A-Z_]+?)(?P<first>\d{1,5})(?:(?:\.\.+|-|…)(?P<last>\d{1,5}))?$")
_SUFFIX = lazy_pattern(r" \(rank-check failed: .*\)$")

_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|debug|info|warning|error|critical)"
_FILE = r"[\w./\-]{1,200}\.py:\d{1,6}"
_LINE_OF = r"(?::[\w<>]+(?=:\d|\s+-\s))?(?::\d{1,6})?"
_OURS = rf"(?:sglang(?:\.\w+)*{_LINE_OF}(?=[\s:\])-])|{_FILE})"
_DOTTED = rf"(?:[A-Za-z_]\w*(?:\.\w+)*{_LINE_OF}(?=[\])]?(?:\s*[:|]|\s+-\s|\])))"
_WHERE = rf"(?:{_OURS}|{_DOTTED})"
_SHORT_STAMP = rf"(?:(?:{_DATE}|\d{{2}}[-/]\d{{2}}(?:[-/]\d{{2,4}})?|\d{{4}}/\d{{2}}/\d{{2}})[ T])?{_CLOCK}"
_PROCESS = (
    r"(?:(?:pid|tid|thread|process)[=: ]?\d+"
    r"|\[?(?:MainThread|MainProcess|Thread-\d+|Process-\d+|SpawnProcess-\d+)\]?|\d{1,7})"
)
_SEP = r"(?:\s*[-|:]\s+|\s+|:)"

HEADER = lazy_pattern(
    # One head as loggers write it: a level, and a time or a place beside it, in any order.
    rf"(?:"
    rf"(?P<t1>{_SHORT_STAMP})\]?{_SEP}(?:{_PROCESS}{_SEP})?"
    rf"(?:[\[(]?{_LEVEL}\s*[\])]?{_SEP}(?:{_PROCESS}{_SEP})?(?:[\[(]?{_WHERE}[\])]?{_SEP})?"
    rf"|[\[(]?{_WHERE}[\])]?{_SEP}(?:{_PROCESS}{_SEP})?[\[(]?{_LEVEL}\s*[\])]?{_SEP})"
    rf"|\[(?P<t2>{_SHORT_STAMP})\]\s*(?:\[{_LEVEL}\s*\]\s*(?:\[{_WHERE}\]\s*)?|\[{_WHERE}\]\s*\[{_LEVEL}\s*\]\s*"
    rf"|{_LEVEL}\s+{_WHERE}:\s?)[-:]?\s*"
    rf"|[\[(]?{_LEVEL}\s*[\])]?(?:[ \t]+|:[ ]?)(?P<t3>{_SHORT_STAMP})?[ \t]*[\[(]?{_WHERE}[\])]?(?::[ ]?|[ ]+-[ ]+"
    rf"|[ ]+|(?<=[\])])[ ]*)"
    rf")"
    # A pad or a second level is never part of the head: uvicorn's own `INFO:     ` is its message.
)
_BARE_LEVEL = lazy_pattern(rf"[\[(]?{_LEVEL}[\])]?:? (?! )")
_ONLY_FILE = lazy_pattern(rf"\[?{_FILE}\]?:? ")

_HEADS = (
    r"Load weight (?:begin|end)\.",
    r"Memory pool end\.",
    r"(?:\w+ )?KV Cache (?:is allocated|VA upper|skipped)",
    r"Mamba Cache is allocated",
    r"Init (?:torch distributed|nccl|parallel) (?:begin|ends?)",
    r"Capture .{0,60}?(?:[Gg]raph|extend) (?:begin|end|bs|num|failed)",
    r"(?:Multi-thread l|L)oading [\w ()]{0,40}shards:",
    r"Capturing (?:batches|num tokens|prefill shape)",
    r"max_total_num_tokens=\d+,",
    r"max_total_tokens=\d+ is larger",
    r"server_args=(?:ServerArgs\(|\{)",
    r"server_args: enable",
    r"Use [Ss]liding window memory pool",
    r"Using KV cache dtype",
    r"DSV4 ",
    r"DSv4 ",
    r"SW KV memory",
    r"SWAKVPool ",
    r"SWA (?:ring|pool)",
    r"The available memory for KV cache",
    r"Memory profiling:",
    r"TPU Memory profiling",
    r"Memory baseline taken",
    r"The memory capacity is unbalanced",
    r"Post-capture KV sizing",
    r"Not enought? (?:GPU |host )?memory",
    r"Scheduler hit an exception",
    r"The server is fired up",
    r"Tree cache initialized",
    r"Launch DP\d",
    r"(?:Prefill?|Decode) batch",
    r"Allocating .{0,60}\d GB",
    r"VirtualKV Cache",
    r"Physical KV Cache",
    r"Mamba selective_state_update",
    r"Attention backend not ",
    r"INFO:     ",
    r"Max running requests is reset",
    r"Max concurrent requests",
    r"(?:Piecewise |Cuda )[Gg]?(?:CUDA )?graph is",
    r"Reserving \d+\.\d+ GB of the KV",
    r"(?:Res|S)et(?:ting)? (?:page.size|KV cache dtype|mem.fraction|max_running|swa_full|sliding_window)",
    r"DP attention is enabled",
    r"Automatically (?:reduce|turn off|adjust)",
    r"Multimodal model: ",
    r"FlashMLA only supports",
    r"TensorRT-LLM MLA only",
    r"Use \w+ attention backend",
    r"Using CUDA (?:IPC|VMM) for multimodal",
    r"CUDA IPC multimodal",
    r"Preallocated \d+MB",
    r"MmItemMemoryPool size",
    r"Failed to run nvidia-smi",
    r"Pre-allocating symmetric",
    r"Symmetric memory is enabled",
    r"All Reduce config",
    r"EPLB default-group",
    r"HiCache ",
    r"GDN ReplaySSM",
    r"Loaded weights leave no GPU",
    r"(?:Decode o|O)ut of memory\. Try",
    r"KV pool holds",
    r"Overlap scheduler is disabled",
    r"Peak GPU memory",
    r"max_running_requests is capped",
    r"Update (?:engine )?weights",
    r"LoRA adapter loading",
    r"Initialize DeepSeekV4",
    r"Hybrid swa model",
)
HEAD = lazy_pattern(r"(?:\[BCG\] )?(?:" + "|".join(_HEADS) + r")")
"""How the messages begin that a start is full of: what tells a log without prefixes from other text."""


_MARKS = (
    "[20",
    "[gpu_id=",
    " TP",
    "[TP",
    "sglang.",
    ".py:",
    "Load",
    "Memory",
    "KV ",
    "Init ",
    "Captur",
    "max_",
    "server_args",
    "memory",
    "sliding window",
    "V4 ",
    "v4 ",
    "SWA",
    "capacity",
    "Post-capture",
    "Scheduler hit",
    "fired up",
    "Tree cache",
    "Launch DP",
    " batch",
    "Allocating",
    "Mamba",
    "ttention",
    "INFO",
    "Max ",
    "graph",
    "Reserving",
    "Setting",
    "Reset",
    "loading",
    "MLA",
    "Automatically",
    "Multimodal",
    "CUDA",
    "Preallocated",
    "MmItem",
    "nvidia-smi",
    "All Reduce",
    "EPLB",
    "HiCache",
    "GDN",
    "Hybrid swa",
    "Overlap scheduler",
    "Update ",
    "LoRA adapter",
    "Loaded weights",
)


def may_hold_line(text: str) -> bool:
    """A quick look: whether a line of SGLang could stand anywhere in the text."""
    return any(mark in text for mark in _MARKS)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line with its prefix taken off."""

    text: str
    time: datetime | None
    rank: RankTag
    spread: tuple[RankTag, ...] = ()
    """One tag for each rank when the tag names a range (`TP0..3`)."""
    header: bool = False
    """Whether a prefix of any kind stood there."""


@lru_cache(maxsize=256)
def parse_stamp(text: str) -> datetime | None:
    """The naive time of a full stamp; None for a clock without a date or an impossible date."""
    stamp = text.strip().replace(",", ".").replace("/", "-")
    if len(stamp) < 19 or stamp[4] != "-":
        return None
    stamp = stamp.rstrip("Z")
    try:
        if len(stamp) > 19 and stamp[19] == ".":
            digits = stamp[20:]
            for index, sign in enumerate(digits):
                if not sign.isdigit():
                    digits = digits[:index]
                    break
            return datetime.fromisoformat(f"{stamp[:19]}.{digits[:6]:0<6}")
        return datetime.fromisoformat(stamp[:19])
    except ValueError:
        return None


_LOGGER_WORD = lazy_pattern(rf"{_LEVEL}|sglang(?:\.\w+)*|{_FILE}|root|__main__")
_FIELDS = {
    "TP": "tp",
    "PP": "pp",
    "DP": "dp",
    "EP": "ep",
    "ATTN_CP": "attn_cp",
    "MOE_DP": "moe_dp",
}


def _read_tag(tag: str, rank: RankTag) -> tuple[RankTag, datetime | None, tuple[str, int, int] | None]:
    values: dict[str, int] = {}
    extra: list[str] = [rank.extra] if rank.extra else []
    time = None
    span = None
    words = tag.replace(",", " ").split()
    for index, word in enumerate(words):
        if word[0].isdigit():
            joined = f"{words[index - 1]} {word}" if index and words[index - 1][0].isdigit() else word
            time = parse_stamp(joined) or time
            continue
        item = _RANK_ITEM.match(word)
        name = _FIELDS.get(item["kind"]) if item else None
        if item is None or name is None:
            if not _LOGGER_WORD.fullmatch(word):
                extra.append(word)
            continue
        values[name] = int(item["first"])
        if item["last"] is not None and 0 < int(item["last"]) - int(item["first"]) < 64:
            span = (name, int(item["first"]), int(item["last"]))
    return replace(rank, **values, extra=" ".join(extra)), time, span


_EMPTY = NO_RANK
_TAGS: dict[str, tuple[RankTag, datetime | None, tuple[str, int, int] | None]] = {}


def _tag(tag: str) -> tuple[RankTag, datetime | None, tuple[str, int, int] | None]:
    found = _TAGS.get(tag)
    if found is None:
        if len(_TAGS) > 4096:
            _TAGS.clear()
        found = _TAGS[tag] = _read_tag(tag, _EMPTY)
    return found


def _merge(outer: RankTag, inner: RankTag) -> RankTag:
    if outer == _EMPTY:
        return inner
    names = ("tp", "pp", "dp", "ep", "attn_cp", "moe_dp", "gpu", "node")
    values = {n: getattr(inner, n) if getattr(inner, n) is not None else getattr(outer, n) for n in names}
    extra = " ".join(dict.fromkeys(f"{outer.extra} {inner.extra}".split()))
    return RankTag(**values, extra=extra)


_PLAIN_STAMP = lazy_pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_PLAIN_TAG = lazy_pattern(r"(?: (?:ATTN_CP|MOE_DP|DP|PP|TP|EP)\d{1,5}){0,8}")
_MORE_PREFIX = ("INFO", "WARN", "ERROR", "DEBUG", "CRIT", "FATAL", "[", "(", " ", "\t", *"0123456789")


@lru_cache(maxsize=256)
def _plain_stamp(text: str) -> datetime | None:
    return parse_stamp(text) if _PLAIN_STAMP.fullmatch(text) else None


@lru_cache(maxsize=256)
def _plain_tag(text: str) -> RankTag | None:
    return _tag(text)[0] if _PLAIN_TAG.fullmatch(text) else None


def split_plain(text: str) -> tuple[datetime, RankTag, str] | None:
    """Time, ranks and message of a line that has SGLang's own prefix and no other; None for any other line.

    Made for speed: stamps and tags repeat, so nearly every line is read without a search.
    """
    if text[:1] != "[":
        return None
    end = text.find("] ", 20, 120)
    if end < 0:
        return None
    time = _plain_stamp(text[1:20])
    rank = _plain_tag(text[20:end])
    if time is None or rank is None:
        return None
    body = text[end + 2 :]
    if not body or (body.startswith(_MORE_PREFIX) and not body.startswith("INFO:     ")):
        return None
    return time, rank, body


def parse(text: str) -> Parsed:
    """Take every prefix off the front of `text`: SGLang's, a logging library's, several in a row.

    The text is cleaned (no colours, no carriage returns). The innermost SGLang time wins over a logger's.
    """
    own: datetime | None = None
    other: datetime | None = None
    rank = _EMPTY
    span: tuple[str, int, int] | None = None
    header = False
    if text[:2] == "20" and _BRACKET_LOST.match(text):
        text = "[" + text
    for _ in range(6):
        first = text[:1]
        if first == "[":
            found = BRACKET.match(text)
            if found and not _is_foreign(text, found):
                own = parse_stamp(found["stamp"]) or own
                if found["tag"]:
                    tag, second, spread = _tag(found["tag"])
                    rank, own, span = _merge(rank, tag), own or second, spread or span
                text, header = text[found.end() :], True
                continue
            found = _GPU.match(text)
            if found:
                rank, text, header = _merge(rank, RankTag(gpu=int(found["gpu"]))), text[found.end() :], True
                continue
            found = _STAMPED_TAG.match(text)
            if found:
                tag, _, spread = _tag(found["tag"])
                rank, span, text, header = _merge(rank, tag), spread or span, text[found.end() :], True
                continue
        elif not (first.isdigit() or first in "DIWECFTdiwec("):
            break
        head = HEADER.match(text, timeout=TIMEOUT_S)
        if head and not text.startswith("INFO:     "):
            other = parse_stamp(head["t1"] or head["t2"] or head["t3"] or "") or other
            text, header = text[head.end() :], True
            continue
        level = _BARE_LEVEL.match(text)
        if level and HEAD.match(text, level.end()):
            text, header = text[level.end() :], True
            continue
        break
    if text.endswith(")") and " (rank-check failed: " in text:
        text = _SUFFIX.sub("", text)
    ranks = _spread(rank, span) if span else ()
    return Parsed(text, own or other, ranks[0] if ranks else rank, ranks, header)


def _is_foreign(text: str, found: regex.Match[str]) -> bool:
    """A clock in brackets that belongs to another program's line (`[00:01<00:01]` never gets here)."""
    tag = found["tag"]
    # `[12:01:02 something] ` without a date is SGLang's only when a rank stands in it.
    return "-" not in found["stamp"][:5] and "P" not in tag and "encode" not in tag


def _spread(rank: RankTag, span: tuple[str, int, int]) -> tuple[RankTag, ...]:
    name, first, last = span
    return tuple(replace(rank, **{name: n}) for n in range(first, last + 1))  # type: ignore[arg-type]


_FULL = lazy_pattern(r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def has_prefix(text: str) -> bool:
    """Whether a line starts with a prefix that only SGLang (or its logger) prints."""
    if text[:1] == "[":
        if _FULL.match(text):
            return BRACKET.match(text) is not None
        found = BRACKET.match(text)
        if found and not _is_foreign(text, found):
            return True
        return bool(_GPU.match(text) or _STAMPED_TAG.match(text))
    head = HEADER.match(text, timeout=TIMEOUT_S) if text[:1].isalnum() else None
    if head and not text.startswith("INFO:     "):
        return "sglang" in head[0] or ".py:" in head[0] or bool(HEAD.match(text, head.end()))
    return False


def is_bare(text: str) -> bool:
    """Whether a line starts as SGLang prints it: with its prefix, or with a message known to begin so."""
    if has_prefix(text) or HEAD.match(text):
        return True
    level = _BARE_LEVEL.match(text)
    return bool(level and HEAD.match(text, level.end()))
