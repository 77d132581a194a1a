"""Finds the peers: other compilers that our text and numbers are compared with.

`MESH_OPT_MLIR_OPT` names mlir-opt 22 if it is not on the path as `mlir-opt-22`,
`MESH_OPT_PEERS_PYTHON` a Python that has IREE and JAX. A peer that is not there skips its tests,
or fails them with `MESH_OPT_REQUIRE_PEERS=1`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from peer_tools import iree_tool, missing, output_of
from script_server import ScriptServer


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


def _serve(preload: str, *packages: str) -> Iterator[ScriptServer]:
    """Serve scripts in the peers' Python, if it has `packages`."""
    python = shutil.which(os.environ.get("MESH_OPT_PEERS_PYTHON", ""))
    if python is None:
        missing("MESH_OPT_PEERS_PYTHON")
    if "True" not in output_of(python, "-c", HAS.format(packages), text=""):
        missing(f"one of {', '.join(packages)} in MESH_OPT_PEERS_PYTHON")
    server = ScriptServer(python, preload)
    yield server
    server.close()


HAS = "from importlib.util import find_spec; print(all(map(find_spec, {})))"

IMPORTS = """
import contextlib
with contextlib.suppress(ImportError):
    import mesh_opt.api
    import jax
"""

FIRST_EXPORT = """
import sys
import mesh_opt.api
compile = mesh_opt.torch.compile
assert "torch" not in sys.modules
import torch
compile(torch.nn.Linear(1, 1), torch.ones(1, 1), backend="interpreter")(torch.ones(1, 1))
"""


@pytest.fixture(scope="session")
def _peers_server() -> Iterator[ScriptServer]:
    yield from _serve(IMPORTS)


@pytest.fixture(scope="session")
def _torch_server() -> Iterator[ScriptServer]:
    yield from _serve(FIRST_EXPORT, "torch", "torch_mlir", "mesh_opt")


@pytest.fixture(scope="session")
def jax_python(peers_python: Callable[[str], str]) -> Callable[[str], str]:
    """Runs a script in a Python that has JAX and mesh-opt: the extra `jax` is installed there."""
    if "True" not in peers_python(HAS.format(("jax", "mesh_opt"))):
        missing("mesh-opt[jax] in MESH_OPT_PEERS_PYTHON")
    return peers_python


@pytest.fixture(scope="session")
def torch_python(_torch_server: ScriptServer) -> Callable[[str], str]:
    """Runs a script in a Python that has the extra `torch`."""
    return _torch_server.run


@pytest.fixture(scope="session")
def peers_python(_peers_server: ScriptServer) -> Callable[[str], str]:
    """Runs a script in the Python that has IREE and JAX and returns what it prints."""
    return _peers_server.run
