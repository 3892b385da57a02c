"""What the driver's tools print, read as cards and processes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from logaudit.errors import SourceError
from logaudit.sources import probe as probing
from logaudit.sources.remote.host import Host
from tests.sources.remote.sshd import World

CSV = """index, name, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB]
0, NVIDIA H20, 97871 MiB, 537 MiB, 10 MiB, 97323 MiB
1, NVIDIA H20, 97871 MiB, 537 MiB, 1034 MiB, 96299 MiB
"""
NO_UNITS = """index, name, memory.total [MiB], memory.used [MiB]
0, NVIDIA A100-SXM4-80GB, 81920, 1024
"""
QUERY = """
==============NVSMI LOG==============
Attached GPUs                             : 1
GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 512 MiB
        Used                              : 1024 MiB
        Free                              : 80384 MiB
"""
TABLE = """
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:01:00.0 Off |                    0 |
| N/A   30C    P0              70W / 700W |   1024MiB / 81920MiB |      0%      Default |
+-----------------------------------------+----------------------+----------------------+
"""
ROCM = """device,VRAM Total Memory (B),VRAM Total Used Memory (B)
card0,206141652992,297791488
card1,206141652992,297791488
"""
PROCESSES = """pid, process_name, used_gpu_memory [MiB]
4711, /usr/bin/python3, 2048 MiB
4712, [Not Found], [N/A]
"""


@pytest.mark.parametrize(
    ("text", "totals_mib", "reserved_mib", "used_mib"),
    [
        (CSV, [97871, 97871], 537, 10),
        (NO_UNITS, [81920], None, 1024),
        (QUERY, [81920], 512, 1024),
        (TABLE, [81920], None, 1024),
    ],
)
def test_nvidia_smi(text: str, totals_mib: list[int], reserved_mib: int | None, used_mib: int) -> None:
    cards = probing.parse_cards(text)
    assert [card.total_gib * 1024 for card in cards] == pytest.approx(totals_mib)
    assert cards[0].reserved_gib == (None if reserved_mib is None else pytest.approx(reserved_mib / 1024))
    assert cards[0].used_gib == pytest.approx(used_mib / 1024)


def test_rocm_smi() -> None:
    # 206141652992 / 2**30
    assert [card.total_gib for card in probing.parse_rocm(ROCM)] == pytest.approx([191.984, 191.984], abs=0.001)


def test_processes() -> None:
    (process,) = probing.parse_processes(PROCESSES)
    assert (process.pid, process.name, process.used_gib) == (4711, "/usr/bin/python3", 2.0)


def test_the_way_from_the_card_to_what_was_free() -> None:
    said = " ".join(probing.Probe(probing.parse_cards(CSV)).explain(94.04))
    # 97871 / 1024 = 95.577; 537 / 1024 = 0.524; 95.577 - 94.04 = 1.537; 1.537 - 0.524 = 1.013
    assert "95.58 GiB of physical memory" in said
    assert "1.54 GiB of it were not free before loading: 0.52 GiB the driver's, 1.01 GiB" in said


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of interest\n")
    with pytest.raises(SourceError, match="no output of nvidia-smi"):
        probing.from_file(str(path))


def test_asks_the_tool_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text(
        f"#!/bin/sh\ncase $1 in --query-gpu=*) cat <<'E'\n{CSV}E\n;; *) cat <<'E'\n{PROCESSES}E\n;; esac\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    found = probing.probe(None)
    assert found.gpu_memory_gib == pytest.approx(97871 / 1024)
    assert len(found.processes) == 1


def test_a_machine_without_any_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = probing.probe(None)
    assert found.gpu_memory_gib is None
    assert "neither nvidia-smi nor rocm-smi" in found.explain(None)[0]


def test_reads_the_config_of_the_model_over_there(world: World, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    data = probing.model_config(str(tmp_path), Host("gpu07"))
    assert data is not None
    assert json.loads(data) == {"model_type": "llama"}
    assert probing.model_config(str(tmp_path / "missing"), Host("gpu07")) is None


def test_the_share_of_other_processes_is_told_for_a_single_card_only() -> None:
    processes = (
        probing.Process(1, "sglang::scheduler", 70.0),
        probing.Process(2, "/usr/bin/python3", 5.0),
        probing.Process(3, "Xorg", 0.25),
        probing.Process(4, "ollama", 6.5),
    )
    card = probing.Card(0, "card", 80.0, 0.5, 82.25)
    assert probing.Probe(cards=(card,), processes=processes).others_gib == 0.25 + 6.5
    assert probing.Probe(cards=(card, card), processes=processes).others_gib == 0.0
