"""Verifiers of transforms, factorizations, random numbers and normalizations.

They raise VerifyException.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, ComplexType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, flag, integer, number_list
from ...ir.tensor_types import shape_text, shapes_agree, sizes_agree
from .attributes import (
    DotAlgorithmAttr,
    PrecisionAttr,
    RngDistributionAttr,
    TransposeAttr,
    fft_kind,
)
from .checks import (
    Shape,
    operand_shape,
    require_shape,
    result_shape,
    verify_distinct,
    verify_scalar_body,
    verify_sizes,
)


def verify_fft(operation: Operation) -> None:
    """Check the lengths of a transform, and the shape that results from them."""
    lengths = number_list(attribute(operation, "fft_length"))
    source, kind = operand_shape(operation, 0), fft_kind(operation)
    if not 1 <= len(lengths) <= min(3, len(source)):
        raise VerifyException(
            f"expected 1 to 3 lengths, at most one for each of {len(source)} dimensions, got "
            f"{len(lengths)}"
        )
    is_complex = isinstance(element_type(operation.operand_types[0]), ComplexType)
    if is_complex == (kind == "RFFT"):
        raise VerifyException(f"{kind} of elements of type {operation.operand_types[0]}")
    if kind not in ("RFFT", "IRFFT"):
        require_shape(operation, source)
        if not shapes_agree(source[-len(lengths) :], lengths):
            raise VerifyException(
                f"expected lengths {shape_text(source[-len(lengths) :])}, got {shape_text(lengths)}"
            )
        elements = [
            element_type(operation.operand_types[0]),
            element_type(operation.result_types[0]),
        ]
        if elements[0] != elements[1]:
            raise VerifyException(f"expected elements of type {elements[0]}, got {elements[1]}")
        return
    elements = [element_type(each) for each in (*operation.operand_types, *operation.result_types)]
    part, whole = elements if kind == "RFFT" else reversed(elements)
    is_complex = isinstance(whole, ComplexType)
    if not is_complex or cast("ComplexType[Any]", whole).element_type != part:
        raise VerifyException(f"expected complex numbers of {part}, got {whole}")
    half = lengths[-1] // 2 + 1 if lengths[-1] else 0
    real, spectrum = (
        (*source[: -len(lengths)], *lengths[:-1], last) for last in (lengths[-1], half)
    )
    wanted, result = (real, spectrum) if kind == "RFFT" else (spectrum, real)
    if not shapes_agree(wanted, source):
        raise VerifyException(
            f"expected an operand of shape {shape_text(wanted)}, got {shape_text(source)}"
        )
    require_shape(operation, result)


def _verify_square(operation: Operation) -> Shape:
    shape = operand_shape(operation, 0)
    if len(shape) < 2 or not sizes_agree(shape[-1], shape[-2]):
        raise VerifyException(f"expected square matrices, got {shape_text(shape)}")
    return shape


def verify_cholesky(operation: Operation) -> None:
    """Check that the operand has square matrices and the result its type."""
    require_shape(operation, _verify_square(operation))


def verify_triangular_solve(operation: Operation) -> None:
    """Check that matrices are square, and fit the right-hand sides."""
    matrices, sides = _verify_square(operation), operand_shape(operation, 1)
    if attribute(operation, "transpose_a") == TransposeAttr("TRANSPOSE_INVALID"):
        raise VerifyException("expected a transposition, got TRANSPOSE_INVALID")
    dimension = -2 if flag(operation, "left_side") else -1
    fits = len(sides) == len(matrices) and shapes_agree(matrices[:-2], sides[:-2])
    if not fits or not sizes_agree(matrices[-1], sides[dimension]):
        raise VerifyException(
            f"matrices of shape {shape_text(matrices)} do not fit right-hand sides of shape "
            f"{shape_text(sides)}"
        )
    require_shape(operation, sides)


def verify_precision(operation: Operation) -> None:
    """Check that there are at most two precisions, all DEFAULT if there is an algorithm."""
    config, algorithm = attribute(operation, "precision_config"), attribute(operation, "algorithm")
    words: Sequence[Attribute] = ()
    if config is not None:
        if not isinstance(config, ArrayAttr):
            raise VerifyException(f"expected a list of precisions, got {config}")
        words = cast("ArrayAttr[Attribute]", config).data
    for word in words:
        if not isinstance(word, PrecisionAttr):
            raise VerifyException(f"expected #stablehlo<precision ...>, got {word}")
        if algorithm is not None and word.data != "DEFAULT":
            raise VerifyException(f"expected DEFAULT beside an algorithm, got {word.data}")
    if len(words) > 2:
        raise VerifyException(f"expected at most 2 precisions, got {len(words)}")
    if algorithm is not None:
        _verify_algorithm(algorithm)


def _verify_algorithm(algorithm: Attribute) -> None:
    if not isinstance(algorithm, DotAlgorithmAttr):
        raise VerifyException(f"expected #stablehlo.dot_algorithm<...>, got {algorithm}")
    for name in ("lhs_component_count", "rhs_component_count", "num_primitive_operations"):
        if algorithm.integer(name) < 1:
            raise VerifyException(
                f"expected {name} to be at least 1, got {algorithm.integer(name)}"
            )


def verify_dot(operation: Operation) -> None:
    """Check a product of vectors and matrices."""
    verify_precision(operation)
    left, right = operand_shape(operation, 0), operand_shape(operation, 1)
    if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and sizes_agree(left[-1], right[0])):
        raise VerifyException(
            f"expected vectors or matrices that can be multiplied, got {shape_text(left)} and "
            f"{shape_text(right)}"
        )
    require_shape(operation, (*left[:-1], *right[1:]))


def verify_rng(operation: Operation) -> None:
    """Check that the limits are numbers, and the shape operand has the result's rank."""
    for index in (0, 1):
        if operand_shape(operation, index):
            raise VerifyException(f"expected operand {index} to have rank 0")
    verify_sizes(operation, 2)
    element = element_type(operation.operand_types[0])
    is_normal = attribute(operation, "rng_distribution") == RngDistributionAttr("NORMAL")
    if is_normal and not isinstance(element, AnyFloat):
        raise VerifyException(f"expected a normal distribution of floats, got {element}")


def verify_random_bits(operation: Operation) -> None:
    """Check that the state keeps its shape."""
    require_shape(operation, operand_shape(operation, 0))
    if min(result_shape(operation, 1), default=0) < 0:
        raise VerifyException(f"expected bits of known sizes, got {operation.result_types[1]}")


def verify_batch_norm(operation: Operation) -> None:
    """Check that vectors have one number for each feature, and results the operands' shapes."""
    shape, feature = operand_shape(operation, 0), integer(operation, "feature_index")
    verify_distinct([feature], len(shape), "'feature_index'")
    vector = (shape[feature],)
    for index in range(1, len(operation.operands)):
        is_last = operation.name == "stablehlo.batch_norm_grad" and index == 4
        found, wanted = operand_shape(operation, index), shape if is_last else vector
        if not shapes_agree(found, wanted):
            raise VerifyException(
                f"expected operand {index} to have shape {shape_text(wanted)}, got "
                f"{shape_text(found)}"
            )
    for index in range(len(operation.results)):
        require_shape(operation, vector if index else shape, index)


def verify_map(operation: Operation) -> None:
    """Check that all dimensions are mapped and all operands have the shape of the result."""
    for index in range(len(operation.operands)):
        require_shape(operation, operand_shape(operation, index))
    rank = len(operand_shape(operation, 0)) if operation.operands else 0
    dimensions = list(number_list(attribute(operation, "dimensions")))
    if dimensions != list(range(rank)):
        raise VerifyException(f"expected all {rank} dimensions in order, got {dimensions}")
    verify_scalar_body(operation, operation.operand_types)
