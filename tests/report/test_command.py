"""The corrected launch command: the log's own arguments, the changes, no secrets."""

from __future__ import annotations

import shlex

import pytest

from logaudit.auditing import document_of, read_source
from logaudit.reconcile.case import Found
from logaudit.reconcile.findings import all_findings
from logaudit.reconcile.inputs import Given
from logaudit.report.command import corrected_command
from logaudit.sglang.server_args import parse_command_line
from logaudit.sources import open_sources
from tests.oracle import OracleCase, cases
from tests.reconcile.findings.starts import REFUSED, SEED, start

KEPT = ("-eagle3-tp2", "-mreq-ctx", "-cap200001", "-page64-mf09")
SAMPLE = [case for case in cases() if case.name.endswith(KEPT)][::3]


def changed(**changes: object) -> list[Found]:
    return [Found("x", "critical", {}, (), changes)]


def test_nothing_to_change_no_command() -> None:
    case = start(SEED)
    assert corrected_command(case, changed()) is None


def test_the_seed_s_own_arguments() -> None:
    command = corrected_command(start(SEED), changed(mem_fraction_static=0.9))
    assert command is not None
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "sglang.launch_server"]
    parsed = parse_command_line(command)
    assert parsed is not None
    told = parsed.values
    assert told["mem_fraction_static"] == 0.9
    assert (told["tp_size"], told["trust_remote_code"]) == (8, True)
    assert told["speculative_algorithm"] == "EAGLE3"
    assert "random_seed" not in told
    assert "cuda_graph_bs" not in told


def test_the_worse_finding_wins() -> None:
    found = [
        Found("a", "notice", {}, (), {"mem_fraction_static": 0.7}),
        Found("b", "critical", {}, (), {"mem_fraction_static": 0.6}),
    ]
    command = corrected_command(start(SEED), found)
    assert command is not None
    assert "--mem-fraction-static 0.6" in command


def test_a_switch_is_taken_out() -> None:
    text = SEED.read_text().replace("enable_hierarchical_cache=False", "enable_hierarchical_cache=True")
    kept = corrected_command(start(text), changed(hicache_ratio=1.5))
    gone = corrected_command(start(text), changed(enable_hierarchical_cache=False))
    assert kept is not None
    assert gone is not None
    assert "--enable-hierarchical-cache" in kept
    assert "--enable-hierarchical-cache" not in gone


def test_secrets_are_left_out() -> None:
    text = (
        REFUSED.read_text()
        .replace("api_key=None", "api_key='sk-0123456789abcdef0123'", 1)
        .replace("ssl_keyfile_password=None", "ssl_keyfile_password='hunter22 x'", 1)
    )
    command = corrected_command(start(text), changed(mem_fraction_static=0.8))
    assert command is not None
    assert '--api-key "$API_KEY"' in command
    assert "sk-0123456789abcdef0123" not in command
    assert "hunter22" not in command


def test_values_are_quoted_for_the_shell() -> None:
    path = "/models/a b; rm -rf $HOME"
    text = REFUSED.read_text().replace("'/models/llama31-8b'", f"'{path}'")
    command = corrected_command(start(text), changed(mem_fraction_static=0.8))
    assert command is not None
    assert shlex.split(command)[4] == path


def test_the_document_carries_it() -> None:
    document = document_of([read_source(source) for source in open_sources([str(REFUSED)])], Given())
    command = document.launches[0].corrected_command
    assert command is not None
    assert command.startswith("python -m sglang.launch_server --model-path /models/llama31-8b")
    assert "--mem-fraction-static 0.8" in command


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_what_the_user_gave_is_kept(case: OracleCase) -> None:
    """Every flag of the oracle's own command is in it, with its value, the fraction that SGLang chose is not."""
    read = start(case.log, gpu_memory_gib=case.truth["gpu_total_gib"])
    command = corrected_command(read, [*all_findings(read), *changed(log_level="debug")])
    assert command is not None
    given = parse_command_line(f"python -m sglang.launch_server {case.truth['args']}", ("max_running_requests",))
    told = parse_command_line(command)
    assert told is not None
    expected = {} if given is None else dict(given.values)
    for name, value in expected.items():
        assert told.values[name] == value, name
    assert "mem_fraction_static" not in told.values or "mem_fraction_static" in expected
