"""logaudit: read SGLang's startup log and explain where the GPU memory went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "audit", "rank_frame", "read_launches", "read_records"]

if TYPE_CHECKING:
    from logaudit.api import rank_frame, read_launches, read_records
    from logaudit.entry import audit
    from logaudit.report.document import Document as Report

_HOMES = {
    "Report": ("logaudit.report.document", "Document"),
    "audit": ("logaudit.entry", "audit"),
    "rank_frame": ("logaudit.api", "rank_frame"),
    "read_launches": ("logaudit.api", "read_launches"),
    "read_records": ("logaudit.api", "read_records"),
}


def __getattr__(name: str) -> Any:
    """Heavy parts are imported when they are first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    # Bound here, or the module `logaudit.audit` would hide the function of that name from the second use on.
    globals()[name] = value = getattr(import_module(module), attribute)
    return value
