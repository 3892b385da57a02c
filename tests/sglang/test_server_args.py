"""The server arguments in every form that a log or a message shows them in."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logaudit.sglang.server_args import ParsedArgs, parse_command_line, parse_server_args
from tests.conftest import shared_files


def parsed(text: str) -> ParsedArgs:
    found = parse_server_args(text)
    assert found is not None
    return found


def test_the_dataclass_form() -> None:
    args = parsed(
        "server_args=ServerArgs(model_path='meta-llama/L', tp_size=8, mem_fraction_static=0.88, api_key=None)"
    )
    assert args.values == {"model_path": "meta-llama/L", "tp_size": 8, "mem_fraction_static": 0.88, "api_key": None}
    assert args.names_in_order == ("model_path", "tp_size", "mem_fraction_static", "api_key")
    assert (args.form, args.complete) == ("dataclass", True)


def test_the_dict_form() -> None:
    args = parsed("server_args={'model_path': 'm', 'cuda_graph_config': {'decode': {'bs': [1, 2]}}, 'disable': True}")
    assert args.values == {"model_path": "m", "cuda_graph_config": {"decode": {"bs": [1, 2]}}, "disable": True}
    assert (args.form, args.complete) == ("dict", True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a, b=c(d], {e'", "a, b=c(d], {e"),
        (r"'it\'s'", "it's"),
        ('"it\'s, x=1"', "it's, x=1"),
        (r"'a\\'", "a\\"),
        ("[1, 2, [3, (4, 5)]]", [1, 2, [3, (4, 5)]]),
        ("{'a': 'b, c'}", {"a": "b, c"}),
        ("<function handler at 0x7f00>", "<function handler at 0x7f00>"),
        ("<function A.<locals>.f, g at 0x7f00>", "<function A.<locals>.f, g at 0x7f00>"),
        ("<Mode.FULL: 1>", "<Mode.FULL: 1>"),
        ("[LoRARef(lora_id='x', lora_path='y')]", "[LoRARef(lora_id='x', lora_path='y')]"),
        ("-1", -1),
        ("1e-3", 0.001),
        ("", ""),
    ],
)
def test_a_value_ends_at_its_own_comma(text: str, value: object) -> None:
    assert parsed(f"server_args=ServerArgs(first={text}, last=2)").values == {"first": value, "last": 2}


def test_nested_dataclasses_become_dicts() -> None:
    args = parsed(
        "server_args=ServerArgs(g=CudaGraphConfig(decode=PhaseConfig(backend='full', bs=[1, 2]), prefill=None), n=1)"
    )
    assert args.values == {"g": {"decode": {"backend": "full", "bs": [1, 2]}, "prefill": None}, "n": 1}


def test_a_cut_dump_keeps_its_complete_pairs() -> None:
    args = parsed("server_args=ServerArgs(model_path='m', tp_size=8, chunked_prefill_size=81")
    assert args.values == {"model_path": "m", "tp_size": 8}
    assert not args.complete


def test_text_after_the_dump_is_ignored() -> None:
    assert parsed("server_args=ServerArgs(tp_size=8) and dp_size=2, pp_size=4)").values == {"tp_size": 8}


def test_a_wrapped_dump_is_joined() -> None:
    args = parsed(
        "server_args=ServerArgs(model_path='meta-lla\n    ma/L', mem_fraction_sta\n    tic=0.8\n    8, tp_size=8)"
    )
    assert args.values == {"model_path": "meta-llama/L", "mem_fraction_static": 0.88, "tp_size": 8}


def test_a_shortened_paste() -> None:
    args = parsed("model_path='m', tp_size=8, ..., mem_fraction_static=0.8, ...")
    assert args.values == {"model_path": "m", "tp_size": 8, "mem_fraction_static": 0.8}
    assert (args.form, args.complete) == ("short", False)


def test_a_shortened_dump() -> None:
    args = parsed("server_args=ServerArgs(model_path='m', ..., tp_size=8)")
    assert args.values == {"model_path": "m", "tp_size": 8}
    assert (args.form, args.complete) == ("short", False)


def test_text_without_arguments() -> None:
    assert parse_server_args("The server is fired up and ready to roll!") is None


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(" + "(" * 300_000,
        "server_args={'a': " + "[" * 200_000,
        "server_args=ServerArgs(" + "a=" * 100_000,
        "server_args=ServerArgs(x='" + "\\" * 300_000,
        "server_args=ServerArgs(" + "<" * 100_000 + ")" * 100_000,
        "server_args=ServerArgs(" + "a=1," * 100_000,
        "server_args=ServerArgs(a=" + "-" * 50_000 + "1, b=2)",
        "server_args=ServerArgs(" + "x=A(a=" * 50_000 + ")" * 50_000,
        "server_args=ServerArgs(a=" + "9" * 10_000 + ", b=1)",
        "server_args=ServerArgs(" + "a" * 500_000,
    ],
)
def test_hostile_dumps_take_no_long_time(text: str) -> None:
    started = time.monotonic()
    parse_server_args(text)
    assert time.monotonic() - started < 8


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab=,:'\"\\()[]{}<> \n.-1…", max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    for opening in ("", "server_args=ServerArgs(", "server_args={'a': "):
        found = parse_server_args(opening + text)
        assert found is None or set(found.values) == set(found.names_in_order)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z][a-z_0-9]{0,10}", fullmatch=True), VALUES, min_size=1, max_size=6))
def test_what_python_prints_is_read_back(values: dict[str, object]) -> None:
    body = ", ".join(f"{name}={value!r}" for name, value in values.items())
    assert parsed(f"server_args=ServerArgs({body}) tail").values == values
    assert parsed(f"server_args={values!r}").values == values


def test_a_command_line_with_aliases_and_continuations() -> None:
    args = parse_command_line(
        "$ CUDA_VISIBLE_DEVICES=0 python3 -m sglang.launch_server --model m/x --tp 8 \\\n"
        "    --mem-fraction-static=0.8 \\\n"
        "  --dp-size 2 --tensor-parallel-size 4 --trust-remote-code --chunked-prefill-size -1 --cuda-graph-bs 1 2 4 "
        "2>&1 | tee log --pp 9\n--ep 5"
    )
    assert args is not None
    assert args.values == {
        "model_path": "m/x",
        "tp_size": 4,
        "mem_fraction_static": 0.8,
        "dp_size": 2,
        "trust_remote_code": True,
        "chunked_prefill_size": -1,
        "cuda_graph_bs": [1, 2, 4],
    }
    assert args.form == "short"


def test_an_abbreviated_flag_is_completed_where_only_one_field_fits() -> None:
    args = parse_command_line("sglang serve m/x --mem-fraction 0.8 --max 1", ["mem_fraction_static", "max_a", "max_b"])
    assert args is not None
    assert args.values == {"model_path": "m/x", "mem_fraction_static": 0.8, "max": 1}


@pytest.mark.parametrize(
    "text", ["run `sglang.launch_server` with the same args --tp 8", "python -m vllm --tp 8", "-m sglang.launch_server"]
)
def test_text_without_a_launch_command(text: str) -> None:
    assert parse_command_line(text) is None


@pytest.mark.parametrize("path", shared_files("oracle/*.json")[::12], ids=lambda path: path.stem)
def test_an_oracle_dump_is_read_whole(path) -> None:  # type: ignore[no-untyped-def]
    truth = json.loads(path.read_text())
    fields = json.loads((path.parent.parent / "spec/server_args_fields.json").read_text())
    dump = next(line for line in path.with_suffix(".log").open() if "server_args=" in line)
    args = parsed(dump)
    assert args.complete
    public = [name for name in args.names_in_order if not name.startswith("_")]
    assert public == fields[truth["sglang_version"]]
    assert args.values["tp_size"] == truth["server_args"]["tp_size"]
