"""Changes planted in a real release, where its wheel is in the cache."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from upkeep.facts import Facts, read_facts
from upkeep.judge import judge
from upkeep.ours import Ours
from upkeep.release import Release, read_wheel
from upkeep.store import Store
from upkeep.wheels import cache_folder, cached

RELEASE = Version("0.4.6")
RUNNER, POOL, ARGUMENTS = "srt/model_executor/model_runner.py", "srt/mem_cache/memory_pool.py", "srt/server_args.py"


@pytest.fixture(scope="module")
def real() -> Release:
    wheel = cached(cache_folder()).get(RELEASE)
    if wheel is None:
        pytest.skip(f"the wheel of {RELEASE} is not in {cache_folder()}: `make knowledge SGLANG={RELEASE}` fetches it")
    return read_wheel(wheel)


def facts(release: Release, **texts: str) -> Facts:
    return read_facts(Release(RELEASE, {**release.texts, **texts}))


def test_the_release_itself_is_not_stale(real: Release) -> None:
    verdict = judge(facts(real), Store(), Ours(), None)
    assert (verdict.base, verdict.known) == (RELEASE, True)
    assert not verdict.stale
    assert verdict.read > 20


def test_every_planted_change_is_reported_and_the_renamed_file_is_not(real: Release) -> None:
    runner, pool, arguments = (real.texts[path] for path in (RUNNER, POOL, ARGUMENTS))
    texts = {
        RUNNER: runner.replace("Load weight begin.", "Weights: start.").replace("(1 << 30) //", "(1 << 29) //"),
        "srt/mem_cache/pools_of_memory.py": pool,
        POOL: "",
        ARGUMENTS: arguments.replace("    tp_size: int = 1\n", "    tp_size: int = 1\n    planted_size: int = 7\n"),
    }
    assert all(texts[path] != real.texts.get(path) for path in texts)
    verdict = judge(facts(real, **texts), Store(), Ours(), None)
    assert [w.example for w in verdict.unread] == ["Weights: start. avail mem=12.35 GB"]
    assert [v.known.kind for v in verdict.vanished] == ["load_weight_begin"]
    assert verdict.arguments.added == (("planted_size", "7", "tp_size"),)
    assert [c.name for c in verdict.changes if c.stale] == ["ModelRunner.profile_max_num_token"]
    assert {c.now.path for c in verdict.changes if c.kind == "moved" and c.now} == {"srt/mem_cache/pools_of_memory.py"}


def test_a_wheel_is_read_without_unpacking(real: Release, tmp_path: Path) -> None:
    path = tmp_path / "sglang-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sglang/srt/server_args.py", real.texts[ARGUMENTS])
        archive.writestr("other/module.py", "x = 1")
    assert list(read_wheel(path).texts) == [ARGUMENTS]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
