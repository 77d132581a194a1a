"""Command lines of benchmarks: `--help` says what a benchmark measures, and runs nothing."""

from __future__ import annotations

import argparse


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Return a parser with the docstring of a benchmark as description, lines unchanged."""
    return argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def is_quick(about: str | None) -> bool:
    """Parse the options of a benchmark that has only `--quick`; return whether it is given."""
    parser = parser_of(about)
    parser.add_argument("--quick", action="store_true", help="smaller programs and fewer runs")
    return bool(parser.parse_args().quick)
