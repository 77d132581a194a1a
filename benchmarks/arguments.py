"""The command line of benchmarks: `--help` says what one measures, and runs nothing."""

from __future__ import annotations

import argparse


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """A parser that describes a benchmark by the docstring of its module, line by line."""
    return argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def is_quick(about: str | None) -> bool:
    """Whether `--quick` is given, the only option of a benchmark about which `about` tells."""
    parser = parser_of(about)
    parser.add_argument("--quick", action="store_true", help="smaller programs and fewer runs")
    return bool(parser.parse_args().quick)
