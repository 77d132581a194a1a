"""Convert functions from StableHLO to linalg, block by block and op by op.

`convert_functions` builds a new body for each function. `Lowering` holds the state of one
conversion: the map from old to new SSA values, and the insertion point of new ops. It finds the
rule of each op, calls it and binds the results. The files of `passes/stablehlo` register rules:

- `@scalar_rule("stablehlo.add")`: `function(emitter, operation, scalars) -> scalar` emits one
  element of the result from one of each operand. The op still has its StableHLO types.
- `@tensor_rule("stablehlo.pad")`: `function(lowering, operation, tensors) -> tensors`. The name
  `quantised` is not an op: here and in scalar rules it converts ops on quantised numbers.
- `@call_rule("check.expect_eq")`: a tensor rule for a `custom_call` of that target.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, UnrankedTensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.quant import quantization
from ....dialects.sdy.attributes import ShardingPerValueAttr
from ....dialects.sdy.dialect import ShardingConstraintOp
from ....dialects.sdy.meshes import MeshOp
from ....dialects.shard.grids import GridOp
from ....dialects.util.dialect import GlobalLoadOp, GlobalStoreOp
from ....ir.attribute_access import attribute, element_type
from ....ir.diagnostics import OperationError
from ....ir.locations import located_builder, rebuilt
from ....ir.rules import Rules
from ....ir.symbols import find_symbol, root_symbol, visibility
from ...sharding.annotations.access import SDY_SHARDING
from .element_types import computes_on_quantised, converted, kind
from .emitter import Emitter, number_of, shape
from .folding import folded

Scalars = Sequence[SSAValue]
Tensors = Sequence[SSAValue]

ScalarRule = Callable[[Emitter, Operation, Scalars], SSAValue]
TensorRule = Callable[[Any, Operation, Tensors], Tensors]

scalar_rule = Rules[ScalarRule]()
tensor_rule = Rules[TensorRule]()
call_rule = Rules[TensorRule]()


MAX_INLINE_DEPTH = 64
"""The maximum nesting depth of calls and branches in a scalar body; limits recursive inlining."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """The state of a conversion: the map from old to new values, and where new ops are inserted."""

    module: ModuleOp
    emit: Emitter
    values: dict[SSAValue, SSAValue]
    process: tuple[int, int] | None = None
    """The replica and partition in `interpreter.run_parallel`, `None` elsewhere."""

    @property
    def is_on_one_device(self) -> bool:
        """Return whether no grid of the module has several devices."""
        return all(map(_has_one_device, self.module.body.block.ops))

    def with_origin(self, operation: Operation) -> Lowering:
        """Return a lowering with the same insertion point that converts `operation`.

        Errors and new ops have its location.
        """
        builder = located_builder(self.emit.builder.insertion_point, operation)
        return replace(self, emit=Emitter(builder, operation))

    def inside(self, block: Block, operation: Operation) -> Lowering:
        """Return a lowering that inserts at the end of a block of a new op."""
        builder = located_builder(InsertPoint.at_end(block), operation)
        return replace(self, emit=Emitter(builder, operation))

    def on_process(self, process: tuple[int, int]) -> Lowering:
        """Return a lowering for one process at the same place, with its own value map."""
        return replace(self, values=dict(self.values), process=process)

    def value(self, value: SSAValue) -> SSAValue:
        """Return the converted value of an old value; a value without one is returned as it is."""
        return self.values.get(value, value)

    # Blocks and operations.

    def region(self, region: Region, origin: Operation) -> Region:
        """Return a new region with all blocks of `region` converted."""
        blocks = [
            Block(arg_types=[converted(argument.type) for argument in block.args])
            for block in region.blocks
        ]
        targets = dict(zip(region.blocks, blocks, strict=True))
        for old, new in targets.items():
            for one, other in zip(old.args, new.args, strict=True):
                other.name_hint = one.name_hint
                self.values[one] = other
        for old, new in targets.items():
            self.inside(new, origin).operations(old, targets)
        return Region(blocks)

    def operations(self, block: Block, targets: dict[Block, Block] | None = None) -> None:
        """Convert the ops of a block in order."""
        for operation in block.ops:
            self.with_origin(operation).operation(operation, targets or {})

    def operation(self, operation: Operation, targets: dict[Block, Block]) -> None:
        """Convert one op and bind its results. `targets` maps old successor blocks to new ones.

        Raises OperationError if the op has no conversion, or if its rule rejects it.
        """
        operands = [self.value(value) for value in operation.operands]
        name = operation.name
        if name == "stablehlo.return" and isinstance(operation.parent_op(), FuncOp):
            self.emit.add_op(ReturnOp(*operands))
        elif name in tensor_rule or name in scalar_rule or name.startswith(("stablehlo.", "chlo.")):
            self._bind(operation, self.results(operation, operands))
        elif isinstance(operation, CallOp):
            self._call(operation, operands)
        elif isinstance(operation, GlobalLoadOp | GlobalStoreOp):
            self._keep(operation, operands, boundary_type)
        elif isinstance(operation, FuncOp | ModuleOp):
            raise OperationError(operation, "is inside of a function")
        else:
            self._copy(operation, operands, targets)

    def results(self, operation: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Return the converted results of a StableHLO or CHLO op.

        An op on quantised numbers uses the rule `quantised`; constant folding precedes scalar
        rules. Raises OperationError if there is no rule, or if the rule rejects the op.
        """
        for each in (*operation.operand_types, *operation.result_types):
            if isinstance(each, UnrankedTensorType):
                raise OperationError(operation, f"has the type {each}: its rank must be known")
        name = "quantised" if computes_on_quantised(operation) else operation.name
        rule = tensor_rule.get(name)
        if rule is not None:
            return rule(self, operation, operands)
        if operation.name in scalar_rule:
            known = folded(self.emit, operation, operands)
            return [self.elementwise(operation, operands) if known is None else known]
        raise OperationError(operation, "is not supported: there is no conversion to linalg")

    def elementwise(self, operation: Operation, operands: Sequence[SSAValue]) -> SSAValue:
        """Emit the `linalg.generic` of an elementwise op, whose body is the op's scalar rule."""
        rule = scalar_rule[operation.name]
        element = kind(operation.result_types[0]).type

        def body(emitter: Emitter, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [rule(emitter, operation, scalars)]

        return self.emit.pointwise(operands, element, body)

    def _bind(self, operation: Operation, results: Sequence[SSAValue]) -> None:
        if len(results) != len(operation.results):
            raise AssertionError(f"{operation.name}: {len(results)} results")
        for old, new in zip(operation.results, self._annotated(operation, results), strict=True):
            expected = converted(old.type)
            if new.type != expected and isinstance(expected, TensorType):
                new = self.emit.cast(new, cast(Attribute, expected))  # noqa: PLW2901
            if new.name_hint is None and old.name_hint is not None:
                new.name_hint = old.name_hint
            self.values[old] = new

    def _annotated(self, operation: Operation, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Return results as Shardy's shardings of the op constrain them."""
        given = operation.attributes.get(SDY_SHARDING)
        if not isinstance(given, ShardingPerValueAttr):
            return results
        return [
            self.emit.insert(ShardingConstraintOp(value, sharding))
            if isinstance(value.type, TensorType)
            else value
            for value, sharding in zip(results, given.data, strict=False)
        ]

    def _copy(
        self, operation: Operation, operands: Sequence[SSAValue], targets: dict[Block, Block]
    ) -> None:
        made = type(operation).create(
            operands=operands,
            result_types=[converted(each) for each in operation.result_types],
            properties=operation.properties,
            attributes=operation.attributes,
            successors=[targets.get(each, each) for each in operation.successors],
            regions=[self.region(region, operation) for region in operation.regions],
        )
        made.location = operation.location
        self.emit.add_op(made)
        for old, new in zip(operation.results, made.results, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new

    def _call(self, operation: CallOp, operands: Sequence[SSAValue]) -> None:
        """Convert a call.

        Calls of public functions keep the unsigned types of the callee's signature.
        """
        callee = self.function(root_symbol(operation, "callee"))
        is_kept = callee is not None and visibility(callee) != "private"
        self._keep(operation, operands, boundary_type if is_kept else converted)

    def _keep(
        self,
        operation: Operation,
        operands: Sequence[SSAValue],
        convert: Callable[[Attribute], Attribute],
    ) -> None:
        """Copy an op whose types, converted in this way, are those of a symbol."""
        taken = [convert(each) for each in operation.operand_types]
        operands = [
            self.with_signedness(value, type_) for value, type_ in zip(operands, taken, strict=True)
        ]
        made = rebuilt(operation, operands, [convert(each) for each in operation.result_types])
        self.emit.add_op(made)
        for old, new in zip(operation.results, made.results, strict=True):
            self.values[old] = self.with_signedness(new, converted(old.type))

    def function(self, name: str) -> FuncOp | None:
        """Return the function of the module that has this name, `None` if there is none."""
        found = find_symbol(self.module, name)
        return found if isinstance(found, FuncOp) else None

    def with_signedness(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Bitcast an integer tensor to `type_`, which has the same width and another signedness."""
        if value.type == type_:
            return value
        return self.emit.bitcast(value, element_type(type_))

    # Bodies of scalars.

    def inline_on_scalars(
        self,
        region: Region,
        arguments: Sequence[SSAValue],
        emitter: Emitter,
        depth: int = 0,
    ) -> list[SSAValue]:
        """Emit a region as ops on scalars, inlined at `emitter`; return the scalars that it yields.

        The region may have been written for scalars or for tensors of rank 0. `arguments` are the
        scalars of its block arguments, `depth` counts inlined calls. Raises OperationError if an op
        does not work element by element, or uses a tensor of higher rank, except for elements of it
        that `tensor.extract` reads.
        """
        block = region.block
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))

        def scalar(value: SSAValue, user: Operation) -> SSAValue:
            found = values.get(value)
            if found is None:
                outside = self.value(value)
                if not isinstance(outside.type, TensorType) or user.name == "tensor.extract":
                    return outside
                if shape(outside):
                    raise OperationError(
                        emitter.origin, f"uses a tensor of type {value.type} in its body"
                    )
                found = values[value] = emitter.element(outside)
            return found

        for operation in block.ops:
            operands = [scalar(value, operation) for value in operation.operands]
            if operation.name in _ENDS:
                return operands
            results = self._scalar_results(operation, operands, emitter, depth)
            values.update(zip(operation.results, results, strict=True))
        raise OperationError(
            emitter.origin, f"has a body without a terminator, expected one of {', '.join(_ENDS)}"
        )

    def _scalar_results(
        self, operation: Operation, operands: Sequence[SSAValue], emitter: Emitter, depth: int
    ) -> Sequence[SSAValue]:
        name = operation.name
        here = Emitter(emitter.builder, operation)
        ranks = [
            each.get_num_dims() for each in operation.result_types if isinstance(each, TensorType)
        ]
        if any(ranks):
            raise OperationError(operation, "returns a tensor in a body on scalars")
        if computes_on_quantised(operation):
            return [scalar_rule["quantised"](here, operation, operands)]
        if name in scalar_rule:
            return [scalar_rule[name](here, operation, operands)]
        if name.startswith(_ON_SCALARS) and not (ranks or operation.regions):
            return here.add_op(rebuilt(operation, operands, operation.result_types)).results
        if name in CONSTANTS:
            value = cast(Any, attribute(operation, "value"))
            return [here.constant(number_of(value), kind(operation.result_types[0]).type)]
        if name in _SAME_ELEMENT and len(operands) == len(operation.results):
            return operands
        if name in ("func.call", "stablehlo.composite"):
            which = "callee" if name == "func.call" else "decomposition"
            callee = self.function(root_symbol(operation, which))
            if callee is None or depth > MAX_INLINE_DEPTH:
                raise OperationError(
                    operation, "calls a function that is not defined, or is recursive"
                )
            return self.inline_on_scalars(callee.body, operands, here, depth=depth + 1)
        if name in ("stablehlo.if", "stablehlo.case"):
            return self._scalar_branches(operation, operands[0], here, depth)
        raise OperationError(operation, "is not supported in a body on scalars")

    def _scalar_branches(
        self, operation: Operation, chosen: SSAValue, emitter: Emitter, depth: int
    ) -> Sequence[SSAValue]:
        """Emit all branches, and select the results of one: scalar bodies have no side effects."""
        results = [
            self.inline_on_scalars(each, (), emitter, depth=depth + 1) for each in operation.regions
        ]
        if operation.name == "stablehlo.if":
            first, second = results
            return [emitter.select(chosen, a, b) for a, b in zip(first, second, strict=True)]
        found = results[-1]
        for number in range(len(results) - 2, -1, -1):
            is_it = emitter.compare_integers("eq", chosen, emitter.constant(number, chosen.type))
            pairs = zip(results[number], found, strict=True)
            found = [emitter.select(is_it, one, other) for one, other in pairs]
        return found


_ENDS = ("stablehlo.return", "func.return", "tm_tensor.yield", "iree_linalg_ext.yield")
"""Terminators of scalar bodies."""

_ON_SCALARS = ("arith.", "math.", "complex.", "affine.", "linalg.index", "tensor.extract")
"""Prefixes of ops that are copied unchanged into bodies over scalars."""

CONSTANTS = ("stablehlo.constant", "chlo.constant", "sdy.constant")

_SAME_ELEMENT = frozenset(
    {
        "sdy.sharding_constraint",
        *(
            f"stablehlo.{name}"
            for name in (
                *("reshape", "broadcast_in_dim", "transpose", "optimization_barrier"),
                *("broadcast", "dynamic_reshape", "dynamic_broadcast_in_dim"),
            )
        ),
    }
)
"""Ops that are the identity on a tensor of rank 0."""


def boundary_type(value_type: Attribute) -> Attribute:
    """Return the converted type of a public function's argument or result.

    Integers keep their sign.
    """
    new_type = converted(value_type)
    if new_type == value_type or quantization(element_type(value_type)) is not None:
        return new_type
    if isinstance(value_type, TensorType) and isinstance(new_type, TensorType):
        tensor = cast("TensorType[Any]", value_type)
        return TensorType(tensor.element_type, tensor.get_shape(), cast(Any, new_type).encoding)
    return new_type


def _has_one_device(operation: Operation) -> bool:
    """Return whether an operation of a module is no grid of several devices."""
    if isinstance(operation, MeshOp):
        return prod(operation.mesh.data.sizes.values()) == 1
    return not isinstance(operation, GridOp) or prod(operation.shape.get_values()) == 1


def convert_functions(module: ModuleOp, inlined: Container[str]) -> None:
    """Convert the functions of a module in place, and erase those that their callers inline.

    Old bodies are replaced only after all new ones exist, because scalar bodies may inline any
    function. Raises OperationError for an op that cannot be converted.
    """
    made: list[tuple[FuncOp, Region | None, FunctionType]] = []
    functions = [each for each in module.body.block.ops if isinstance(each, FuncOp)]
    for function in functions:
        if function.sym_name.data in inlined:
            continue
        lower = boundary_type if visibility(function) != "private" else converted
        inputs = [lower(each) for each in function.function_type.inputs.data]
        outputs = [lower(each) for each in function.function_type.outputs.data]
        body = None
        if function.body.blocks:
            body = _converted_body(module, function, inputs, outputs)
        made.append((function, body, FunctionType.from_lists(inputs, outputs)))
    for function, body, function_type in made:
        function.properties["function_type"] = function_type
        if body is not None:
            before = list(function.body.blocks)
            body.move_blocks(function.body)
            for block in before:
                function.body.detach_block(block).drop_all_references()
    for function in functions:
        if function.sym_name.data in inlined:
            Rewriter.erase_op(function)


def _converted_body(
    module: ModuleOp,
    function: FuncOp,
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute],
) -> Region:
    old = function.body
    entry = Block(arg_types=inputs)
    first, *rest = old.blocks
    blocks = [entry, *(Block(arg_types=[converted(a.type) for a in b.args]) for b in rest)]
    targets = dict(zip(old.blocks, blocks, strict=True))
    builder = located_builder(InsertPoint.at_end(entry), function)
    lowering = Lowering(module, Emitter(builder, function), {})
    for before, after in zip(first.args, entry.args, strict=True):
        after.name_hint = before.name_hint
        lowering.values[before] = lowering.with_signedness(after, converted(before.type))
    for before, after in targets.items():
        for one, other in zip(before.args, after.args, strict=True):
            lowering.values.setdefault(one, other)
        if before is first:
            lowering.operations(before, targets)
        else:
            lowering.inside(after, function).operations(before, targets)
    for after in blocks:
        last = after.last_op
        if last is None or last.name != "func.return":
            continue
        here = Emitter(located_builder(InsertPoint.before(last), last), last)
        for index, (value, type_) in enumerate(zip(last.operands, outputs, strict=True)):
            if value.type != type_:
                last.operands[index] = here.bitcast(value, element_type(type_))
    return Region(blocks)
