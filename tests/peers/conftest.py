"""Finds the peers: other compilers that our text and numbers are compared with.

`MESH_OPT_MLIR_OPT` names mlir-opt 22 if it is not on the path as `mlir-opt-22`,
`MESH_OPT_PEERS_PYTHON` a Python that has IREE and JAX. A peer that is not there skips its tests,
or fails them with `MESH_OPT_REQUIRE_PEERS=1`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest
from peer_tools import iree_tool, missing, output_of


@pytest.fixture(scope="session")
def mlir_opt() -> Callable[..., str]:
    """Runs mlir-opt 22 on a text with options and returns what it prints.

    With `refuses`, sections may be refused, and what is printed is the others.
    """
    path = shutil.which(os.environ.get("MESH_OPT_MLIR_OPT", "mlir-opt-22"))
    if path is None:
        missing("mlir-opt 22")

    def run(text: str, *options: str, refuses: bool = False) -> str:
        return output_of(str(path), *options, text=text, codes=range(2 if refuses else 1))

    return run


@pytest.fixture(scope="session")
def iree_opt() -> Callable[..., str]:
    """Runs iree-opt on a text with options, section by section, and returns what it prints."""
    tool = iree_tool("iree-opt")
    options = ("--split-input-file", "--mlir-print-local-scope", "--allow-unregistered-dialect")

    return lambda text, *more: output_of(tool, *options, *more, text=text)


def _with_extra(
    run: Callable[[str], str], extra: str, packages: tuple[str, ...]
) -> Callable[[str], str]:
    found = f"from importlib.util import find_spec; print(*map(find_spec, {packages}))"
    if "None" in run(found).split():
        missing(f"mesh-opt[{extra}] in MESH_OPT_PEERS_PYTHON")
    return run


@pytest.fixture(scope="session")
def jax_python(peers_python: Callable[[str], str]) -> Callable[[str], str]:
    """Runs a script in a Python that has JAX and mesh-opt: the extra `jax` is installed there."""
    return _with_extra(peers_python, "jax", ("jax", "mesh_opt"))


@pytest.fixture(scope="session")
def torch_python(peers_python: Callable[[str], str]) -> Callable[[str], str]:
    """Runs a script in a Python that has the extra `torch`."""
    return _with_extra(peers_python, "torch", ("torch", "torch_mlir", "mesh_opt"))


@pytest.fixture(scope="session")
def peers_python() -> Callable[[str], str]:
    """Runs a script in the Python that has IREE and JAX and returns what it prints."""
    path = os.environ.get("MESH_OPT_PEERS_PYTHON")
    if path is None or shutil.which(path) is None:
        missing("MESH_OPT_PEERS_PYTHON")

    def run(script: str) -> str:
        done = subprocess.run(
            [str(path), "-c", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run
