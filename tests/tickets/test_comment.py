"""The comment: what it says in each markup, that it never passes a limit, and that a log cannot write markup."""

from __future__ import annotations

import pytest

from logaudit.report.document import Bounds, Cause, Document, LedgerItem, LedgerRow, Option, RankInfo, Reconciliation
from logaudit.tickets.comment import best_option, ledger_in_five, length, marker_of, markers_in, write_comment
from logaudit.tickets.interface import Markup
from logaudit.tickets.markup import jira_code, jira_text, textile_code, textile_text
from tests.report import samples

MARKUPS: tuple[Markup, ...] = ("markdown", "jira", "textile")


def written(
    document: Document, markup: Markup = "markdown", limit: int = 65_536, *, links: tuple[str, ...] = ()
) -> str:
    return write_comment(
        document, markup=markup, limit=limit, marker=marker_of(document), links=links, where="/home/me/report.html"
    )


@pytest.fixture
def document() -> Document:
    return samples.document(samples.seed_launch(), redacted={"api key": 2})


@pytest.mark.parametrize("markup", MARKUPS)
def test_the_first_screen_is_in_it(document: Document, markup: Markup) -> None:
    text = written(document, markup, links=("report.html",))
    for said in (
        "exactly as large",
        "KimiK25ForConditionalGeneration",
        "0.5.9",
        "TP 8",
        "94.04",
        "72.33",
        "7.43",
        "318,586",
    ):
        assert said in text
    assert "report.html" in text
    assert "Redacted: 2 × api key" in text
    assert markers_in(text) == [marker_of(document)]


def test_each_markup_has_its_own_tables(document: Document) -> None:
    assert "| one GPU | GiB |\n| --- | ---: |\n| free before loading | 94.04 |" in written(document)
    assert "||one GPU||GiB||\n|free before loading|94.04|" in written(document, "jira")
    assert "|_. one GPU |_. GiB |\n| free before loading |>. 94.04 |" in written(document, "textile")


def test_without_files_the_rest_is_folded_and_the_place_is_said(document: Document) -> None:
    text = written(document)
    assert text.count("<details>") == text.count("</details>") >= 4
    assert "`/home/me/report.html`" in text


def test_with_files_nothing_is_folded(document: Document) -> None:
    assert "<details>" not in written(document, links=("report.html",))


def test_the_ledger_has_five_lines_that_add_up(document: Document) -> None:
    table = ledger_in_five(document.launches[0])
    assert table is not None
    figures = [float(row.cells[1].body[0].text.replace(",", "")) for row in table.rows]
    assert len(figures) == 5
    # 94.04 = 72.33 + 10.42 + (0.05 + 0.07 + 1.51 + 0.95 + 0.60 + 0.38 + 0.30) + 7.43
    assert figures == [94.04, 72.33, 10.42, 3.86, 7.43]
    assert figures[0] == pytest.approx(sum(figures[1:]))


def test_a_short_ledger_is_shown_as_it_is() -> None:
    row = LedgerRow(
        "target",
        RankInfo(tp=0),
        [
            LedgerItem("weights", samples.near(20.0), [1]),
            LedgerItem("free at the end", samples.near(4.0), [2]),
        ],
    )
    table = ledger_in_five(samples.launch(ledger=[row]))
    assert table is not None
    assert len(table.rows) == 3


def test_causes_come_with_their_numbers() -> None:
    causes = [Cause("capped_by_user", Bounds(1.5, 1.4, 1.6), 20_000, [7], "--max-total-tokens is set")]
    launch = samples.seed_launch(reconciliation=Reconciliation("explained", 1, None, 0, None, causes, []))
    text = written(samples.document(launch))
    for said in ("capped_by_user", "1.50 GiB", "20,000 tokens", "`--max-total-tokens`"):
        assert said in text


def test_the_best_option_leaves_memory_over() -> None:
    def option(flag: str, tokens: float, headroom: float) -> Option:
        return Option(flag, flag, Bounds(tokens, tokens, tokens), Bounds(headroom, headroom, headroom), "", "")

    best = best_option([option("a", 100, 3.0), option("b", 300, -1.0), option("c", 200, 0.5)])
    assert best is not None
    assert best.flag == "c"


@pytest.mark.parametrize("markup", MARKUPS)
def test_no_limit_is_passed(document: Document, markup: Markup) -> None:
    whole = length(written(document, markup))
    for limit in (whole, whole - 1, whole * 3 // 4, whole // 2, whole // 4, 600, 300, 60):
        size = length(written(document, markup, limit))
        assert size <= limit


def test_at_the_limit_everything_is_there_and_one_under_it_a_section_goes(document: Document) -> None:
    whole = written(document)
    assert written(document, limit=length(whole)) == whole
    shorter = written(document, limit=length(whole) - 1)
    assert "Left out because a comment here may hold no more: " in shorter
    assert shorter.count("<details>") == shorter.count("</details>") == whole.count("<details>") - 1


def test_tables_are_whole_or_absent(document: Document) -> None:
    whole = written(document)
    rows = {line for line in whole.split("\n") if line.startswith("|")}
    ledger = [line for line in whole.split("\n") if line.startswith("|")][:7]
    for limit in range(400, length(whole), 97):
        text = written(document, limit=limit)
        shown = [line for line in text.split("\n") if line.startswith("|")]
        assert set(shown) <= rows
        assert not shown or shown[: len(ledger)] == ledger


def test_signs_outside_of_the_basic_plane_count_twice() -> None:
    assert length("a😀") == 3


def test_a_crashed_start_begins_with_that() -> None:
    launch = samples.launch(outcome="crashed", verdict=["Crashed while loading: out of memory."])
    assert written(samples.document(launch)).startswith("### Crashed while loading: out of memory.")


def test_the_last_start_of_several_is_the_subject() -> None:
    first = samples.launch(verdict=["The first."])
    text = written(samples.document(first, samples.seed_launch(index=1, verdict=["The second."])))
    assert text.startswith("### The second.")
    assert text.count("incomplete") == 1


def test_a_log_without_a_start() -> None:
    assert markers_in(written(samples.document()))


class TestHostileWords:
    def test_jira(self) -> None:
        said = str(jira_text("{code} [~admin] !http://x/i.png! *b* |c| h1. OPS-12 \\\\ a-b c_d"))
        for mark in ("{code}", "[~", "!http", "*b*", "|c"):
            assert mark not in said.replace("\\" + mark[0], "")
        assert "http://" not in said
        assert "a-b c_d" in said
        assert jira_text("h1. title") != "h1. title"

    def test_jira_code_cannot_be_left(self) -> None:
        assert "}}" not in str(jira_code("x}} *b*"))[2:-2]

    def test_textile(self) -> None:
        said = str(textile_text('"link":http://x !img! @code@ *b* |c| <script> #12 [[Wiki]] {{macro}} r123 a-b c_d'))
        for mark in ('"', "<", "!img", "@code", "*b*", "|", " #12", "[[", "{{", "http://", "r123"):
            assert mark not in said
        assert "a-b c_d" in said

    def test_textile_code_cannot_be_left(self) -> None:
        assert str(textile_code("</code>*b*")).count("</code>") == 1

    @pytest.mark.parametrize("markup", MARKUPS)
    def test_a_model_path_cannot_end_the_comment_s_structure(self, markup: Markup) -> None:
        path = "/m|x {noformat} </details> ``` @all [a](http://x) \n| h |"
        launch = samples.seed_launch(model=samples.ModelInfo(path, None, None, "mla", None))
        lines = written(samples.document(launch), markup).split("\n")
        own = [number for number, line in enumerate(lines) if "model: " in line]
        assert len(own) == 1
        # The line stays one line, and the next fact follows it.
        assert "SGLang: " in lines[own[0] + 1]
