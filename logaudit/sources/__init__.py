"""Where log bytes come from."""

from logaudit.sources.interface import Extent, FilteredSource, RandomAccessSource, Region, Source
from logaudit.sources.registry import SCHEMES, open_sources

__all__ = ["SCHEMES", "Extent", "FilteredSource", "RandomAccessSource", "Region", "Source", "open_sources"]
