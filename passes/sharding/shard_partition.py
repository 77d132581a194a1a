"""`shard-partition`: partition a program with sharding annotations into the program of one device.

Every function that has annotations, or calls one that has, is rebuilt. Each value is held in its
annotated sharding. An operation without annotations gets the sharding that is cheapest given its
operands and users; values without any constraint are replicated. Collectives convert between
shardings. Functions without annotations do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass

from ...dialects.linalg.structured_view import remembered_views
from ...dialects.shard.boundary import Boundary, set_boundaries
from ...ir.regions import reachable_blocks
from ...sharding.sharding import Sharding
from ..imports.import_annotations import import_annotations
from .partition.emitter import Emitter
from .partition.known_offsets import fold_known_offsets
from .partition.local_types import local_type_of
from .partition.partitioner import Partitioner, normal
from .partition.signatures import Shardings, Signatures
from .propagation.sub_axes import define_finer_grid


@dataclass(frozen=True)
class ShardPartitionPass(ModulePass):
    """Partition an annotated program into the program of one device."""

    name = "shard-partition"

    abi: Literal["local", "global"] = "local"
    """`local`: functions take and return shards, as their annotations say. `global`: public
    functions keep their types; each process gets the whole arguments and returns the whole results.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        fold_known_offsets(op)
        partition_module(op, self.abi == "global")


def partition_module(module: ModuleOp, global_abi: bool = False) -> None:
    """Partition every annotated function of a module, and their callers.

    With `global_abi`, public functions keep their types. Raises OperationError if an annotation is
    invalid or an operation cannot be partitioned as annotated.
    """
    signatures = Signatures(module, global_abi)
    with remembered_views():
        emitted = [(each, _emit_function(each, signatures)) for each in signatures.in_call_order()]
    for function, region in emitted:
        _replace_body(function, region, signatures)


def _emit_function(function: FuncOp, signatures: Signatures) -> Region:
    partitioner = Partitioner(signatures)
    partitioner.signature = signatures.of(function)
    order = reachable_blocks(function.body)
    emitters: dict[Block, Emitter] = {}
    helpers: list[Operation] = []
    for source in order:
        is_entry = source is order[0]
        block = Block()
        emitter = Emitter(block, define_grid=partial(define_finer_grid, function))
        emitter.helpers = helpers
        emitters[source] = partitioner.emitter = emitter
        partitioner.blocks[source] = block
        for index, argument in enumerate(source.args):
            own = partitioner.signature.arguments[index] if is_entry else None
            sharding = normal(own) if is_entry else partitioner.wanted(argument)
            new = block.insert_arg(local_type_of(argument.type, sharding), index)
            partitioner.set_value(argument, new, sharding)
    for source in order:
        partitioner.emitter = emitters[source]
        for operation in source.ops:
            partitioner.partition(operation)
    partitioner.emitter.sweep()
    return Region([partitioner.blocks[source] for source in order])


def _replace_body(function: FuncOp, region: Region, signatures: Signatures) -> None:
    """Install the partitioned body of a function, and update its type and boundary attributes."""
    signature = signatures.of(function)
    results: Shardings = signature.results or ()
    old_type = function.function_type
    old = function.body
    function.detach_region(old)
    function.add_region(region)
    entry = region.blocks[0]
    returned = [
        local_type_of(result, sharding)
        for result, sharding in zip(old_type.outputs, results, strict=True)
    ]
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in entry.args], returned
    )
    for group, wholes, shardings in (
        ("arg_attrs", old_type.inputs, signature.arguments),
        ("res_attrs", old_type.outputs, results),
    ):
        set_boundaries(function, group, list(map(_boundary, wholes, shardings)))
    old.drop_all_references()


def _boundary(whole: Attribute, sharding: Sharding | None) -> Boundary | None:
    if sharding is None or normal(sharding) is None:
        return None
    if not isinstance(whole, TensorType):
        raise TypeError(f"{whole} has a sharding, but is not a ranked tensor")
    return Boundary(whole, sharding)  # pyright: ignore[reportUnknownArgumentType]
