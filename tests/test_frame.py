"""The frames: stable columns, stated dtypes, figures of the log, and a page that names every column."""

from __future__ import annotations

import pandas as pd

import logaudit
from logaudit.frame import RECORD_COLUMNS, rank_columns, record_columns
from tests.conftest import ROOT

SEED = str(ROOT / "fixtures" / "kimi-k25-tp8.log")
REFUSED = str(next((ROOT / "fixtures" / "oracle").glob("*oom.log")))


def test_columns_and_dtypes_are_the_same_for_every_log() -> None:
    for read, columns in ((logaudit.rank_frame, rank_columns()), (logaudit.read_records, record_columns())):
        frames: list[pd.DataFrame] = [read(SEED), read(REFUSED)]
        for frame in frames:
            assert list(frame.columns) == list(columns)
            assert [str(dtype) for dtype in frame.dtypes] == [
                str(pd.Series([], dtype=d).dtype) for d in columns.values()
            ]


def test_the_rank_frame_holds_the_figures_with_their_rounding() -> None:
    frame = logaudit.rank_frame(SEED)
    targets = frame[frame["worker"] == "target"]
    drafts = frame[frame["worker"] == "draft"]
    assert (len(targets), len(drafts)) == (8, 8)
    first = targets.iloc[0]
    assert (first["before_load_gib"], first["sizing_gib"], first["kv_gib"], first["final_gib"]) == (
        94.04,
        21.71,
        10.42,
        7.43,
    )
    assert round(first["kv_gib_high"] - first["kv_gib_low"], 6) == 0.01
    assert set(targets["kv_tokens"]) == {159277}
    assert bool(first["mla"])


def test_one_row_a_record() -> None:
    frame = logaudit.read_records(SEED)
    loaded = frame[frame["kind"] == "load_weight_end"]
    assert len(loaded) == 16
    assert set(loaded["avail_gib"]) == {21.71, 8.71}
    assert set(frame["launch"].dropna()) == {0}


def test_every_common_column_is_in_the_guide() -> None:
    page = (ROOT / "docs" / "frames.md").read_text()
    rounding = {name for name in rank_columns() if name.endswith(("_gib_low", "_gib_high"))}
    for name in {*RECORD_COLUMNS, *rank_columns()} - rounding:
        assert f"`{name}`" in page, name
