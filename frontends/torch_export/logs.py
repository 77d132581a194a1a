"""Silence what PyTorch logs and warns while it traces: it does not concern the user."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager

ASKED_FOR = "TORCH_LOGS"
"""The environment variable with which users request PyTorch's logs."""


_ITS_MODULES = r"(torch|torch_mlir|copyreg)\b"
"""Modules whose warnings are silenced. Copying PyTorch's objects warns in `copyreg`."""


@contextmanager
def without_torch_logs() -> Generator[None]:
    """Silence PyTorch's logs and warnings, unless the user requests its logs.

    It also logs errors that it or the module catches; the others are raised.
    """
    if os.environ.get(ASKED_FOR):
        yield
        return
    # The loggers have their own handlers and levels, so setting that of `torch` has no effect.
    # There are about 200, and each change of a level visits all loggers.
    loggers = [logging.getLogger("torch"), *_below_torch()]
    try:
        for logger in loggers:
            logger.addFilter(_nothing)
        with warnings.catch_warnings():
            for category in (FutureWarning, DeprecationWarning):
                warnings.filterwarnings("ignore", category=category, module=_ITS_MODULES)
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(_nothing)


def _nothing(_: logging.LogRecord) -> bool:
    return False


def _below_torch() -> list[logging.Logger]:
    known = list(logging.root.manager.loggerDict.values())
    return [
        logger
        for logger in known
        if isinstance(logger, logging.Logger) and logger.name.startswith("torch.")
    ]
