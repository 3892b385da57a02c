"""A fleet's logs in a real object store: with failures of every kind the result is that of reading one by one."""

from __future__ import annotations

import contextlib
import gzip
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from bench.fleet_logs import fleet
from bench.generate import log, traffic
from logaudit.auditing import given_of
from logaudit.cli.main import run
from logaudit.errors import ConfigError, OutputError
from logaudit.fleet.columns import columns
from logaudit.fleet.dataset import Dataset, read_dataset
from logaudit.fleet.run import Summary, read_fleet
from tests.conftest import ROOT, TEST_ALL
from tests.oracle import FIXTURES

KIMI = FIXTURES.parent / "kimi-k25-tp8.log"
LOGS = 5_000 if TEST_ALL else 36
LARGE_BYTES = 1 << 30 if TEST_ALL else 40 << 20
WORKER_LIMIT_BYTES = 700 << 20


def read(arguments: list[str], folder: Path, **options: Any) -> tuple[Summary, pd.DataFrame]:
    dataset = Dataset.create(folder, resume=options.get("resume", False), force=False)
    summary = read_fleet(arguments, dataset, given_of(), **options)
    return summary, read_dataset(folder)


@pytest.fixture(scope="session")
def bucket(s3: Any) -> str:
    """Logs of a fleet, one of them corrupt and one large."""
    s3.mkdir("fleet")
    s3.pipe({f"fleet/logs/{name}": content for name, content in fleet(LOGS)})
    s3.pipe("fleet/logs/host-0001/broken.log.gz", gzip.compress(KIMI.read_bytes())[:10] + b"\xff" * 200)
    large = b"".join(log(LARGE_BYTES, KIMI.read_bytes(), traffic(3)))
    # In one request: putting parts together takes the store of these tests longer than its client waits.
    s3.pipe_file("fleet/logs/host-0002/large.log", large, chunksize=LARGE_BYTES)
    return "s3://fleet/logs/"


def workers() -> list[psutil.Process]:
    """The living worker processes of the cluster that this process started."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if any("spawn_main" in part for part in child.cmdline()):
                found.append(child)
    return found


class Watch:
    """Kills a worker half-way, once, and notes how much memory workers take."""

    def __init__(self) -> None:
        self.killed = False
        self.most_bytes = 0

    def __call__(self, done: int, total: int) -> None:
        for worker in workers():
            with contextlib.suppress(psutil.Error):
                self.most_bytes = max(self.most_bytes, worker.memory_info().rss)
        if not self.killed and total // 2 <= done < total:
            workers()[0].kill()
            self.killed = True


def test_a_cluster_that_loses_a_worker_gives_what_reading_one_by_one_gives(bucket: str, tmp_path: Path) -> None:
    named = [bucket, "s3://fleet/missing.log", f"file://{KIMI}"]
    watch = Watch()
    summary, found = read(named, tmp_path / "two", workers=2, progress=watch)
    one_by_one, expected = read(named, tmp_path / "none", workers=0)
    assert watch.killed
    assert watch.most_bytes < WORKER_LIMIT_BYTES
    pd.testing.assert_frame_equal(found, expected)
    assert (summary.read, summary.failed) == (one_by_one.read, one_by_one.failed) == (LOGS + 2, 2)
    errors = found.dropna(subset="error").set_index("source")["error"]
    assert list(errors.index) == ["s3://fleet/logs/host-0001/broken.log.gz", "s3://fleet/missing.log"]
    assert "gzip stream is damaged" in errors.iloc[0]
    assert "no such object" in errors.iloc[1]
    large = found[found["source"] == "s3://fleet/logs/host-0002/large.log"]
    assert set(large["tokens"]) == {159_277}
    assert set(large["launch"]) == {0, 1}
    assert large["host"].iloc[0] == "host-0002"


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, content in fleet(6):
        (logs / Path(name).name).write_bytes(content)
    out = tmp_path / "out"
    first, before = read([str(logs)], out, workers=0)
    assert first.read == 6
    again, same = read([str(logs)], out, workers=0, resume=True)
    assert (again.read, again.unchanged) == (0, 6)
    pd.testing.assert_frame_equal(before, same)
    changed, gone = logs / "server-00001.log", logs / "server-00004.log"
    changed.write_bytes(KIMI.read_bytes())
    gone.unlink()
    (logs / "new.log").write_bytes(KIMI.read_bytes())
    summary, after = read([str(logs)], out, workers=0, resume=True)
    assert (summary.read, summary.unchanged) == (2, 4)
    fresh = read([str(logs)], tmp_path / "fresh", workers=0)[1]
    pd.testing.assert_frame_equal(after, fresh)
    assert str(gone) not in set(after["source"])


def test_objects_that_did_not_change_are_not_read_again(s3: Any, tmp_path: Path) -> None:
    s3.mkdir("resumed")
    s3.pipe({f"resumed/{name}": content for name, content in fleet(3, seed=5)})
    first, _ = read(["s3://resumed/"], tmp_path / "out", workers=0)
    s3.pipe("resumed/host-0001/server-00001.log", KIMI.read_bytes())
    again, after = read(["s3://resumed/"], tmp_path / "out", workers=0, resume=True)
    assert (first.read, again.read, again.unchanged) == (3, 1, 2)
    row = after[after["source"] == "s3://resumed/host-0001/server-00001.log"].iloc[0]
    assert (row["tokens"], row["size_bytes"]) == (159_277, KIMI.stat().st_size)
    assert row["etag"]


def test_a_run_that_was_cut_is_taken_up(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, content in fleet(8):
        (logs / Path(name).name).write_bytes(content)

    def stop(done: int, total: int) -> None:
        if done == 5:
            dataset.flush()
            raise KeyboardInterrupt

    dataset = Dataset.create(tmp_path / "out", resume=False, force=False)
    with pytest.raises(KeyboardInterrupt):
        read_fleet([str(logs)], dataset, given_of(), workers=0, progress=stop)
    summary, after = read([str(logs)], tmp_path / "out", workers=0, resume=True)
    assert (summary.read, summary.unchanged) == (3, 5)
    pd.testing.assert_frame_equal(after, read([str(logs)], tmp_path / "fresh", workers=0)[1])


def test_every_row_names_its_log_and_others_read_the_dataset(tmp_path: Path) -> None:
    import duckdb

    _, rows = read([str(KIMI), str(FIXTURES / "0.5.23__llama8b-default.log")], tmp_path / "out", workers=0)
    assert list(rows.columns) == list(columns())
    assert rows["source"].notna().all()
    plain = pd.read_parquet(tmp_path / "out")
    assert len(plain) == len(rows) == 8 * 2 + 1
    found = duckdb.sql(
        f"select source, max(tokens) from '{tmp_path}/out/*.parquet' where worker = 'target' group by source order by 2"
    ).fetchall()
    assert found[0] == (str(KIMI), 159_277)
    first = rows[rows["worker"] == "target"].iloc[0]
    assert (first["sglang_low"], first["mem_fraction_static"], first["status"]) == ("0.5.9", 0.88, "explained")
    assert first["before_load_gib"] == 94.04
    assert first["headroom_gib"] == 7.43


def test_an_existing_cluster_is_used(tmp_path: Path) -> None:
    import distributed

    logs = [str(FIXTURES / f"{name}.log") for name in ("0.5.23__llama8b-default", "0.5.6__llama8b-oom")]
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        _, found = read(logs, tmp_path / "cluster", scheduler=cluster.scheduler_address)
    _, expected = read(logs, tmp_path / "here", workers=0)
    pd.testing.assert_frame_equal(found, expected)


def test_a_scheduler_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logaudit.fleet.run.CONNECT_S", 0.5)
    with pytest.raises(ConfigError, match=r"tcp://127\.0\.0\.1:9: no scheduler answers"):
        read([str(KIMI)], tmp_path / "out", scheduler="tcp://127.0.0.1:9")


def test_what_is_there_is_not_replaced_without_being_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["fleet", str(KIMI), "-o", str(out), "--workers", "0"]) == 0
    with pytest.raises(OutputError, match="exists already"):
        Dataset.create(out, resume=False, force=False)
    assert run(["fleet", str(KIMI), "-o", str(out), "--workers", "0"]) == 2
    assert run(["fleet", str(KIMI), "-o", str(out), "--workers", "0", "--force"]) == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(OutputError, match="no fleet's dataset"):
        Dataset.create(tmp_path / "mine", resume=False, force=True)


def test_secrets_stay_out_of_the_dataset(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4e5F6g7H8" * 2
    path = tmp_path / "server.log"
    path.write_text(KIMI.read_text().replace("api_key=None", f"api_key='{secret}'"))
    assert secret in path.read_text()
    read([str(path)], tmp_path / "out", workers=0)
    rows = read_dataset(tmp_path / "out")
    assert secret not in rows.to_csv()


@pytest.mark.parametrize(
    ("name", "rule", "host"),
    [
        ("ssh://root@gpu-7:2222/var/log/a.log", "", "gpu-7"),
        ("/logs/gpu-8/server.log", "", "gpu-8"),
        ("s3://bucket/2026/gpu-9.log", r"gpu-\d+", "gpu-9"),
        ("s3://bucket/2026/gpu-9.log", r"/(gpu-\d+)\.log", "gpu-9"),
    ],
)
def test_the_host_of_a_log(name: str, rule: str, host: str) -> None:
    from logaudit.fleet.rows import host_rule

    assert host_rule(rule).host_of(name) == host


def test_a_faulty_host_rule_is_told() -> None:
    from logaudit.fleet.rows import host_rule

    with pytest.raises(ConfigError, match="--host-from"):
        host_rule("(")


def test_the_columns_are_documented() -> None:
    told = (ROOT / "docs" / "fleet.md").read_text()
    missing = [name for name in columns() if not name.endswith(("_low", "_high")) and f"`{name}`" not in told]
    assert missing == []


def test_logs_are_made_the_same_each_time() -> None:
    make: Callable[[], list[tuple[str, bytes]]] = lambda: list(itertools.islice(fleet(100, seed=9), 5))  # noqa: E731
    assert make() == make()
