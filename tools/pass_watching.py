"""Observers of passes, and times of a tool's stages, for options that request them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from .observers import Watchers
    from .opt.options import Options
    from .run.options import RunOptions


def new_watchers(options: Options | RunOptions, stream: TextIO) -> Watchers | None:
    """Return the observers of passes that the options request; `None` if they request none."""
    if not options.watches_passes:
        return None
    from .observers import Watchers

    return Watchers(options, stream)


def timed_stage(watchers: Watchers | None, name: str) -> AbstractContextManager[None]:
    """Return a context manager that measures a stage of a tool, if times are measured."""
    timing = None if watchers is None else watchers.timing
    return nullcontext() if timing is None else timing.stage(name)
