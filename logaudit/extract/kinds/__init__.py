"""The extractors by startup phase: one module a phase, one entry a kind of line."""
