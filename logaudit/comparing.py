"""Two starts side by side: logs or reports in, comparison out."""

from __future__ import annotations

import os
from dataclasses import replace

from logaudit.auditing import cases_of, document_of_cases, launches_of, read_source
from logaudit.errors import LogauditError
from logaudit.reconcile.case import Case
from logaudit.reconcile.differ import Attribution, attribute
from logaudit.reconcile.inputs import Given
from logaudit.report.diff import DiffDoc, diff_document
from logaudit.report.document import Document, LaunchDoc
from logaudit.report.redact import Redactor
from logaudit.report.stored import stored_report
from logaudit.sources import open_sources

LAST = -1


def compare_starts(before: str, after: str, given: Given) -> DiffDoc:
    """The comparison of two starts, each a log, `LOG#N` for its start N (the last without), or a report of logaudit.

    Between reports nothing is computed, because they do not hold the formula's inputs. Raises LogauditError where
    there is no such start, SourceError for what cannot be read.
    """
    redactor = Redactor()
    (old, old_start, old_case), (new, new_start, new_case) = (
        _start(place, given, redactor) for place in (before, after)
    )
    return diff_document((old, old_start), (new, new_start), _attribution(old_case, new_case, redactor))


def parse_start(text: str) -> tuple[str, int]:
    """A log and the number of a start in it: `LOG#2`; LAST where none is given, or where a file is named like that."""
    log, mark, number = text.rpartition("#")
    if not mark or os.path.exists(text):
        return text, LAST
    try:
        return log, int(number)
    except ValueError:
        return text, LAST


def _start(place: str, given: Given, redactor: Redactor) -> tuple[Document, LaunchDoc, Case | None]:
    log, number = parse_start(place)
    document = stored_report(log)
    if document is not None:
        return document, document.launches[_chosen(log, number, [launch.index for launch in document.launches])], None
    sources = [read_source(source) for source in open_sources([log])]
    cases = cases_of(launches_of(sources), given)
    document = document_of_cases(sources, cases, redactor)
    at = _chosen(log, number, [case.launch.index for case in cases])
    return document, document.launches[at], cases[at]


def _chosen(log: str, number: int, indices: list[int]) -> int:
    """Position of start `number`."""
    if not indices:
        raise LogauditError("no start of a server in it", where=log, do="give the startup part of the log")
    if number in indices:
        return indices.index(number)
    if -len(indices) <= number < 0:
        return len(indices) + number
    known = ", ".join(map(str, indices))
    raise LogauditError(f"there is no start {number}", where=log, do=f"starts in this log: {known}")


def _attribution(before: Case | None, after: Case | None, redactor: Redactor) -> Attribution:
    if before is None or after is None:
        why = "the log itself is needed: a report does not hold the formula's inputs"
        return Attribution((), None, None, None, None, (why,))
    found = attribute(before, after)
    shares = (
        replace(share, before=redactor.text(share.before), after=redactor.text(share.after)) for share in found.shares
    )
    return replace(found, shares=tuple(shares))
