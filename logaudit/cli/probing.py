"""Reports that also know the machine: its cards, and the model's own config."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logaudit.report.document import Document, LaunchDoc
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
    return msgspec.structs.replace(launch, notes=[*launch.notes, *found.explain(min(free, default=None))])


def host_of(sources: list[Source]) -> Host | None:
    """The machine that has the (first) log; None: this one."""
    return getattr(sources[0], "host", None) if sources else None
