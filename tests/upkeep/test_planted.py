"""Changes planted in a copy of a release are reported, and what changes nothing is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.upkeep.releases import ARGUMENTS, FILES, MODELS, POOL, RUNNER, changed, wheel
from upkeep.__main__ import main

BASE, NEXT = "9.0.0", "9.0.1"
REWORDED = ("KV Cache is allocated. #tokens", "KV Cache was set up. Token count")
Report = dict[str, Any]
Run = Callable[[Mapping[str, str]], tuple[int, Report]]


def run(folder: Path, *arguments: str) -> int:
    """The command with everything that it reads and writes in `folder`."""
    places = {name: str(folder / name) for name in ("cache", "out", "store", "table", "pages")}
    options = [part for name, place in places.items() for part in (f"--{name}", place)]
    (folder / "table").mkdir(exist_ok=True)
    return main([*arguments, *options])


@pytest.fixture
def held_against_base(tmp_path: Path) -> Run:
    """Takes the unchanged release in; then gives exit code and report of another one held against it."""
    base = wheel(tmp_path / "cache", BASE, FILES)
    assert run(tmp_path, str(base), "--accept") == 0

    def judge(files: Mapping[str, str]) -> tuple[int, Report]:
        code = run(tmp_path, str(wheel(tmp_path / "new", NEXT, files)))
        return code, json.loads((tmp_path / "out" / f"knowledge-{NEXT}.json").read_text("utf-8"))

    return judge


def real_changes(report: Report) -> list[tuple[str, str]]:
    return [(c["change"], c["function"]) for c in report["formulas"] if c["change"] not in ("moved", "renamed")]


def test_the_same_release_again_is_not_stale(held_against_base: Run) -> None:
    code, report = held_against_base(FILES)
    assert code == 0
    assert not report["stale"]
    assert report["lines"]["read"] == 5  # dump, weights, pool end, pool, shortage; the runner's own line is nobody's


def test_a_reworded_line_is_reported_with_its_place_and_the_kind_it_was(held_against_base: Run) -> None:
    path = "sglang/srt/mem_cache/pool.py"
    code, report = held_against_base(changed(path, *REWORDED))
    assert code == 1
    (unread,) = report["lines"]["unread"]
    assert unread["nearest"] == "kv_cache_allocated"
    assert unread["place"].startswith("srt/mem_cache/pool.py:")
    assert unread["example"].startswith("KV Cache was set up. Token count: ")
    assert unread["instead_of"].startswith("KV Cache is allocated.")
    (vanished,) = report["lines"]["vanished"]
    assert vanished["kind"] == "kv_cache_allocated"
    assert not vanished["kind_still_printed"]


def test_a_new_memory_line_is_reported_and_another_new_line_is_not(held_against_base: Run) -> None:
    addition = """
    def more(self, gib):
        logger.info("Scratch space of the runner: %.2f GB", gib)
        print("more")
"""
    code, report = held_against_base({**FILES, "sglang/srt/model_executor/runner.py": RUNNER + addition})
    assert code == 1
    assert [w["example"] for w in report["lines"]["unread"]] == ["Scratch space of the runner: 12.35 GB"]


def test_a_line_that_moves_to_another_module_is_the_same_line(held_against_base: Run) -> None:
    files = {name: text for name, text in FILES.items() if not name.endswith("pool.py")}
    code, report = held_against_base({**files, "sglang/srt/other/place.py": POOL})
    assert code == 0
    assert report["lines"]["vanished"] == []


def test_a_new_field_is_reported_with_its_default_and_place(held_against_base: Run) -> None:
    code, report = held_against_base(
        changed(
            "sglang/srt/server_args.py", "    page_size: int = 1\n", "    page_size: int = 1\n    dcp_size: int = 2\n"
        )
    )
    assert code == 1
    assert report["arguments"]["added"] == [{"name": "dcp_size", "default": "2", "after": "page_size"}]
    assert report["arguments"]["gone"] == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("    tp_size: int = 1\n", "", {"gone": ["tp_size"]}),
        (
            "    tp_size: int = 1\n",
            "    tensor_size: int = 1\n",
            {"renamed": [{"from": "tp_size", "to": "tensor_size"}]},
        ),
        ("page_size: int = 1", "page_size: int = 64", {"defaults": [{"name": "page_size", "from": "1", "to": "64"}]}),
        (
            "    tp_size: int = 1\n    page_size: int = 1\n",
            "    page_size: int = 1\n    tp_size: int = 1\n",
            {"reordered": True},
        ),
    ],
)
def test_other_changes_of_the_arguments(held_against_base: Run, before: str, after: str, expected: Report) -> None:
    code, report = held_against_base(changed("sglang/srt/server_args.py", before, after))
    assert code == 1
    quiet = {"added": [], "gone": [], "renamed": [], "defaults": [], "reordered": False, "printed": None}
    assert report["arguments"] == {**quiet, **expected}


def test_another_way_to_print_the_dump_is_reported(held_against_base: Run) -> None:
    path = "sglang/srt/entrypoints/engine.py"
    code, report = held_against_base(changed(path, "{server_args=}", "server_args={vars(server_args)}"))
    assert code == 1
    assert report["arguments"]["printed"] == {"from": "server_args", "to": "vars(server_args)"}


def test_a_changed_constant_in_a_sizing_function_is_reported_as_a_diff_of_plain_code(held_against_base: Run) -> None:
    code, report = held_against_base(
        changed("sglang/srt/model_executor/runner.py", "self.layers * 2", "self.layers * 4")
    )
    assert code == 1
    assert real_changes(report) == [("changed", "Runner.profile_max_num_token")]
    diff = report["formulas"][0]["diff"].splitlines()
    assert [line for line in diff if line.startswith("-    ")] == [
        "-    v2 = self.heads * self.head_dim * self.layers * 2"
    ]
    assert [line for line in diff if line.startswith("+    ")] == [
        "+    v2 = self.heads * self.head_dim * self.layers * 4"
    ]


def test_a_changed_constant_of_the_module_counts_where_it_is_used(held_against_base: Run) -> None:
    path = "sglang/srt/model_executor/runner.py"
    _, report = held_against_base(changed(path, "REQUESTS_PER_SLOT = 3", "REQUESTS_PER_SLOT = 5"))
    assert real_changes(report) == [("changed", "Runner.max_requests")]


def test_the_rule_for_the_fraction_counts(held_against_base: Run) -> None:
    _, report = held_against_base(changed("sglang/srt/server_args.py", "0.88", "0.85"))
    assert real_changes(report) == [("changed", "ServerArgs.__post_init__")]


def test_a_change_of_a_function_that_sizes_nothing_does_not_count(held_against_base: Run) -> None:
    code, report = held_against_base(changed("sglang/srt/model_executor/runner.py", '"runner of "', '"the runner of "'))
    assert code == 0
    assert report["formulas"] == []


def test_a_renamed_file_is_a_move_and_no_change(held_against_base: Run) -> None:
    files = {name: text for name, text in FILES.items() if not name.endswith("runner.py")}
    code, report = held_against_base({**files, "sglang/srt/model_executor/engine_core.py": RUNNER})
    assert code == 0
    assert not report["stale"]
    assert {c["change"] for c in report["formulas"]} == {"moved"}


def test_a_reformatted_function_is_no_change(held_against_base: Run) -> None:
    before = RUNNER[RUNNER.index("    def profile_max_num_token") : RUNNER.index("    def max_requests")]
    after = """    def profile_max_num_token(self, total_gpu_memory: float) -> int:
        # Written anew.
        free: float = free_memory(
            self.gpu
        )
        per_token = (self.heads * self.head_dim
                     * self.layers * 2)
        logger.info("profiling")
        left = free - total_gpu_memory * (1 - self.mem_fraction_static)
        return int(left * (1 << 30) // per_token)

"""
    code, report = held_against_base(changed("sglang/srt/model_executor/runner.py", before, after))
    assert code == 0
    assert report["formulas"] == []


def test_a_model_treated_specially_for_the_first_time_is_reported(held_against_base: Run) -> None:
    path = "sglang/srt/configs/models.py"
    code, report = held_against_base(
        changed(path, '"GptOssForCausalLM", ', '"GptOssForCausalLM", "BrandNewForCausalLM", ')
    )
    assert code == 1
    assert report["architectures"]["new"] == [{"trait": "is_hybrid_swa_model", "model": "BrandNewForCausalLM"}]
    assert report["architectures"]["not_named_by_us"] == report["architectures"]["new"]


def test_what_was_taken_in_is_not_stale_any_more(held_against_base: Run, tmp_path: Path) -> None:
    files = {**FILES, "sglang/srt/server_args.py": ARGUMENTS.replace("tp_size", "tensor_size")}
    files["sglang/srt/configs/models.py"] = MODELS.replace("GptOss", "GptNew")
    files["sglang/srt/mem_cache/pool.py"] = POOL.replace(*REWORDED)
    assert held_against_base(files)[0] == 1
    assert run(tmp_path, str(tmp_path / "new" / f"sglang-{NEXT}-py3-none-any.whl"), "--accept") == 0
    assert held_against_base(files)[0] == 0
    page = (tmp_path / "pages" / f"{NEXT}.md").read_text("utf-8")
    assert "- Arguments renamed: `tp_size` to `tensor_size`." in page
    assert "- [ ] Nothing reads `KV Cache was set up. Token count: " in page


def test_reading_again_finds_the_kinds_of_wordings_that_nothing_read(held_against_base: Run, tmp_path: Path) -> None:
    table = tmp_path / "store" / "wordings.tsv"
    header, *rows = table.read_text("utf-8").splitlines()
    table.write_text("\n".join([header, *("-\t" + row.partition("\t")[2] for row in rows), ""]), "utf-8")
    assert run(tmp_path, "--reread") == 0
    assert table.read_text("utf-8").splitlines() == [header, *rows]
    assert any(row.startswith("memory_pool_end\t9.0.0\t") for row in rows)


def test_nothing_of_a_release_is_run(held_against_base: Run, tmp_path: Path) -> None:
    trap = f'\nopen({str(tmp_path / "ran")!r}, "w").close()\n'
    held_against_base({name: text + trap for name, text in FILES.items()})
    assert not (tmp_path / "ran").exists()


def test_a_file_that_is_no_wheel_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sglang-9.0.1-py3-none-any.whl"
    path.write_text("no archive")
    assert run(tmp_path, str(path)) == 2
    assert "not a readable wheel" in capsys.readouterr().err
