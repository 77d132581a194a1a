"""Shape inference for StableHLO's ops, and the verifiers that compare types with it.

The verifiers raise VerifyException.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import (
    ComplexType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, integer, number_list
from ...ir.tensor_types import element_count, map_size, shape_text, shapes_agree, sizes_agree
from ..quant import quantization
from .element_checks import elements_agree, verify_promotion
from .types import tensor_sizes

Shape = tuple[int, ...]
"""The size of each dimension, negative if it is dynamic."""

Inference = Callable[[Operation], Shape]


def require_tensor(value_type: Attribute, what: str) -> TensorType[Any]:
    """Return a type as a tensor type. Raises VerifyException for other types."""
    if not isinstance(value_type, TensorType):
        raise VerifyException(f"expected {what} to be a ranked tensor, got '{value_type}'")
    return cast("TensorType[Any]", value_type)


def operand_shape(operation: Operation, index: int) -> Shape:
    """Return the shape of an operand. Raises VerifyException if it is no tensor."""
    return tensor_sizes(require_tensor(operation.operand_types[index], f"operand {index}"))


def result_shape(operation: Operation, index: int = 0) -> Shape:
    """Return the shape of a result. Raises VerifyException if it is no tensor."""
    return tensor_sizes(require_tensor(operation.result_types[index], f"result {index}"))


def require_shape(operation: Operation, expected: Sequence[int], index: int = 0) -> None:
    """Check that a result can have a shape. Raises VerifyException."""
    found = result_shape(operation, index)
    if not shapes_agree(tuple(expected), found):
        raise VerifyException(
            f"expected result {index} to have shape {shape_text(tuple(expected))}, got "
            f"{shape_text(found)}"
        )


def shape_verifier(infer: Inference) -> Callable[[Operation], None]:
    """Return a verifier that compares the result's shape with an inferred one."""

    def verify(operation: Operation) -> None:
        require_shape(operation, infer(operation))

    return verify


def verify_distinct(numbers: Sequence[int], rank: int, what: str) -> None:
    """Check that numbers are distinct dimensions of a tensor. Raises VerifyException."""
    for number in numbers:
        if not 0 <= number < rank:
            raise VerifyException(f"expected {what} to be in [0, {rank}), got {number}")
    if len(set(numbers)) != len(numbers):
        raise VerifyException(f"expected {what} to be different, got {list(numbers)}")


# Elementwise -------------------------------------------------------------------------------------


def verify_same_shape(operation: Operation) -> None:
    """Check that all operands and the result have the same shape."""
    for index in range(len(operation.operands)):
        require_shape(operation, operand_shape(operation, index))


def verify_complex_parts(operation: Operation) -> None:
    """Check `real`, `imag`, `abs` and `complex`: one side is complex, the other its parts."""
    verify_same_shape(operation)
    source, result = (
        element_type(operation.operand_types[0]),
        element_type(operation.result_types[0]),
    )
    if operation.name == "stablehlo.complex":
        source, result = result, source
    expected: Attribute = source
    if isinstance(source, ComplexType):
        expected = cast("ComplexType[Any]", source).element_type
    if not elements_agree(result, expected):
        raise VerifyException(f"expected elements of type {expected} beside {source}, got {result}")


def verify_reduced_precision(operation: Operation) -> None:
    """Check the numbers of bits: at least one of the exponent, and none of the mantissa."""
    verify_same_shape(operation)
    for name, least in (("exponent_bits", 1), ("mantissa_bits", 0)):
        found = attribute(operation, name)
        if getattr(found, "type", None) != i32 or integer(operation, name) < least:
            raise VerifyException(
                f"expected '{name}' to be an i32 of at least {least}, got {found}"
            )


def verify_select(operation: Operation) -> None:
    """Check that the predicate has rank 0 or the shape of the two values."""
    predicate = operand_shape(operation, 0)
    for index in (1, 2):
        require_shape(operation, operand_shape(operation, index))
    if predicate:
        require_shape(operation, predicate)


def verify_clamp(operation: Operation) -> None:
    """Check that the limits have rank 0 or the shape of the operand."""
    require_shape(operation, operand_shape(operation, 1))
    for index in (0, 2):
        if limits := operand_shape(operation, index):
            require_shape(operation, limits)


def _element_bits(element: Attribute) -> int:
    if isinstance(element, ComplexType):
        return 2 * _element_bits(cast("ComplexType[Any]", element).element_type)
    stored = quantization(element)
    bits = getattr(stored.storage if stored else element, "bitwidth", None)
    if not isinstance(bits, int):
        raise VerifyException(f"expected elements of a known width, got {element}")
    return bits


def verify_bitcast(operation: Operation) -> None:
    """Check that the bits fit: an element with more bits is a row of those with fewer.

    `tensor<2x3xf32>` has the bits of `tensor<2x3x4xi8>`.
    """
    types = (operation.operand_types[0], operation.result_types[0])
    elements = [element_type(each) for each in types]
    if isinstance(elements[0], ComplexType) != isinstance(elements[1], ComplexType):
        raise VerifyException(f"expected both types to be complex or real, got {elements}")
    sides = [
        (_element_bits(element), shape)
        for element, shape in zip(
            elements, (operand_shape(operation, 0), result_shape(operation)), strict=True
        )
    ]
    (few, narrow), (many, wide) = sorted(sides, key=lambda side: side[0])
    expected = wide if few == many else (*wide, many // few)
    if many % few or not shapes_agree(expected, narrow):
        raise VerifyException(
            f"elements of {many} bits and shape {shape_text(wide)} are not those of {few} bits and "
            f"shape {shape_text(narrow)}"
        )


def verify_constant(operation: Operation) -> None:
    """Check that the value has the type of the result, or its storage type if it is quantised."""
    value, result = attribute(operation, "value"), operation.result_types[0]
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        raise VerifyException(f"expected a dense constant, got {value}")
    found = cast(Attribute, cast(Any, value).type)
    if found == result:
        return
    stored = quantization(element_type(result))
    if stored is None or stored.storage.width != getattr(element_type(found), "width", None):
        raise VerifyException(f"expected a constant of type {result}, got {found}")


# Shapes ------------------------------------------------------------------------------------------


def verify_broadcast_in_dim(operation: Operation) -> None:
    """Check `broadcast_in_dim`: each dimension maps to one of the result of its size, or is 1."""
    source, target = operand_shape(operation, 0), result_shape(operation)
    dimensions = number_list(attribute(operation, "broadcast_dimensions"))
    if len(dimensions) != len(source):
        raise VerifyException(
            f"expected {len(source)} broadcast dimensions, one for each of the operand, got "
            f"{len(dimensions)}"
        )
    verify_distinct(dimensions, len(target), "broadcast dimensions")
    hints = (f"known_{word}_dimensions" for word in ("expanding", "nonexpanding"))
    hinted = [number for name in hints for number in number_list(attribute(operation, name))]
    verify_distinct(hinted, len(source), "known dimensions of the operand")
    for size, dimension in zip(source, dimensions, strict=True):
        if size not in (1, target[dimension]) and min(size, target[dimension]) >= 0:
            raise VerifyException(
                f"size {size} of the operand cannot be broadcast to size {target[dimension]} of "
                f"result dimension {dimension}"
            )


def verify_sizes(operation: Operation, index: int) -> None:
    """Check that an operand has one number for each dimension of the result."""
    rank = len(result_shape(operation))
    found = operand_shape(operation, index)
    if not shapes_agree(found, (rank,)):
        raise VerifyException(f"expected {rank} sizes in operand {index}, got {shape_text(found)}")


def infer_broadcast(operation: Operation) -> Shape:
    """Infer the shape with new dimensions before those of the operand."""
    sizes = number_list(attribute(operation, "broadcast_sizes"))
    if min(sizes, default=0) < 0:
        raise VerifyException(f"expected sizes of at least 0, got {list(sizes)}")
    return (*sizes, *operand_shape(operation, 0))


def infer_transpose(operation: Operation) -> Shape:
    """Infer the permuted shape."""
    source = operand_shape(operation, 0)
    order = number_list(attribute(operation, "permutation"))
    if sorted(order) != list(range(len(source))):
        raise VerifyException(
            f"expected a permutation of {len(source)} dimensions, got {list(order)}"
        )
    return tuple(source[each] for each in order)


def verify_reshape(operation: Operation) -> None:
    """Check that the result has as many elements as the operand."""
    source, result = (
        element_count(operand_shape(operation, 0)),
        element_count(result_shape(operation)),
    )
    if not sizes_agree(source, result):
        raise VerifyException(
            f"number of output elements ({result}) doesn't match expected number of "
            f"elements ({source})"
        )


def infer_slice(operation: Operation) -> Shape:
    """Infer the shape of a strided slice, and check that it lies in the operand."""
    source = operand_shape(operation, 0)
    starts, limits, strides = (
        number_list(attribute(operation, name))
        for name in ("start_indices", "limit_indices", "strides")
    )
    if not len(starts) == len(limits) == len(strides) == len(source):
        raise VerifyException(f"expected {len(source)} starts, limits and strides")
    sizes: list[int] = []
    for size, start, limit, stride in zip(source, starts, limits, strides, strict=True):
        is_within = limit <= size if size >= 0 else sizes_agree(size, limit)
        if start < 0 or stride < 1 or start > limit or not is_within:
            raise VerifyException(
                f"slice [{start}:{limit}:{stride}] does not lie in a dimension of size {size}"
            )
        sizes.append(-(-(limit - start) // stride))
    return tuple(sizes)


def _padded(size: int, around: int, between: int) -> int:
    return size + max(size - 1, 0) * between + around


def infer_pad(operation: Operation) -> Shape:
    """Infer the shape with low, high and interior padding."""
    source = operand_shape(operation, 0)
    low, high, interior = (
        number_list(attribute(operation, f"{name}"))
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    if not len(low) == len(high) == len(interior) == len(source):
        raise VerifyException(f"expected {len(source)} numbers as low, high and interior padding")
    sizes: list[int] = []
    for size, before, behind, between in zip(source, low, high, interior, strict=True):
        if between < 0:
            raise VerifyException(f"interior padding cannot be negative, got {between}")
        total = map_size(size, partial(_padded, around=before + behind, between=between))
        if size >= 0 > total:
            raise VerifyException(
                f"padding {before}, {behind} of dimension size {size} gives "
                f"the negative size {total}"
            )
        sizes.append(total)
    return tuple(sizes)


def infer_concatenate(operation: Operation) -> Shape:
    """Infer the concatenated shape, and check that the other dimensions agree."""
    if not operation.operands:
        raise VerifyException("expected at least one operand")
    dimension, sizes = integer(operation, "dimension"), list(operand_shape(operation, 0))
    verify_distinct([dimension], len(sizes), "the dimension")
    for index in range(1, len(operation.operands)):
        other = operand_shape(operation, index)
        rest = (*other[:dimension], sizes[dimension], *other[dimension + 1 :])
        if len(other) != len(sizes) or not shapes_agree(tuple(sizes), rest):
            raise VerifyException(
                f"shapes of operands ({shape_text(operand_shape(operation, 0))}) and "
                f"({shape_text(other)}) differ in a dimension other than {dimension}"
            )
        known = sizes[dimension] >= 0 and other[dimension] >= 0
        sizes[dimension] = sizes[dimension] + other[dimension] if known else -1
    return tuple(sizes)


def infer_reverse(operation: Operation) -> Shape:
    """Infer the shape of the operand, and check the reversed dimensions."""
    verify_distinct(
        number_list(attribute(operation, "dimensions")),
        len(operand_shape(operation, 0)),
        "dimensions",
    )
    return operand_shape(operation, 0)


def verify_iota(operation: Operation) -> None:
    """Check that `iota_dimension` is a dimension of the result, and the operand if it has one."""
    rank = len(result_shape(operation))
    verify_distinct([integer(operation, "iota_dimension")], rank, "the dimension")
    if operation.operands:
        verify_sizes(operation, 0)
    elif min(result_shape(operation)) < 0:
        raise VerifyException(f"expected known sizes, got {operation.result_types[0]}")


def infer_dynamic_slice(operation: Operation) -> Shape:
    """Infer the shape from `slice_sizes`, and check that it fits the operand."""
    sizes = number_list(attribute(operation, "slice_sizes"))
    source = operand_shape(operation, 0)
    if len(sizes) != len(source) or len(operation.operands) != len(source) + 1:
        raise VerifyException(f"expected {len(source)} start indices and slice sizes")
    for size, most in zip(sizes, source, strict=True):
        if size < 0 or 0 <= most < size:
            raise VerifyException(f"slice size {size} does not fit a dimension of size {most}")
    return sizes


def infer_dynamic_update_slice(operation: Operation) -> Shape:
    """Infer the shape of the operand, and check that the update fits."""
    source, update = operand_shape(operation, 0), operand_shape(operation, 1)
    if len(update) != len(source) or len(operation.operands) != len(source) + 2:
        raise VerifyException(
            f"expected an update of rank {len(source)}, and {len(source)} indices"
        )
    for size, most in zip(update, source, strict=True):
        if 0 <= most < size:
            raise VerifyException(f"update size {size} does not fit a dimension of size {most}")
    return source


# Contractions, reductions ------------------------------------------------------------------------


def verify_dot_general(operation: Operation) -> None:
    """Check the shape of `dot_general`: batch dimensions, then the free ones of lhs and of rhs."""
    from .attributes import DotAttr

    numbers = attribute(operation, "dot_dimension_numbers")
    if not isinstance(numbers, DotAttr):
        raise VerifyException(f"expected #stablehlo.dot<...>, got {numbers}")
    left, right = operand_shape(operation, 0), operand_shape(operation, 1)
    lists = [
        numbers.integers(f"{side}_{kind}_dimensions")
        for side in ("lhs", "rhs")
        for kind in ("batching", "contracting")
    ]
    verify_distinct((*lists[0], *lists[1]), len(left), "dimensions of lhs")
    verify_distinct((*lists[2], *lists[3]), len(right), "dimensions of rhs")
    for mine, others in ((lists[0], lists[2]), (lists[1], lists[3])):
        if len(mine) != len(others):
            raise VerifyException("expected the same number of dimensions of lhs and rhs")
        for a, b in zip(mine, others, strict=True):
            if left[a] != right[b] and min(left[a], right[b]) >= 0:
                raise VerifyException(
                    f"dimension {a} of lhs has size {left[a]}, dimension {b} of rhs {right[b]}"
                )
    free = [left[i] for i in range(len(left)) if i not in (*lists[0], *lists[1])]
    others = [right[i] for i in range(len(right)) if i not in (*lists[2], *lists[3])]
    require_shape(operation, (*(left[i] for i in lists[0]), *free, *others))


def verify_reduce(operation: Operation) -> None:
    """Check that each input has an initial value and a result without the reduced dimensions."""
    half = len(operation.operands) // 2
    if half == 0 or len(operation.operands) != 2 * half or len(operation.results) != half:
        raise VerifyException("expected the same number of initial values, results and inputs")
    reduced = number_list(attribute(operation, "dimensions"))
    for index in range(half):
        source = operand_shape(operation, index)
        if not shapes_agree(source, operand_shape(operation, 0)):
            raise VerifyException(
                f"expected inputs of one shape, got {shape_text(operand_shape(operation, 0))} and "
                f"{shape_text(source)}"
            )
        verify_distinct(reduced, len(source), "reduced dimensions")
        kept = [size for dimension, size in enumerate(source) if dimension not in reduced]
        require_shape(operation, kept, index)
    verify_reducer(operation, combined_types(operation, half))


def combined_types(operation: Operation, count: int) -> list[Attribute]:
    """Return the types of the initial values, then of the inputs, as a body has arguments."""
    types = operation.operand_types
    if any(operand_shape(operation, index) for index in range(count, 2 * count)):
        raise VerifyException("expected initial values of rank 0")
    return [*types[count : 2 * count], *types[:count]]


def verify_reducer(operation: Operation, given: Sequence[Attribute], body: int = 0) -> None:
    """Check a body that combines elements of the tensors `given`, one for each argument.

    It returns a value for each argument of its first half. The results have these elements.
    """
    count = len(given) // 2
    returned = verify_body(operation, len(given), count, body)
    verify_promotion(operation, given, body)
    for index, argument in enumerate(operation.regions[body].block.args):
        wanted = TensorType(element_type(returned[index % count]), [])
        if not argument.type == returned[index % count] == wanted:
            raise VerifyException(
                f"expected argument {index} of the body and the returned value to be {wanted}, "
                f"got {argument.type} and {returned[index % count]}"
            )
    for index, each in enumerate(operation.result_types):
        found, wanted = element_type(each), element_type(returned[index % count])
        if found != wanted:
            raise VerifyException(
                f"expected elements of type {wanted} in result {index}, got {found}"
            )


def verify_scalar_body(
    operation: Operation, given: Sequence[Attribute], returns: Attribute | None = None
) -> None:
    """Check that a body takes an element of each tensor, and returns one.

    It is of the type `returns`, or has the elements of the result.
    """
    (returned,) = verify_body(operation, len(given), 1)
    for index, argument in enumerate(operation.regions[0].block.args):
        wanted = TensorType(element_type(given[index]), [])
        if argument.type != wanted:
            raise VerifyException(
                f"expected argument {index} of the body to be {wanted}, got {argument.type}"
            )
    wanted = TensorType(returns or element_type(operation.result_types[0]), [])
    if returned != wanted:
        raise VerifyException(f"expected the body to return {wanted}, got {returned}")


def verify_body(
    operation: Operation, count: int, results: int, body: int = 0
) -> Sequence[Attribute]:
    """Check the number of arguments of an op's body; return the types of the values it returns."""
    block = operation.regions[body].blocks.first
    last = None if block is None else block.last_op
    if block is None or last is None or last.name != "stablehlo.return":
        raise VerifyException("expected a body that ends in 'stablehlo.return'")
    if len(block.args) != count:
        raise VerifyException(f"expected {count} arguments of the body, got {len(block.args)}")
    if len(last.operands) != results:
        raise VerifyException(
            f"expected the body to return {results} values, got {len(last.operands)}"
        )
    return last.operand_types


def verify_window_attributes(operation: Operation) -> None:
    """Check that window attributes have a positive number for each dimension, or default to 1."""
    rank = len(operand_shape(operation, 0))
    for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations"):
        found = attribute(operation, name)
        numbers = number_list(found)
        is_default = found is None or (not numbers and name != "window_dimensions")
        if len(numbers) != rank and not is_default:
            raise VerifyException(f"expected '{name}' to be {rank} numbers, got {found}")
        if any(number < 1 for number in numbers):
            raise VerifyException(f"expected '{name}' to be positive, got {found}")
