"""Release ranges and facts by release."""

from __future__ import annotations

import pytest
from packaging.version import Version

from upkeep.ranges import refined
from upkeep.store import Ranges, Timeline

READ = [Version(v) for v in ("0.4.4", "0.4.5", "0.4.7")]
KNOWN = [Version(v) for v in ("0.4.4", "0.4.4.post1", "0.4.5", "0.4.5.post1", "0.4.5.post2", "0.4.7", "0.4.8")]


@pytest.mark.parametrize(
    ("was", "low", "high", "now"),
    [
        ("0.4.5", "0.4.5", "0.4.5.post1", "0.4.5..0.4.5.post1"),
        ("0.4.5..0.4.5", "0.4.4.post1", "0.4.5", "0.4.4.post1..0.4.5"),
        # Beyond the next release that was read the wording is taken for another one's: all of the gap is let in.
        ("0.4.5", "0.4.4", "0.4.8", "0.4.4.post1..0.4.5.post2"),
        ("0.4.5", None, None, "0.4.4.post1..0.4.5.post2"),
        # A newer release than all that were read.
        ("0.4.5..0.4.7", "0.4.5", "0.4.8", "0.4.5..0.4.8"),
        ("0.4.4,0.4.7", "0.4.4", "0.4.8", "0.4.4,0.4.7..0.4.8"),
        ("", "0.4.4", "0.4.8", ""),
    ],
)
def test_ends_move_into_the_gaps_only(was: str, low: str | None, high: str | None, now: str) -> None:
    ends = [Version(end) if end else None for end in (low, high)]
    assert refined(was, *ends, READ, KNOWN) == now


def test_runs_break_where_a_release_is_missing() -> None:
    present = [Version(v) for v in ("0.4.4", "0.4.4.post1", "0.4.7", "0.4.8")]
    assert str(Ranges.of(present, KNOWN)) == "0.4.4..0.4.4.post1,0.4.7..0.4.8"
    assert Ranges.parse("0.4.4..0.4.4.post1,0.4.7..0.4.8").members(KNOWN) == set(present)


def test_a_release_taken_in_later_leaves_its_followers_as_they_were() -> None:
    old, between, new = (Version(v) for v in ("0.4.4", "0.4.5", "0.4.7"))
    timeline = Timeline.read([["f", "0.4.4", "a"], ["g", "0.4.4", "x"]])
    changed = timeline.with_state(between, {"f": "b"}, following=new)
    assert changed.at(old) == {"f": "a", "g": "x"}
    assert changed.at(between) == {"f": "b"}
    assert changed.at(new) == {"f": "a", "g": "x"}
