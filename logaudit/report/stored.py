"""Reads a report back: the document that an HTML report carries, or a JSON report itself."""

from __future__ import annotations

from pathlib import Path

import msgspec

from logaudit.errors import SourceError
from logaudit.report.document import SCHEMA_VERSION, Document, from_json

_MARK = 'id="logaudit-document"'
_HEAD_BYTES = 4096


def extract_document(html: str) -> Document:
    """The document embedded in an HTML report. Raises SourceError when there is none, or one that cannot be read."""
    start = html.rfind(_MARK)
    begin = html.find(">", start) + 1 if start >= 0 else 0
    end = html.find("</script>", begin) if begin > 0 else -1
    if end < 0:
        raise SourceError("no logaudit document in this HTML", do="give a report that `logaudit report` wrote")
    return parse_document(html[begin:end])


def parse_document(json_text: str) -> Document:
    """The document of a JSON report. Raises SourceError when it is not one, or of a newer schema."""
    try:
        document = from_json(json_text)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeEncodeError) as problem:
        raise SourceError(f"not a readable logaudit document: {problem}", do="write the report again") from None
    if document.schema_version > SCHEMA_VERSION:
        raise SourceError(
            f"the document has schema_version {document.schema_version}, this logaudit reads up to {SCHEMA_VERSION}",
            do=f"use logaudit {document.logaudit_version} or newer",
        )
    return document


def stored_report(path: str) -> Document | None:
    """The document of a report file of ours; None when `path` is something else, a log for instance.

    Raises SourceError, naming the file, when it is a report but cannot be read.
    """
    file = Path(path)
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES).lstrip(b"\xef\xbb\xbf \r\n\t")
    except OSError:
        return None
    is_html = head[:15].lower().startswith(b"<!doctype html") and b'name="generator" content="logaudit' in head
    is_json = head[:1] == b"{" and b'"schema_version"' in head[:200] and b'"logaudit_version"' in head[:400]
    if not (is_html or is_json):
        return None
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        return extract_document(text) if is_html else parse_document(text)
    except OSError as problem:
        raise SourceError(problem.strerror or "cannot be read", where=path) from None
    except SourceError as problem:
        raise SourceError(problem.what, where=path, do=problem.do) from None
