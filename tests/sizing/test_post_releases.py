"""Rules that changed in a post-release, between two releases that were tried."""

from __future__ import annotations

from packaging.version import Version

from logaudit.sizing.arguments import Arguments
from logaudit.sizing.hybrid import slots_per_request
from logaudit.sizing.parallel import stage_layers


def test_the_remainder_of_the_layers_moves_to_the_last_stages_in_0_5_6() -> None:
    # 62 layers on 4 stages: 15 each and 2 over.
    assert [len(stage) for stage in stage_layers(62, 4, Version("0.5.5.post3"))] == [15, 15, 15, 17]
    assert [len(stage) for stage in stage_layers(62, 4, Version("0.5.6"))] == [15, 15, 16, 16]


def test_a_request_holds_three_state_slots_from_0_5_3_post2_on() -> None:
    releases = ["0.5.3", "0.5.3.post1", "0.5.3.post2", "0.5.4"]
    slots = [slots_per_request(Arguments({}, known=True, release=Version(r)), Version(r)) for r in releases]
    assert slots == [1, 1, 3, 3]
