"""The plain way to read a log, for comparison: every extractor tried on every line: `python -m bench.naive FILE`."""

from __future__ import annotations

import sys

import regex

from logaudit.extract import all_extractors


def main() -> None:
    """Count the lines that any pattern matches."""
    patterns = [regex.compile(kind.pattern) for kind in all_extractors()]
    prefix = regex.compile(r"\[[^\]]*\] ")
    found = 0
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        for line in file:
            message = prefix.sub("", line.rstrip("\n"), count=1)
            for pattern in patterns:
                if pattern.match(message):
                    found += 1
    print(found)


if __name__ == "__main__":
    main()
