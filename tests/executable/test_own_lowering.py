"""A solver may lower operations on tiles in its own way, and leave others to the general one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.dialects.linalg.dialect import NAMED_CLASSES
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Operation, SSAValue

EXAMPLE = Path(__file__).parents[2] / "examples" / "third_party"

PROGRAM = """
util.global private @device = #hal.device.target<"local", [#hal.executable.target<"acme", "x",
  {iree.encoding.resolver = #acme.solver<4>}>]> : !hal.device
func.func @main(%x: tensor<5x7xf32>, %y: tensor<7x9xf32>) -> tensor<5x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x9xf32>) -> tensor<5x9xf32>
  %r = linalg.matmul ins(%x, %y : tensor<5x7xf32>, tensor<7x9xf32>)
    outs(%f : tensor<5x9xf32>) -> tensor<5x9xf32>
  %s = math.absf %r : tensor<5x9xf32>
  return %s : tensor<5x9xf32>
}
"""


def test_own_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    from acme.dialect import Acme, AcmeSolverAttr

    asked: list[tuple[str, list[tuple[int, ...]]]] = []

    def materialize(
        solver: AcmeSolverAttr,
        operation: Operation,
        operands: Sequence[SSAValue],
        builder: Builder,
    ) -> Sequence[SSAValue] | None:
        """Multiply tiles by an operation of its own, told by an attribute."""
        types = [value.type for value in operands]
        shapes = [type_.get_shape() for type_ in types if isinstance(type_, TensorType)]
        asked.append((operation.name, shapes))
        if operation.name != "linalg.matmul":
            return None
        product = NAMED_CLASSES["linalg.mmt4d"](list(operands[:2]), [operands[2]])
        product.attributes["acme.unit"] = UnitAttr()
        return builder.insert(product).results

    monkeypatch.setattr(AcmeSolverAttr, "materialize", materialize)
    context = Context()
    register_dialects(context)
    context.load_dialect(Acme)
    module = parse_module(context, Source(PROGRAM, "<test>"))
    inputs = [np.random.default_rng(0).normal(size=s).astype(np.float32) for s in ((5, 7), (7, 9))]
    (expected,) = run(module, "main", inputs)
    DataTilePass().apply(context, module)
    module.verify()
    # Operands come in tiles: the factors, and what the products are added to.
    assert ("linalg.matmul", [(2, 2, 4, 4), (3, 2, 4, 4), (2, 3, 4, 4)]) in asked
    products = [op for op in module.walk() if op.name == "linalg.mmt4d"]
    assert len(products) == 1
    assert "acme.unit" in products[0].attributes
    # What the solver left alone was lowered all the same.
    assert "linalg.generic" in {name for name, _ in asked}
    for found in (run(module, "main", inputs), CompiledProgram(module).run("main", inputs)):
        np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-5)
