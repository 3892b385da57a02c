"""Reading SGLang's lines: the public face of the table of kinds and of its reader."""

from logaudit.extract.extractor import Extractor, Field, Record, Sample, Unrecognised, Value
from logaudit.extract.reader import all_extractors, anchors, extract, extract_all

__all__ = [
    "Extractor",
    "Field",
    "Record",
    "Sample",
    "Unrecognised",
    "Value",
    "all_extractors",
    "anchors",
    "extract",
    "extract_all",
]
