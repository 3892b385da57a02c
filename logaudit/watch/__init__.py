"""Watching a start as it happens: what is kept of a growing log, what is shown, when it is over."""
