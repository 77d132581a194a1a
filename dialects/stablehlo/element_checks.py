"""The kinds of elements that each op of StableHLO accepts and gives, as in its ODS definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type
from ..quant import quantization

_NAMES = {
    "p": "i1",
    "i": "integers",
    "f": "floats",
    "c": "complex numbers",
    "q": "quantised numbers",
    "x": "index",
}

_ANY = "pifcq"
_ROWS = f"""
cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh : fcq -> fcq
ceil floor round_nearest_afz round_nearest_even reduce_precision : fq -> fq
is_finite : fq -> p
popcnt count_leading_zeros : i -> i
not : pi -> pi
abs : ifcq -> ifq
sign negate : ifcq -> ifcq
real imag : fc -> f
convert : pifc -> pifc
add multiply maximum minimum : {_ANY} -> {_ANY}
subtract divide power remainder : ifcq -> ifcq
atan2 : fcq -> fcq
and or xor : pi -> pi
shift_left shift_right_arithmetic shift_right_logical : i -> i
complex : f -> c
clamp reverse transpose reshape broadcast broadcast_in_dim concatenate slice : {_ANY} -> {_ANY}
select : p {_ANY} -> {_ANY}
compare : {_ANY} -> p
pad torch_index_select : {_ANY} -> {_ANY}
dynamic_slice : {_ANY} i -> {_ANY}
dynamic_update_slice : {_ANY} {_ANY} i -> {_ANY}
gather dynamic_gather : {_ANY} i -> {_ANY}
dynamic_reshape dynamic_broadcast_in_dim : {_ANY} ix -> {_ANY}
dynamic_pad : {_ANY} {_ANY} ix -> {_ANY}
real_dynamic_slice : {_ANY} ix -> {_ANY}
iota : -> ifcq
set_dimension_size : {_ANY} i -> {_ANY}
dynamic_iota : ix -> ifcq
get_dimension_size : {_ANY} -> i
dot dot_general convolution : {_ANY} -> {_ANY}
dynamic_conv : {_ANY} {_ANY} i -> {_ANY}
fft : fc -> fc
cholesky : fcq -> fcq
triangular_solve : fc -> fc
batch_norm_inference batch_norm_training batch_norm_grad : fq -> fq
rng : pif pif ix -> pif
rng_bit_generator : if -> if
map sort all_gather all_reduce all_to_all : {_ANY} -> {_ANY}
reduce_scatter collective_permute collective_broadcast : {_ANY} -> {_ANY}
"""  # noqa: E501
"""Names, then the kinds of each operand, of which the last holds for the rest, and of results."""


def _read(rows: str) -> dict[str, tuple[list[str], list[str]]]:
    table: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows.strip().splitlines():
        names, _, kinds = row.partition(":")
        operands, _, results = kinds.partition("->")
        table.update(
            {f"stablehlo.{each}": (operands.split(), results.split()) for each in names.split()}
        )
    return table


_KINDS = _read(_ROWS)


def _kind(element: Attribute) -> str:
    if quantization(element) is not None:
        return "q"
    if isinstance(element, ComplexType):
        part = cast("ComplexType[Any]", element).element_type
        return "c" if isinstance(part, Float32Type | Float64Type) else "?"
    if isinstance(element, IntegerType):
        return "p" if element == i1 else "i"
    kinds = ((AnyFloat, "f"), (IndexType, "x"))
    return next((letter for kind, letter in kinds if isinstance(element, kind)), "?")


def _verify_kinds(found: Sequence[Attribute], kinds: Sequence[str], what: str) -> None:
    for index, each in enumerate(found):
        accepted = kinds[min(index, len(kinds) - 1)]
        is_tensor = isinstance(each, TensorType)
        if is_tensor and _kind(element_type(cast(Attribute, each))) not in accepted:
            listed = " or ".join(_NAMES[kind] for kind in accepted)
            raise VerifyException(
                f"expected {what} {index} to have elements that are {listed}, got {each}"
            )


_SAME = frozenset(
    f"stablehlo.{name}"
    for name in "sort all_gather all_to_all reduce_scatter collective_permute collective_broadcast "
    "set_dimension_size".split()
)
"""Ops whose results have the element types of the operands at the same position."""

_OF_ONE_TYPE = {
    f"stablehlo.{name}": count
    for count, names in (
        (2, "pad dynamic_pad dynamic_update_slice"),
        (5, "clamp concatenate batch_norm_inference batch_norm_training batch_norm_grad"),
    )
    for name in names.split()
}
"""Ops with one element type of this many operands at most, and of the results."""


def _verify_same(operation: Operation) -> None:
    types = operation.operand_types
    if operation.name in _SAME:
        pairs = list(zip(types, operation.result_types, strict=False))
    else:
        alike = (*types[: _OF_ONE_TYPE.get(operation.name, 0)], *operation.result_types)
        pairs = [(alike[0], each) for each in alike] if types else []
    for one, other in pairs:
        wanted, found = element_type(one), element_type(other)
        if found != wanted and not (quantization(found) or quantization(wanted)):
            raise VerifyException(f"requires one element type, got {wanted} and {found}")


def _widths(element: Attribute) -> tuple[str, int]:
    """Return the kind of an element, without the difference between i1 and others, and its bits."""
    if isinstance(element, ComplexType):
        return "c", _widths(cast("ComplexType[Any]", element).element_type)[1]
    bits = getattr(element, "bitwidth", 0)
    return _kind(element).replace("p", "i"), bits


def _is_promotable(given: Attribute, wanted: Attribute) -> bool:
    """Return whether a body may take elements of a type as those of another one."""
    if given == wanted or quantization(given) or quantization(wanted):
        return True
    (kind, bits), (wanted_kind, most) = _widths(given), _widths(wanted)
    return kind == wanted_kind and bits <= most


def verify_promotion(operation: Operation, given: Sequence[Attribute], body: int = 0) -> None:
    """Check that an op's body may take elements of these tensors, one for each argument.

    Raises VerifyException.
    """
    for index, argument in enumerate(operation.regions[body].block.args):
        found, wanted = element_type(given[index]), element_type(argument.type)
        if not _is_promotable(found, wanted):
            raise VerifyException(
                f"expected argument {index} of the body to have elements that {found} can be"
                f" promoted to, got {wanted}"
            )


def with_element_kinds(
    name: str, verify: Callable[[Operation], None] | None
) -> Callable[[Operation], None] | None:
    """Return a verifier that also checks the kinds of elements, which raises VerifyException."""
    if name not in _KINDS:
        return verify
    operands, results = _KINDS[name]

    def verify_all(operation: Operation) -> None:
        if verify is not None:
            verify(operation)
        _verify_kinds(operation.operand_types, operands, "operand")
        _verify_kinds(operation.result_types, results, "result")
        if name in _SAME or name in _OF_ONE_TYPE:
            _verify_same(operation)

    return verify_all
