"""Programs on several devices mean the same after every stage of `data-tile`, tiled or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from breadth import is_sampled, sampled
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, public_functions, run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ShapedType
from xdsl.ir import Attribute

FOLDER = Path(__file__).parents[1] / "cases" / "encoding"

ERRORS = {
    "c17_unrecognized": "does not read argument #0 as a type that carries an encoding",
    "c19b_no_exe_targets": "whose executable targets are not known",
    "c19c_no_affinity": "has an encoded tensor but no affinity",
}
"""Programs that mean nothing, with a part of the message."""

NEEDS_PARAMETERS = {"c18b_param_two_uses"}
"""Programs whose weights are kept outside of them."""

SIZES_ONLY = {"c19d_default"}
"""Programs that compute a size in bytes, by hand."""

CASES = sorted((*FOLDER.glob("*.mlir"), *FOLDER.parent.glob("data_tiling/*.mlir")))
PROGRAMS = [case for case in CASES if case.stem not in {*ERRORS, *NEEDS_PARAMETERS, *SIZES_ONLY}]


def numbers(types: list[Attribute]) -> list[np.ndarray]:
    """Numbers of which every sum and product is exact in any element type."""
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for index, type_ in enumerate(types):
        shape: list[int] = []
        if isinstance(type_, ShapedType):
            # Dynamic sizes of two matrices that can be multiplied: 2x3 and 3x5.
            dynamic = iter([(2, 3), (3, 5)][index % 2])
            shape = [next(dynamic) if n == DYNAMIC_INDEX else n for n in type_.get_shape()]
        if isinstance(type_, IndexType):
            arrays.append(np.array(2))
            continue
        arrays.append(generator.integers(-1, 2, shape).astype(dtype_of(type_)))
    return arrays


@pytest.mark.parametrize("case", sampled(PROGRAMS, 3), ids=lambda case: case.stem)
def test_stages_mean_the_same(case: Path) -> None:
    check_stages(case, data_tiling=True)


@pytest.mark.parametrize("case", sampled(PROGRAMS, 8), ids=lambda case: case.stem)
def test_stages_without_tiles_mean_the_same(case: Path) -> None:
    check_stages(case, data_tiling=False)


def check_stages(case: Path, *, data_tiling: bool) -> None:
    """After the last stage, and some of the others; in `make nightly` after all of them."""
    context, module = parse(case.read_text())
    (name,) = public_functions(module)
    inputs = numbers(list(argument_types(find_function(Program(module), name))))
    expected = run(module, name, inputs)
    integral = all((array.astype(float) % 1 == 0).all() for array in expected)
    passes = DataTilePass(data_tiling).passes()
    for number, one in enumerate(passes):
        one.apply(context, module)
        module.verify()
        if one is not passes[-1] and not is_sampled(number + CASES.index(case), 6):
            continue
        found = run(module, name, inputs)
        for array, wanted in zip(found, expected, strict=True):
            assert array.dtype == wanted.dtype
            tolerance = 0 if integral else 1e-5
            np.testing.assert_allclose(
                array.astype(float), wanted.astype(float), tolerance, err_msg=f"after {one.name}"
            )


def test_relayouts_may_be_made_of_bytes() -> None:
    """As in IREE, whose host programs are of bytes when encodes become dispatches."""
    context, module = parse((FOLDER / "c13_enc_transfer.mlir").read_text())
    (name,) = public_functions(module)
    inputs = numbers(list(argument_types(find_function(Program(module), name))))
    expected = run(module, name, inputs)
    passes = list(DataTilePass().passes())
    late = next(one for one in passes if one.name == "iree-stream-materialize-encodings")
    passes.remove(late)
    behind = [one.name for one in passes].index("iree-stream-encode-host-tensors") + 1
    for one in (*passes[:behind], late, *passes[behind:]):
        one.apply(context, module)
        module.verify()
        assert one is not late or "stream.tensor.dispatch" not in str(module)
        found = run(module, name, inputs)
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(array, wanted, 1e-5, err_msg=f"after {one.name}")
    assert "@_encoding_0" in str(module)


@pytest.mark.parametrize("name", ERRORS)
def test_programs_that_mean_nothing(name: str) -> None:
    context, module = parse((FOLDER / f"{name}.mlir").read_text())
    with pytest.raises(OperationError, match=ERRORS[name]):
        DataTilePass().apply(context, module)
