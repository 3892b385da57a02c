"""Benchmarks of logaudit against other tools on the same work."""
