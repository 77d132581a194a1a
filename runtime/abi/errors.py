"""Errors that calls of programs raise, whatever runs them."""

from __future__ import annotations


class CompilationError(Exception):
    """A program cannot be parsed, verified or transformed; the message has source excerpts."""


class NeedsCompiler(Exception):
    """A saved program cannot run a call without the compiler; the message says why."""


class ExecutionError(Exception):
    """A program cannot be executed on these inputs; the message names the operation."""
