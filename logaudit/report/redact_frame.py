"""Takes secrets out of a table before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logaudit.report.redact import Redactor

if TYPE_CHECKING:
    import pandas as pd


def redact_frame(table: pd.DataFrame, redactor: Redactor) -> pd.DataFrame:
    """`table` with every text in it redacted; what one cell gives away is replaced in all."""
    texts = [name for name in table.columns if any(isinstance(value, str) for value in table[name])]
    for name in texts:
        for value in table[name]:
            if isinstance(value, str):
                redactor.learn(value)
    clean = {
        name: [redactor.text(value) if isinstance(value, str) else value for value in table[name]] for name in texts
    }
    return table.assign(**clean)
