"""Telling lines that look like memory accounting, though no kind knows them, from ordinary noise."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

import regex

from logaudit.extract.extractor import Extractor
from logaudit.lazy import lazy_pattern

_TIMEOUT_S = 0.5
_MAX_CHARS = 4096
_MAX_WORDS = 60
_NEAR = 0.45

_FIGURE = r"-?\d[\d_,]*(?:\.\d+)?\s?(?:[KMGT]i?B|bytes)\b"
_WORD = (
    r"(?:mem(?:ory)?|vram|hbm|kv|cache|pool|tokens?|avail(?:able)?|free|allocat\w*|reserv\w*|budget|headroom|buffers?"
    r"|pinned|resident|mmap)"
)
_MEMORY = lazy_pattern(
    rf"(?:{_FIGURE}.{{0,160}}?(?<![A-Za-z]){_WORD}(?![A-Za-z])|(?<![A-Za-z]){_WORD}(?![A-Za-z]).{{0,160}}?{_FIGURE}"
    r"|#tokens?:\s?\d"
    r"|\b\w*max_total_num_tokens\W{1,4}\d"
    r"|\bavail(?:able)?[ _](?:\w+[ _])?mem(?:ory)?\W{1,4}\d"
    r"|\b\w*(?:layer_tokens|max_mamba_cache_size|_pool_size|bytes_per_full_token|per_token_bytes|cell_size(?:_bytes)?"
    r"|max_num_reqs)\W{1,3}\d)",
    regex.IGNORECASE,
)
_NOISE = lazy_pattern(
    r"(?:"
    r"\s*File \"|\s+\S.*[({\[,]\s*$|\s*(?:raise|return|import|from|def|class|assert|if|for|self\.|logger\.|print\()[ "
    r".(]"
    r"|\s*(?:\^|~){3,}"
    r"|.*\b(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH) /\S* HTTP/"
    r"|.*\d+%\|"
    r"|.*\b(?:it/s|s/it|MB/s|kB/s|GB/s|iB/s)\b"
    r"|\s*(?:Downloading|Downloaded|Collecting|Using cached|Installing|Requirement already|Successfully|Uninstalling"
    r"|Get:\d|Fetched|"
    r"Fetching|Need to get|After this operation|Pulling|Extracting|Unpacking|Setting up|Preparing|Reading package"
    r"|Saved)\b"
    r"|.*\b\w*Warning: |.*\bwarnings\.warn\b"
    r"|.*\bserver_args\b|.*\bServerArgs\("
    r"|.*\bpython3?\s+(?:-m|-c|\S+\.py)\b|.*\bsglang(?:\.launch_server| serve)\b|\s*--[a-z]"
    r"|.*(?:Prefill|Prefil|Decode) batch"
    r"|.*\b(?:Receive|Received|Finish|Finished): (?:obj|request|rid)|.*\bsampling_params\b|.*\"(?:prompt|messages|text"
    r"|content)\"\s*:"
    r"|.*\bNCCL INFO\b"
    r")",
)


def looks_like_memory(text: str) -> bool:
    """Whether a message carries figures of memory or of a pool's capacity, and is none of the usual noise."""
    head = text[:_MAX_CHARS]
    if not any(digit in head for digit in "0123456789"):
        return False
    try:
        return bool(_MEMORY.search(head, timeout=_TIMEOUT_S)) and not _NOISE.match(head, timeout=_TIMEOUT_S)
    except TimeoutError:
        return True


Wordings = tuple[tuple[str, tuple[str, ...]], ...]
"""Kind and words of every sample."""


def wordings(extractors: Iterable[Extractor]) -> Wordings:
    """What `nearest_kind` compares with: the words of every sample, fallbacks aside."""
    return tuple(
        (extractor.kind, _words(sample.text))
        for extractor in extractors
        if not extractor.fallback
        for sample in extractor.samples
    )


def nearest_kind(text: str, known: Wordings) -> str | None:
    """The kind whose samples share the most words with a message, in order; None when none is near."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_words(text[:_MAX_CHARS]))
    best, nearest = _NEAR, None
    for kind, words in known:
        matcher.set_seq1(words)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, nearest = matcher.ratio(), kind
    return nearest


def _words(text: str) -> tuple[str, ...]:
    """The words of a message without its figures, so that only the wording is compared."""
    return tuple(word.lower() for word in regex.findall(r"[A-Za-z_]+", text)[:_MAX_WORDS])
