"""A wheel built from the checkout, installed elsewhere, gives the same report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

LOG = ROOT / "fixtures" / "kimi-k25-tp8.log"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    made = subprocess.run(build, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        message = f"the wheel cannot be built here: {made.stderr[-500:]}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return next(folder.glob("logaudit-*.whl"))


def test_templates_and_knowledge_are_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for template in (ROOT / "templates").rglob("*.j2"):
        assert f"logaudit/_templates/{template.relative_to(ROOT / 'templates').as_posix()}" in names
    for data in (ROOT / "logaudit" / "sglang" / "data").glob("*.txt"):
        assert f"logaudit/sglang/data/{data.name}" in names
    assert "logaudit/py.typed" in names


@pytest.mark.parametrize("report_format", ["json", "html", "md", "text"])
def test_elsewhere_it_gives_the_same_report(wheel: Path, report_format: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    command = [sys.executable, "-m", "logaudit", "report", str(LOG), "--format", report_format]

    def run(home: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(home)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
        ).stdout

    installed = run(tmp_path / "installed")
    assert installed == run(ROOT)
    if report_format == "json":
        assert json.loads(installed)["launches"][0]["reconciliation"]["actual_tokens"] == 159277
