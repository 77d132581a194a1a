"""The elements that each op of StableHLO and CHLO accepts and gives, as in its ODS definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    FloatTF32Type,
    IndexType,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type
from ..quant import quantization
from .types import BoundsAttr

_NAMES = {
    "p": "i1",
    "i": "integers",
    "s": "signed integers",
    "f": "floats",
    "c": "complex numbers",
    "q": "quantised numbers",
    "x": "index",
}

_ANY = "pifcq"


def _chlo(names: str) -> str:
    return " ".join(f"chlo.{name}" for name in names.split())


_ROWS = f"""
cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh : fcq -> =
ceil floor round_nearest_afz round_nearest_even reduce_precision : fq -> =
is_finite : fq -> p
uniform_quantize : fq -> q
uniform_dequantize : q -> f
popcnt count_leading_zeros : i -> =
not : pi -> =
abs : sfcq -> sfq
sign : sfcq -> =
negate : ifcq -> =
real imag : fc -> f
convert : pifc -> pifc
bitcast_convert : {_ANY} -> {_ANY}
add multiply maximum minimum : {_ANY} = -> =
subtract divide power remainder : ifcq = -> =
atan2 : fcq = -> =
and or xor : pi = -> =
shift_left shift_right_arithmetic shift_right_logical : i = -> =
complex : f = -> c
clamp concatenate : {_ANY} = -> =
pad : {_ANY} =.0 -> =
reverse transpose broadcast slice : {_ANY} -> =
reshape broadcast_in_dim : {_ANY} -> =.s
select : p {_ANY} 1 -> 1
compare : {_ANY} = -> p
torch_index_select : {_ANY} i -> =
gather dynamic_gather : {_ANY} i -> =
dynamic_slice set_dimension_size : {_ANY} i.0 -> =
dynamic_update_slice : {_ANY} = i.0 -> =
dynamic_reshape dynamic_broadcast_in_dim real_dynamic_slice : {_ANY} ix.1 -> =
dynamic_pad : {_ANY} =.0 ix.1 -> =
iota : -> ifcq
dynamic_iota : ix.1 -> ifcq
get_dimension_size : {_ANY} -> i
dot dot_general convolution : {_ANY} -> {_ANY}
dynamic_conv : {_ANY} {_ANY} i.2 -> {_ANY}
fft : fc -> fc
cholesky : fcq -> =
triangular_solve : fc = -> =
batch_norm_inference batch_norm_training batch_norm_grad : fq = -> =
rng : pif.0 =.0 ix.1 -> =
rng_bit_generator : if -> = if
map all_reduce reduce_scatter : {_ANY} -> {_ANY}
sort all_gather all_to_all collective_permute collective_broadcast : {_ANY} -> ~
chlo.top_k : pifq -> = i
chlo.ragged_dot : {_ANY} {_ANY} i -> {_ANY}
chlo.constant_like : {_ANY} -> {_ANY}
{_chlo("_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh sinh square tan")} : fc -> =
{_chlo("digamma erf erf_inv erfc lgamma")} : f -> =
{_chlo("is_inf is_neg_inf is_pos_inf")} : f -> p
{_chlo("next_after polygamma zeta")} : f = -> =
chlo.mulhi : i = -> =
"""  # noqa: E501
"""Names, then the elements of each operand, of which the last hold for the rest, and of results.

`=` is the element type of the first operand, `1` that of the next, `~` that of the operand at the
same position. After a dot follows the rank, of a known shape if it is not 0, or `s` for any known
shape. Operands that share a word with a rank have elements of one type.
A row is also that of `chlo.broadcast_...`.
"""

_SAME_AS = {"=": 0, "1": 1}
"""The operand that a word names."""


def _read(rows: str) -> dict[str, tuple[list[str], list[str]]]:
    table: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows.strip().splitlines():
        names, _, kinds = row.partition(":")
        operands, _, results = kinds.partition("->")
        for name in names.split():
            full_name = name if "." in name else f"stablehlo.{name}"
            table[full_name] = operands.split(), results.split()
    return table | {f"chlo.broadcast_{name.partition('.')[2]}": table[name] for name in table}


_KINDS = _read(_ROWS)

_MAX_WIDTH = 64
"""The largest width of integers. All smaller ones are computed with, as in `arith`."""


def _kind(element: Attribute) -> str:
    if quantization(element) is not None:
        return "q"
    if isinstance(element, ComplexType):
        part = cast("ComplexType[Any]", element).element_type
        return "c" if isinstance(part, Float32Type | Float64Type) else "?"
    if isinstance(element, IntegerType):
        width, signedness = _width(cast(Attribute, element))
        is_known = width <= _MAX_WIDTH and signedness != Signedness.SIGNED
        return "p" if element == i1 else "i" if is_known else "?"
    if isinstance(element, Float80Type | Float128Type | FloatTF32Type):
        return "?"
    kinds = ((AnyFloat, "f"), (IndexType, "x"))
    return next((letter for kind, letter in kinds if isinstance(element, kind)), "?")


def _is_accepted(element: Attribute, kinds: str) -> bool:
    kind = _kind(element)
    return kind in kinds or (
        "s" in kinds and kind == "i" and _width(element)[1] == Signedness.SIGNLESS
    )


def _width(integer: Attribute) -> tuple[int, Signedness]:
    found = cast("IntegerType[Any, Any]", integer)
    return cast(int, found.width.data), cast(Signedness, found.signedness.data)


def _verify_rank(tensor: TensorType[Any], rank: str, what: str) -> None:
    known = rank == "0" or tensor.has_static_shape() or tensor.encoding != NoneAttr()
    if not known or (rank != "s" and tensor.get_num_dims() != int(rank)):
        wanted = (
            "a known shape" if rank == "s" else f"rank {rank}{' and a known shape' * (rank != '0')}"
        )
        raise VerifyException(f"expected {what} to have {wanted}, got {tensor}")


def verify_bounds(tensor: TensorType[Any]) -> None:
    """Check that a type's bounds, if it has any, are those of its dynamic sizes."""
    bounds, sizes = tensor.encoding, tensor.get_shape()
    if not isinstance(bounds, BoundsAttr):
        return
    if len(bounds.data) != len(sizes) or any(
        bound is not None and size >= 0 for bound, size in zip(bounds.data, sizes, strict=True)
    ):
        raise VerifyException(
            f"expected a bound or '?' for each dynamic size, '?' for others, got {tensor}"
        )


def _verify_elements(
    operation: Operation, found: Sequence[Attribute], words: Sequence[str], what: str
) -> None:
    """Check the elements of operands or results, as the row of an op says."""
    kinds, _ = _KINDS[operation.name]
    for index, each in enumerate(found):
        if not isinstance(each, TensorType | UnrankedTensorType):
            raise VerifyException(f"expected {what} {index} to be a tensor, got {each}")
        if isinstance(each, TensorType):
            verify_bounds(cast("TensorType[Any]", each))
        word, _, rank = words[min(index, len(words) - 1)].partition(".")
        if rank and isinstance(each, TensorType):
            _verify_rank(cast("TensorType[Any]", each), rank, f"{what} {index}")
            if index >= len(words):
                _verify_same(found[len(words) - 1], element_type(cast(Attribute, each)))
        element = element_type(cast(Attribute, each))
        operand = index if word == "~" else _SAME_AS.get(word)
        accepted = word if operand is None else kinds[min(operand, len(kinds) - 1)]
        accepted = accepted.partition(".")[0]
        if not _is_accepted(element, accepted):
            listed = " or ".join(_NAMES[kind] for kind in accepted)
            raise VerifyException(
                f"expected {what} {index} to have elements that are {listed}, got {each}"
            )
        if operand is not None and index < len(operation.operands):
            _verify_same(operation.operand_types[operand], element)


def _verify_same(one: Attribute, element: Attribute) -> None:
    wanted = element_type(one)
    if element != wanted and not (quantization(element) or quantization(wanted)):
        raise VerifyException(f"requires the same element type, got {wanted} and {element}")


def verify_factors(operation: Operation) -> None:
    """Check that both factors have one element type, or are quantised. Raises VerifyException."""
    _verify_same(operation.operand_types[0], element_type(operation.operand_types[1]))


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
    """Return a verifier that also checks the elements, which raises VerifyException."""
    if name not in _KINDS:
        return verify
    operands, results = _KINDS[name]

    def verify_all(operation: Operation) -> None:
        if verify is not None:
            verify(operation)
        _verify_elements(operation, operation.operand_types, operands, "operand")
        _verify_elements(operation, operation.result_types, results, "result")

    return verify_all
