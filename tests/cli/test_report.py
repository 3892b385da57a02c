"""`logaudit report`: formats, files and exit codes, as a user meets them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import logaudit
from logaudit.cli.main import run
from logaudit.report.render import extract_document, render

from .documents import crashed, document, not_checkable, ready, unexplained


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made = tmp_path / "server.log"
    made.write_text("a log\n")
    return made


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Stands in for the audit: records how it was called, and answers with a start that is ready."""
    calls: list[dict[str, object]] = []

    def audit(sources, **given):
        calls.append({"sources": sources, **given})
        return document(ready())

    monkeypatch.setattr(logaudit, "audit", audit, raising=False)
    return calls


def answer(monkeypatch: pytest.MonkeyPatch, *launches) -> None:
    monkeypatch.setattr(logaudit, "audit", lambda sources, **given: document(*launches), raising=False)


def test_a_log_alone_is_reported_on(audited, log, capsys) -> None:
    assert run([str(log)]) == 0
    assert audited == [
        {"sources": [str(log)], "model_config": None, "draft_model_config": None, "gpu_memory_gib": None}
    ]
    assert "Ready." in capsys.readouterr().out


def test_options_may_come_before_the_log_without_the_word_report(audited, log, capsys) -> None:
    assert run(["--format", "json", str(log)]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_what_helps_the_audit_is_handed_on(audited, log) -> None:
    configs = ["--model-config", "config.json", "--draft-model-config", "draft"]
    assert run(["report", str(log), "-", *configs, "--gpu-memory", "96"]) == 0
    assert audited[0] == {
        "sources": [str(log), "-"],
        "model_config": "config.json",
        "draft_model_config": "draft",
        "gpu_memory_gib": 96.0,
    }


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.html", "<!doctype html>"),
        ("r.HTM", "<!doctype html>"),
        ("r.md", "## Ready."),
        ("r.json", "{"),
        ("r.txt", "server.log"),
        ("r", "server.log"),
    ],
)
def test_the_format_follows_the_ending(audited, log, tmp_path, name, begins) -> None:
    assert run(["report", str(log), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().startswith(begins)


def test_the_format_asked_for_beats_the_ending(audited, log, tmp_path) -> None:
    assert run(["report", str(log), "-o", str(tmp_path / "r.txt"), "--format", "md"]) == 0
    assert (tmp_path / "r.txt").read_text().startswith("## Ready.")


def test_an_ending_that_names_no_format_is_refused(audited, log, tmp_path, capsys) -> None:
    assert run(["report", str(log), "-o", str(tmp_path / "r.pdf")]) == 2
    assert "--format" in capsys.readouterr().err
    assert audited == []


def test_an_existing_file_stays_without_force(audited, log, tmp_path, capsys) -> None:
    target = tmp_path / "r.html"
    target.write_text("mine")
    assert run(["report", str(log), "-o", str(target)]) == 2
    assert target.read_text() == "mine"
    assert capsys.readouterr().err.count("\n") == 1
    assert audited == []
    assert run(["report", str(log), "-o", str(target), "--force"]) == 0
    assert target.read_text().startswith("<!doctype html>")


def test_replacing_keeps_the_mode_and_a_link(audited, log, tmp_path) -> None:
    target, link = tmp_path / "r.html", tmp_path / "latest.html"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert run(["report", str(log), "-o", str(link), "--force"]) == 0
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_text().startswith("<!doctype html>")


def test_a_missing_folder_is_one_line(audited, log, tmp_path, capsys) -> None:
    assert run(["report", str(log), "-o", str(tmp_path / "no" / "r.html")]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "the folder does not exist" in shown


def test_a_write_that_fails_leaves_nothing_behind(audited, log, tmp_path, monkeypatch, capsys) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(["report", str(log), "-o", str(tmp_path / "r.html")]) == 2
    assert "no space left on device" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server.log"]


def test_a_device_is_written_to_as_it_is(audited, log) -> None:
    assert run(["report", str(log), "--format", "html", "-o", "/dev/null"]) == 0


@pytest.mark.parametrize(
    ("launches", "flags", "code"),
    [
        ([ready()], [], 0),
        ([ready()], ["--check", "--strict"], 0),
        ([unexplained()], [], 0),
        ([unexplained()], ["--check"], 1),
        ([crashed()], [], 0),
        ([crashed()], ["--check"], 1),
        ([not_checkable()], ["--check"], 0),
        ([not_checkable()], ["--check", "--strict"], 1),
        ([ready(), crashed(index=1)], ["--check"], 1),
        ([ready(), crashed(index=1)], ["--check", "--launch", "0"], 0),
        ([ready(), crashed(index=1)], ["--check", "--launch", "-1"], 1),
        ([], ["--check"], 0),
        ([], ["--check", "--strict"], 1),
    ],
)
def test_check_turns_the_finding_into_an_exit_code(monkeypatch, log, launches, flags, code) -> None:
    answer(monkeypatch, *launches)
    assert run(["report", str(log), *flags]) == code


def test_one_start_of_several(monkeypatch, log, capsys) -> None:
    starts = [msgspec.structs.replace(ready(), index=index) for index in range(3)]
    answer(monkeypatch, *starts)
    for given, index in (("1", 1), ("-1", 2), ("-3", 0)):
        assert run(["report", str(log), "--format", "json", "--launch", given]) == 0
        assert [launch["index"] for launch in json.loads(capsys.readouterr().out)["launches"]] == [index]
    for given in ("3", "-4"):
        assert run(["report", str(log), "--launch", given]) == 2
        assert "starts in this log: 0, 1, 2" in capsys.readouterr().err


@pytest.mark.parametrize("face", ["html", "json"])
def test_a_report_is_read_where_a_log_is(tmp_path, capsys, face) -> None:
    stored = tmp_path / "stored"
    stored.write_text(render(document(ready()), face))
    assert run(["report", str(stored), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == msgspec.to_builtins(document(ready()))


def test_a_damaged_report_is_one_line(tmp_path, capsys) -> None:
    stored = tmp_path / "stored.html"
    stored.write_text(render(document(ready()), "html").replace('"launches"', '"lunches"'))
    assert run(["report", str(stored)]) == 2
    shown = capsys.readouterr().err
    assert "stored.html: not a readable logaudit document" in shown
    assert shown.count("\n") == 1


def test_the_html_carries_the_document(audited, log, tmp_path) -> None:
    run(["report", str(log), "-o", str(tmp_path / "r.html")])
    assert extract_document((tmp_path / "r.html").read_text()) == document(ready())


def command(*arguments: str, **given) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "logaudit", *arguments], capture_output=True, timeout=60, **given)


@pytest.fixture
def stored(tmp_path: Path) -> str:
    path = tmp_path / "stored.json"
    path.write_text(render(document(ready()), "json"))
    return str(path)


def test_a_reader_that_goes_away_is_no_error(stored) -> None:
    shell = f"{sys.executable} -m logaudit {stored} --format html | head -c 1; echo ${{PIPESTATUS[0]}} >&2"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60)
    assert done.stdout == b"<"
    assert done.stderr.split() in ([b"0"], [b"141"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line(stored) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "logaudit", stored], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"no space left on device" in done.stderr


def test_a_terminal_that_knows_only_ascii_gets_ascii(stored) -> None:
    done = command(stored, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"?" not in done.stdout


def test_a_pipe_gets_no_colour(stored) -> None:
    assert b"\x1b" not in command(stored).stdout
