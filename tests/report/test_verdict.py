"""What the first lines of a report say of starts that were pasted in part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import logaudit
from tests.launches.build import start


def told(lines: Sequence[str], folder: Path) -> str:
    """The verdict of a log's one start, as one text."""
    path = folder / "server.log"
    path.write_text("\n".join(lines))
    (launch,) = logaudit.audit([str(path)]).launches
    verdict: Any = launch.verdict
    return " ".join(verdict) if isinstance(verdict, list) else json.dumps(verdict, default=lambda part: vars(part))


def test_what_is_free_where_a_log_ends_is_not_said_to_be_left(tmp_path: Path) -> None:
    text = told(start()[:-1], tmp_path)  # 12.40 GiB after the graphs, the scheduler's line is missing
    assert "12.40 GiB were free when the log ends" in text
    assert "left for activations" not in text


def test_a_draft_after_which_more_is_free_took_nothing(tmp_path: Path) -> None:
    head = "[2026-01-01 00:00:01]"
    draft = [
        f"{head} Load weight begin. avail mem=62.90 GB",
        f"{head} Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=64.90 GB, "
        "mem usage=-2.00 GB.",
    ]
    lines = start()
    text = told([*lines[:3], *draft, *lines[3:5]], tmp_path)  # the draft's load gave 62.90 - 64.90 = 2.00 GiB back
    assert "2.00 GiB more were free than before" in text
    assert "took -" not in text
