"""The whole job, with no import before it is needed: logs in, document out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logaudit.reconcile.inputs import Given
    from logaudit.report import document as doc
    from logaudit.report.redact import Redactor
    from logaudit.sources import Source


def audit(
    sources: Sequence[str | Source],
    *,
    model_config: str | Path | None = None,
    draft_model_config: str | Path | None = None,
    gpu_memory_gib: float | None = None,
    redactor: Redactor | None = None,
) -> doc.Document:
    """Read logs and explain them: paths, directories, globs, `-`, or sources, as one document.

    `model_config` is a Hugging Face config.json or its folder, `gpu_memory_gib` the card's memory in GiB. Raises
    SourceError for a log that cannot be read and ConfigError for a config that cannot be used.
    """
    from logaudit.reading import read_sources
    from logaudit.sources import open_sources

    def given() -> Given:
        from logaudit.auditing import given_of

        return given_of(model_config=model_config, draft_model_config=draft_model_config, gpu_memory_gib=gpu_memory_gib)

    # A config that cannot be used is told before a log is read.
    early = given() if model_config is not None or draft_model_config is not None else None
    opened: list[Source] = []
    for source in sources:
        opened += open_sources([source]) if isinstance(source, str) else [source]
    read = read_sources(opened, meanwhile=_import_what_follows)
    from logaudit.auditing import document_of

    return document_of(read, early or given(), redactor)


def _import_what_follows() -> None:
    from logaudit.reconcile.findings import rules

    rules()
