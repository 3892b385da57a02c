"""Reads an HTML page into what the tests ask about, with the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    """All text inside, scripts and styles included."""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Every element of that name inside, in order."""
        found = []
        for child in self.children:
            if child.tag == tag:
                found.append(child)
            found.extend(child.all(tag))
        return found

    def walk(self) -> list[Element]:
        return [element for child in self.children for element in (child, *child.walk())]

    def with_class(self, name: str) -> list[Element]:
        return [element for element in self.walk() if name in element.attributes.get("class", "").split()]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        if len(element.attributes) != len(attrs):
            self.problems.append(f"an attribute twice on <{tag}>")
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1].tag != tag:
            self.problems.append(f"</{tag}> closes <{self.open[-1].tag}>")
        if any(element.tag == tag for element in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def parse(html: str) -> Element:
    """The page as a tree; fails on tags that do not nest."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.problems == []
    assert [element.tag for element in builder.open] == [""]
    return builder.root
