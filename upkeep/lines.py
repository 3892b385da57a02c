"""What a release can print: message templates of logging calls, prints, progress bars and raised errors."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from upkeep.release import Release

PRINTERS = re.compile(
    r"^(?:info|warning|warn|error|critical|exception|log|print|set_description|tqdm|trange)(?:_\w+)?$|_(?:log|print|warn)$|^\w+_(?:log|print|warn)_\w+$"
)
"""Names of functions whose text argument ends up in the log at its usual level."""
UNIT = re.compile(r"^\s?(?:[GMK]i?B|bytes)\b")
SIZE_NAME = re.compile(r"(?:mem|memory|usage|size|_gb|_mb|bytes|avail\w*)\s*[=:]\s*$", re.IGNORECASE)
COUNT_NAME = re.compile(
    r"(?:#\w*tokens?|max_total_num_tokens|max_mamba_cache_size|(?:full|swa|kv)\w*_tokens?|"
    r"(?:full|swa|mamba)[ _]\w*(?:size|slots|usage)|"
    r"\b(?:full|swa|slots|mamba\w*)|token usage|max_running_requests|page_size)\s*[=:]\s*$",
    re.IGNORECASE,
)
SHORTAGE = re.compile(
    r"not enough (?:\w+ )?memory|out of memory|\bOOM\b|no (?:\w+ )?memory (?:is )?left|"
    r"leaves? no \w* ?memory|memory capacity is unbalanced|"
    r"(?:increase|reduce|decrease|lower|raise|smaller|larger)\W+(?:\w+ )?--?(?:mem|mamba|max|swa|cuda|chunked)[\w-]*|"
    r"pool (?:is |size )?(?:too small|full)|cache is too small",
    re.IGNORECASE,
)
ADJUSTS = re.compile(
    r"\b(?:set|sets|setting|reset|adjust\w*|chang\w+|reduc\w+|overrid\w+|forc\w+|disabl\w+|us(?:e|ing))\b.*"
    r"(?:mem[-_ ]fraction|page[_ -]size|kv[_ ]cache[_ ]dtype|max[-_ ]running[-_ ]requests|swa_full_tokens_ratio|"
    r"chunked[-_ ]prefill[-_ ]size|max[-_]total[-_]tokens|mamba\w*(?:size|ratio)|"
    r"hybrid[-_ ]swa|sliding window memory|cuda graph max)",
    re.IGNORECASE,
)
PRINTS_SIZES = re.compile(r"[ }'\"][GMK]i?B\b")
"""Text that a module holds when it prints a size."""
PRINTS_OF_MEMORY = re.compile(
    r"[Nn]ot enough|[Oo]ut of memory|OOM\b|mem[-_ ]fraction|memory pool|(?i:cuda graph)|"
    r"Load weight|[Gg]raph\b.*(?:begin|end|bs)|memory_allocated|watchdog timeout|crashed with|Tree cache|"
    r"KV pool|KV budget|hit an exception|fired up|tokens?[:=] ?\{|token usage|sigquit|SIGTERM|KV [Cc]ache|"
    r"torch distributed|Init parallel|"
    r"(?:page[_ ]size|running[-_ ]requests|prefill size|cache dtype|tokens_ratio|size)\b.{0,60}\bto\b|server_args="
)
"""Text that a module holds when it prints another line that matters."""
MODEL_CODE = re.compile(r"^srt/(?:models|layers|multimodal|function_call|parser|lora|debug_utils)/")
"""Folders of model code: looked into only where a size is printed."""
MOST_CHOICES = 8
"""Most texts remembered for one hole."""
VARIANTS = 24
"""Most renderings tried for one template."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a template that a value is put into."""

    name: str
    """Source text of the expression."""
    spec: str = ""
    """Format specification: `.2f`."""
    choices: tuple[str, ...] = ()
    """The texts it can be, where the expression says so itself."""


@dataclass(frozen=True, slots=True)
class Template:
    """One message that the release can print."""

    parts: tuple[str | Hole, ...]
    call: str
    """`logger.info`, `print`, `raise ValueError`."""
    path: str
    function: str
    line: int

    @property
    def key(self) -> str:
        """The wording without the names of what is put in: `avail mem={:.2f} GB`."""
        return _one_line(
            "".join(p if isinstance(p, str) else f"{{{':' + p.spec if p.spec else ''}}}" for p in self.parts)
        )

    @property
    def shown(self) -> str:
        """The wording with the names of what is put in."""
        return _one_line(
            "".join(p if isinstance(p, str) else f"{{{p.name}{':' + p.spec if p.spec else ''}}}" for p in self.parts)
        )

    @property
    def place(self) -> str:
        """`path:line function`."""
        return f"{self.path}:{self.line} {self.function}"

    def renderings(self) -> Iterator[str]:
        """Messages as they can look, the likeliest first."""
        options = [(p,) if isinstance(p, str) else _values(p) for p in self.parts]
        yield from ("".join(chosen) for chosen in itertools.islice(_widening(options), VARIANTS))

    @property
    def accounts(self) -> bool:
        """Whether it looks like memory accounting: a size, a pool's count, a shortage, a setting changed for memory."""
        literal = "".join(p if isinstance(p, str) else " {} " for p in self.parts)
        if self.call == "assert" or self.call.startswith("raise "):
            return bool(SHORTAGE.search(literal)) or (self.measures and "memory" in literal.lower())
        return self.measures or bool(SHORTAGE.search(literal) or ADJUSTS.search(literal))

    @property
    def measures(self) -> bool:
        """Whether the wording prints a size in bytes of some unit, or how many tokens or slots a pool has."""
        for at, part in enumerate(self.parts):
            if isinstance(part, str):
                continue
            before = self.parts[at - 1] if at else ""
            after = self.parts[at + 1] if at + 1 < len(self.parts) else ""
            if isinstance(after, str) and UNIT.match(after):
                return True
            if isinstance(before, str) and (
                COUNT_NAME.search(before) or (SIZE_NAME.search(before) and "mem" in before.lower())
            ):
                return True
        return False


def templates(release: Release) -> list[Template]:
    """Every message of the modules that can matter, in order of place, the same wording in one function once."""
    seen: dict[tuple[str, str, str], Template] = {}
    for path, text in sorted(release.texts.items()):
        if not (PRINTS_SIZES.search(text) or (PRINTS_OF_MEMORY.search(text) and not MODEL_CODE.match(path))):
            continue
        for template in templates_of(release, path):
            seen.setdefault((path, template.function, template.key), template)
    return list(seen.values())


def memory_modules(messages: list[Template]) -> list[str]:
    """Modules that matter for memory: those that print at least one size or pool count."""
    return sorted({template.path for template in messages if template.measures})


def templates_of(release: Release, path: str) -> list[Template]:
    """The messages of one module, debug messages left out."""
    tree = release.tree(path)
    return list(_Finder(path).find(tree)) if tree else []


class _Finder:
    def __init__(self, path: str) -> None:
        self.path = path

    def find(self, tree: ast.Module) -> Iterator[Template]:
        yield from self._scope(tree, "", {})

    def _scope(self, node: ast.AST, name: str, outer: dict[str, list[ast.expr]]) -> Iterator[Template]:
        texts = dict(outer)
        inner = list(_statements(node))
        for child in inner:
            if isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
                texts[child.targets[0].id] = [*texts.get(child.targets[0].id, []), child.value]
            elif isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name) and child.target.id in texts:
                texts[child.target.id] = [_joined(value, child.value) for value in texts[child.target.id]]
        for child in inner:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from self._scope(child, f"{name}.{child.name}" if name else child.name, texts)
            elif isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call) and child.exc.args:
                kind = ast.unparse(child.exc.func)
                yield from self._made(child.exc.args[0], child.exc.args[1:], f"raise {kind}", name, texts, child.lineno)
            elif isinstance(child, ast.Assert) and child.msg is not None:
                yield from self._made(child.msg, [], "assert", name, texts, child.lineno)
            for call in _calls(child):
                yield from self._call(call, name, texts)

    def _call(self, node: ast.Call, name: str, texts: dict[str, list[ast.expr]]) -> Iterator[Template]:
        func = node.func
        called = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if not PRINTERS.search(called):
            return
        worded = [k.value for k in node.keywords if k.arg in ("desc", "msg", "message")]
        for at, arg in enumerate(node.args):
            made = list(self._made(arg, node.args[at + 1 :], ast.unparse(func), name, texts, node.lineno))
            if made:
                yield from made
                break
        for arg in worded:
            yield from self._made(arg, [], ast.unparse(func), name, texts, node.lineno)

    def _made(
        self, text: ast.expr, rest: list[ast.expr], call: str, name: str, texts: dict[str, list[ast.expr]], line: int
    ) -> Iterator[Template]:
        values = texts.get(text.id, []) if isinstance(text, ast.Name) else [text]
        for value in values:
            parts = [_chosen(part, texts) for part in _parts(value, rest)]
            if any(isinstance(p, str) and p.strip() for p in parts):
                yield Template(tuple(parts), call, self.path, name or "<module>", line)


def _chosen(part: str | Hole, texts: dict[str, list[ast.expr]]) -> str | Hole:
    """A hole that is a variable, or an entry of one, with the texts that the function gives it."""
    name = "" if isinstance(part, str) else part.name.partition("[")[0]
    if isinstance(part, str) or part.choices or name not in texts:
        return part
    others = {known: values for known, values in texts.items() if known != name}
    choices = dict.fromkeys(text for value in texts[name] for text in _choices(value, others))
    return replace(part, choices=tuple(choices)[:MOST_CHOICES])


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a scope in order, nested functions and classes themselves but not what is inside them."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for part in getattr(scope, name, ()):
            if isinstance(part, ast.stmt):
                yield part
            if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _statements(part)


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls that a statement makes by itself: as the whole of it, as its value, or as what it runs over."""
    held = [getattr(statement, name, None) for name in ("value", "iter")]
    held += [item.context_expr for item in getattr(statement, "items", ())]
    for value in held:
        inner = value.value if isinstance(value, ast.Await) else value
        if isinstance(inner, ast.IfExp):
            yield from (v for v in (inner.body, inner.orelse) if isinstance(v, ast.Call))
        elif isinstance(inner, ast.Call):
            yield inner
            yield from (a for a in inner.args if isinstance(a, ast.Call))


def _joined(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.copy_location(ast.BinOp(left, ast.Add(), right), right)


def _parts(node: ast.expr, rest: list[ast.expr]) -> list[str | Hole]:
    """A text expression as literals and holes; [] where it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _percent(node.value, rest) if rest else [node.value]
    if isinstance(node, ast.JoinedStr):
        return _merged(part for value in node.values for part in _joined_part(value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _parts(node.left, []), _parts(node.right, rest)
        if not left and not right:
            return []
        return _merged([*(left or [Hole(ast.unparse(node.left))]), *(right or [Hole(ast.unparse(node.right))])])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
        given = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
        return _percent("".join(str(p) for p in _parts(node.left, [])), given)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
        and _is_text(node.func.value)
    ):
        return _braces("".join(str(p) for p in _parts(node.func.value, [])), node)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("strip", "dedent", "join")
    ):
        return _parts(node.func.value, []) if node.func.attr == "strip" else []
    return []


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _joined_part(value: ast.expr) -> list[str | Hole]:
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if not isinstance(value, ast.FormattedValue):
        return [Hole(ast.unparse(value))]
    written = value.format_spec.values if isinstance(value.format_spec, ast.JoinedStr) else []
    spec = "".join(str(v.value) for v in written if isinstance(v, ast.Constant))
    return [Hole(ast.unparse(value.value), spec, tuple(_choices(value.value)))]


def _choices(node: ast.expr, texts: dict[str, list[ast.expr]] | None = None) -> Iterator[str]:
    """The texts that an expression can be, by itself or through `texts`, the variables of its scope."""
    if isinstance(node, ast.IfExp):
        yield from _choices(node.body, texts)
        yield from _choices(node.orelse, texts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [_chosen(part, texts or {}) for part in _parts(node, [])]
        yield next(Template(tuple(parts), "", "", "", 0).renderings())
    elif texts is not None:
        for entry in (n for n in ast.walk(node) if isinstance(n, ast.Dict)):
            for value in entry.values:
                yield from _choices(value)


def _percent(text: str, given: list[ast.expr]) -> list[str | Hole]:
    parts: list[str | Hole] = []
    names = iter(given)
    at = 0
    for match in re.finditer(r"%(?:\((?P<key>\w+)\))?(?P<flags>[-+ #0]*\d*(?:\.\d+)?)(?P<kind>[sdrfgeixX%])", text):
        parts.append(text[at : match.start()])
        at = match.end()
        kind = match["kind"]
        if kind == "%":
            parts.append("%")
            continue
        node = next(names, None)
        name = ast.unparse(node) if node is not None else match["key"] or "value"
        spec = (
            match["flags"] + kind if kind in "dfge" and (kind != "d" or match["flags"]) else "d" if kind == "d" else ""
        )
        parts.append(Hole(name, spec, tuple(_choices(node)) if node is not None else ()))
    return _merged([*parts, text[at:]])


def _braces(text: str, call: ast.Call) -> list[str | Hole]:
    parts: list[str | Hole] = []
    names = [ast.unparse(a) for a in call.args]
    keywords = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}
    at = count = 0
    for match in re.finditer(r"\{(?P<name>\w*)(?:![rsa])?(?::(?P<spec>[^{}]*))?\}", text):
        parts.append(text[at : match.start()])
        at = match.end()
        key = match["name"]
        if not key:
            key, count = str(count), count + 1
        name = names[int(key)] if key.isdigit() and int(key) < len(names) else keywords.get(key, key)
        parts.append(Hole(name, match["spec"] or ""))
    return _merged([*parts, text[at:]])


def _merged(parts: Iterator[str | Hole] | list[str | Hole]) -> list[str | Hole]:
    out: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return out


def _values(hole: Hole) -> tuple[str, ...]:
    if hole.choices:
        return hole.choices
    spec = hole.spec
    if spec.endswith(("f", "g", "e", "%")):
        return (format(12.3456, spec),)
    if spec.endswith("d") or spec == ",":
        return (format(4096, spec),)
    name = hole.name.lower()
    if "server_args" in name:
        return ("ServerArgs(model_path='m', tp_size=1)", "{'model_path': 'm', 'tp_size': 1}")
    if "dtype" in name:
        return ("torch.bfloat16", "auto", "fp8_e4m3")
    if name.startswith("round("):
        return ("12.34", "7")
    if any(word in name for word in ("list", "capture_bs", "batch_sizes", "_bs)")):
        return ("[1, 2, 4]", "7", "text")
    if any(
        word in name
        for word in (
            "name",
            "type",
            "arch",
            "label",
            "backend",
            "prefix",
            "mode",
            "str",
            "class",
            "path",
            "msg",
            "suffix",
        )
    ):
        return ("Text", "7", "", "12.34")
    return ("7", "12.34", "text", "")


def _widening(options: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Combinations of options: first ones, then all at the same later place, then each alone, then the rest."""
    first = tuple(o[0] for o in options)
    yield first
    depth = max((len(o) for o in options), default=1)
    for at in range(1, depth):
        yield tuple(o[min(at, len(o) - 1)] if len(o) > 1 else o[0] for o in options)
    for place, option in enumerate(options):
        for value in option[1:]:
            yield (*first[:place], value, *first[place + 1 :])
    yield from itertools.product(*options)


def _one_line(text: str) -> str:
    return re.sub(r"\s*[\n\t]\s*", " ", text).strip("\r")
