"""Choose the side of a transfer on which a tensor is relaid out, to move few bytes and encode once.

    %1 = stream.async.transfer %0 from(A) -> to(B)
    %2 = stream.tensor.encode on(B) %1 : S -> R

stays as it is if `R` is larger than `S`, since partially filled tiles would be moved, too. If `R`
is smaller, A encodes, and `R` is moved. If both have the same size, A encodes if that saves a
relayout: if A needs `R` itself, or several devices would encode the tensor. Conversely, an encode
in front of a transfer moves behind it if it makes the tensor larger. An encode that undoes another
is removed.

The pass runs between specialize-encodings, which resolves the layouts, and materialize-encodings.
Encodes with open layouts stay where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import (
    Tensor,
    is_row_major,
    storage_formulas,
    storage_key,
    tensor_encoding,
)
from ...dialects.stream.async_ops import AsyncTransferOp
from ...dialects.stream.tensor_ops import TensorEncodeOp
from ...ir.host_programs import host_operations_of
from ...ir.locations import builder_before, erase_if_unused, made_by
from ..manager.module_pass import module_pass

ENCODE, TRANSFER = "stream.tensor.encode", "stream.async.transfer"


@module_pass("place-relayouts")
def place_relayouts(module: ModuleOp) -> None:
    """Move encodes to the side of a transfer where fewer bytes move, or fewer encodes run."""
    for relayouts in _equal_relayouts(module).values():
        _encode_on_sender(relayouts)
    for transfer in host_operations_of(module, AsyncTransferOp):
        _encode_on_receiver(transfer)
    for encode in host_operations_of(module, TensorEncodeOp):
        _cancel(encode)


@dataclass(frozen=True, slots=True)
class Relayout:
    """An encode, and the transfer of its source to the encoding device, if there is one."""

    encode: TensorEncodeOp
    transfer: AsyncTransferOp | None


Key = tuple[Hashable, ...]
"""The source, its device, the block of the encode, both layouts, and the dynamic sizes."""


def _equal_relayouts(module: ModuleOp) -> dict[Key, list[Relayout]]:
    """Return encodes grouped by source, device and layout, in program order."""
    relayouts: dict[Key, list[Relayout]] = defaultdict(list)
    for encode in host_operations_of(module, TensorEncodeOp):
        affinity, block = encode.affinity, encode.parent
        if affinity is None or block is None or _growth(encode) is None:
            continue
        value: SSAValue = encode.source
        transfer = made_by(value, TRANSFER)
        if isinstance(transfer, AsyncTransferOp) and _arrives(transfer, encode):
            value, affinity = transfer.source, cast(Attribute, transfer.source_affinity)
        else:
            transfer = None
        types = (encode.source_encoding, encode.result_encoding)
        stored = [storage_key(cast(Tensor, type_)) for type_ in types]
        key = value, affinity, block, *stored, tuple(encode.source_encoding_dims)
        relayouts[key].append(Relayout(encode, transfer))
    return relayouts


def _arrives(transfer: AsyncTransferOp, encode: TensorEncodeOp) -> bool:
    """Return whether a transfer brings a tensor to the device that encodes it, in one block."""
    return (
        transfer.source_affinity is not None
        and transfer.target_affinity == encode.affinity
        and transfer.parent is encode.parent
        and transfer.result.type == encode.result.type
    )


def _encode_on_sender(relayouts: Sequence[Relayout]) -> None:
    """Encode in front of transfers if that moves fewer bytes, or as many with fewer encodes.

    A transfer with other readers has to move the unencoded tensor in any case, so it is left alone.
    """
    encodes = {relayout.encode for relayout in relayouts}
    relayouts = [
        relayout
        for relayout in relayouts
        if relayout.transfer is None
        or all(use.operation in encodes for use in relayout.transfer.result.uses)
    ]
    transfers = [relayout.transfer for relayout in relayouts if relayout.transfer is not None]
    if not transfers:
        return
    first = relayouts[0].encode
    growth = _growth(first)
    affinities = {relayout.encode.affinity for relayout in relayouts}
    if growth is None or growth > 0 or (growth == 0 and len(affinities) == 1):
        return
    sent = _encode(first, transfers[0].source, transfers[0].source_affinity, first)
    received: dict[Attribute | None, SSAValue] = {}
    for relayout in relayouts:
        encode, transfer, result = relayout.encode, relayout.transfer, sent.result
        if transfer is not None:
            affinity = encode.affinity
            if affinity not in received:
                received[affinity] = _send(sent.result, sent.result_size, transfer, encode)
            result = received[affinity]
        Rewriter.replace_op(encode, [], [result])
    erase_if_unused(*dict.fromkeys(transfers))


def _encode_on_receiver(transfer: AsyncTransferOp) -> None:
    """Transfer a tensor before it is encoded if it is smaller then."""
    encode = made_by(transfer.source, ENCODE)
    if not isinstance(encode, TensorEncodeOp) or transfer.target_affinity is None:
        return
    growth = _growth(encode)
    if growth is None or growth <= 0 or transfer.source_affinity != encode.affinity:
        return
    if transfer.result.type != encode.result.type:
        return
    moved = _send(encode.source, encode.source_size, transfer, transfer)
    received = _encode(encode, moved, transfer.target_affinity, transfer)
    Rewriter.replace_op(transfer, [], [received.result])
    erase_if_unused(encode)


def _cancel(decode: TensorEncodeOp) -> None:
    """Remove the decode of an encoded row-major tensor: the result is the original tensor."""
    encode = made_by(decode.source, ENCODE)
    if not isinstance(encode, TensorEncodeOp) or encode.source.type != decode.result.type:
        return
    original = encode.source_encoding, *encode.source_encoding_dims
    decoded = decode.result_encoding, *decode.result_encoding_dims
    if tensor_encoding(encode.source_encoding) is not None or original != decoded:
        return
    Rewriter.replace_op(decode, [], [encode.source])
    erase_if_unused(encode)


def _encode(
    like: TensorEncodeOp, source: SSAValue, affinity: Attribute | None, before: Operation
) -> TensorEncodeOp:
    """Emit a copy of an encode for another source and device."""
    encode = like.clone({like.source: source})
    if affinity is not None:
        encode.properties["affinity"] = affinity
    encode.location = like.location
    return builder_before(before).insert(encode)


def _send(source: SSAValue, size: SSAValue, like: AsyncTransferOp, before: Operation) -> SSAValue:
    """Emit a transfer of `size` bytes to the target of another transfer."""
    transfer = AsyncTransferOp.create(
        operands=[source, size, size],
        result_types=[like.result.type],
        properties=like.properties,
    )
    transfer.location = like.location
    return builder_before(before).insert(transfer).result


def _growth(encode: TensorEncodeOp) -> int | None:
    """Return how many bytes an encode adds; `None` if it is not a relayout or not resolved."""
    tensors = cast(Tensor, encode.source_encoding), cast(Tensor, encode.result_encoding)
    encodings = [tensor_encoding(tensor) for tensor in tensors]
    if not all(encoding is None or encoding.is_resolved for encoding in encodings):
        return None
    try:
        if all(map(is_row_major, tensors)):
            return None
        before, after = (_comparable_bytes(tensor) for tensor in tensors)
    except ValueError:
        return None
    return after - before


def _comparable_bytes(tensor: Tensor) -> int:
    """Return the size in bytes of a tensor, with every dynamic dimension taken to be 1.

    So a tile of several elements along such a dimension counts as padding, and without such a tile
    the comparison of two sizes holds for any value of the dimension.
    """
    formulas = storage_formulas(tensor)
    return max(
        formula.evaluate([1] * sum(extent.size is None for extent in formula.extents))
        for formula in formulas
    )
