"""What holds for all tests."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a fault: no example has a time limit of its own.
settings.register_profile("mesh-opt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mesh-opt")


def pytest_configure() -> None:
    """Programs are many objects and hardly any garbage: collections of the youngest are rare."""
    gc.set_threshold(20_000, 10, 10)


@pytest.fixture(autouse=True, scope="session")
def _no_other_compilers() -> Iterator[None]:
    """Tests run on all cores already: no process compiles beside one that tests."""
    from mesh_opt.codegen import parallel_compilation

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_compilation, "MIN_MODULES", sys.maxsize)
        yield


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_not_ignored() -> Iterator[None]:
    """A shell without job control starts what it runs in the background with SIGINT ignored, which
    Python and all processes of the tests would inherit: they would never end."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_this_file_alone() -> Iterator[None]:
    """What exists before a file's tests stays out of their collections: all tests that were
    collected, and what those before have cached. A collection takes a second with it."""
    gc.collect()
    gc.freeze()
    yield
