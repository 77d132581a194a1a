"""Verifiers of transfers to and from other devices and the host, and of composite operations.

They raise VerifyException.
"""

from __future__ import annotations

import re
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, flag
from ...ir.symbols import find_visible_symbol
from .attributes import ChannelHandleAttr
from .types import TokenType

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
    _verify_channel(operation, 3)


def verify_infeed(operation: Operation) -> None:
    """Check the results of an `infeed`: tensors of known sizes, each with a layout, and a token."""
    _verify_results(operation)
    for each in operation.result_types[:-1]:
        if isinstance(each, TensorType) and not each.has_static_shape():
            raise VerifyException(f"expected results of known sizes, got {each}")
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
        if not isinstance(each, ArrayAttr):
            raise VerifyException(f"expected a layout to be a list, got {each}")


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
