"""Bodies of structured ops: `linalg.yield`, `linalg.index`, and the scalar code of named ops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from .named_ops import BodyKind, NamedOp

_FLOAT_FUNCTIONS = {
    "abs": "math.absf",
    "add": "arith.addf",
    "ceil": "math.ceil",
    "div": "arith.divf",
    "erf": "math.erf",
    "exp": "math.exp",
    "floor": "math.floor",
    "log": "math.log",
    "max": "arith.maximumf",
    "max_signed": "arith.maximumf",
    "min": "arith.minimumf",
    "min_signed": "arith.minimumf",
    "mul": "arith.mulf",
    "negf": "arith.negf",
    "powf": "math.powf",
    "round": "math.round",
    "rsqrt": "math.rsqrt",
    "sqrt": "math.sqrt",
    "sub": "arith.subf",
    "tanh": "math.tanh",
}
_INTEGER_FUNCTIONS = {
    "add": "arith.addi",
    "div": "arith.divsi",
    "div_unsigned": "arith.divui",
    "max": "arith.maxsi",
    "max_signed": "arith.maxsi",
    "max_unsigned": "arith.maxui",
    "min": "arith.minsi",
    "min_signed": "arith.minsi",
    "min_unsigned": "arith.minui",
    "mul": "arith.muli",
    "sub": "arith.subi",
}
_BOOLEAN_FUNCTIONS = {
    **{name: op for name, op in _INTEGER_FUNCTIONS.items() if name.startswith(("max", "min"))},
    "add": "arith.ori",
    "mul": "arith.andi",
}
_COMPLEX_FUNCTIONS = {
    "add": "complex.add",
    "div": "complex.div",
    "mul": "complex.mul",
    "sub": "complex.sub",
}


class BodyError(ValueError):
    """A scalar function or conversion is not defined for an element type."""


@cache
def _scalar_class(name: str) -> type[Operation]:
    """Return the class of a scalar op; import its dialect on first use."""
    dialect = name.partition(".")[0]
    if dialect == "arith":
        from xdsl.dialects.arith import Arith as scalar_dialect
    elif dialect == "math":
        from xdsl.dialects.math import Math as scalar_dialect
    else:
        from xdsl.dialects.complex import Complex as scalar_dialect
    return next(op for op in scalar_dialect.operations if op.name == name)


@cache
def _default_properties(name: str) -> dict[str, Attribute]:
    """Return the flags that a scalar op has by default in MLIR."""
    from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr

    if name in ("arith.addi", "arith.subi", "arith.muli"):
        return {"overflowFlags": IntegerOverflowAttr("none")}
    if name in _FLOAT_FUNCTIONS.values() or name in _COMPLEX_FUNCTIONS.values():
        return {"fastmath": FastMathFlagsAttr("none")}
    return {}


def _append(
    block: Block, name: str, operands: Sequence[SSAValue], result_type: Attribute
) -> SSAValue:
    operation = _scalar_class(name).create(
        operands=operands,
        result_types=[result_type],
        properties=dict(_default_properties(name)),
    )
    block.add_op(operation)
    return operation.results[0]


def _constant(block: Block, value: float, element_type: AnyFloat | IntegerType) -> SSAValue:
    from xdsl.dialects.arith import ConstantOp

    if isinstance(element_type, IntegerType):
        constant = ConstantOp.from_int_and_width(int(value), element_type)
    else:
        constant = ConstantOp(FloatAttr(value, element_type))
    block.add_op(constant)
    return constant.result


def append_cast(
    block: Block, value: SSAValue, target: Attribute, unsigned: bool = False
) -> SSAValue:
    """Append the conversion of a scalar to another element type, by the rules of named ops.

    Raises BodyError if MLIR has no such conversion, as from f16 to bf16.
    """
    source = value.type
    if source == target:
        return value
    name: str | None = None
    result_type = target
    if isinstance(target, IntegerType):
        if isinstance(source, IntegerType):
            widening = "arith.extui" if unsigned else "arith.extsi"
            name = "arith.trunci" if source.bitwidth > target.bitwidth else widening
        elif isinstance(source, AnyFloat):
            name = "arith.fptoui" if unsigned else "arith.fptosi"
        elif isinstance(source, IndexType):
            name = "arith.index_cast"
    elif isinstance(target, AnyFloat):
        if isinstance(source, IntegerType):
            name = "arith.uitofp" if unsigned else "arith.sitofp"
        elif isinstance(source, AnyFloat) and source.bitwidth != target.bitwidth:
            name = "arith.extf" if source.bitwidth < target.bitwidth else "arith.truncf"
    if name is None:
        raise BodyError(f"there is no conversion from {source} to {target}")
    return _append(block, name, (value,), result_type)


def append_function(block: Block, function: str, values: Sequence[SSAValue]) -> SSAValue:
    """Append a scalar function (`add`, `exp`, ...) for the type of its last operand.

    Raises BodyError if the function is not defined for that type or the types do not match.
    """
    element_type = values[-1].type
    if function == "select":
        if values[0].type != i1 or values[1].type != element_type:
            types = ", ".join(str(value.type) for value in values)
            raise BodyError(f"select expects i1 and two values of the same type, found {types}")
        return _append(block, "arith.select", values, element_type)
    if any(value.type != element_type for value in values):
        types = ", ".join(str(value.type) for value in values)
        raise BodyError(f"{function} expects values of the same type, found {types}")
    table: dict[str, str] = {}
    result_type = element_type
    if isinstance(element_type, AnyFloat):
        if function == "square":
            return _append(block, "arith.mulf", (values[0], values[0]), element_type)
        if function == "reciprocal":
            one = _constant(block, 1.0, element_type)
            return _append(block, "arith.divf", (one, values[0]), element_type)
        table = _FLOAT_FUNCTIONS
    elif isinstance(element_type, IntegerType):
        table = _BOOLEAN_FUNCTIONS if element_type == i1 else _INTEGER_FUNCTIONS
    elif isinstance(element_type, ComplexType):
        table = _COMPLEX_FUNCTIONS
    name = table.get(function)
    if name is None:
        raise BodyError(f"{function} is not defined for elements of type {element_type}")
    return _append(block, name, values, result_type)


def _multiply_add(block: Block, left: SSAValue, right: SSAValue) -> SSAValue:
    product = append_function(block, "mul", (left, right))
    return append_function(block, "add", (block.args[-1], product))


def _random(block: Block) -> SSAValue:
    """Append the body of `fill_rng_2d`: a linear congruential generator seeded by the position."""
    low, high, seed, output = block.args

    def index(dimension: int) -> SSAValue:
        position = IndexOp(dimension)
        block.add_op(position)
        return append_cast(block, position.result, i32)

    def call(function: str, left: SSAValue, right: SSAValue) -> SSAValue:
        return append_function(block, function, (left, right))

    multiplier, increment = _constant(block, 1103515245, i32), _constant(block, 12345, i32)
    offset, inverse_range = _constant(block, 2147483647, f64), _constant(block, 2.3283064e-10, f64)
    column, row = index(1), index(0)
    state = seed
    for position in (row, column):
        state = call("mul", call("add", position, state), multiplier)
        state = call("add", state, increment)
    shifted = call("add", append_cast(block, state, f64), offset)
    scaling = call("mul", call("sub", high, low), inverse_range)
    value = call("add", call("mul", shifted, scaling), low)
    return append_cast(block, value, output.type)


def _output(block: Block, row: NamedOp, function: str, unsigned: bool) -> SSAValue:
    arguments = block.args
    target = arguments[-1].type
    match row.body:
        case BodyKind.YIELD_INPUT:
            return arguments[0]
        case BodyKind.CAST_INPUT:
            return append_cast(block, arguments[0], target, unsigned)
        case BodyKind.FUNCTION:
            return append_function(block, function, arguments[:-1])
        case BodyKind.MULTIPLY_ADD:
            left, right = (append_cast(block, value, target, unsigned) for value in arguments[:2])
            return _multiply_add(block, left, right)
        case BodyKind.ZERO_POINT_MULTIPLY_ADD:
            factors: list[SSAValue] = []
            for value, zero_point in zip(arguments[:2], arguments[2:4], strict=True):
                converted = append_cast(block, value, target)
                zero = append_cast(block, zero_point, target)
                factors.append(append_function(block, "sub", (converted, zero)))
            return _multiply_add(block, factors[0], factors[1])
        case BodyKind.POOL:
            element = append_cast(block, arguments[0], target, unsigned)
            return append_function(block, function, (arguments[-1], element))
        case BodyKind.RANDOM:
            return _random(block)


@cache
def body_template(
    row: NamedOp, element_types: tuple[Attribute, ...], function: str = "", unsigned: bool = False
) -> Block:
    """Return the body of a named op for the element types of its inputs and its output.

    All callers share the block: read or clone it, never change it. `function` overrides the row's
    function (for `linalg.elementwise`); `unsigned` selects unsigned conversions. Raises BodyError
    if the computation is not defined for these types.
    """
    block = Block(arg_types=element_types)
    Region(block)
    result = _output(block, row, function or row.function, unsigned or row.unsigned)
    block.add_op(YieldOp(result))
    return block


def clone_body(
    row: NamedOp, element_types: tuple[Attribute, ...], function: str = "", unsigned: bool = False
) -> Region:
    """Return a new region with the body of `body_template`.

    Raises BodyError if the computation is not defined for these types.
    """
    template = body_template(row, element_types, function, unsigned).parent
    body = Region()
    if template is not None:
        template.clone_into(body)
    return body


@irdl_op_definition
class YieldOp(SyntaxOperation):
    """Yield the new elements of the outputs at one point of the iteration space."""

    name = "linalg.yield"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *arguments: SSAValue) -> None:
        Operation.__init__(self, operands=arguments)

    SYNTAX: ClassVar[Syntax] = " attr-dict( $arguments : type($arguments))?"


@irdl_op_definition
class IndexOp(SyntaxOperation):
    """Return the index of one loop of the enclosing structured op.

    The verifier asks that `dim` is below the number of loops.
    """

    name = "linalg.index"

    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, dim: int) -> None:
        super().__init__(properties={"dim": IntegerAttr(dim, i64)}, result_types=[INDEX])

    def verify_(self) -> None:
        super().verify_()
        parent = self.parent_op()
        if parent is None or not parent.name.startswith("linalg."):
            raise VerifyException("expected parent op with LinalgOp interface")
        loops = getattr(parent, "loop_count", None)
        if isinstance(loops, int) and not 0 <= self.dim.value.data < loops:
            raise VerifyException(
                f"expected dim ({self.dim.value.data}) to be lower than the number of loops "
                f"({loops}) of the enclosing LinalgOp"
            )

    SYNTAX: ClassVar[Syntax] = " int($dim) attr-dict : type($result)"
