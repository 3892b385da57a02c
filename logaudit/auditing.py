"""The main job: what was read in, document out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from logaudit import __version__
from logaudit.entry import audit
from logaudit.frame import rank_rows
from logaudit.launches import join_nodes, read_launches
from logaudit.launches.model import Launch
from logaudit.reading import ReadSource, read_source
from logaudit.reconcile.case import Case
from logaudit.reconcile.inputs import Given
from logaudit.reconcile.options import options_of
from logaudit.reconcile.reconcile import reconcile
from logaudit.report import document as doc
from logaudit.report.build import launch_document
from logaudit.report.redact import Redactor
from logaudit.sglang.hub import config_path, is_hub_name
from logaudit.sglang.model_config import ModelConfig
from logaudit.sglang.model_config import load as load_config
from logaudit.sglang.versions import bracket

__all__ = [
    "ReadSource",
    "audit",
    "cases_of",
    "document_of",
    "document_of_cases",
    "found_config",
    "given_of",
    "launches_of",
    "read_source",
]


def launches_of(sources: Sequence[ReadSource]) -> tuple[Launch, ...]:
    """The launches of all sources, nodes of one server joined, numbered."""
    found = [
        launch
        for index, source in enumerate(sources)
        for launch in read_launches(source.records, source=index, wrappers=source.wrappers)
    ]
    return join_nodes(found)


def found_config(launch: Launch) -> ModelConfig | None:
    """The model's own config, when `model_path` in the log is a folder on this machine."""
    path = launch.args.get("model_path")
    if not isinstance(path, str) or not Path(path).is_absolute():
        return None
    try:
        file = Path(path) / "config.json"
        return load_config(file) if file.is_file() else None
    except (OSError, ValueError):
        return None


def cases_of(launches: Sequence[Launch], given: Given) -> tuple[Case, ...]:
    """Each launch held against the formula."""
    cases: list[Case] = []
    good: dict[int, Case] = {}
    for launch in launches:
        own = given
        if given.config is None and (config := found_config(launch)) is not None:
            own = replace(given, config=config, config_origin="found")
        case = reconcile(launch, rank_rows([launch]), bracket(launch.parsed, launch.records), own)
        cases.append(replace(case, previous=good.get(launch.source)))
        if launch.outcome in ("ready", "initialised"):
            good[launch.source] = cases[-1]
    return tuple(cases)


def _source_info(source: ReadSource) -> doc.SourceInfo:
    return doc.SourceInfo(
        name=source.name,
        bytes=source.stats.bytes,
        lines=source.stats.lines,
        encoding=source.stats.encoding,
        wrappers=list(source.wrappers),
    )


def _unrecognised(sources: Sequence[ReadSource], launches: Sequence[Launch]) -> dict[int, list[doc.Unrecognised]]:
    """Unrecognised lines by launch: from its first line to the next launch; the first takes what precedes it."""
    out: dict[int, list[doc.Unrecognised]] = {launch.index: [] for launch in launches}
    for index, source in enumerate(sources):
        own = sorted((x for x in launches if x.source == index), key=lambda launch: launch.first_line)
        for unknown in source.unrecognised:
            before = [launch for launch in own if launch.first_line <= unknown.line]
            owner = before[-1] if before else (own[0] if own else None)
            if owner is not None:
                out[owner.index].append(doc.Unrecognised(unknown.line, unknown.text[:2000], unknown.similar_kind))
    return out


def document_of(sources: Sequence[ReadSource], given: Given, redactor: Redactor | None = None) -> doc.Document:
    """The document of sources already read; every text in it has been through the redactor."""
    return document_of_cases(sources, cases_of(launches_of(sources), given), redactor)


def document_of_cases(
    sources: Sequence[ReadSource], cases: Sequence[Case], redactor: Redactor | None = None
) -> doc.Document:
    """The same for starts that were held against the formula already; `cases` are all of those of `sources`."""
    unknown = _unrecognised(sources, [case.launch for case in cases])
    documents = [launch_document(case, unknown[case.launch.index], options_of(case)) for case in cases]
    whole = doc.Document(
        schema_version=doc.SCHEMA_VERSION,
        logaudit_version=__version__,
        sources=[_source_info(source) for source in sources],
        launches=documents,
    )
    return (redactor or Redactor()).document(whole)


def _config(place: str | Path) -> ModelConfig:
    """A config by path, folder or hub name."""
    return load_config(config_path(place) if isinstance(place, str) and is_hub_name(place) else place)


def given_of(
    *,
    model_config: str | Path | None = None,
    draft_model_config: str | Path | None = None,
    gpu_memory_gib: float | None = None,
) -> Given:
    """What the user gave beside the log, read; raises ConfigError."""
    return Given(
        config=None if model_config is None else _config(model_config),
        config_origin=None if model_config is None else "given",
        draft_config=None if draft_model_config is None else _config(draft_model_config),
        gpu_memory_gib=gpu_memory_gib,
    )
