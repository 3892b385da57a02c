"""`logaudit schema`: print the JSON Schema of the report's JSON form."""

from __future__ import annotations


def schema() -> int:
    """Print the JSON Schema of what `logaudit report --format json` writes."""
    import json

    from logaudit.cli.output import write_standard_output
    from logaudit.report.document import json_schema

    write_standard_output(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
