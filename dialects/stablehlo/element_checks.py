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
    IntAttr,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    TupleType,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type
from ...ir.tensor_types import BoundedSize
from ..quant import quantization
from .quantization_checks import verify_quantized_types
from .types import TokenType, tensor_sizes

_NAMES = {
    "p": "i1",
    "i": "integers",
    "s": "signed integers",
    "f": "floats",
    "c": "complex numbers",
    "q": "quantised numbers",
    "a": "numbers quantised along an axis",
    "x": "index",
    "t": "tokens",
    "u": "tuples",
    "m": "memrefs",
}

_ANY = "pifcq"
_ALL = "pifcqa"


def _chlo(names: str) -> str:
    return " ".join(f"chlo.{name}" for name in names.split())


_ROWS = f"""
cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh : fcq -> =
ceil floor round_nearest_afz round_nearest_even reduce_precision : fq -> =
is_finite : fq -> p
uniform_quantize : fqa -> qa
uniform_dequantize : qa -> f
popcnt count_leading_zeros : i -> =
not : pi -> =
abs : sfcq -> sfq
sign : sfcq -> =
negate : ifcq -> =
real imag : fc -> f
convert : pifc -> pifc
bitcast_convert : {_ALL} -> {_ALL}
add : {_ALL} = -> =
multiply maximum minimum : {_ANY} = -> =
subtract divide power remainder : ifcq = -> =
atan2 : fcq = -> =
and or xor : pi = -> =
shift_left shift_right_arithmetic shift_right_logical : i = -> =
complex : f = -> c
clamp concatenate : {_ANY} = -> =
pad : {_ANY} =.0 -> =
reverse broadcast slice : {_ANY} -> =
transpose : {_ALL} -> =
reshape broadcast_in_dim : {_ALL} -> =.s
select : p {_ANY} 1 -> 1
compare : {_ANY} = -> p
torch_index_select : {_ANY} i -> =
gather dynamic_gather : {_ANY} i -> =
dynamic_slice set_dimension_size : {_ANY} i.0 -> =
dynamic_update_slice : {_ANY} = i.0 -> =
dynamic_reshape dynamic_broadcast_in_dim : {_ALL} ix.1 -> =
real_dynamic_slice : {_ANY} ix.1? -> =
dynamic_pad : {_ANY} =.0 ix.1 -> =
iota : -> ifcq
dynamic_iota : ix.1 -> ifcq
get_dimension_size : {_ALL} -> i
dot dot_general convolution : {_ANY} {_ALL} -> {_ALL}
dynamic_conv : {_ANY} {_ANY} i.2 -> {_ANY}
fft : fc -> fc
cholesky : fcq -> =
triangular_solve : fc = -> =
batch_norm_inference batch_norm_training batch_norm_grad : fq = -> =
rng : pif.0 =.0 ix.1 -> =
rng_bit_generator : if -> = if
einsum unary_einsum : {_ANY} -> {_ANY}
cross-replica-sum : {_ANY} -> =
map reduce reduce_window select_and_scatter all_reduce reduce_scatter : {_ANY} -> {_ANY}
scatter : {_ANY}x -> {_ANY}
sort all_gather all_to_all collective_permute collective_broadcast : {_ANY} -> ~
optimization_barrier : {_ANY}tu -> {_ANY}tu
while : {_ALL}tum -> {_ALL}tum
if : p -> {_ALL}tu
case : i -> {_ALL}tu
custom_call : {_ALL}tum -> {_ALL}tum
outfeed send : {_ALL}t -> t
infeed recv : t -> {_ALL}t
chlo.scan : {_ALL} -> {_ALL}
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
same position. After a dot follows the rank, of a known shape if it is not 0 and has no `?`, or `s`
for a known shape, of which one size may be dynamic with a bound. Operands that share a word with a
rank have elements of one type. Tokens, tuples and memrefs are values without elements.
A row is also that of `chlo.broadcast_...`.
"""

_OTHERS: dict[type[Attribute], str] = {TokenType: "t", TupleType: "u", MemRefType: "m"}
"""The letters of types without elements that a table of elements could name."""

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
    if (stored := quantization(element)) is not None:
        return "q" if stored.axis is None else "a"
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
    dynamic = [size for size in tensor_sizes(tensor) if size < 0]
    one_bound = rank == "s" and len(dynamic) == 1 and isinstance(dynamic[0], BoundedSize)
    known = not dynamic or one_bound or rank.endswith("?")
    if not known or (rank != "s" and tensor.get_num_dims() != int(rank.rstrip("?"))):
        wanted = (
            "a known shape" if rank == "s" else f"rank {rank}{' and a known shape' * (rank != '0')}"
        )
        raise VerifyException(f"expected {what} to have {wanted}, got {tensor}")


def _verify_elements(
    operation: Operation, found: Sequence[Attribute], words: Sequence[str], what: str
) -> None:
    """Check the elements of operands or results, as the row of an op says."""
    kinds, _ = _KINDS[operation.name]
    for index, each in enumerate(found):
        word, _, rank = words[min(index, len(words) - 1)].partition(".")
        if (letter := _OTHERS.get(type(each))) is not None and letter in word:
            continue
        if not isinstance(each, TensorType | UnrankedTensorType):
            raise VerifyException(f"expected {what} {index} to be a tensor, got {each}")
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
    if not elements_agree(element, wanted):
        raise VerifyException(f"requires the same element type, got {wanted} and {element}")


def elements_agree(one: Attribute, other: Attribute) -> bool:
    """Return whether elements have one type, or are quantised and stored alike."""
    return one == other or _stored(one) == _stored(other)


def _stored(element: Attribute) -> Attribute | tuple[Attribute, ...]:
    """Return what quantised elements that an op takes together have in common."""
    found = quantization(element)
    if found is None:
        return element
    return (found.storage, found.expressed, IntAttr(found.minimum), IntAttr(found.maximum))


def verify_factors(operation: Operation) -> None:
    """Check that both factors have one element type, or are quantised. Raises VerifyException."""
    left, right = (element_type(each) for each in operation.operand_types[:2])
    if left != right and not (quantization(left) or quantization(right)):
        raise VerifyException(f"requires the same element type, got {left} and {right}")


def _widths(element: Attribute) -> tuple[str, int]:
    """Return the kind of an element, without the difference between i1 and others, and its bits."""
    if isinstance(element, ComplexType):
        return "c", _widths(cast("ComplexType[Any]", element).element_type)[1]
    bits = getattr(element, "bitwidth", 0)
    return _kind(element).replace("p", "i"), bits


def _is_promotable(given: Attribute, wanted: Attribute) -> bool:
    """Return whether a body may take elements of a type as those of another one."""
    if given == wanted:
        return True
    stored, taken = quantization(given), quantization(wanted)
    if stored is not None and taken is not None:
        same = stored.expressed == taken.expressed
        return same and _is_promotable(stored.storage, taken.storage)
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
        verify_quantized_types(operation)

    return verify_all
