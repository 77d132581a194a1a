"""Verifiers of collectives, of transfers to other devices and the host, and of composites.

They raise VerifyException.
"""

from __future__ import annotations

import re
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    Signedness,
    SymbolRefAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, flag, integer, number_list
from ...ir.symbols import find_visible_symbol
from ...ir.tensor_types import sizes_agree
from .attributes import ChannelHandleAttr, ReplicaGroupMeshAxesAttr
from .checks import (
    Shape,
    operand_shape,
    require_shape,
    result_shape,
    verify_distinct,
    verify_reducer,
)
from .types import TokenType


def verify_id(operation: Operation) -> None:
    """Check that the number of a device is a `tensor<ui32>`."""
    wanted = TensorType(IntegerType(32, Signedness.UNSIGNED), [])
    if operation.result_types[0] != wanted:
        raise VerifyException(f"expected a result of {wanted}, got {operation.result_types[0]}")


def _rows(operation: Operation, name: str) -> list[list[int]]:
    """Return the rows of a two-dimensional attribute."""
    found: Any = attribute(operation, name)
    count, length = found.get_shape()
    numbers = list(number_list(cast(Attribute, found)))
    return [numbers[row * length : (row + 1) * length] for row in range(count)]


_OF_ONE_SIZE = frozenset(
    f"stablehlo.{name}" for name in ("all_gather", "all_to_all", "reduce_scatter")
)


def _verify_groups(operation: Operation) -> int:
    """Check that the groups have different devices; return the size of a group, 0 if unknown.

    Smaller groups are filled with -1. Groups that are axes of a mesh are not checked.
    """
    if isinstance(attribute(operation, "replica_groups"), ReplicaGroupMeshAxesAttr):
        return 0
    groups = _rows(operation, "replica_groups")
    devices = [device for group in groups for device in group if device != -1]
    if attribute(operation, "use_global_device_ids") is not None and not devices:
        raise VerifyException("expected 'replica_groups' beside 'use_global_device_ids'")
    if operation.name in _OF_ONE_SIZE and any(-1 in group for group in groups):
        raise VerifyException(f"expected 'replica_groups' of one size, got {groups}")
    if sorted(devices) != list(range(len(devices))):
        raise VerifyException(
            f"expected 'replica_groups' to have each number below {len(devices)} once, got {groups}"
        )
    return len(groups[0]) if groups else 0


def verify_collective_broadcast(operation: Operation) -> None:
    """Check that no device is in two groups; devices in no group receive zeros."""
    if not isinstance(attribute(operation, "replica_groups"), ReplicaGroupMeshAxesAttr):
        groups = _rows(operation, "replica_groups")
        devices = [device for group in groups for device in group]
        if min(devices, default=0) < 0 or len(set(devices)) != len(devices):
            raise VerifyException(
                f"expected 'replica_groups' to have different numbers of at least 0, got {groups}"
            )
    require_shape(operation, operand_shape(operation, 0))


def _verify_result_count(operation: Operation) -> None:
    if len(operation.results) != len(operation.operands):
        raise VerifyException(
            f"expected a result for each of {len(operation.operands)} operands, got "
            f"{len(operation.results)}"
        )


def verify_all_reduce(operation: Operation) -> None:
    """Check `replica_groups`, the body, and that results have the shapes of the operands."""
    if operation.name == "stablehlo.all_reduce":
        _verify_groups(operation)
    _verify_result_count(operation)
    for index, each in enumerate(operation.operand_types):
        require_shape(operation, operand_shape(operation, index), index)
        verify_reducer(operation, [each, each])


def _verify_scaled(operation: Operation, large: Shape, small: Shape, dimension: int) -> None:
    """Check `replica_groups`, and that one shape is the other, repeated along one dimension."""
    _verify_groups(operation)
    verify_distinct([dimension], len(large), "the dimension")
    if len(small) != len(large):
        raise VerifyException(f"expected the rank {len(large)} of operand and result")
    for index, (more, less) in enumerate(zip(large, small, strict=True)):
        if index != dimension:
            fits = sizes_agree(more, less)
        else:
            fits = min(more, less) < 0 or (0 not in (more, less) and more % less == 0)
        if not fits:
            raise VerifyException(f"sizes {more} and {less} of dimension {index} do not fit")


def verify_all_gather(operation: Operation) -> None:
    """Check that each result is its operand, repeated along one dimension."""
    dimension = integer(operation, "all_gather_dim")
    _verify_result_count(operation)
    for index in range(len(operation.operands)):
        large, small = result_shape(operation, index), operand_shape(operation, index)
        _verify_scaled(operation, large, small, dimension)


def verify_reduce_scatter(operation: Operation) -> None:
    """Check the body, and that the result is a part of the operand along one dimension."""
    dimension = integer(operation, "scatter_dimension")
    _verify_scaled(operation, operand_shape(operation, 0), result_shape(operation), dimension)
    verify_reducer(operation, [*operation.operand_types, *operation.operand_types])


def verify_all_to_all(operation: Operation) -> None:
    """Check the dimensions that are split and concatenated, and the shapes of the results."""
    size = _verify_groups(operation)
    _verify_result_count(operation)
    split, joined, count = (
        integer(operation, name) for name in ("split_dimension", "concat_dimension", "split_count")
    )
    if size not in (0, count):
        raise VerifyException(f"expected groups of split_count {count} devices, got {size}")
    for index in range(len(operation.operands)):
        shape = list(operand_shape(operation, index))
        verify_distinct([split], len(shape), "the split dimension")
        verify_distinct([joined], len(shape), "the concatenated dimension")
        if count < 1 or (shape[split] >= 0 and shape[split] % count):
            raise VerifyException(f"size {shape[split]} cannot be split into {count} parts")
        shape[split] = shape[split] // count if shape[split] >= 0 else -1
        shape[joined] = shape[joined] * count if shape[joined] >= 0 else -1
        require_shape(operation, shape, index)


def verify_collective_permute(operation: Operation) -> None:
    """Check that each device sends at most once and receives at most once."""
    pairs = _rows(operation, "source_target_pairs")
    if any(len(pair) != 2 for pair in pairs):
        raise VerifyException(f"expected 'source_target_pairs' to be pairs, got {pairs}")
    for ends in zip(*pairs, strict=True):
        if min(ends) < 0 or len(set(ends)) != len(ends):
            raise VerifyException(
                f"expected different sources and targets of at least 0, got {pairs}"
            )
    require_shape(operation, operand_shape(operation, 0))


_CHANNEL_TYPES = {1: "DEVICE_TO_DEVICE", 2: "DEVICE_TO_HOST", 3: "HOST_TO_DEVICE"}
_NAME = re.compile(r"[a-zA-Z]\w*(\.[\w$]+)+", re.ASCII)


def _verify_token(found: Attribute, what: str) -> None:
    if not isinstance(found, TokenType):
        raise VerifyException(f"expected {what} to be a token, got {found}")


def _verify_tensors(found: tuple[Attribute, ...], what: str) -> None:
    for index, each in enumerate(found):
        if not isinstance(each, TensorType):
            raise VerifyException(f"expected {what} {index} to be a tensor, got {each}")


def verify_outfeed(operation: Operation) -> None:
    """Check that an `outfeed` takes tensors and a token, and returns a token."""
    *tensors, token = operation.operand_types
    _verify_tensors(tuple(tensors), "operand")
    _verify_token(token, "the last operand")
    _verify_token(operation.result_types[0], "the result")


def _verify_results(operation: Operation) -> None:
    _verify_token(operation.operand_types[0], "the operand")
    if not operation.results:
        raise VerifyException("expected a token as the last result, got no results")
    *tensors, token = operation.result_types
    _verify_tensors(tuple(tensors), "result")
    _verify_token(token, "the last result")


def _verify_channel(operation: Operation, host_channel: int) -> None:
    """Check that the channel is one to or from the host if the transfer is one."""
    channel = attribute(operation, "channel_handle")
    if not isinstance(channel, ChannelHandleAttr):
        raise VerifyException(f"expected #stablehlo.channel_handle<...>, got {channel}")
    expected = host_channel if flag(operation, "is_host_transfer") else 1
    if channel.integer("type") != expected:
        raise VerifyException(
            f"expected a channel of type {expected} ({_CHANNEL_TYPES[expected]}), got "
            f"{channel.integer('type')}"
        )


def verify_send(operation: Operation) -> None:
    """Check the types and the channel of a `send`."""
    verify_outfeed(operation)
    _verify_channel(operation, 2)


def verify_recv(operation: Operation) -> None:
    """Check the types and the channel of a `recv`."""
    _verify_results(operation)
    _verify_known_sizes(operation)
    _verify_channel(operation, 3)


def _verify_known_sizes(operation: Operation) -> None:
    for each in operation.result_types[:-1]:
        if isinstance(each, TensorType) and not each.has_static_shape():
            raise VerifyException(f"expected results of known sizes, got {each}")


def verify_infeed(operation: Operation) -> None:
    """Check the results of an `infeed`: tensors of known sizes, each with a layout, and a token."""
    _verify_results(operation)
    _verify_known_sizes(operation)
    layouts = attribute(operation, "layout")
    if layouts is None:
        return
    count = len(operation.results) - 1
    if not isinstance(layouts, ArrayAttr):
        raise VerifyException(f"expected a list of layouts, got {layouts}")
    listed = cast("ArrayAttr[Attribute]", layouts).data
    if len(listed) != count:
        raise VerifyException(f"expected {count} layouts, one for each tensor, got {len(listed)}")
    for each in listed:
        numbers = cast("ArrayAttr[Attribute]", each).data if isinstance(each, ArrayAttr) else None
        if numbers is None or not all(isinstance(number, IntegerAttr) for number in numbers):
            raise VerifyException(f"expected a layout to be a list of numbers, got {each}")


def verify_composite(operation: Operation) -> None:
    """Check the name of a composite, and that its decomposition is a function of its types."""
    name = getattr(attribute(operation, "name"), "data", "")
    if _NAME.fullmatch(name) is None:
        raise VerifyException(f"expected a name such as 'dialect.operation', got '{name}'")
    version = attribute(operation, "version")
    if isinstance(version, IntegerAttr):
        kind = cast("IntegerAttr[IntegerType]", version).type
        if kind != i32:
            raise VerifyException(f"expected a version of type i32, got {kind}")
    symbol = attribute(operation, "decomposition")
    if not isinstance(symbol, SymbolRefAttr):
        raise VerifyException(f"expected the name of a function, got {symbol}")
    function = find_visible_symbol(operation, symbol)
    if function is None or function.name != "func.func":
        raise VerifyException(f"@{symbol.string_value()} is no function")
    types = attribute(function, "function_type")
    own = FunctionType.from_lists(operation.operand_types, operation.result_types)
    if types != own:
        raise VerifyException(f"has the type {own}, but its decomposition has {types}")
