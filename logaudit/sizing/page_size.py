"""The page size that a launch resolved to."""

from __future__ import annotations

from packaging.version import Version

from logaudit.sizing.arguments import Arguments
from logaudit.sizing.attention import Attention
from logaudit.sizing.model import SizingInputs

_BACKEND_PAGES = {"flashmla": 64, "cutlass_mla": 128, "trtllm_mla": 64, "trtllm_mha": 64, "ascend": 128}
_PAGES_SINCE = Version("0.4.4")


def resolve(inputs: SizingInputs, args: Arguments, attention: Attention) -> tuple[int, str]:
    """Tokens per page and where that comes from: a line or the dump, else the backend's own, else 1.

    Source: ServerArgs._handle_page_size, and the attention backends that ask for a page size of their own.
    """
    if inputs.release < _PAGES_SINCE:
        return 1, f"default of {inputs.release}"
    if inputs.page_size:
        return inputs.page_size, "log"
    given = args.whole("page_size")
    if given:
        return given, "server_args"
    if attention == "dsv4":
        return 256, f"default of {inputs.release}"
    if attention == "dsa":
        return 64, f"default of {inputs.release}"
    for name in ("attention_backend", "decode_attention_backend", "prefill_attention_backend"):
        backend = args.text(name)
        if backend in _BACKEND_PAGES:
            return _BACKEND_PAGES[backend], f"default of {backend}"
    return 1, f"default of {inputs.release}"
