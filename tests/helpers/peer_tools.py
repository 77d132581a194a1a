"""Finds and runs the tools of other compilers.

A tool that is not there skips its tests, or fails them with `MESH_OPT_REQUIRE_PEERS=1`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it if peers are required."""
    if os.environ.get("MESH_OPT_REQUIRE_PEERS") == "1":
        pytest.fail(f"{what} is required but not there")
    pytest.skip(f"{what} is not there")


@cache
def iree_tool(name: str) -> str:
    """The path of a compiler tool of IREE in the Python that `MESH_OPT_PEERS_PYTHON` names.

    The script beside that Python starts the same file, but takes ten times as long.
    """
    find = f"from iree.compiler.tools.binaries import find_tool; print(find_tool({name!r}))"
    python = os.environ.get("MESH_OPT_PEERS_PYTHON", "")
    if shutil.which(python) is not None:
        done = subprocess.run([python, "-c", find], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    missing(f"{name} in MESH_OPT_PEERS_PYTHON")


def output_of(*command: str, text: str, codes: range = range(1)) -> str:
    """What a tool prints of a text; its exit code must be one of `codes`."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode in codes, done.stderr[:2000]
    return done.stdout


def iree_opt(text: str, *options: str) -> str:
    return output_of(iree_tool("iree-opt"), "-", *options, text=text)
