"""Running small programs in the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from mesh_opt.interpreter.run import run, run_spmd
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verification_errors
from mesh_opt.sharding.grid import Grid
from mesh_opt.tools.driver import new_context

Execute = Callable[..., list[np.ndarray[Any, Any]]]


def _module(text: str, *, verify: bool = True) -> Any:
    module = parse_module(new_context(allow_unregistered=True), Source(text, "test.mlir"))
    if verify:
        for failure in verification_errors(module):
            raise AssertionError(f"{failure.operation.name}: {failure.message}")
    return module


@pytest.fixture
def execute() -> Execute:
    """`execute(text, *inputs)`: the results of the function @f."""

    def run_text(text: str, *inputs: Any, function: str = "f") -> list[np.ndarray[Any, Any]]:
        return run(_module(text), function, [np.asarray(each) for each in inputs])

    return run_text


@pytest.fixture
def execute_error() -> Callable[..., OperationError]:
    """`execute_error(text, *inputs)`: the error that running @f raises."""

    def run_text(text: str, *inputs: Any, function: str = "f") -> OperationError:
        with pytest.raises(OperationError) as caught:
            run(_module(text), function, [np.asarray(each) for each in inputs])
        assert caught.value.operation is not None
        return caught.value

    return run_text


@pytest.fixture
def execute_spmd() -> Callable[..., list[list[np.ndarray[Any, Any]]]]:
    """`execute_spmd(text, shape, inputs)`: the results of every device of a grid @g."""

    def run_text(
        text: str, shape: Sequence[int], inputs: Sequence[Sequence[Any]]
    ) -> list[list[np.ndarray[Any, Any]]]:
        grid = Grid("g", tuple(shape))
        return run_spmd(_module(text, verify=False), "f", inputs, grid)

    return run_text
