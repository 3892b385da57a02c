"""Takes secrets out of everything that leaves the machine, on values, before anything is rendered."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import regex

from logaudit.report.document import Document
from logaudit.report.secret_names import holds_nothing, is_number, strength, words
from logaudit.report.secrets import Span, TooSlow, kind_of, spans
from logaudit.report.stand_ins import StandIns

STAND_IN = "REDACTED"
"""What stands where a secret stood: one plain word, which no markup, quoting or URL changes."""
UNCHECKED = "REDACTED (this text could not be searched for secrets in time)"
"""What stands where a whole text was withheld."""
_MOST_LEARNT = 200
_LEARN_LENGTH = 6
_COMMON_VALUES = words(
    "empty dummy default secret secrets password passwd changeme change-me token tokens api_key api-key apikey "
    "key local testing example sglang server client openai optional placeholder insert-key your-api-key "
    "your_api_key your-key bearer basic string unknown hidden private public triton flashinfer cutlass bfloat16 "
    "float16 float32 cuda-graph enabled disabled tokenizer weights memory scheduler prefill decode launch python "
    "request requests header headers"
)


class Redactor:
    """Replaces secrets in texts, arguments and documents; one for each run, so that what it learns holds everywhere.

    With `hosts` also host names, IP addresses, user names in paths and e-mail addresses, the same value always by the
    same stand-in; with `paths` also absolute paths. Loopback and unspecified addresses stay.
    """

    def __init__(self, hosts: bool = False, paths: bool = False, *, seconds: float = 2.0) -> None:
        self._stand_ins = StandIns(hosts=hosts, paths=paths)
        self._seconds = seconds
        self._counts: dict[str, int] = {}
        self._learnt: dict[str, tuple[str, bool]] = {}
        self._learnt_values: set[str] = set()

    @property
    def counts(self) -> dict[str, int]:
        """Replacements made so far, by kind, in order of kind."""
        total = dict(self._counts)
        for kind, count in self._stand_ins.counts.items():
            total[kind] = total.get(kind, 0) + count
        return dict(sorted(total.items()))

    def text(self, text: str) -> str:
        """`text` with every secret replaced; a note in its place when that cannot be done in time."""
        if not text:
            return text
        try:
            return self._redacted(text, self._learn(text))
        except (TooSlow, TimeoutError):
            self._count("unchecked text")
            return UNCHECKED

    def args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Server arguments with the secret ones replaced, also inside dictionaries and JSON texts."""
        self._learn_args(args)
        return {self.text(str(name)): self._value(str(name), value) for name, value in args.items()}

    def document(self, document: Document) -> Document:
        """`document` with every text redacted and `redacted` filled in (added to what it already counts)."""
        before = self.counts
        plain: dict[str, Any] = msgspec.to_builtins(document)
        earlier: dict[str, int] = plain.pop("redacted", {})
        self._learn_all(plain)
        clean = self._walk(plain)
        now = self.counts
        fresh = {kind: now[kind] - before.get(kind, 0) for kind in now}
        total = {kind: earlier.get(kind, 0) + fresh.get(kind, 0) for kind in sorted({*earlier, *fresh})}
        clean["redacted"] = {kind: count for kind, count in total.items() if count}
        return msgspec.convert(clean, Document)

    def learn(self, text: str) -> int:
        """Note the secrets of `text`, so that they are also replaced in texts that come later but stand earlier.

        How many there are; -1 when that could not be told in time.
        """
        try:
            return len(self._learn(text))
        except (TooSlow, TimeoutError):
            return -1

    def known_only(self, text: str) -> str:
        """`text` that holds no secret of its own (`learn` gave 0) with those replaced that were learnt elsewhere."""
        try:
            return self._redacted(text, ())
        except (TooSlow, TimeoutError):
            return self.text(text)

    def spans(self, text: str) -> list[Span]:
        """Where the secrets of `text` are, learnt ones included. Raises TooSlow."""
        found = self._learn(text)
        return _joined([*found, *self._learnt_spans(text)])

    def count(self, kind: str) -> None:
        """Count one replacement that was made outside."""
        self._count(kind)

    def private(self, text: str) -> str:
        """Only the `hosts` and `paths` replacements, for a text whose secrets are already out."""
        return self._stand_ins.replace(text, self._limit(text))

    # -- learning ----------------------------------------------------------------------------------

    def _limit(self, text: str) -> float:
        return self._seconds * (1 + len(text) // (1 << 20))

    def _learn(self, text: str) -> Sequence[Span]:
        found = spans(text, seconds=self._seconds)
        for span in found:
            if span.learn:
                self._remember(text[span.start + span.open_chars : span.end], span.kind)
        self._stand_ins.learn(text, self._limit(text))
        return found

    def _remember(self, value: str, kind: str) -> None:
        """Have `value` replaced wherever it stands, in the spellings that quoting and URLs give it."""
        if not _worth_learning(value) or value in self._learnt_values or len(self._learnt_values) >= _MOST_LEARNT:
            return
        self._learnt_values.add(value)
        for form in _spellings(value):
            self._learnt.setdefault(form, (kind, _is_word(form)))

    def _learn_args(self, args: Mapping[str, Any]) -> None:
        for name, value in args.items():
            if isinstance(value, Mapping):
                self._learn_args(value)
            elif isinstance(value, (str, int)) and not isinstance(value, bool) and strength(str(name)) == "strong":
                self._remember(str(value), kind_of(str(name)))
            elif isinstance(value, str):
                nested = _json_object(value)
                if nested is not None:
                    self._learn_args(nested)
                self.learn(value)

    def _learn_all(self, node: Any) -> None:
        if isinstance(node, str):
            self.learn(node)
        elif isinstance(node, dict):
            self._learn_args(node)
            if "name" in node and "value" in node:
                self._learn_args({str(node["name"]): node["value"]})
            for value in node.values():
                self._learn_all(value)
        elif isinstance(node, list):
            for value in node:
                self._learn_all(value)

    # -- replacing ---------------------------------------------------------------------------------

    def _count(self, kind: str) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def _learnt_spans(self, text: str) -> list[Span]:
        """Where learnt secrets stand, in any of their spellings."""
        found: list[Span] = []
        for form, (kind, alone) in self._learnt.items():
            at = text.find(form)
            while at >= 0:
                end = at + len(form)
                if not alone or not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                    found.append(Span(at, end, kind))
                at = text.find(form, end)
        return found

    def _redacted(self, text: str, found: Sequence[Span]) -> str:
        parts: list[str] = []
        at = 0
        for span in _joined([*found, *self._learnt_spans(text)]):
            # As many lines as before: line numbers are evidence.
            cover = "\n".join([STAND_IN] * (1 + text.count("\n", span.start, span.end)))
            parts += [text[at : span.start], cover]
            self._count(span.kind)
            at = span.end
        clean = "".join([*parts, text[at:]])
        return self._stand_ins.replace(clean, self._limit(clean))

    def _walk(self, node: Any, name: str = "") -> Any:
        if isinstance(node, str):
            return self.text(node)
        if isinstance(node, list):
            return [self._walk(item, name) for item in node]
        if isinstance(node, dict):
            if name == "server_args":
                return self.args(node)
            if "name" in node and "value" in node:
                return self._named_entry(node)
            return {self.text(key): self._walk(value, key) for key, value in node.items()}
        return node

    def _named_entry(self, node: dict[str, Any]) -> dict[str, Any]:
        """An entry that gives a name and a value apart, such as an adjusted argument or a term's input."""
        entry = {key: self._walk(value, key) for key, value in node.items() if key != "value"}
        clean = self._value(str(node["name"]), node["value"])
        return {key: clean if key == "value" else entry[key] for key in node}

    def _value(self, name: str, value: Any) -> Any:
        how = strength(name)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._value(str(key), item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(name, item) for item in value]
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, (int, float)):
            if how != "strong":
                return value
            self._count(kind_of(name))
            return STAND_IN
        text = str(value)
        if how == "strong" or (how != "none" and not is_number(text) and not _is_path(text)):
            if holds_nothing(text):
                return text
            self._count(kind_of(name))
            return STAND_IN
        nested = _json_object(text)
        if nested is not None:
            return self.text(json.dumps(self._value(name, nested), ensure_ascii=False))
        if self._stand_ins.hosts and any(word in name.lower() for word in ("host", "addr")):
            return self.text(f"{name}={text}").partition("=")[2]
        return self.text(text)


def _joined(found: list[Span]) -> list[Span]:
    """Spans in order, those that overlap made one."""
    joined: list[Span] = []
    for span in sorted(found, key=lambda s: (s.start, -s.end)):
        if joined and span.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = replace(last, end=max(last.end, span.end))
        else:
            joined.append(span)
    return joined


def _is_word(value: str) -> bool:
    """Whether `value` could be part of an ordinary word or number, and is replaced only where it stands alone."""
    return (value.isalpha() and (value.islower() or value.istitle())) or value.isdigit()


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "~/")) and "\n" not in value and "=" not in value


def _worth_learning(value: str) -> bool:
    if len(value) < _LEARN_LENGTH or len(value) > 8192 or value.lower() in _COMMON_VALUES or holds_nothing(value):
        return False
    if value.isdigit():
        return len(value) >= 8
    return not _is_path(value)


def _spellings(value: str) -> set[str]:
    """`value` as quoting, JSON, HTML, URLs and base64 write it."""
    once = json.dumps(value)[1:-1]
    forms = {
        value,
        once,
        json.dumps(once)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        html.escape(value),
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        once.replace("/", "\\/"),
        base64.b64encode(value.encode("utf-8", "surrogateescape")).decode(),
    }
    return forms | {regex.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), form) for form in forms if "%" in form}


def _json_object(text: str) -> Any:
    """The object or list that `text` is the JSON of, or None."""
    if text[:1] not in "{[" or len(text) > 1 << 20:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {"": value} if isinstance(value, list) else value if isinstance(value, dict) else None
