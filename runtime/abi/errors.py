"""What calls of programs raise, whoever runs them."""

from __future__ import annotations


class CompilationError(Exception):
    """A program that cannot be read, verified or transformed; the text has places and excerpts."""


class NeedsCompiler(Exception):
    """A call that a saved program does not carry out by itself; the text says why."""


class ExecutionError(Exception):
    """A program that cannot be executed on these inputs; the text says at which operation."""
