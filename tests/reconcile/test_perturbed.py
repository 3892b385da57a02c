"""Never a wrong `explained`: each oracle log with its figures moved by more than the bounds, up and down."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from logaudit.auditing import audit
from logaudit.report.document import LaunchDoc
from tests.conftest import TEST_ALL
from tests.oracle import OracleCase, case, cases

SHIFT = 0.03
"""Share by which figures are moved: far above rounding (half a unit of the second decimal of pools of many GiB)."""
SMALLEST_GIB = 2.0
"""Pools below this are moved by less than what rounding leaves open in several lines together: not perturbed."""

TOKEN_FIGURES = re.compile(
    r"(?P<head>#tokens: |max_total_num_tokens=|full_layer_tokens=|swa_layer_tokens=|swa size: |full size: |full_token=|"
    r"\bfull=|\bswa=|\bc4=|\bc128=)(?P<value>\d+)"
)
SIZE_FIGURES = re.compile(r"(?P<head>K size: |V size: |KV size: |mem usage: )(?P<value>\d+\.\d+)(?= GB)")


def moved(text: str, figures: re.Pattern[str], factor: float) -> str:
    def change(match: re.Match[str]) -> str:
        value = match["value"]
        decimals = len(value.partition(".")[2])
        changed = float(value) * factor
        return match["head"] + (f"{changed:.{decimals}f}" if decimals else str(int(changed)))

    return figures.sub(change, text)


def tokens(text: str, factor: float) -> str:
    return moved(text, TOKEN_FIGURES, factor)


def sizes(text: str, factor: float) -> str:
    return "\n".join(
        moved(line, SIZE_FIGURES, factor) if "KV Cache" in line or "SWAKVPool" in line else line
        for line in text.split("\n")
    )


def both(text: str, factor: float) -> str:
    return tokens(sizes(text, factor), factor)


def perturbable() -> list[str]:
    """Cases that came to pools of some size; a sample of every release and model unless all are asked for."""
    good = [c for c in cases() if not c.refused and biggest_pool_gib(c) >= SMALLEST_GIB]
    if TEST_ALL:
        return [c.name for c in good]
    seen: set[tuple[str, ...]] = set()
    sample = []
    for given in good:
        keys = {("release", given.truth["sglang_version"]), ("model", given.truth["model"])}
        if not keys <= seen:
            seen |= keys
            sample.append(given.name)
    return sample


def biggest_pool_gib(given: OracleCase) -> float:
    found = re.findall(r"(?:K|V|KV) size: (\d+\.\d+) GB", given.log.read_text(errors="replace"))
    return max((float(x) for x in found), default=0.0)


@lru_cache(maxsize=2)
def log_text(name: str) -> str:
    return case(name).log.read_text(errors="replace")


def launch(text: str, folder: Path, config: Path | None) -> LaunchDoc:
    log = folder / "server.log"
    log.write_text(text)
    return audit([str(log)], model_config=config).launches[0]


@pytest.mark.parametrize("factor", [1 - SHIFT, 1 + SHIFT], ids=["down", "up"])
@pytest.mark.parametrize("perturb", [tokens, sizes, both])
@pytest.mark.parametrize("name", perturbable())
def test_with_a_config_no_moved_figure_is_explained(
    name: str, perturb: Callable[[str, float], str], factor: float, tmp_path: Path
) -> None:
    changed = perturb(log_text(name), factor)
    assert changed != log_text(name)
    status = launch(changed, tmp_path, case(name).config).reconciliation.status
    assert status != "explained"


@pytest.mark.parametrize("factor", [1 - SHIFT, 1 + SHIFT], ids=["down", "up"])
@pytest.mark.parametrize("perturb", [sizes, both])
@pytest.mark.parametrize("name", perturbable())
def test_without_a_config_no_moved_size_is_explained(
    name: str, perturb: Callable[[str, float], str], factor: float, tmp_path: Path
) -> None:
    """Tokens alone cannot be told here: without a config the bytes of a token come from the pool's own line."""
    cap = case(name).truth["server_args"]["max_total_tokens"]
    if cap is not None and perturb is sizes:
        pytest.skip("the cap decides, and without a config nothing else says how large the pool must be")
    changed = perturb(log_text(name), factor)
    status = launch(changed, tmp_path, None).reconciliation.status
    assert status != "explained"
