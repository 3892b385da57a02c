"""SGLang's server arguments as they stand in a log: the dump of either form, a shortened paste, a launch command."""

from __future__ import annotations

import ast
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import regex

from logaudit.lazy import lazy_pattern

Form = Literal["dataclass", "dict", "short"]
"""`ServerArgs(a=1)` (to 0.5.18), `{'a': 1}` (since 0.5.19), or names and values without their frame or with gaps."""

_MAX_CHARS = 1 << 20
_MAX_LITERAL_CHARS = 1 << 16
_MAX_NUMBER_CHARS = 64
_LARGEST_NUMBER = 10**15
_MAX_LITERAL_DEPTH = 40
_MAX_NESTED = 6

_OPENING = lazy_pattern(r"(?:server_args\s*=\s*)?(?:(?P<dataclass>ServerArgs\()|server_args\s*=\s*(?P<dict>\{))")
_SHORT = lazy_pattern(r"(?:^|[\s,(`])(?P<name>[a-z][a-z0-9_]{1,60})=(?=['\"\[({\w.-])")
_SPECIAL = lazy_pattern(r"""['"()\[\]{}<>,]""")
_STRING = {
    "'": lazy_pattern(r"(?:[^'\\]|\\.)*+'", regex.DOTALL),
    '"': lazy_pattern(r'(?:[^"\\]|\\.)*+"', regex.DOTALL),
}
_PAIR = {
    "dataclass": lazy_pattern(r"\s*(?P<name>[A-Za-z_]\w{0,80})\s*=(?P<value>.*)", regex.DOTALL),
    "dict": lazy_pattern(r"\s*(?P<quote>['\"])(?P<name>[A-Za-z_]\w{0,80})(?P=quote)\s*:(?P<value>.*)", regex.DOTALL),
}
_NESTED = lazy_pattern(r"[A-Za-z_]\w{0,80}\((?=\s*(?:[A-Za-z_]\w{0,80}\s*=|\)$))")
_WRAP = lazy_pattern(r"\r?\n[ \t]*")
_GAP = lazy_pattern(r"\s+(?:\.\.\.|…)(?=\s|$)(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)")
"""Dots between two pairs that stand for those left out, outside of any string."""
_SHORT_TAIL = lazy_pattern(
    r"(?:.*\s)?[a-z][a-z0-9_]{1,60}=(?:'[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?|None|True|False)(?=[\s`).]*$)", regex.DOTALL
)
"""The end of a list that nothing closes, when its last value is whole."""
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}
_ELISION = ("...", "…", "[...]", "[…]")
_WORDS: Mapping[str, object] = {"None": None, "True": True, "False": False, "true": True, "false": False, "null": None}
_PLAIN_STRING = lazy_pattern(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_MAX_PAIRS = 4096

_COMMAND = lazy_pattern(r"(?:-m\s+sglang\.launch_server|\bsglang\s+serve|\bsglang/\S*launch_server\.py)(?=[\s\"'])")
_CONTINUATION = lazy_pattern(r"[ \t]*\\[ \t]*\r?\n[ \t]*")
_NUMBER = lazy_pattern(r"-?(?:\d{1,18}|\d{1,18}\.\d{0,18}|\.\d{1,18})(?:[eE][+-]?\d{1,3})?")
_SHELL_ENDS = ("|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", "&>", "#")

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "model": "model_path",
        "tp": "tp_size",
        "tensor_parallel_size": "tp_size",
        "dp": "dp_size",
        "data_parallel_size": "dp_size",
        "pp": "pp_size",
        "pipeline_parallel_size": "pp_size",
        "ep": "ep_size",
        "expert_parallel_size": "ep_size",
        "attention_context_parallel_size": "attn_cp_size",
        "moe_data_parallel_size": "moe_dp_size",
        "mem_frac": "mem_fraction_static",
        "speculative_algo": "speculative_algorithm",
        "speculative_draft_model": "speculative_draft_model_path",
        "nccl_init_addr": "dist_init_addr",
        "max_total_token": "max_total_tokens",
    }
)
"""Spellings of the command line whose field has another name."""


@dataclass(frozen=True, slots=True)
class ParsedArgs:
    """Server arguments read from text."""

    values: Mapping[str, object]
    """Field name to value: a Python literal, a dict for a nested dataclass, else the text as printed."""
    names_in_order: tuple[str, ...]
    """The names as they were printed; a release is recognised by them."""
    form: Form
    complete: bool
    """Whether the dump's end was seen and nothing was elided."""


def parse_server_args(text: str) -> ParsedArgs | None:
    """The server arguments of a dump (or of a shortened paste of one), None where the text holds none.

    Pairs that are cut off are left out, all complete ones kept; text after the closing bracket is ignored. Takes time
    linear in the text and never evaluates it.
    """
    text = _WRAP.sub("", text[:_MAX_CHARS])
    opening = _OPENING.search(text)
    if opening is None:
        first = _SHORT.search(text)
        return None if first is None else _parsed(text[first.start("name") :], "dataclass", framed=False)
    form: Form = "dict" if opening["dict"] else "dataclass"
    return _parsed(text[opening.end() :], form, framed=True)


def parse_command_line(text: str, known: Sequence[str] = ()) -> ParsedArgs | None:
    """The arguments of a launch command (`python -m sglang.launch_server`, `sglang serve`), None where there is none.

    `known` are field names to complete abbreviated flags with. A flag without a value is True, one with several is a
    list; lines ending in a backslash are joined.
    """
    found = _COMMAND.search(text[:_MAX_CHARS])
    if found is None:
        return None
    rest = _CONTINUATION.sub(" ", text[found.end() : _MAX_CHARS]).split("\n", 1)[0]
    words = list(_words(rest))
    values: dict[str, object] = {}
    elided = False
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in _ELISION:
            elided = True
        if not word.startswith("--"):
            if index == 1 and not word.startswith("-"):
                values["model_path"] = word
            continue
        flag, equals, value = word[2:].partition("=")
        given = [value] if equals else []
        while not equals and index < len(words) and not _is_flag(words[index]) and words[index] not in _ELISION:
            given.append(words[index])
            index += 1
        name = _field_name(flag, known)
        if name:
            values[name] = (
                True if not given else _word_value(given[0]) if len(given) == 1 else list(map(_word_value, given))
            )
    if not values:
        return None
    return ParsedArgs(MappingProxyType(values), tuple(values), "short", not elided)


def _parsed(body: str, form: Form, *, framed: bool) -> ParsedArgs:
    pieces, closed, rest = _split(body)
    if not framed:
        # Nothing closes such a list: its last pair stands at the end of the text.
        tail = _SHORT_TAIL.match(rest)
        pieces = [
            part for piece in [*pieces, *([] if closed else [tail[0] if tail else rest])] for part in _GAP.split(piece)
        ]
        if not closed and not tail:
            pieces = pieces[:-1]
    values: dict[str, object] = {}
    elided = False
    for piece in pieces:
        if piece.strip() in _ELISION:
            elided = True
            continue
        pair = _PAIR[form].fullmatch(piece)
        if pair is not None:
            values[pair["name"]] = _value(pair["value"].strip(), _MAX_NESTED)
    shape: Form = form if framed and not elided else "short"
    return ParsedArgs(MappingProxyType(values), tuple(values), shape, framed and closed and not elided)


def _split(body: str) -> tuple[list[str], bool, str]:
    """The complete pieces between commas outside of any bracket or string, whether the closing bracket was seen, and
    what stands behind the last comma where it was not.
    """
    pieces: list[str] = []
    open_brackets: list[str] = []
    start = position = 0
    while True:
        special = _SPECIAL.search(body, position)
        if special is None or len(pieces) >= _MAX_PAIRS:
            return pieces, False, body[start:]
        character, position = special[0], special.end()
        if character in _STRING:
            end = _STRING[character].match(body, position)
            if end is None:
                return pieces, False, body[start:]
            position = end.end()
        elif character == ",":
            if not open_brackets:
                pieces.append(body[start : position - 1])
                start = position
        elif character in "([{<":
            open_brackets.append(character)
        elif not _close(open_brackets, character) and character != ">":
            pieces.append(body[start : position - 1])
            return pieces, True, ""


def _close(open_brackets: list[str], character: str) -> bool:
    """Take the bracket that `character` closes off the stack, with unclosed `<` above it; False when there is none."""
    if character != ">":
        while open_brackets and open_brackets[-1] == "<":
            open_brackets.pop()
    if not open_brackets:
        return False
    if open_brackets[-1] == _CLOSES[character]:
        open_brackets.pop()
    return True


def _value(text: str, nested: int) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return _number(text)
    plain = _PLAIN_STRING.fullmatch(text)
    if plain is not None:
        return plain[1] if plain[1] is not None else plain[2]
    inner = _NESTED.match(text) if text.endswith(")") else None
    if inner is not None:
        if not nested:
            return text
        pieces, closed, _ = _split(text[inner.end() :])
        pairs = [_PAIR["dataclass"].fullmatch(piece) for piece in pieces if piece.strip()]
        if not closed or None in pairs:
            return text
        return {pair["name"]: _value(pair["value"].strip(), nested - 1) for pair in pairs if pair is not None}
    return _literal(text)


def _literal(text: str) -> object:
    """A Python literal, else the text itself; the nesting is bounded before Python's parser sees it."""
    if (
        len(text) > _MAX_LITERAL_CHARS
        or max(text.count("("), text.count("["), text.count("{")) > _MAX_LITERAL_DEPTH * 50
    ):
        return text
    if _depth(text) > _MAX_LITERAL_DEPTH:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return text if isinstance(value, (int, float)) and not abs(value) <= _LARGEST_NUMBER else value


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in text:
        if character in "([{-+~":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
        elif character in "'\"0123456789,":
            deepest = max(deepest, depth)
    return deepest


def _words(text: str) -> Iterator[str]:
    """The shell words of a command up to its end; quotes that do not close are taken as they stand."""
    text = regex.sub(r"[\"'],\s*[\"']", '" "', text) if regex.match(r"[\"'],", text) else text
    text = text.lstrip("\"',").rstrip("` ")
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        words = text.split()
    for word in words:
        if word in _SHELL_ENDS or word.startswith(("2>", "1>", "&>", ">")):
            return
        yield word


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not _NUMBER.fullmatch(word)


def _field_name(flag: str, known: Sequence[str]) -> str | None:
    name = flag.replace("-", "_")
    if not regex.fullmatch(r"[A-Za-z]\w{0,80}", name):
        return None
    if name in ALIASES:
        return ALIASES[name]
    if name in known:
        return name
    longer = {field for field in known if field.startswith(name)}
    return longer.pop() if len(longer) == 1 else name


def _word_value(word: str) -> object:
    return _number(word) if _NUMBER.fullmatch(word) else word


def _number(text: str) -> int | float | str:
    """The number, else the text as printed where no argument can be that large."""
    if len(text) > _MAX_NUMBER_CHARS:
        return text
    value = float(text) if any(mark in text for mark in ".eE") else int(text)
    return value if abs(value) <= _LARGEST_NUMBER else text
