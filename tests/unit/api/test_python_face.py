"""`import mesh_opt`: names, calls by name and with arrays of other packages, and what things look
like."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import mesh_opt
import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

PROGRAM = """
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x6xf32>
  %b = arith.subf %a, %y : tensor<4x6xf32>
  return %b : tensor<4x6xf32>
}
func.func @nothing(%0: tensor<2xbf16>) { return }
"""
X = np.arange(24, dtype=np.float32).reshape(4, 6)
Y = X[::-1].copy()


@pytest.fixture(scope="module")
def program() -> mesh_opt.Program:
    return mesh_opt.compile(PROGRAM, "spmd", backend="interpreter")


def test_names() -> None:
    assert mesh_opt.__version__ == version("mesh-opt")
    assert set(mesh_opt.__all__) <= set(dir(mesh_opt))
    for name in mesh_opt.__all__:
        assert getattr(mesh_opt, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = mesh_opt.nope


FRONT_ENDS = """
import sys
import mesh_opt.jax as one; from mesh_opt.jax import compile; import mesh_opt
from mesh_opt import jax, torch
import mesh_opt.torch as other; from mesh_opt.torch import compile
print(one is jax is mesh_opt.jax, other is torch is mesh_opt.torch, jax.__name__, torch.__name__)
print(*{"jax", "torch", "numba"} & sys.modules.keys())
"""


def test_front_ends_are_modules_of_the_package() -> None:
    """However they are imported; and they load no framework."""
    command = [sys.executable, "-c", FRONT_ENDS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = ["mesh_opt.frontends.jax", "mesh_opt.frontends.torch"]
    assert done.stdout.split() == ["True", "True", *names]


def test_the_package_alone_is_light() -> None:
    code = "import sys, mesh_opt; print(*{'numpy', 'xdsl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_arguments_by_name(program: mesh_opt.Program) -> None:
    f = program.f
    assert f.argument_names == ["x", "y"]
    np.testing.assert_array_equal(f(y=Y, x=X), X - Y)
    np.testing.assert_array_equal(f(X, y=Y), X - Y)
    assert program.nothing.argument_names == ["arg0"]


@pytest.mark.parametrize(
    ("inputs", "named", "message"),
    [
        ((X,), {"z": Y}, "@f has no argument 'z', but x, y"),
        ((X,), {"x": Y}, "@f is given argument 'x' twice"),
        ((), {"y": Y}, "@f is not given x"),
        ((X, Y, X), {"y": Y}, "@f is given argument 'y' twice"),
    ],
)
def test_wrong_names(
    program: mesh_opt.Program, inputs: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(mesh_opt.InputError) as caught:
        program.f(*inputs, **named)
    assert str(caught.value) == message


class Lent:
    """An array of another package, which knows DLPack alone."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.given = 0

    def __dlpack__(self, **options: Any) -> Any:
        self.given += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class Unknown(Lent):
    """One that DLPack cannot give away, and NumPy can read."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no such elements")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.array


def test_arrays_of_other_packages(program: mesh_opt.Program) -> None:
    lent = Lent(X)
    np.testing.assert_array_equal(program.f(lent, Y), X - Y)
    assert lent.given == 1
    np.testing.assert_array_equal(program.f(Unknown(X), Y), X - Y)
    with pytest.raises(mesh_opt.InputError, match="has shape 2x6, expected tensor<4x6xf32>"):
        program.f(Lent(X[:2]), Y)


def test_put_by_name(program: mesh_opt.Program) -> None:
    assert repr(program.f.put(X, "x")) == "DeviceArray(4x6 of float32, by @g [[0], [1]])"
    with pytest.raises(mesh_opt.InputError, match="@f has no argument 'z'"):
        program.f.put(X, "z")


def test_reprs(program: mesh_opt.Program) -> None:
    assert repr(program) == "<Program of @f, @nothing, backend interpreter>"
    assert repr(program.f) == (
        "<Function @f(x: tensor<4x6xf32>, y: tensor<4x6xf32>) -> tensor<4x6xf32>"
        " on grid @g of 2x2 devices>"
    )
    assert repr(program.nothing).startswith("<Function @nothing(arg0: tensor<2xbf16>) -> nothing")
    lines = program.stages[-1].text.count("\n") + 1
    assert repr(program.stages[-1]) == f"<Stage scf-uplift-while-to-for, {lines} lines>"


def test_pictures_of_shardings(program: mesh_opt.Program) -> None:
    text = str(program.shardings)
    assert text.startswith("@f\n\n%x, %y, result #0: 4x6 by @g [[0], [1]] on 4 devices: 4 parts\n")
    assert "2:4 │   2   │   3   │\n" in text
    page = program._repr_html_()
    assert page.count("<table") == page.count("</table>") == 1
    assert "&lt;Function @f(x: tensor&lt;4x6xf32&gt;" in page and "<td" in page
    array = program.f.put(X, 0)
    assert array._repr_html_().startswith("<code>DeviceArray(4x6 of float32, by @g")
    assert array._repr_html_().count("<td style") == 4


def test_programs_without_shardings() -> None:
    program = mesh_opt.compile("func.func @f() { return }", backend="interpreter")
    assert str(program.shardings) == "no value has a sharding\n"
    assert "no value has a sharding" in program._repr_html_()


def test_invalid_output_of_passes_is_not_an_input_error() -> None:
    class Breaks(ModulePass):
        name = "breaks"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in list(op.walk()):
                if inner.name == "func.return":
                    inner.detach()
                    inner.erase()

    text = "func.func @f(%a: i32) -> i32 {\n%b = arith.addi %a, %a : i32\nreturn %b : i32\n}"
    with pytest.raises(mesh_opt.CompilationError, match="note: the passes produced this"):
        mesh_opt.compile(text, [Breaks()])


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4"])
def test_integers_of_ml_dtypes_are_taken(name: str) -> None:
    element = name.replace("uint", "ui").replace("int", "i")
    held = f"tensor<2x{element}>"
    text = f"func.func @main(%a: {held}) -> {held} {{ func.return %a : {held} }}"
    main = mesh_opt.compile(text, backend="interpreter")["main"]
    (found,) = main.run([np.array([0, 1]).astype(getattr(ml_dtypes, name))])
    assert found.tolist() == [0, 1]
    with pytest.raises(mesh_opt.InputError, match="is of float64"):
        main.run([np.array([0.0, 1.0])])
