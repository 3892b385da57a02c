"""`python -m upkeep.findings_doc`: the reference of findings, `docs/findings.md`, from the rules themselves."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from logaudit.reconcile import findings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "findings.md"

HEAD = """# The findings

A finding is a rule with words of its own: what it saw, the numbers, the lines that it stands on, and what to do, with
the flag. A rule whose inputs the log does not hold stays silent. Findings that start with `failure_` say why a start,
or a running server, came to its end, and whether to raise or to lower `--mem-fraction-static`. A rule of thumb is
called one in its text.

Severity: `critical` ended the server; `warning` will probably hurt; `notice` is worth knowing when the capacity
matters; `info` explains. This page is made from the rules (`python -m upkeep.findings_doc`).
"""


def page() -> str:
    """The text of the page."""
    modules = [import_module(f"{findings.__name__}.{info.name}") for info in iter_modules(findings.__path__)]
    modules.sort(key=lambda module: str(module.CODE))
    rows = [HEAD, "| code | severity | what it says | when |", "|---|---|---|---|"]
    for module in modules:
        severities = ", ".join(module.SEVERITIES)
        what = " ".join((module.__doc__ or "").split())
        when = " ".join((module.find.__doc__ or "").split())
        rows.append(f"| `{module.CODE}` | {severities} | {what} | {when} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Writes the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
