"""Keeps what the project knows of SGLang fresh: what a release changes for extractors, arguments and formula."""
