"""What PyTorch logs and warns of while it traces, which says nothing to who compiles a module."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager

ASKED_FOR = "TORCH_LOGS"
"""The variable by which a user asks PyTorch for logs."""


_ITS_MODULES = r"(torch|torch_mlir|copyreg)\b"
"""Where warnings of PyTorch come from: what it copies warns in the library that copies."""


@contextmanager
def without_torch_logs() -> Generator[None]:
    """Let PyTorch log errors alone and not warn of itself, unless the user asks for its logs."""
    if os.environ.get(ASKED_FOR):
        yield
        return
    # Its loggers have handlers and levels of their own, so that of `torch` decides nothing.
    loggers = [logging.getLogger("torch"), *_below_torch()]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(max(logger.level, logging.ERROR))
        with warnings.catch_warnings():
            for category in (FutureWarning, DeprecationWarning):
                warnings.filterwarnings("ignore", category=category, module=_ITS_MODULES)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _below_torch() -> list[logging.Logger]:
    known = list(logging.root.manager.loggerDict.values())
    return [
        logger
        for logger in known
        if isinstance(logger, logging.Logger) and logger.name.startswith("torch.")
    ]
