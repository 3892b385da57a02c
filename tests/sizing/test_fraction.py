"""The fraction that SGLang chooses by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sglang.server_args import parse_server_args
from logaudit.sizing import automatic_fraction, infer_fraction, smallest_fraction
from tests.conftest import shared_files
from tests.sizing.sizing_oracle import Case, read

CASES = [p for p in shared_files("oracle/*.json") if "--mem-fraction-static" not in read(p).data["args"]]


def _dump(case: Case) -> dict[str, object]:
    line = next(text for text in case.log.splitlines() if "server_args=" in text)
    parsed = parse_server_args(line[line.index("server_args=") :])
    assert parsed is not None
    return dict(parsed.values)


def test_equals_sglang_wherever_no_fraction_was_given(shared_dir: Path) -> None:
    cases = [read(path) for path in CASES]
    assert len(cases) > 300
    wrong = []
    for case in cases:
        args = _dump(case)
        answer = automatic_fraction(case.release, args, case.config, case.data["gpu_total_gib"])
        truth = case.rank()["mem_fraction_static"] or args["mem_fraction_static"]
        parts = [] if answer is None else [term.gib.value for term in answer.terms if term.gib is not None]
        if answer is None or abs(answer.value - truth) > 1e-12:
            wrong.append(case.name)
        elif sum(parts) * 1024 != pytest.approx(answer.reserved_mib or 0):
            wrong.append(f"{case.name}: parts")
    assert wrong == []


def test_h100_with_eight_ranks_by_hand() -> None:
    # 512 + 8192 x 1.5 + 512 x 2 + 8 / 8 x 1024 = 14848 MiB of 81559 MiB, 2048 MiB more with EAGLE in 0.5.9.
    args = {"tp_size": 8, "chunked_prefill_size": 8192, "cuda_graph_max_bs": 512, "speculative_algorithm": "EAGLE3"}
    answer = automatic_fraction(Version("0.5.9"), args, None, 81559 / 1024, mla=True)
    assert answer is not None
    assert answer.value == round((81559 - 14848 - 2048) / 81559, 3) == 0.793


def test_defaults_come_from_the_size_of_the_card() -> None:
    # A 24 GiB card in 0.5.4: chunk 2048, graphs up to 16: 512 + 3072 + 32 + 128 = 3744 MiB.
    answer = automatic_fraction(Version("0.5.4"), {}, None, 24)
    assert answer is not None
    assert answer.value == round((24576 - 3744) / 24576, 3)


def test_unknown_model_where_the_rule_needs_it() -> None:
    assert automatic_fraction(Version("0.5.12"), {"tp_size": 1}, None, 80) is None
    assert automatic_fraction(Version("0.5.12"), {"tp_size": 1}, None, 80, mla=False) is not None


def test_other_devices_have_other_rules() -> None:
    assert automatic_fraction(Version("0.5.9"), {}, None, 64, device="npu") is None


def test_inferred_from_pools_by_hand() -> None:
    # 21.71 GiB left of 94.04 before loading and pools of 10.42: 1 - 11.29 / 94.04 = 0.87994...
    found = infer_fraction(Interval.printed("94.04"), Interval.printed("21.71"), Interval.printed("10.42"))
    assert found is not None
    assert found.value == pytest.approx(1 - 11.29 / 94.04)
    assert found.holds(0.88)
    assert found.width < 0.0003
    least = smallest_fraction(Interval.printed("94.04"), Interval.printed("21.71"))
    assert least is not None
    assert least.value == pytest.approx(1 - 21.71 / 94.04)


@pytest.mark.parametrize(
    ("release", "gpu_mib", "args", "value"),
    [
        # The table alone, by tensor parallelism, whatever the card.
        ("0.4.5.post2", 98304, {"tp_size": 8}, 0.81),
        # 13 GiB above 80 GiB, two releases before 0.4.6.
        ("0.4.5.post3", 98304, {"tp_size": 8}, (98304 - 13312) / 98304),
        ("0.4.6.post1", 98304, {"tp_size": 8}, (98304 - 13312) / 98304),
        # From 0.4.6.post2 pipeline stages count, 0.88 stands between 80 and 96 GiB, 18 GiB are kept above.
        ("0.4.6.post2", 98304, {"tp_size": 8}, 0.88),
        ("0.4.6.post2", 81920, {"tp_size": 4, "pp_size": 2}, 0.81),
        ("0.4.6.post5", 143771, {"tp_size": 8, "speculative_algorithm": "EAGLE"}, (143771 - 18432) / 143771),
        ("0.4.6.post5", 81559, {"tp_size": 1, "speculative_algorithm": "EAGLE"}, 0.88),
        ("0.4.7", 81559, {"tp_size": 1, "speculative_algorithm": "EAGLE"}, 0.88 * 0.95),
        # 9.5 GiB + 1/2 GiB a rank, one release before 0.4.8.
        ("0.4.7.post1", 81559, {"tp_size": 2}, round((81559 - 10752) / 81559, 3)),
    ],
)
def test_releases_between_the_rules(release: str, gpu_mib: int, args: dict[str, object], value: float) -> None:
    answer = automatic_fraction(Version(release), args, None, gpu_mib / 1024)
    assert answer is not None
    assert answer.value == value


@pytest.mark.parametrize(("release", "factor"), [("0.4.4.post3", 0.95), ("0.4.4.post4", 0.90), ("0.4.9.post2", 0.90)])
def test_images_took_a_fixed_share_before_the_vision_tower_was_looked_at(release: str, factor: float) -> None:
    plain = automatic_fraction(Version(release), {"tp_size": 1}, None, 80, multimodal=False)
    with_images = automatic_fraction(Version(release), {"tp_size": 1}, None, 80, multimodal=True)
    assert plain is not None
    assert with_images is not None
    assert with_images.value == plain.value * factor


def test_from_0_4_9_post3_the_share_hangs_on_the_vision_tower() -> None:
    assert automatic_fraction(Version("0.4.9.post3"), {"tp_size": 1}, None, 80, multimodal=True) is None
