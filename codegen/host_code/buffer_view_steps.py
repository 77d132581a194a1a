"""Lower the ABI of a program: buffer views, and their import and export as resources."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from ...interpreter.buffer_views import BufferView, check_imported, element_code
from ...interpreter.run import run_operation
from ...interpreter.storage import ranked
from ...ir.attribute_access import integer, required
from ...ir.index_lists import mixed_list
from ...runtime.abi.values import static_shape
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.pool import INPUTS, RESULTS
from ...runtime.host.program import RegisterValues
from .bound_tensors import bind_tensor, in_place, read_tensor, write_tensor
from .function_lowering import FunctionLowering, lowers
from .size_rules import same_sizes
from .stream_steps import allocate, check_owner, count, replaced_unless, resource_of
from .values import HostResource, HostView, NotLowered


def _view(lowering: FunctionLowering, op: Operation) -> HostView:
    found = lowering.value(op.operands[0])
    if isinstance(found, HostView):
        return found
    raise NotLowered(op, "takes a value that is not a buffer view")


@lowers("hal.buffer_view.dim")
def _dimension(lowering: FunctionLowering, op: Operation) -> None:
    index = integer(op, "index")
    shape = _view(lowering, op).tensor.shape
    if index >= len(shape):
        raise NotLowered(op, f"queries dimension {index} of a buffer view of rank {len(shape)}")
    lowering.bind(op.results[0], shape[index])


@lowers("hal.buffer_view.assert")
def _assert(lowering: FunctionLowering, op: Operation) -> None:
    view = _view(lowering, op)
    element, encoding, *sizes = [lowering.number(each) for each in op.operands[1:]]
    shape = view.tensor.shape

    def check(numbers: RegisterValues) -> None:
        rank = len(shape)
        array = np.broadcast_to(np.empty((), view.tensor.dtype), tuple(numbers[:rank]))
        expected, others = numbers[rank:-2], numbers[-2:]
        words = [np.int64(number) for number in (*others, *expected)]
        run_operation(op, [BufferView(array, view.element), *words], lowering.program.frame)

    is_view = element == element_code(view.element) and len(sizes) == len(shape)
    rules = same_sizes(len(shape)) if is_view else None
    lowering.check(op, [*shape, *sizes, element, encoding], check, rules)


@lowers("stream.tensor.import")
def _import(lowering: FunctionLowering, op: Operation) -> None:
    tensor = ranked(op, required(op, "result_encoding"))
    given = _view(lowering, op).tensor
    dims = [lowering.number(each) for each in op.operands[1:-1]]
    size, owner = lowering.number(op.operands[-1]), lowering.program.device(op)
    shape = mixed_list(static_shape(tensor) or (), dims)

    def check(numbers: RegisterValues) -> None:
        rank = len(given.shape)
        check_imported(op, tuple(numbers[:rank]), tuple(numbers[rank:]))

    rules = same_sizes(len(shape)) if len(shape) == len(given.shape) else None
    lowering.check(op, [*given.shape, *shape], check, rules)
    contents = HostResource(given.address, given.block, size, owner)
    bound = bind_tensor(op, contents, tensor, shape)
    there = given.bytes(lowering.builder)
    is_larger = isinstance(size, int) and isinstance(there, int) and size > there
    if in_place(op, bound) is not None and not is_larger:
        lowering.acquire(op.operands[0])
        count(lowering, owner, INPUTS, there)
        if size != there:
            contents = _grown(lowering, contents, there)
        write_tensor(lowering, op, bind_tensor(op, contents, tensor, shape), given)
        lowering.bind(op.results[0], contents)
        return
    contents = allocate(lowering, size, owner)
    write_tensor(lowering, op, bind_tensor(op, contents, tensor, shape), given)
    lowering.bind(op.results[0], contents)


def _grown(lowering: FunctionLowering, contents: HostResource, there: IndexOrInt) -> HostResource:
    """Return the bytes of a resource, copied to a larger block if there are too few."""
    builder = lowering.builder

    def copy() -> HostResource:
        copied = builder.compute("allocate", builder.hold(contents.size))
        builder.emit("copy", copied, contents.address, builder.hold(there))
        return HostResource(copied, copied, contents.size, contents.owner)

    is_enough = builder.hold(builder.compare("sle", contents.size, there))
    address, block = replaced_unless(lowering, contents, is_enough, copy)
    return HostResource(address, block, contents.size, contents.owner)


@lowers("stream.tensor.export")
def _export(lowering: FunctionLowering, op: Operation) -> None:
    source = resource_of(lowering, op, 0)
    check_owner(lowering, op, source, lowering.program.device(op))
    tensor = ranked(op, required(op, "source_encoding"))
    shape = mixed_list(static_shape(tensor) or (), [lowering.number(e) for e in op.operands[1:-1]])
    bound = bind_tensor(op, source, tensor, shape)
    found = read_tensor(lowering, op, bound)
    if found.block is not None and found.block == source.block:
        # The result shares the block of the resource.
        lowering.acquire(op.operands[0])
        count(lowering, source.owner, RESULTS, found.bytes(lowering.builder))
    lowering.bind(op.results[0], HostView(found, tensor.element_type))
