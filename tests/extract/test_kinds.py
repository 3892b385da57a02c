"""Every sample of every kind is read by its own kind alone, with the values written beside it."""

from __future__ import annotations

import pytest

from logaudit.extract import Extractor, Sample, all_extractors, anchors, extract
from logaudit.extract.reader import matching_kinds
from logaudit.interval import Interval
from logaudit.scan.line import Line

SAMPLES = [
    pytest.param(extractor, sample, id=f"{extractor.kind}-{index}")
    for extractor in all_extractors()
    for index, sample in enumerate(extractor.samples)
]
PHASES = {
    "launch",
    "distributed",
    "weights",
    "sizing",
    "pools",
    "draft",
    "graphs",
    "scheduler",
    "serving",
    "failures",
}
MEMORY_DIVISORS = {"gib": 1, "mib": 1024, "kib": 1024**2, "gb_decimal": 1, "bytes_rounded": 1, "fraction_rounded": 1}


def line(text: str) -> Line:
    return Line(7, text, text)


@pytest.mark.parametrize(("extractor", "sample"), SAMPLES)
def test_a_sample_is_of_its_own_kind(extractor: Extractor, sample: Sample) -> None:
    record = extract(line(sample.text))
    assert record is not None
    assert record.kind == extractor.kind


@pytest.mark.parametrize(("extractor", "sample"), SAMPLES)
def test_a_sample_is_of_no_other_kind(extractor: Extractor, sample: Sample) -> None:
    record = extract(line(sample.text))
    assert record is not None
    expected = () if extractor.fallback else (extractor.kind,)
    assert matching_kinds(record.text) == expected


@pytest.mark.parametrize(("extractor", "sample"), SAMPLES)
def test_a_sample_gives_its_values(extractor: Extractor, sample: Sample) -> None:
    record = extract(line(sample.text))
    assert record is not None
    assert set(record.fields) == set(sample.values)
    units = {field.name: field.unit for field in extractor.fields}
    for name, printed in sample.values.items():
        value = record.fields[name]
        if units[name] in MEMORY_DIVISORS:
            decimals = len(printed.partition(".")[2])
            exact = float(printed) / MEMORY_DIVISORS[units[name]]
            half = 0.5 * 10**-decimals / MEMORY_DIVISORS[units[name]]
            assert isinstance(value, Interval)
            assert value.value == pytest.approx(exact)
            assert (value.low, value.high) == (pytest.approx(exact - half), pytest.approx(exact + half))
        elif units[name] == "size":
            assert isinstance(value, Interval)
        elif units[name] == "text":
            assert value == printed
        elif units[name] in ("s", "fraction", "ratio"):
            assert value == float(printed)
        else:
            assert value == int(printed)


@pytest.mark.parametrize(("extractor", "sample"), SAMPLES)
def test_a_sample_holds_an_anchor_of_its_kind(extractor: Extractor, sample: Sample) -> None:
    assert any(anchor in sample.text for anchor in extractor.anchors)


def test_kinds_are_unique_and_of_a_known_phase() -> None:
    kinds = [extractor.kind for extractor in all_extractors()]
    assert len(kinds) == len(set(kinds))
    assert {extractor.phase for extractor in all_extractors()} == PHASES


def test_every_kind_has_samples_with_values_for_its_fields_only() -> None:
    for extractor in all_extractors():
        names = {field.name for field in extractor.fields}
        assert extractor.samples
        assert all(set(sample.values) <= names for sample in extractor.samples)


def test_lines_per_batch_and_per_step_are_not_what_the_scan_looks_for() -> None:
    per_batch = {"Decode batch", "Prefill batch", "Capturing batches (", "% Completed"}
    assert per_batch.isdisjoint(anchors())
    assert per_batch <= set(anchors(bulk=True))


def test_a_memory_size_keeps_the_unit_it_is_printed_in() -> None:
    record = extract(
        line(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "79.10 GiB of which 512.00 MiB is free."
        )
    )
    assert record is not None
    free = record.fields["free_gib"]
    assert isinstance(free, Interval)
    # 512.00 MiB = 0.5 GiB, rounded to a hundredth of a MiB.
    assert free.value == 0.5
    assert free.high - free.low == pytest.approx(0.01 / 1024)
