"""Memory of the pools that no line prints."""

from __future__ import annotations

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sizing.arguments import Arguments, alloc_len_per_decode, speculation
from logaudit.sizing.parallel import Layout

_DRAFT_TOKENS_COUNTED_SINCE = Version("0.5.1")
_RESERVE_COUNTED_SINCE = Version("0.5.19")
_PADDING_ROW_SINCE = Version("0.5.12")
_DEVICE_FREE_LIST_SINCE = Version("0.4.4")
_SHORT_DECODE_POOL = 32


def extra_context(args: Arguments, release: Version, page_size: int, layout: Layout) -> int:
    """Columns of the request table beyond the context length (get_req_to_token_extra_context_len)."""
    extra = 4
    drafts = args.whole("speculative_num_draft_tokens")
    if drafts is not None and speculation(args) is not None and release >= _DRAFT_TOKENS_COUNTED_SINCE:
        extra += drafts
    if release >= _RESERVE_COUNTED_SINCE and speculation(args) is not None and page_size * layout.dcp > 1:
        page = page_size * layout.dcp
        extra = max(extra, 2 * alloc_len_per_decode(args, page) + page - 1)
    return extra


def unprinted(
    args: Arguments,
    layout: Layout,
    release: Version,
    *,
    table_rows: Interval | None,
    context_length: int | None,
    tokens: Interval | None,
    window_tokens: Interval | None,
    page_size: int,
) -> dict[str, Interval]:
    """GiB per rank by name.

    The request table (int32 per request and position), the allocator's free list (int64 per page) and the map from
    full to window slots (int64 per token).

    Source: ReqToTokenPool, TokenToKVPoolAllocator, PagedTokenToKVPoolAllocator, SWATokenToKVPoolAllocator.
    """
    parts: dict[str, Interval] = {}
    if table_rows is not None and context_length is not None:
        rows = table_rows
        if release >= _PADDING_ROW_SINCE:
            rows = rows + 1
        if args.text("disaggregation_mode") == "decode" and table_rows.value <= _SHORT_DECODE_POOL:
            rows = rows + table_rows * 2
        width = context_length + extra_context(args, release, page_size, layout)
        parts["request table"] = rows * float(width * 4) / float(GIB)
    if tokens is not None and tokens.low > 0 and release >= _DEVICE_FREE_LIST_SINCE:
        parts["free list"] = tokens * (8.0 / page_size / GIB)
        if window_tokens is not None:
            parts["free list"] = parts["free list"] + window_tokens * (8.0 / page_size / GIB)
            parts["full to window map"] = (tokens + float(page_size)) * (8.0 / GIB)
    return parts
