"""What the archive for machines without a network holds, and what its script says where it cannot install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from bundle.__main__ import environment, lacking
from logaudit.cli.main import run
from tests.conftest import ROOT

SCRIPT = ROOT / "bundle" / "install.sh"


def wheel(folder: Path, name: str, *requires: str) -> Path:
    """A wheel that holds nothing but what it requires."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as packed:
        lines = [f"Requires-Dist: {requirement}" for requirement in requires]
        packed.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join(["Metadata-Version: 2.1", *lines, ""]))
    return path


def test_conditions_are_those_of_the_machine_to_install_on(tmp_path: Path) -> None:
    own = wheel(
        tmp_path,
        "logaudit",
        'old>=1; python_version < "3.12"',
        'new>=2; python_version >= "3.13"',
        'arm; platform_machine == "aarch64"',
        'apple; sys_platform == "darwin"',
    )
    assert lacking([own], "", environment("x86_64", "3.11")) == ["old>=1"]
    assert lacking([own], "", environment("x86_64", "3.13")) == ["new>=2"]
    assert lacking([own], "", environment("aarch64", "3.12")) == ["arm"]


def test_extras_are_followed_through_the_projects_that_ask_for_them(tmp_path: Path) -> None:
    own = wheel(tmp_path, "logaudit", 'logaudit[fleet]; extra == "all"', 'cluster[fast]; extra == "fleet"')
    cluster = wheel(tmp_path, "cluster", 'quick; extra == "fast"', 'slow; extra == "other"')
    machine = environment("x86_64", "3.12")
    assert lacking([own], "", machine) == []
    assert lacking([own], "all", machine) == ["cluster"]
    assert lacking([own, cluster], "all", machine) == ["quick"]


@pytest.mark.parametrize("given", [[], ["somewhere"]], ids=["no folder", "no Python of that version"])
def test_the_script_says_what_it_lacks(tmp_path: Path, given: list[str]) -> None:
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "cp21.txt").touch()
    command = ["sh", str(tmp_path / "install.sh"), *given]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert ("FOLDER" if not given else "no Python of these versions") in done.stdout + done.stderr


def test_the_script_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    command = ["sh", str(SCRIPT), str(tmp_path / "mine")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "exists already" in done.stderr) == (2, True)


def test_an_install_without_the_fast_scanner_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "hyperscan" else found(name))
    assert run(["--version"]) == 0
    assert "the slower scanner is used" in capsys.readouterr().out
