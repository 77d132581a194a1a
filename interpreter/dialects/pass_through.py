"""Execute operations that compute nothing: identities, definitions, ordering, and plain regions.

Encodings, shardings and transfers change how or where a tensor is stored, not its elements: the
value of an encoded tensor is the array that it encodes. Everything happens in program order, so
fences and timepoints have no effect. `sdy.manual_computation` is not supported: its body is the
program of one device, which can run only after conversion to `shard`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects.identities import SAME_ELEMENTS
from ...dialects.sdy.collectives import SdyCollective
from ...ir.host_programs import EXECUTABLES
from ...runtime.abi.arrays import Value
from ..frames import Exit, Frame
from ..registry import Results, Routine, impl, impl_with_regions, terminates

terminates("flow.return", "sdy.return")


@impl(
    *("flow.dispatch.tie_shape", "flow.dispatch.workload.ordinal", "flow.tensor.clone"),
    "hal.tensor.barrier",
    "iree_tensor_ext.dispatch.workload.ordinal",
    "memref.distinct_objects",
    *SAME_ELEMENTS,
    *(collective.name for collective in SdyCollective.__subclasses__()),
    "stream.async.barrier",
    "tosa.identity",
    *("util.assume.int", "util.optimization_barrier"),
)
def _same(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return operands[: len(op.results)]


@impl(
    "affine.prefetch",
    "bufferization.dealloc_tensor",
    *EXECUTABLES,
    *(f"{name}.trace" for name in ("flow.tensor", "hal.buffer_view", "stream.tensor")),
    *(f"hal.command_buffer.{name}" for name in ("execution_barrier", "finalize")),
    *("hal.device.allocator", "hal.device.queue.barrier", "hal.devices.get"),
    *("hal.fence.create", "hal.fence.join"),
    "llvm.intr.assume",
    *("memref.global", "memref.prefetch"),
    *("sdy.mesh", "sdy.sharding_group", "shard.grid"),
    *(f"stream.cmd.{name}" for name in ("discard", "flush", "invalidate")),
    *(
        f"stream.timepoint.{name}"
        for name in ("chain_external", "export", "immediate", "import", "join")
    ),
    *("util.global", "util.initializer", "util.null", "util.status.check_ok"),
)
def _nothing(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (None,) * len(op.results)


@impl_with_regions(
    "flow.dispatch.region",
    "hal.device.memoize",
    "memref.alloca_scope",
    "scf.execute_region",
    "sdy.named_computation",
)
def _region(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    first = op.regions[0].blocks.first
    given = operands if first is not None and first.args else ()
    exit_: Exit = yield frame.run_region(op.regions[0], given)
    return exit_.values
