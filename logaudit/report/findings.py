"""Puts findings into words: each rule's numbers through its own template."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import regex
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from logaudit.reconcile.case import Found
from logaudit.report.document import Finding
from logaudit.report.environment import template_folder

BEFORE_PUNCTUATION = regex.compile(r" ([.,;:])(?= |$)")
"""A space that a left-out part of a template leaves before a mark."""

SEVERITIES = ("critical", "warning", "notice", "info")


def _tokens(value: float) -> str:
    return f"{value:,.0f}"


def _gib(value: float) -> str:
    return f"{value:.2f}"


def _fraction(value: float) -> str:
    return f"{value:.4g}"


@cache
def _environment() -> Environment:
    """Plain text: each face escapes the words when it shows them."""
    made = Environment(
        loader=FileSystemLoader(template_folder() / "findings"),
        autoescape=False,  # noqa: S701
        undefined=StrictUndefined,
    )
    made.filters["tokens"] = _tokens
    made.filters["gib"] = _gib
    made.filters["fraction"] = _fraction
    return made


@cache
def _template(code: str) -> Template:
    return _environment().get_template(f"{code}.md.j2")


def _block(found: Found, name: str) -> str:
    template = _template(found.code)
    text = "".join(template.blocks[name](template.new_context(dict(found.numbers))))
    return BEFORE_PUNCTUATION.sub(r"\1", " ".join(text.split()))


def words_of(rules_found: Sequence[Found]) -> list[Finding]:
    """The findings of one start in words, worst first."""
    findings = [
        Finding(
            code=found.code,
            severity=found.severity,
            title=_block(found, "title"),
            detail=_block(found, "detail"),
            evidence=list(found.evidence),
            action=_block(found, "action"),
        )
        for found in rules_found
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
