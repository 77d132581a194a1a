"""`shard-annotate`: annotate arguments, results and values by patterns over their names.

    shard-annotate{grid=2x4 args=x:[[0],[]],w*:[[],[1]] results=0:[[0],[]]}

places every argument called `x` or `w...` and the first result on a grid of 2 x 4 processes, as if
the program contained the `shard.shard` operations. The lists are those of `shard.sharding`: for
each dimension the axes that split it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from ...dialects.shard.annotations import ShardingOp, ShardOp
from ...dialects.shard.checks import grid_value
from ...dialects.shard.grids import GridOp
from ...ir.attribute_access import boundary_attributes
from ...ir.diagnostics import OperationError
from ...ir.symbols import fresh_name, names_in, visibility
from ...ir.text.printer import value_names
from ..imports.import_annotations import import_annotations
from ..manager.pipeline_text import unquote
from .annotations.access import SHARD, read_annotated

GRID_NAME = "grid"
"""The name of a new grid."""
_MAX_NAMES = 12
"""Maximum number of names that an error lists."""


@dataclass(frozen=True)
class ShardAnnotatePass(ModulePass):
    """Annotate the tensors that patterns name.

    The first entry that matches a tensor applies.
    """

    name = "shard-annotate"

    grid: str = ""
    """Extents (`2x4`), a grid of the program (`@name`), or the only grid that the program has."""

    args: tuple[str, ...] = ()
    """Arguments, as `pattern:lists`."""

    results: tuple[str, ...] = ()
    """Results of functions, as `pattern:lists`."""

    values: tuple[str, ...] = ()
    """Results of operations, as `pattern:lists`."""

    functions: tuple[str, ...] = ()
    """Patterns for the names of functions; by default all public functions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        entries = {
            option: [_Entry.parse(option, text) for text in getattr(self, option)]
            for option in ("args", "results", "values")
        }
        chosen = list(_chosen(op, self.functions))
        grid = find_or_create_grid(op, self.grid)
        for function in chosen:
            names = value_names(function)
            _annotate_values(names, entries["values"], grid)
            _annotate_arguments(function, names, entries["args"], grid)
            _annotate_results(function, entries["results"], grid)
        for option, listed in entries.items():
            for entry in listed:
                entry.check_used(option, chosen)


@dataclass(slots=True)
class _Entry:
    """One `pattern:lists` entry, and whether it has matched."""

    pattern: str
    lists: list[list[int]]
    matched: bool = False
    seen: set[str] = field(default_factory=set[str])
    """Names that did not match, for errors."""

    @property
    def who(self) -> str:
        """Describes the entry in errors."""
        return f"'{self.pattern}' of shard-annotate"

    @staticmethod
    def parse(option: str, text: str) -> _Entry:
        pattern, colon, written = text.rpartition(":")
        try:
            lists: Any = json.loads(written)
        except ValueError:
            lists = None
        if not colon or not pattern.strip() or not _is_lists(lists):
            raise PassFailedException(
                f"option '{option}' has the entry '{text}', expected a pattern and the axes of each"
                " dimension, as w*:[[0],[]]"
            )
        return _Entry(unquote(pattern.strip()), cast("list[list[int]]", lists))

    def matches(self, names: Iterable[str]) -> bool:
        names = tuple(names)
        if any(_is_like(self.pattern, name) for name in names):
            self.matched = True
            return True
        self.seen.update(names)
        return False

    def check_used(self, option: str, functions: Sequence[FuncOp]) -> None:
        if self.matched:
            return
        where = ", ".join(f"@{function.sym_name.data}" for function in functions[:3])
        names = sorted(self.seen)
        more = ", ..." if len(names) > _MAX_NAMES else ""
        there = ", ".join(names[:_MAX_NAMES]) + more if names else "none"
        raise PassFailedException(
            f"option '{option}' has the pattern '{self.pattern}', which matches no tensor of "
            f"{where or 'a function'} that earlier entries leave; names are {there}"
        )


def _is_lists(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(axes, list) and all(type(axis) is int for axis in cast("list[Any]", axes))
        for axes in cast("list[Any]", value)
    )


def _is_like(pattern: str, name: str) -> bool:
    """Return whether a name matches a pattern with `*` and `?`; brackets are literal."""
    text = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(text, name, re.DOTALL) is not None


def _chosen(module: ModuleOp, patterns: Sequence[str]) -> Iterator[FuncOp]:
    """Yield the functions with a body whose names match, or all public ones without patterns."""
    for operation in module.walk():
        if not isinstance(operation, FuncOp) or not operation.body.blocks:
            continue
        name = operation.sym_name.data
        if patterns:
            if any(_is_like(pattern.removeprefix("@"), name) for pattern in patterns):
                yield operation
        elif visibility(operation) == "public":
            yield operation


def find_or_create_grid(module: ModuleOp, text: str) -> str:
    """Return the name of the grid that `text` describes; see the option `grid`.

    For extents, the first grid of that shape is used, or a new one is defined. Raises
    PassFailedException if `text` is malformed or names no grid, or if it is empty and the program
    does not have exactly one grid.
    """
    grids = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GridOp)}
    listed = ", ".join(f"@{name}" for name in grids) or "none"
    if not text:
        if len(grids) == 1:
            return next(iter(grids))
        raise PassFailedException(f"needs the option 'grid': the program has {listed}")
    if text.startswith("@"):
        if text[1:] not in grids:
            raise PassFailedException(f"there is no grid {text}; the program has {listed}")
        return text[1:]
    if re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*", text) is None:
        raise PassFailedException(f"option 'grid' is '{text}', expected extents, as 2x4, or @name")
    shape = tuple(int(extent) for extent in text.split("x"))
    for name, grid in grids.items():
        if grid.grid.shape == shape:
            return name
    name = fresh_name(GRID_NAME, names_in(module))
    made = GridOp(name, shape)
    try:
        grid_value(made)
    except (ValueError, VerifyException) as problem:
        raise PassFailedException(f"option 'grid' is '{text}': {problem}") from problem
    Rewriter.insert_op(made, InsertPoint.at_start(module.body.block))
    return name


def located_name(location: Attribute) -> str | None:
    """Return the name in a location such as `loc("p['w']"(...))`, which JAX gives to arguments.

    Returns `None` for other locations.
    """
    return location.desc.data if isinstance(location, NameLoc) else None


def _boundary_text(function: FuncOp, group: str, index: int, key: str) -> str | None:
    """Return a string attribute of an argument or a result; `None` if it is missing or empty."""
    found = boundary_attributes(function, group, index).get(key)
    return found.data if isinstance(found, StringAttr) and found.data else None


def argument_names(function: FuncOp, index: int, printed: str) -> list[str]:
    """Return the names of an argument: as printed, in `jax.arg_info`, and in its location."""
    argument = function.body.blocks[0].args[index]
    found = [printed, _boundary_text(function, "arg_attrs", index, "jax.arg_info")]
    return [name for name in (*found, located_name(argument.location)) if name]


def result_names(function: FuncOp, index: int) -> list[str]:
    """Return the names of a result: its number, and its `jax.result_info`."""
    info = _boundary_text(function, "res_attrs", index, "jax.result_info")
    return [str(index), *([info] if info else [])]


def _first(entries: Sequence[_Entry], names: Sequence[str]) -> _Entry | None:
    return next((entry for entry in entries if entry.matches(names)), None)


def _annotate_arguments(
    function: FuncOp, names: dict[SSAValue, str], entries: Sequence[_Entry], grid: str
) -> None:
    block = function.body.blocks[0]
    first = block.first_op
    for index, argument in enumerate(block.args):
        if isinstance(argument.type, TensorType):
            entry = _first(entries, argument_names(function, index, names[argument]))
            if entry is not None:
                annotate_producer(argument, entry.lists, grid, entry.who, first)


def _annotate_values(names: dict[SSAValue, str], entries: Sequence[_Entry], grid: str) -> None:
    for value, name in names.items():
        if isinstance(value, BlockArgument) or not isinstance(value.type, TensorType):
            continue
        entry = _first(entries, [name])
        if entry is not None:
            annotate_producer(value, entry.lists, grid, entry.who)


def annotate_producer(
    value: SSAValue,
    lists: Sequence[Sequence[int]],
    grid: str,
    who: str,
    before: Operation | None = None,
) -> None:
    """Annotate a value with the sharding in which its producer leaves it, for all its users.

    The annotation is inserted right after the producer; that of a block argument before `before`,
    or first in its block. `who` names the source of the annotation in errors. Raises OperationError
    if the value already has such an annotation, or if the sharding does not fit the tensor.
    """
    owner = value.owner
    if isinstance(owner, Block):
        block, origin = owner, owner.parent_op()
        before = before or block.first_op
    else:
        block, before, origin = owner.parent_block(), owner.next_op, owner
    assert block is not None and origin is not None
    for use in value.uses:
        if use.operation.name == SHARD and "annotate_for_users" not in use.operation.properties:
            raise OperationError(
                use.operation,
                f"annotates a value that {who} annotates, too; remove one of them",
            )
    read_annotated(_made(value, lists, grid, who, (block, before, origin), for_users=False))


def annotate_operand(
    operation: Operation, index: int, lists: Sequence[Sequence[int]], grid: str, who: str
) -> None:
    """Annotate an operand with the sharding in which its operation wants it.

    `who` names the source of the annotation in errors. Raises OperationError if the sharding does
    not fit the tensor.
    """
    block = operation.parent_block()
    assert block is not None
    place = (block, operation, operation)
    made = _made(operation.operands[index], lists, grid, who, place, for_users=True)
    operation.operands[index] = made.result


def _annotate_results(function: FuncOp, entries: Sequence[_Entry], grid: str) -> None:
    for block in function.body.blocks:
        last = block.last_op
        if last is None or last.name != "func.return":
            continue
        for index, value in enumerate(last.operands):
            if isinstance(value.type, TensorType):
                entry = _first(entries, result_names(function, index))
                if entry is not None:
                    annotate_operand(last, index, entry.lists, grid, entry.who)


def _made(
    value: SSAValue,
    lists: Sequence[Sequence[int]],
    grid: str,
    who: str,
    place: tuple[Block, Operation | None, Operation],
    *,
    for_users: bool,
) -> ShardOp:
    """Insert an annotation at `place`: (block, operation to insert before, operation for errors).

    Raises OperationError if the sharding does not fit the tensor.
    """
    block, before, origin = place
    sharding = ShardingOp(grid, lists or [[]])
    annotation: ShardOp = ShardOp(value, sharding.result, for_users)
    for operation in (sharding, annotation):
        operation.location = origin.location
        Rewriter.insert_op(operation, InsertPoint(block, before))
    try:
        sharding.verify_()
        annotation.verify_()
    except VerifyException as problem:
        raise OperationError(
            origin,
            f"cannot be annotated by {who} with {json.dumps(lists)} for a {value.type}: {problem}",
        ) from problem
    return annotation
