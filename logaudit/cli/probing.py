"""Reports that also know the machine: its cards, and the model's own config."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logaudit.report.document import Document, LaunchDoc, LedgerRow
    from logaudit.sources.interface import Source
    from logaudit.sources.probe import Probe
    from logaudit.sources.remote.host import Host
    from logaudit.sources.remote.reach import Reach


def read_probed(
    logs: list[str],
    reach: Reach,
    model_config: str | None,
    draft_model_config: str | None,
    gpu_memory: float | None,
    nvidia_smi: str | None,
) -> Document:
    """The document of the logs with what the machine (or a file with nvidia-smi's output) says. Raises SourceError."""
    import msgspec

    import logaudit
    from logaudit.sources import probe as probing
    from logaudit.sources.remote.open import open_reached

    sources = open_reached(logs, reach)
    host = host_of(sources)
    found = probing.from_file(nvidia_smi) if nvidia_smi is not None else probing.probe(host)
    memory = gpu_memory if gpu_memory is not None else found.gpu_memory_gib

    def audit(config: str | None) -> Document:
        return logaudit.audit(
            sources, model_config=config, draft_model_config=draft_model_config, gpu_memory_gib=memory
        )

    document = audit(model_config)
    if model_config is None and nvidia_smi is None and host is not None:
        paths = [launch.model.path for launch in document.launches if launch.model.path]
        data = probing.model_config(paths[-1], host) if paths else None
        if data is not None:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "config.json").write_bytes(data)
                document = audit(folder)
    launches = [told(launch, found) for launch in document.launches]
    return msgspec.structs.replace(document, launches=launches)


def told(launch: LaunchDoc, found: Probe) -> LaunchDoc:
    """The launch with what the probe says about its cards."""
    import msgspec

    free = [
        rank.before_load_gib for rank in launch.ranks if rank.worker == "target" and rank.before_load_gib is not None
    ]
    notes = [*launch.notes, *found.explain(min(free, default=None))]
    return msgspec.structs.replace(launch, notes=notes, ledger=[_with_card(row, found) for row in launch.ledger])


OTHERS = "other processes, as they are now"


def _with_card(row: LedgerRow, found: Probe) -> LedgerRow:
    """The ledger from the card's memory down, with the parts that the machine's own tools name."""
    import msgspec

    from logaudit.report.build import above_the_log

    if found.gpu_memory_gib is None:
        return row
    card = min(found.cards, key=lambda one: one.total_gib)
    before = sum(item.gib.value for item in row.items)
    kept = {"the driver's reserve": card.reserved_gib or 0.0, OTHERS: found.others_gib}
    return msgspec.structs.replace(row, above=above_the_log(before, card.total_gib, kept))


def host_of(sources: list[Source]) -> Host | None:
    """The machine that has the (first) log; None: this one."""
    return getattr(sources[0], "host", None) if sources else None
