"""Questions to types and operations of any dialect."""

from __future__ import annotations

import pytest
from mesh_opt.ir.attribute_access import element_type, symbol_name
from mesh_opt.runtime.abi.values import element_type as element_of_values
from tool_runs import printed
from xdsl.dialects.builtin import (
    ComplexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
    VectorType,
    f32,
)
from xdsl.ir import Attribute

COMPLEX = ComplexType(f32)
COMPLEX_FILL = """
func.func @f(%c: complex<f32>, %t: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = linalg.fill ins(%c : complex<f32>) outs(%t : tensor<4xcomplex<f32>>)
      -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
"""


@pytest.mark.parametrize("element", [f32, COMPLEX])
def test_element_types(element: Attribute) -> None:
    shaped = (
        TensorType(element, [4]),
        UnrankedTensorType(element),
        MemRefType(element, [4]),
        VectorType(element, [4]),
    )
    assert [element_type(each) for each in (element, *shaped)] == [element] * 5
    assert element_of_values is element_type


def test_a_fill_with_a_complex_number_is_valid() -> None:
    assert printed(text=COMPLEX_FILL)


def test_symbol_names() -> None:
    assert symbol_name(ModuleOp([], sym_name=StringAttr("m"))) == "m"
    assert symbol_name(ModuleOp([])) is None
    assert symbol_name(ModuleOp([], {"sym_name": StringAttr("inner")})) == "inner"
