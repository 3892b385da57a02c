"""The server arguments of a release in the order of its dump, read off the class that declares them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from logaudit.errors import SourceError
from upkeep.release import Release

HOLDER = "ServerArgs"
NO_DEFAULT = "<required>"


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of the dump."""

    name: str
    default: str
    """Source text of the default as Python prints it; `<required>` without one, `<call …>` where only a call tells."""


@dataclass(frozen=True, slots=True)
class Dump:
    """The server arguments of one release and the way it prints them."""

    arguments: tuple[Argument, ...]
    printed: str
    """The source of what is put into the line `server_args=`, with the functions it goes through."""
    form: str
    """`ServerArgs(…)` or `dict`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Field names in the order of the dump, private bookkeeping left out."""
        return tuple(a.name for a in self.arguments if not a.name.startswith("_"))

    def render(self, **values: str) -> str:
        """The dump's text with every default, `values` (source texts) put in where named."""
        pairs = [
            (a.name, values.get(a.name, "None" if a.default.startswith("<") else a.default)) for a in self.arguments
        ]
        if self.form == "dict":
            return "server_args={" + ", ".join(f"{name!r}: {value}" for name, value in pairs) + "}"
        return "server_args=ServerArgs(" + ", ".join(f"{name}={value}" for name, value in pairs) + ")"


def read_dump(release: Release) -> Dump:
    """The dump of `release`. Raises SourceError when no class declares the arguments any more."""
    arguments = _declared(release, HOLDER) or _collected(release)
    if not arguments:
        raise SourceError(
            "no fields of the server arguments found",
            where=f"release {release.version}",
            do="see how the class is made now",
        )
    printed, form = _printing(release)
    return Dump(tuple(arguments), printed, form)


def _declared(release: Release, name: str, seen: frozenset[str] = frozenset()) -> list[Argument]:
    """Fields of the class `name` and its bases, bases first."""
    for path, node in release.classes(name):
        fields: dict[str, Argument] = {}
        for base in node.bases:
            base_name = ast.unparse(base).rpartition(".")[2]
            if base_name not in seen and base_name not in ("object", "Struct", "ABC", "Protocol"):
                fields |= {a.name: a for a in _declared(release, base_name, seen | {name})}
        fields |= {a.name: a for a in _own_fields(release, path, node)}
        if fields:
            return list(fields.values())
    return []


def _own_fields(release: Release, path: str, node: ast.ClassDef) -> list[Argument]:
    return [
        Argument(item.target.id, _default(release, path, item.value))
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and "ClassVar" not in ast.unparse(item.annotation)
    ]


def _collected(release: Release) -> list[Argument]:
    """Fields of the namespace classes that the holder's module lists, in the order of the tuple that fixes it."""
    for path, _ in release.classes(HOLDER):
        tree = release.tree(path)
        for listed in ast.walk(tree) if tree else ():
            names = (
                [e.id for e in listed.elts if isinstance(e, ast.Name)]
                if isinstance(listed, ast.List | ast.Tuple)
                else []
            )
            if len(names) < 3 or len(names) != len(listed.elts):  # type: ignore[attr-defined]
                continue
            fields: dict[str, Argument] = {}
            for name in names:
                fields |= {a.name: a for a in _declared(release, name) if a.name not in fields}
            if len(fields) > 50:
                return _in_order(release, fields)
    return []


def _in_order(release: Release, fields: dict[str, Argument]) -> list[Argument]:
    """Fields sorted by the longest tuple of their names in the release; unlisted ones after it, as declared."""
    best: list[str] = []
    for path in release.holding('"model_path",\n'):
        tree = release.tree(path)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > len(best):
                names = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
                if len(names) == len(node.elts) and sum(n in fields for n in names) * 2 > len(names) > len(best):
                    best = names
    first = [n for n in best if n in fields]
    return [fields[n] for n in first] + [a for n, a in fields.items() if n not in set(first)]


def _default(release: Release, path: str, value: ast.expr | None) -> str:
    if value is None:
        return NO_DEFAULT
    if isinstance(value, ast.Call):
        made = {k.arg: k.value for k in value.keywords}
        if "default" in made:
            return _default(release, path, made["default"])
        factory = made.get("default_factory")
        if isinstance(factory, ast.Lambda):
            return _default(release, path, factory.body)
        if factory is not None:
            return {"list": "[]", "dict": "{}", "set": "set()"}.get(ast.unparse(factory), f"<{ast.unparse(factory)}()>")
    try:
        return repr(_folded(value))
    except ValueError:
        pass
    if isinstance(value, ast.Name):
        constant = _module_constant(release, path, value.id)
        if constant is not None:
            return constant
    return f"<{ast.unparse(value)}>"


def _folded(node: ast.expr) -> object:
    """A literal, or a product of whole numbers (`10 * 1000`). Raises ValueError."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _folded(node.left), _folded(node.right)
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        raise ValueError("not a product of whole numbers")
    return ast.literal_eval(node)


def _module_constant(release: Release, path: str, name: str) -> str | None:
    tree = release.tree(path)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            try:
                return repr(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def _printing(release: Release) -> tuple[str, str]:
    """What the line `server_args=` is given, and whether that is the class's own text or a dictionary."""
    pattern = re.compile(r"[\"']server_args=|\{server_args=")
    for path in sorted(release.texts):
        if "entrypoint" not in path and "server" not in path:
            continue
        if not pattern.search(release.texts[path]):
            continue
        tree = release.tree(path)
        for node in ast.walk(tree) if tree else ():
            if not isinstance(node, ast.JoinedStr) or not ast.unparse(node)[2:].startswith("server_args="):
                continue
            value = next((v.value for v in node.values if isinstance(v, ast.FormattedValue)), None)
            if value is None:
                continue
            steps = _followed(release, path, value)
            as_dict = any("dict(" in step for step in steps)
            return " <- ".join(steps), "dict" if as_dict else "ServerArgs(…)"
    return "", "unknown"


def _followed(release: Release, path: str, value: ast.expr) -> list[str]:
    """The expression, and what the module's own function that it calls returns."""
    steps = [ast.unparse(value)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        tree = release.tree(path)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and node.name == value.func.id:
                steps += [
                    ast.unparse(r.value) for r in ast.walk(node) if isinstance(r, ast.Return) and r.value is not None
                ]
    return steps
