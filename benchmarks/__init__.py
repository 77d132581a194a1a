"""Benchmarks. Run one with `python -m benchmarks.<name>` from the root of the repository."""
