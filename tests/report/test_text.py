"""The terminal's report: a first screen that fits, and everything with `full`."""

from __future__ import annotations

import msgspec
import pytest
from rich.cells import cell_len

from logaudit.report.document import Document, LedgerItem, LedgerRow, RankInfo
from logaudit.report.render import render

from . import samples


def crowded() -> Document:
    """More of everything than fits on a screen."""
    items = [LedgerItem(f"pool number {n} with a rather long name", samples.near(n / 10), [n]) for n in range(1, 30)]
    items.append(LedgerItem("free at the end", samples.near(7.43), [145]))
    many = samples.seed_launch(
        ledger=[LedgerRow("target", RankInfo(tp=0), items)],
        naive=samples.seed_launch().naive * 5,
        options=samples.seed_launch().options * 5,
        verdict=[
            "Ready. " + "A long title that goes on. " * 6,
            *["A sentence of the verdict, and not a short one. " * 8] * 6,
        ],
        model=msgspec.structs.replace(samples.seed_launch().model, path="/very/long/path/" * 40),
    )
    return samples.document(
        *(msgspec.structs.replace(many, index=n) for n in range(60)),
        sources=[samples.source(f"node-{n}/" + "深" * 60 + ".log") for n in range(9)],
    )


@pytest.mark.parametrize("made", [*samples.ALL.values(), crowded], ids=[*samples.ALL.keys(), "crowded"])
def test_the_first_screen_fits_eighty_columns_and_forty_lines(made) -> None:
    lines = render(made(), "text").removesuffix("\n").split("\n")
    assert len(lines) <= 40
    assert max(cell_len(line) for line in lines) <= 80


def test_the_first_screen_of_the_seed_case() -> None:
    screen = render(samples.seed(), "text")
    assert "Ready. The KV cache is exactly as large as SGLang's formula makes it." in screen
    assert [line.split() for line in screen.split("\n") if "KV cache, 159,277 tokens" in line] == [
        ["−", "KV", "cache,", "159,277", "tokens", "10.42", "line", "52"]
    ]
    for words in ("free before loading", "= free at the end", "19.10", "318,586", "--kv-cache-dtype fp8_e4m3"):
        assert words in screen


def test_a_shortened_ledger_keeps_its_ends_and_says_what_is_left_out() -> None:
    screen = render(msgspec.structs.replace(crowded(), launches=crowded().launches[:1]), "text")
    assert "free before loading" in screen
    assert "= free at the end" in screen
    assert "smaller items, see --full" in screen
    assert "pool number 29" in screen
    assert "pool number 1 " not in screen


def test_without_colour_there_is_not_one_escape_sequence() -> None:
    assert "\x1b" not in render(samples.seed(), "text", full=True)
    assert "\x1b" in render(samples.seed(), "text", colour=True)


def test_colour_changes_no_word() -> None:
    import re

    styled = re.sub(r"\x1b\[[0-9;]*m", "", render(samples.seed(), "text", colour=True))
    assert [line.rstrip() for line in styled.split("\n")] == render(samples.seed(), "text").split("\n")


def test_full_adds_formula_ranks_findings_arguments_and_quotes() -> None:
    everything = render(samples.seed(), "text", full=True, width=100)
    for words in (
        "The formula, with the numbers in it",
        "94.04 × (1 − 0.88)",
        "inside the bounds",
        "TP0 to TP7",
        "notice: The reserve of 11.28 GiB is in use",
        "What to do:",
        "Redacted: 1 × api_key.",
        "Lines quoted from the log",
        "#tokens: 159277, KV size: 10.42 GB",
    ):
        assert words in everything


def test_of_several_starts_the_last_one_is_on_the_first_screen() -> None:
    screen = render(samples.several(), "text")
    assert "Start 2: Incomplete." in screen
    assert "Start 1: " not in screen


def test_a_crash_quotes_the_line_that_says_why() -> None:
    screen = render(samples.crashed(), "text")
    assert "58|" in screen
    assert "Not enough memory" in screen


def test_nothing_unknown_is_printed_as_none() -> None:
    for made in samples.ALL.values():
        for face in ("text", "md", "html"):
            shown = render(made(), face, full=True).partition('id="logaudit-document"')[0]
            assert "None" not in shown
            assert " nan" not in shown


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(ValueError, match="pdf"):
        render(samples.seed(), "pdf")
