"""Writes `docs/exactness.md`: for each release and architecture, how many oracle cases come out exactly.

    python -m upkeep.exactness [--check]

Each case is read twice, with its model config and without, and counted by its status.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "exactness.md"
sys.path.insert(0, str(ROOT))

HEAD = """# How exact it is, release by release

Each case is a log whose sizes SGLang's own startup code computed on a simulated GPU (`fixtures/oracle/` holds a part of
them). A case is exact when the formula's bounds hold SGLang's own token count and are no wider than the rounding of the
printed figures makes them. `a/b` reads: a of b cases are exact with the model's `config.json`; in brackets, without
it. What is not exact is "not checkable" and says what is missing; none is wrong. Releases 0.4.7 to 0.5.3 print the
readings of one rank only: starts on several GPUs whose hidden ranks differ cannot be checked there.

This page is made by `python -m upkeep.exactness`.

"""


def tally() -> dict[tuple[Version, str], list[int]]:
    """(release, attention) -> cases, exact with config, exact without."""
    from logaudit.auditing import audit
    from tests.oracle import cases

    counts: dict[tuple[Version, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for case in cases():
        launches = [audit([str(case.log)], model_config=config).launches[0] for config in (case.config, None)]
        row = counts[(case.release, launches[0].model.attention or "unknown")]
        row[0] += 1
        for place, launch in enumerate(launches, 1):
            row[place] += launch.reconciliation.status == "explained"
    return counts


def page(counts: dict[tuple[Version, str], list[int]]) -> str:
    """The page's text."""
    kinds = sorted({kind for _, kind in counts})
    lines = [f"| release | {' | '.join(kinds)} |", f"|---|{'---:|' * len(kinds)}"]
    for release in sorted({release for release, _ in counts}):
        cells = []
        for kind in kinds:
            total, given, alone = counts.get((release, kind), [0, 0, 0])
            cells.append("" if not total else f"{given}/{total} ({alone})")
        lines.append(f"| {release} | {' | '.join(cells)} |")
    totals = [[sum(row[place] for (_, k), row in counts.items() if k == kind) for place in range(3)] for kind in kinds]
    lines.append("| all | " + " | ".join(f"{given}/{total} ({alone})" for total, given, alone in totals) + " |")
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or with --check say whether it is fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page(tally())
    if parser.parse_args().check:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
