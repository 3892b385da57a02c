"""The oracle: inputs and results of SGLang's own code as tests read them, and a plain reading of the log's lines."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.version import Version

from tests.conftest import ROOT, shared_files

FIXTURES = ROOT / "fixtures" / "oracle"
MODELS = ROOT / "fixtures" / "models"


@dataclass(frozen=True)
class OracleCase:
    """One log with what SGLang computed in it."""

    name: str
    log: Path
    truth: dict[str, Any]

    @property
    def release(self) -> Version:
        return Version(self.truth["sglang_version"])

    @property
    def config(self) -> Path:
        return MODELS / f"{self.truth['model']}.json"

    @property
    def refused(self) -> bool:
        return self.truth["error"] is not None

    @property
    def hides_ranks(self) -> bool:
        """0.4.7 to 0.5.3 let only the first tensor-parallel rank print its readings."""
        hidden = Version("0.4.7") <= self.release <= Version("0.5.3")
        return hidden and (self.truth["server_args"]["tp_size"] or 1) > 1

    @property
    def divides_slots(self) -> bool:
        """0.5.4 to 0.5.6 print the state slots before they divide them by the draft tokens."""
        speculative = self.truth["server_args"]["speculative_algorithm"] is not None
        return speculative and Version("0.5.4") <= self.release < Version("0.5.7")

    @property
    def ranks(self) -> list[dict[str, Any]]:
        return list(self.truth["ranks"])


@cache
def cases() -> tuple[OracleCase, ...]:
    """All cases: the shared folder's where it is there, else those that travel with the project."""
    logs = shared_files("oracle/*.log") or sorted(FIXTURES.glob("*.log"))
    return tuple(OracleCase(log.stem, log, json.loads(log.with_suffix(".json").read_text())) for log in logs)


def names() -> list[str]:
    return [case.name for case in cases()]


def case(name: str) -> OracleCase:
    return next(case for case in cases() if case.name == name)


RANK = re.compile(r"^\[[\d\- :.]+((?: [A-Z_]+\d+)*)\] ?(.*)$")
FIGURE = r"(-?\d+\.\d+)"


@dataclass(frozen=True)
class Printed:
    """What one rank printed, read with the simplest expressions that can read it."""

    begins: list[float]
    ends: list[float]
    pool_ends: list[float]
    tokens: list[int]
    sizes: list[float]


def printed(log: Path) -> dict[str, Printed]:
    """Rank tag (`DP0 TP1`, `` for none) -> its figures in order."""
    lines: dict[str, list[str]] = defaultdict(list)
    for line in log.read_text(errors="replace").splitlines():
        if match := RANK.match(line):
            lines[match[1].strip()].append(match[2])
    out = {}
    for tag, messages in lines.items():
        text = "\n".join(messages)
        sizes = []
        for k, v, kv in re.findall(
            rf"KV Cache is allocated\..*?(?:K size: {FIGURE} GB, V size: {FIGURE} GB|KV size: {FIGURE} GB)", text
        ):
            sizes.append(round(float(kv) if kv else float(k) + float(v), 2))
        out[tag] = Printed(
            begins=[float(x) for x in re.findall(rf"Load weight begin\. avail mem={FIGURE} GB", text)],
            ends=[float(x) for x in re.findall(rf"Load weight end\..*?avail mem={FIGURE} GB", text)],
            pool_ends=[float(x) for x in re.findall(rf"Memory pool end\. avail mem={FIGURE} GB", text)],
            tokens=[int(x) for x in re.findall(r"KV Cache is allocated\..*?#tokens: (\d+)", text)],
            sizes=sizes,
        )
    return {tag: figures for tag, figures in out.items() if figures.begins or figures.tokens or figures.sizes}


def tag_of(rank: Any, tags: list[str]) -> str | None:
    """The rank tag that a report's rank stands for."""

    def parts(tag: str) -> dict[str, int]:
        return {name: int(number) for name, number in re.findall(r"([A-Z_]+?)(\d+)", tag)}

    wanted = {"TP": rank.tp, "PP": rank.pp, "DP": rank.dp, "EP": rank.ep}
    for tag in tags:
        if all(parts(tag).get(name) == value for name, value in wanted.items()):
            return tag
    return None
