"""Every row of the table of named linalg operations against `--linalg-generalize-named-ops`."""

from __future__ import annotations

import re

import pytest
from mesh_opt.dialects.linalg.named_ops import NAMED_OPS, BodyKind, NamedOp
from mesh_opt.dialects.linalg.structured_view import structured_view
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr
from xdsl.utils.exceptions import ParseError, VerifyException

STRIDES, DILATIONS = (2, 3, 1), (1, 2, 3)
ELEMENTWISE_RANK = 2

TYPES = {
    BodyKind.YIELD_INPUT: [("f32", "f32"), ("f32", "i32")],
    BodyKind.CAST_INPUT: [("f32", "f32"), ("f16", "f32"), ("i8", "i32"), ("f32", "i8")],
    BodyKind.FUNCTION: [("f32", "f32"), ("i32", "i32"), ("i1", "i1"), ("complex<f32>",) * 2],
    BodyKind.MULTIPLY_ADD: [
        ("f32", "f32"),
        ("f16", "f32"),
        ("bf16", "bf16"),
        ("i8", "i32"),
        ("i8", "f32"),
        ("complex<f32>", "complex<f32>"),
    ],
    BodyKind.ZERO_POINT_MULTIPLY_ADD: [("i8", "i32")],
    BodyKind.POOL: [("f32", "f32"), ("f16", "f32"), ("i8", "i32"), ("i8", "i8")],
    BodyKind.RANDOM: [("f64", "f32")],
}
"""Element types of inputs and output to try. Those that mlir-opt refuses we refuse as well."""


def program(row: NamedOp, element: str, output_element: str) -> str:
    """A function with one call of the operation, the sizes of all loops different."""
    strides, dilations = STRIDES[: row.windows], DILATIONS[: row.windows]
    maps = row.maps(ELEMENTWISE_RANK, strides, dilations)
    sizes = [loop + 2 for loop in range(maps[-1].num_dims)]
    types: list[str] = []
    for position, indexing_map in enumerate(maps):
        shape: list[int] = []
        for result in indexing_map.results:
            assert isinstance(result, AffineDimExpr | AffineBinaryOpExpr)
            shape.append(result.eval([size - 1 for size in sizes], []) + 1)
        is_output = position == row.input_count
        kind = output_element if is_output else element
        if row.name == "select" and position == 0:
            kind = "i1"
        if (row.body is BodyKind.ZERO_POINT_MULTIPLY_ADD and position in (2, 3)) or (
            row.body is BodyKind.RANDOM and position == 2
        ):
            types.append("i32")
        elif not indexing_map.results and not is_output:
            types.append(kind)
        else:
            types.append(f"tensor<{''.join(f'{size}x' for size in shape)}{kind}>")
    arguments = ", ".join(f"%a{i}: {each}" for i, each in enumerate(types))
    inputs = ", ".join(f"%a{i}" for i in range(row.input_count))
    attributes = ""
    if row.windows:
        lists = [
            f"{name} = dense<{list(values)}> : tensor<{row.windows}xi64>"
            for name, values in (("dilations", dilations), ("strides", strides))
        ]
        attributes = " {" + ", ".join(lists) + "}"
    return (
        f"func.func @f({arguments}) -> {types[-1]} {{\n"
        f"  %r = linalg.{row.name}{attributes} ins({inputs} : {', '.join(types[:-1])}) "
        f"outs(%a{row.input_count} : {types[-1]}) -> {types[-1]}\n"
        f"  return %r : {types[-1]}\n}}\n"
    )


def parse(text: str) -> ModuleOp:
    module = parse_module(new_context(), Source(text, "test"))
    module.verify()
    return module


def structured_op(module: ModuleOp) -> Operation:
    return next(op for op in module.walk() if op.name.startswith("linalg."))


def computation(block: Block) -> list[tuple[object, ...]]:
    """A block as a list that is equal for equal computations; constants count as leaves."""
    names: dict[SSAValue, object] = {arg: f"arg{arg.index}" for arg in block.args}

    def operand(value: SSAValue) -> object:
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "arith.constant":
            return str(owner.properties["value"])
        return names[value]

    listed: list[tuple[object, ...]] = []
    for op in block.ops:
        if op.name == "arith.constant":
            continue
        listed.append((op.name, tuple(map(operand, op.operands)), tuple(map(str, op.result_types))))
        for result in op.results:
            names[result] = f"{op.name}#{len(listed)}"
    return listed


CASES = [(name, *types) for name, row in NAMED_OPS.items() for types in TYPES[row.body]]


@pytest.fixture(scope="module")
def generalized(mlir_opt):
    """What mlir-opt makes of each case, `None` where it refuses."""
    sections = [
        program(NAMED_OPS[name], *types).replace("@f(", f"@f{number}(")
        for number, (name, *types) in enumerate(CASES)
    ]
    options = ("--split-input-file", "--linalg-generalize-named-ops")
    printed = mlir_opt("// -----\n".join(sections), *options, refuses=True).split("// -----")
    found = {
        int(name.group(1)): answer
        for answer in printed
        if (name := re.search(r"@f(\d+)\(", answer)) is not None
    }
    # A crash would end all sections after it.
    assert max(found) == len(CASES) - 1
    return {case: found.get(number) for number, case in enumerate(CASES)}


def test_rows_cover_all_operations(mlir_opt) -> None:
    """No row names an operation that mlir-opt does not know."""
    text = "".join(f'"linalg.{row.name}"() : () -> ()\n// -----\n' for row in NAMED_OPS.values())
    with pytest.raises(AssertionError) as failure:
        mlir_opt(text, "--split-input-file")
    assert "unregistered" not in str(failure.value)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_maps_iterators_and_body(case: tuple[str, str, str], generalized) -> None:
    answer = generalized[case]
    name, *types = case
    if answer is None:
        with pytest.raises((ParseError, VerifyException)):
            parse(program(NAMED_OPS[name], *types))
        return
    ours = structured_view(structured_op(parse(program(NAMED_OPS[name], *types))))
    theirs = structured_view(structured_op(parse(answer)))
    assert ours is not None and theirs is not None
    assert list(map(str, ours.maps)) == list(map(str, theirs.maps))
    assert ours.iterators == theirs.iterators
    assert len(ours.inputs) == len(theirs.inputs)
    assert computation(ours.body) == computation(theirs.body)
