"""Verifiers of tosa ops: shapes and element types.

They raise VerifyException, with MLIR 22's message for a check that MLIR has too. Dynamic sizes
match any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import isnan
from types import UnionType

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import integer, number_list
from ...ir.tensor_types import (
    StaticShape,
    element_count,
    shape_text,
    shapes_agree,
    sizes_agree,
    static_shape,
    verify_ranked_tensor,
)
from .attributes import ShapeType
from .element_checks import (
    require_same_stored,
    stored,
    verify_factors,
    verify_scalars,
    verify_zero_points,
)
from .operation_kinds import constant_numbers

# Reading -----------------------------------------------------------------------------------------


def _element(value: SSAValue) -> Attribute:
    return verify_ranked_tensor(value).element_type


def _shape_operand(operation: Operation, index: int) -> StaticShape | None:
    """Return the values of an operand of type `!tosa.shape`; `None` if they are not constant."""
    value = operation.operands[index]
    if not isinstance(value.type, ShapeType):
        raise VerifyException(f"operand #{index} must be a tosa shape, but got '{value.type}'")
    return constant_numbers(value)


def require_shape(value: SSAValue, expected: Sequence[int], what: str) -> None:
    """Check that a tensor may have a shape. Raises VerifyException."""
    shape = static_shape(value)
    if not shapes_agree(shape, expected):
        raise VerifyException(
            f"expected {what} shape '{shape_text(expected)}', got '{shape_text(shape)}'"
        )


def _require_element(value: SSAValue, expected: Attribute, what: str) -> None:
    if _element(value) != expected:
        raise VerifyException(
            f"{what} must be a tensor of {expected} values, but got '{value.type}'"
        )


# Element by element ------------------------------------------------------------------------------


def verify_same_shape(operation: Operation) -> None:
    """Check that the result has the shape of the input; element types may differ."""
    if not shapes_agree(static_shape(operation.operands[0]), static_shape(operation.results[0])):
        raise VerifyException("requires the same shape for all operands and results")


def _require_same_elements(values: Sequence[SSAValue]) -> None:
    if len({_element(value) for value in values}) > 1:
        raise VerifyException("requires the same element type for all operands and results")


def verify_unary(operation: Operation) -> None:
    """Check that the result has the type of the input."""
    _require_same_elements((operation.operands[0], operation.results[0]))
    verify_same_shape(operation)


def verify_numeric_unary(operation: Operation) -> None:
    """Check like `verify_unary`; elements are floats or integers, such as indices of a table."""
    _verify_unary_of(operation, AnyFloat | IntegerType, "number")


def verify_floating_unary(operation: Operation) -> None:
    """Check like `verify_unary`; elements are floats."""
    _verify_unary_of(operation, AnyFloat, "floating-point")


def _verify_unary_of(
    operation: Operation, elements: type[Attribute] | UnionType, what: str
) -> None:
    verify_unary(operation)
    if not isinstance(_element(operation.operands[0]), elements):
        raise VerifyException(
            f"operand #0 must be tosa-conformant tensor of {what} values, but got "
            f"'{operation.operands[0].type}'"
        )


def _verify_broadcast(operands: Sequence[SSAValue], result: SSAValue) -> None:
    shapes = [static_shape(operand) for operand in operands]
    if len({len(shape) for shape in shapes}) > 1:
        raise VerifyException(
            "operands don't have matching ranks: "
            + " and ".join(str(len(shape)) for shape in shapes)
        )
    common: list[int] = []
    for sizes in zip(*shapes, strict=True):
        wide = {size for size in sizes if size >= 0 and size != 1}
        if len(wide) > 1:
            raise VerifyException(
                "operands don't have broadcast-compatible shapes: "
                + " and ".join(f"'{shape_text(shape, 'x')}'" for shape in shapes)
            )
        unknown = any(size < 0 for size in sizes)
        common.append(wide.pop() if wide else -1 if unknown else 1)
    if not shapes_agree(tuple(common), static_shape(result)):
        raise VerifyException(
            f"result type '{shape_text(static_shape(result), 'x')}' not broadcast compatible with "
            f"broadcasted operands's shapes '{shape_text(common, 'x')}'"
        )


def verify_binary(operation: Operation) -> None:
    """Check that all elements have one type and that shapes broadcast along sizes of 1."""
    _require_same_elements((*operation.operands, *operation.results))
    _verify_broadcast(operation.operands, operation.results[0])


def verify_logical(operation: Operation) -> None:
    """Check like `verify_binary` or `verify_unary`; all elements are i1."""
    (verify_binary if len(operation.operands) == 2 else verify_unary)(operation)
    _require_element(operation.operands[0], i1, "operand #0")


def verify_division(operation: Operation) -> None:
    """Check like `verify_binary`; all elements are integers of 32 or 64 bits."""
    verify_binary(operation)
    if _element(operation.operands[0]) not in (i32, i64):
        raise VerifyException(
            f"operand #0 must be a tensor of i32 or i64 values, but got "
            f"'{operation.operands[0].type}'"
        )


def verify_comparison(operation: Operation) -> None:
    """Check like `verify_binary`, except that the result has elements i1."""
    _require_same_elements(operation.operands)
    _require_element(operation.results[0], i1, "result #0")
    _verify_broadcast(operation.operands, operation.results[0])


def verify_mul(operation: Operation) -> None:
    """Check two factors and the i8 shift, which only 32-bit integers use."""
    left, right, shift = operation.operands
    _require_same_elements((left, right))
    verify_scalars(operation, 2)
    _require_element(shift, i8, "operand #2")
    if not all(isinstance(stored(each), IntegerType) for each in (left, operation.results[0])):
        _require_same_elements((left, operation.results[0]))
    _verify_broadcast((left, right), operation.results[0])


def verify_select(operation: Operation) -> None:
    """Check a condition of i1 and two values of one element type."""
    condition, left, right = operation.operands
    _require_element(condition, i1, "operand #0")
    _require_same_elements((left, right, operation.results[0]))
    _verify_broadcast(operation.operands, operation.results[0])


def verify_rescale(operation: Operation) -> None:
    """Check the input, the factors, and the zero points of input and output."""
    verify_scalars(operation, 3)
    verify_factors(operation)
    verify_same_shape(operation)


def verify_negate(operation: Operation) -> None:
    """Check the input and the zero points of input and output."""
    verify_zero_points(operation, 1, (operation.operands[0], operation.results[0]))
    verify_unary(operation)


def verify_table(operation: Operation) -> None:
    """Check that the table has rank 1 and the result the shape of the input."""
    if len(static_shape(operation.operands[1])) != 1:
        raise VerifyException(f"operand #1 must have rank 1, got '{operation.operands[1].type}'")
    verify_same_shape(operation)


def verify_clamp(operation: Operation) -> None:
    """Check that the bounds have the element type and the lower is not above the upper."""
    verify_unary(operation)
    element = _element(operation.operands[0])
    low, high = operation.properties["min_val"], operation.properties["max_val"]
    for bound in (low, high):
        if getattr(bound, "type", None) != element:
            raise VerifyException(
                "min/max attributes types are incompatible with input/output element types: "
                f"{bound} is not of type {element}"
            )
    if isinstance(low, IntegerAttr | FloatAttr) and isinstance(high, IntegerAttr | FloatAttr):
        smallest, largest = float(low.value.data), float(high.value.data)
        if isnan(smallest) or isnan(largest):
            raise VerifyException(
                f"min/max attributes should not be 'NaN', got min_val={low}, max_val={high}"
            )
        if smallest > largest:
            raise VerifyException(f"expected min_val <= max_val, got min_val={low}, max_val={high}")


# Along an axis -----------------------------------------------------------------------------------


def _require_axis(operation: Operation, what: str) -> int:
    axis, rank = integer(operation, "axis"), len(static_shape(operation.operands[0]))
    if axis < 0:
        raise VerifyException(f"{what} axis must not be negative")
    if axis >= max(rank, 1):
        raise VerifyException(
            f"expect input tensor rank ({rank}) to be larger than {what} axis ({axis})"
        )
    return axis


def verify_reduce(operation: Operation) -> None:
    """Check that the result is the input with size 1 along the axis."""
    axis = _require_axis(operation, "reduce")
    _require_same_elements((operation.operands[0], operation.results[0]))
    expected, shape = list(static_shape(operation.operands[0])), static_shape(operation.results[0])
    if len(shape) != len(expected):
        raise VerifyException("expect output tensor rank to be equal to input tensor rank")
    if expected:
        if not sizes_agree(shape[axis], 1):
            raise VerifyException(f"expect reduced dimension size to be 1, got {shape[axis]}")
        expected[axis] = 1
    require_shape(operation.results[0], expected, "output")


def verify_argmax(operation: Operation) -> None:
    """Check that the result has the input's shape without the axis, and integer elements."""
    axis = _require_axis(operation, "argmax")
    expected = list(static_shape(operation.operands[0]))
    del expected[axis : axis + 1]
    if not isinstance(_element(operation.results[0]), IntegerType):
        raise VerifyException(f"result must be integers, but got '{operation.results[0].type}'")
    require_shape(operation.results[0], expected, "output")


def verify_reverse(operation: Operation) -> None:
    """Check the axis, and that the result has the type of the input."""
    _require_axis(operation, "reverse")
    verify_unary(operation)


def verify_concat(operation: Operation) -> None:
    """Check that operands agree except along the axis, where their sizes add up."""
    if not operation.operands:
        raise VerifyException("expected at least one operand")
    axis = _require_axis(operation, "concat")
    _require_same_elements((*operation.operands, *operation.results))
    first = static_shape(operation.operands[0])
    total = 0
    for index, operand in enumerate(operation.operands):
        shape = static_shape(operand)
        for position, (size, wanted) in enumerate(zip_longest(shape, first)):
            if size is None or wanted is None:
                raise VerifyException(
                    "expect all operands to have the same rank, but got "
                    f"{len(first)} vs {len(shape)} on operands 0 and {index}"
                )
            if position != axis and not sizes_agree(size, wanted):
                raise VerifyException(
                    "expect all operand shapes to have the same sizes on non-axis dimensions, "
                    f"but got {size} vs {wanted} at index {position} on operands 0 and {index}"
                )
        total = -1 if total < 0 or shape[axis] < 0 else total + shape[axis]
    result = static_shape(operation.results[0])
    if len(result) == len(first) and not sizes_agree(result[axis], total):
        raise VerifyException(
            "requires sum of axis dimensions of input1 equal to output axis dimension, got "
            f"{total} and {result[axis]}"
        )
    require_shape(operation.results[0], (*first[:axis], total, *first[axis + 1 :]), "output")


# Moving elements ---------------------------------------------------------------------------------


def verify_transpose(operation: Operation) -> None:
    """Check that output dimension i is input dimension perms[i]."""
    _require_same_elements((operation.operands[0], operation.results[0]))
    shape, permutation = (
        static_shape(operation.operands[0]),
        number_list(operation.properties["perms"]),
    )
    if len(permutation) != len(shape):
        raise VerifyException(
            f"expected perms attribute to have size {len(shape)} (input rank) but got size "
            f"{len(permutation)}"
        )
    if sorted(permutation) != list(range(len(shape))):
        raise VerifyException(f"expected valid permutation indices, got {list(permutation)}")
    result = static_shape(operation.results[0])
    if len(result) != len(shape):
        raise VerifyException(f"expected output rank {len(shape)}, got {len(result)}")
    for index, source in enumerate(permutation):
        if not sizes_agree(result[index], shape[source]):
            raise VerifyException(
                f"expected output tensor dim {index} to match input dim {source} with value of "
                f"{shape[source]}"
            )


def verify_reshape(operation: Operation) -> None:
    """Check that the number of elements is kept and the result has the shape of the operand."""
    _require_same_elements((operation.operands[0], operation.results[0]))
    before, after = (
        element_count(static_shape(value))
        for value in (operation.operands[0], operation.results[0])
    )
    if not sizes_agree(before, after):
        raise VerifyException(f"cannot reshape {before} elements into {after}")
    wanted = _shape_operand(operation, 1)
    if wanted is not None and (wanted.count(-1) > 1 or min(wanted, default=0) < -1):
        raise VerifyException(
            f"expected sizes and at most one target dimension to be -1, got '{shape_text(wanted)}'"
        )
    if wanted is not None and not shapes_agree(wanted, static_shape(operation.results[0])):
        raise VerifyException(
            f"new shape is inconsistent with result shape: '{shape_text(wanted)}' and "
            f"'{shape_text(static_shape(operation.results[0]))}'"
        )


def verify_pad(operation: Operation) -> None:
    """Check the amounts of padding: one before and one after each dimension."""
    source, amounts, value = operation.operands
    _require_same_elements((source, value, operation.results[0]))
    verify_scalars(operation, 2)
    shape = static_shape(source)
    amounts_type = amounts.type
    if isinstance(amounts_type, ShapeType) and amounts_type.rank.data != 2 * len(shape):
        raise VerifyException(
            f"padding tensor must have {len(shape)} * 2 = {2 * len(shape)} elements, but got "
            f"{amounts_type.rank.data}"
        )
    numbers = _shape_operand(operation, 1)
    if numbers is None:
        return
    result = static_shape(operation.results[0])
    if len(result) != len(shape):
        raise VerifyException(f"expected output rank {len(shape)}, got {len(result)}")
    for index, size in enumerate(shape):
        before, after = numbers[2 * index : 2 * index + 2]
        if min(before, after) < -1:
            raise VerifyException(
                f"invalid padding values at dimension {index}: values must be non-negative or -1 "
                f"for dynamic padding, got [{before}, {after}]"
            )
        if min(before, after) < 0 or size < 0:
            continue
        if not sizes_agree(result[index], size + before + after):
            raise VerifyException(
                f"mismatch in output shape at dimension {index}: expected {size} + {before} + "
                f"{after} = {size + before + after}, but got {result[index]}"
            )


def verify_slice(operation: Operation) -> None:
    """Check that the result has the given size and the slice lies in the input."""
    source = operation.operands[0]
    _require_same_elements((source, operation.results[0]))
    shape = static_shape(source)
    starts, sizes = _shape_operand(operation, 1), _shape_operand(operation, 2)
    if sizes is not None:
        require_shape(operation.results[0], sizes, "output")
    if starts is None:
        return
    if len(starts) != len(shape):
        raise VerifyException(f"expected {len(shape)} start positions, got {len(starts)}")
    for index, (first, extent) in enumerate(
        zip(starts, static_shape(operation.results[0]), strict=False)
    ):
        if extent >= 0 and 0 <= shape[index] < first + extent:
            raise VerifyException(
                f"slice runs out of bounds of input dimension {index}: {first} + {extent} > "
                f"{shape[index]}"
            )


def verify_tile(operation: Operation) -> None:
    """Check that each dimension is repeated as the operand says."""
    _require_same_elements((operation.operands[0], operation.results[0]))
    multiples, shape = _shape_operand(operation, 1), static_shape(operation.operands[0])
    if multiples is None:
        return
    if len(multiples) != len(shape):
        raise VerifyException(f"expected 'multiples' to have rank {len(shape)}")
    if any(times < -1 or times == 0 for times in multiples):
        raise VerifyException("expect element of 'multiples' to be positive integer or -1.")
    expected = [
        -1 if size < 0 or times < 0 else size * times
        for size, times in zip(shape, multiples, strict=True)
    ]
    require_shape(operation.results[0], expected, "output")


def verify_gather(operation: Operation) -> None:
    """Check that `values` N x K x C at `indices` N x W give N x W x C."""
    require_same_stored(operation.operands[0], operation.results[0], "input and output")
    values, indices = map(static_shape, operation.operands)
    if len(values) != 3 or len(indices) != 2:
        raise VerifyException(
            f"expected values of rank 3 and indices of rank 2, got {len(values)} and {len(indices)}"
        )
    if not sizes_agree(values[0], indices[0]):
        raise VerifyException(
            f"requires indices dimension 0 to have size {values[0]}, got {indices[0]}"
        )
    result, expected = static_shape(operation.results[0]), (values[0], indices[1], values[2])
    for index, (size, wanted) in enumerate(zip(result, expected, strict=False)):
        if not sizes_agree(size, wanted):
            raise VerifyException(
                f"requires output dimension {index} to have size {wanted}, got {size}"
            )
    require_shape(operation.results[0], expected, "output")


def verify_scatter(operation: Operation) -> None:
    """Check that `input` N x W x C goes to `indices` N x W of `values_in` N x K x C."""
    require_same_stored(operation.operands[2], operation.results[0], "input and output")
    verify_unary(operation)
    values, indices, source = map(static_shape, operation.operands)
    if len(values) != 3 or len(indices) != 2 or len(source) != 3:
        raise VerifyException(
            f"expected values and input of rank 3 and indices of rank 2, got {len(values)}, "
            f"{len(source)} and {len(indices)}"
        )
    for what, shape, wanted in (
        ("indices", indices, (values[0], source[1])),
        ("input", source, (values[0], indices[1], values[2])),
    ):
        if not shapes_agree(shape, wanted):
            raise VerifyException(
                f"requires {what} of shape '{shape_text(wanted)}', got '{shape_text(shape)}'"
            )
