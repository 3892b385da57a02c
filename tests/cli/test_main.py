"""The entry: global options, the choice of the command, and errors as one clear line."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest

import logaudit
from logaudit.cli.commands import COMMANDS
from logaudit.cli.main import run
from logaudit.errors import DeliveryError, SourceError, WatchTimeout


def test_version(capsys) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"logaudit {logaudit.__version__}\n"


def test_help_names_every_command_and_exit_code(capsys) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name} " in shown
        assert command.summary in shown
    assert "Exit codes: 0" in shown
    assert all(len(line) <= 80 for line in shown.split("\n"))


def test_nothing_at_all_is_bad_usage(capsys) -> None:
    assert run([]) == 2
    assert "Usage:" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_explains_itself(name, capsys) -> None:
    function = COMMANDS[name].load()
    assert function.__doc__
    assert importlib.import_module(function.__module__).__doc__
    assert run([name, "--help"]) == 0
    assert f"logaudit {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["report"], ["report", "x", "--bogus"], ["report", "x", "--format", "pdf"], ["schema", "extra"]]
)
def test_bad_usage_is_two(arguments, capsys) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("logaudit: ")
    assert said.count("\n") == 1
    assert f"logaudit {arguments[0]} --help" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "x", "--gpu-memory", "nan"],
        ["report", "x", "--gpu-memory", "1e308"],
        ["whatif", "x", "--page-size", "1" + 400 * "0"],
        ["watch", "x", "--timeout", "nan"],
    ],
)
def test_a_number_that_cannot_be_meant_is_bad_usage(arguments, capsys) -> None:
    assert run(arguments) == 2
    assert arguments[2] in capsys.readouterr().err


def test_an_output_name_that_is_too_long_is_one_line(tmp_path, capsys) -> None:
    assert run(["report", "x", "-o", str(tmp_path / (300 * "y" + ".html"))]) == 2
    assert "too long" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["kinds"], ["redact", "server.log"]])
def test_a_full_disk_behind_standard_output_is_one_line(arguments, tmp_path) -> None:
    (tmp_path / "server.log").write_text(4000 * "a line of some length\n")
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "logaudit", *arguments], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path
        )
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") <= 1
    assert b"internal error" not in ended.stderr


def test_closed_streams_give_no_traceback(tmp_path) -> None:
    for closed, code in (("stdout", 2), ("stderr", 2)):
        close = f"import os; os.close({1 if closed == 'stdout' else 2}); os.execv({sys.executable!r}, "
        words = [sys.executable, "-m", "logaudit", *(["schema"] if closed == "stdout" else ["missing.log"])]
        ended = subprocess.run([sys.executable, "-c", f"{close}{words!r})"], capture_output=True, cwd=tmp_path)
        assert ended.returncode == code
        assert b"Traceback" not in ended.stderr + ended.stdout


def test_a_redacted_copy_goes_into_a_pipe_and_never_replaces_it(tmp_path) -> None:
    log, pipe = tmp_path / "server.log", tmp_path / "pipe"
    log.write_text("--api-key sunflower-77\n")
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert run(["redact", str(log), "-o", str(pipe)]) == 0
        assert reader.communicate(timeout=20)[0] == b"--api-key REDACTED\n"
    assert pipe.is_fifo()


def test_a_misspelt_command_is_not_taken_for_a_log(capsys) -> None:
    assert run(["reprot", "x.log"]) == 2
    assert "did you mean `logaudit report`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"), [(SourceError, 2), (DeliveryError, 3), (WatchTimeout, 4)], ids=lambda given: str(given)
)
def test_our_own_errors_are_one_line_and_their_code(monkeypatch, capsys, error, code) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error("what went wrong", where="place\x1b[31m", do="do this\nand that")

    monkeypatch.setattr(logaudit, "audit", fails, raising=False)
    assert run(["some.log"]) == code
    assert capsys.readouterr().err == "logaudit: place: what went wrong (do this and that)\n"


def test_a_fault_of_ours_is_one_line_and_asks_for_a_report(monkeypatch, capsys) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("oops Authorization: Bearer hf_abcdefghijklmnopqrstuvwxyzABCDEFGH")

    monkeypatch.setattr(logaudit, "audit", fails, raising=False)
    assert run(["some.log"]) == 70
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "--verbose" in shown
    assert run(["some.log", "--verbose"]) == 70
    verbose = capsys.readouterr().err
    assert "Traceback" in verbose
    assert "hf_abcdef" not in shown + verbose


def test_an_interrupt_is_quiet(monkeypatch, capsys) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(logaudit, "audit", interrupted, raising=False)
    assert run(["some.log"]) == 130
    assert capsys.readouterr().err == ""


def test_verbose_says_what_is_done_on_standard_error(monkeypatch, capsys) -> None:
    import logging

    def audit(*_: object, **__: object) -> None:
        logging.getLogger("logaudit.sources").info("reading %s", "a\x1b[31m.log")
        raise SourceError("stop here")

    monkeypatch.setattr(logaudit, "audit", audit, raising=False)
    run(["--verbose", "some.log"])
    assert "logaudit: reading a.log\n" in capsys.readouterr().err
    run(["some.log"])
    assert "reading" not in capsys.readouterr().err


def test_a_missing_log_is_one_line(tmp_path, capsys) -> None:
    assert run([str(tmp_path / "no.log")]) == 2
    shown = capsys.readouterr().err
    assert "no.log" in shown
    assert shown.count("\n") == 1


def test_the_schema_describes_what_report_writes(capsys) -> None:
    from jsonschema import Draft202012Validator

    from logaudit.report.render import render

    from .documents import crashed, document, ready

    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(render(document(ready(), crashed()), "json")))


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from logaudit.cli.main import run; run(['--help']);"
        "print(sorted({'pandas', 'jinja2', 'rich', 'typer', 'msgspec', 'regex'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert shown.endswith("\n[]\n")
