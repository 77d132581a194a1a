"""The error of a command line; a module of its own, so that `--help` loads nothing else."""

from __future__ import annotations


class UsageError(Exception):
    """The command line asks for something that does not exist or makes no sense."""
