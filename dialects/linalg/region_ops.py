"""`linalg.map`, `reduce`, `broadcast` and `transpose`, which have their own syntax.

If the body of a `map` or `reduce` is one op on the block's arguments, the name of that op is
printed instead of the body: `linalg.reduce { arith.addf } ins(...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Self

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DenseArrayBase, ShapedType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, number_list
from ...ir.syntax.region_headers import parse_body, print_body
from ...ir.tensor_types import shape_text, shapes_agree, sizes_agree
from .base import (
    DestinationEffects,
    parse_input_and_output,
    parse_numbers,
    parse_operand_group,
    print_numbers,
    print_operand_group,
    print_sorted_attributes,
    tensor_types,
)
from .bodies import YieldOp, clone_body
from .checks import OTHER_BODY, only_block, verify_structured
from .named_ops import DATA_MOVEMENT

# The short form ----------------------------------------------------------------------------------

_NO_FAST_MATH = FastMathFlagsAttr("none")


def _payload(
    body: Block, arguments: Sequence[SSAValue], result_type: Attribute
) -> Operation | None:
    """Return the only op of a body; `None` if the short form cannot represent the body."""
    operations = list(body.ops)
    if len(operations) != 2:
        return None
    payload, terminator = operations
    if not arguments or tuple(payload.operands) != tuple(arguments):
        return None
    if payload.regions or [result.type for result in payload.results] != [result_type]:
        return None
    if terminator.attributes or tuple(terminator.operands) != tuple(payload.results):
        return None
    return payload


def _print_payload(printer: Printer, payload: Operation) -> None:
    shown = {
        name: value
        for name, value in {**payload.properties, **payload.attributes}.items()
        if value != _NO_FAST_MATH
    }
    printer.print_string(f" {{ {payload.name}")
    print_sorted_attributes(printer, shown)
    printer.print_string(" }")


def _parse_payload(parser: Parser) -> tuple[type[Operation], dict[str, Attribute]] | None:
    """Parse `{ arith.addf {...} }`; return `None` if the text has no such short form."""
    if not parser.parse_optional_punctuation("{"):
        return None
    position = parser.pos
    name = parser.parse_identifier(context_msg=": the name of an operation")
    operation_class = parser.ctx.get_optional_op(name)
    if operation_class is None:
        parser.raise_error(f"operation {name} is not registered", position)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation("}")
    return operation_class, attributes


def _payload_body(
    operation_class: type[Operation],
    attributes: dict[str, Attribute],
    block: Block,
    arguments: Sequence[SSAValue],
    result_type: Attribute,
) -> Region:
    properties: dict[str, Attribute] = {}
    if issubclass(operation_class, IRDLOperation):
        for name, definition in operation_class.get_irdl_definition().properties.items():
            if name in attributes:
                properties[name] = attributes.pop(name)
            elif definition.default_value is not None:
                properties[name] = definition.default_value
    payload = operation_class.create(
        operands=arguments,
        result_types=[result_type],
        properties=properties,
        attributes=attributes,
    )
    block.add_ops((payload, YieldOp(*payload.results)))
    return Region(block)


def _element_block(values: Sequence[SSAValue]) -> Block:
    return Block(arg_types=[element_type(value.type) for value in values])


def _shape(value: SSAValue) -> tuple[int, ...]:
    value_type = value.type
    if not isinstance(value_type, ShapedType):
        raise VerifyException(f"expected a tensor or memref, but found '{value_type}'")
    return tuple(value_type.get_shape())


# Operations --------------------------------------------------------------------------------------


@irdl_op_definition
class MapOp(IRDLOperation):
    """Compute a scalar function of the corresponding elements of tensors of one shape."""

    name = "linalg.map"

    inputs = var_operand_def()
    init = operand_def()
    res = var_result_def()
    mapper = region_def()

    traits = traits_def(DestinationEffects())

    @property
    def loop_count(self) -> int:
        return len(_shape(self.init))

    # Custom parser: a body of one op has a short form.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        payload = _parse_payload(parser)
        inputs = parse_operand_group(parser, "ins")
        position = parser.pos
        outputs = parse_operand_group(parser, "outs")
        if len(outputs) != 1:
            parser.raise_error(f"expected 1 output, but found {len(outputs)}", position)
        attributes = parser.parse_optional_attr_dict()
        if payload is None:
            mapper = parse_body(parser)
        else:
            block = _element_block((*inputs, *outputs))
            mapper = _payload_body(*payload, block, block.args[:-1], element_type(outputs[0].type))
        return cls.create(
            operands=(*inputs, *outputs),
            result_types=tensor_types(outputs),
            attributes=attributes,
            regions=[mapper],
        )

    def print(self, printer: Printer) -> None:
        block = self.mapper.block
        payload = _payload(block, block.args[:-1], element_type(self.init.type))
        if payload is not None:
            _print_payload(printer, payload)
        print_operand_group(printer, "ins", self.inputs)
        print_operand_group(printer, "outs", (self.init,))
        print_sorted_attributes(printer, self.attributes)
        if payload is None:
            printer.print_string(" ")
            print_body(printer, self.mapper)

    def verify_(self) -> None:
        block = only_block(self.mapper)
        if len(block.args) != len(self.operands):
            raise VerifyException(
                "expects number of operands to match the arity of mapper, but got: "
                f"{len(self.operands)} and {len(block.args)}"
            )
        output_shape = _shape(self.init)
        for value in self.inputs:
            if not shapes_agree(_shape(value), output_shape):
                raise VerifyException(
                    f"expected shape of input ({shape_text(_shape(value))}) to match shape of "
                    f"output ({shape_text(output_shape)})"
                )
        verify_structured(self, len(self.inputs))


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Reduce tensors along `dimensions`, which must be in increasing order.

    All inputs have one shape; the inits have the shape of the remaining dimensions.
    """

    name = "linalg.reduce"

    inputs = var_operand_def()
    inits = var_operand_def()
    res = var_result_def()
    combiner = region_def()
    dimensions = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(DestinationEffects())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        dimensions: Sequence[int],
        combiner: Region,
    ) -> None:
        super().__init__(
            operands=[inputs, inits],
            result_types=[tensor_types(inits)],
            properties={"dimensions": DenseArrayBase.from_list(i64, dimensions)},
            regions=[combiner],
        )

    @property
    def loop_count(self) -> int:
        return len(_shape(self.inputs[0]))

    # Custom parser: a body of one op has a short form.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        payload = _parse_payload(parser)
        inputs = parse_operand_group(parser, "ins")
        position = parser.pos
        inits = parse_operand_group(parser, "outs")
        if len(inits) != len(inputs) or not inputs:
            parser.raise_error(
                f"expected equal number of inputs and outputs, but found {len(inputs)} and "
                f"{len(inits)}",
                position,
            )
        parser.parse_keyword("dimensions")
        dimensions = parse_numbers(parser)
        attributes = parser.parse_optional_attr_dict()
        if payload is None:
            combiner = parse_body(parser)
        else:
            block = _element_block((*inputs, *inits))
            arguments = cls._payload_arguments(block)
            combiner = _payload_body(*payload, block, arguments, element_type(inits[0].type))
        return cls.create(
            operands=(*inputs, *inits),
            result_types=tensor_types(inits),
            properties={"dimensions": dimensions},
            attributes=attributes,
            regions=[combiner],
        )

    @staticmethod
    def _payload_arguments(block: Block) -> Sequence[SSAValue]:
        """Return the operands of the short form's op: the accumulator comes first."""
        return (*block.args[-1:], *block.args[:-1])

    def print(self, printer: Printer) -> None:
        block = self.combiner.block
        arguments = self._payload_arguments(block)
        payload = _payload(block, arguments, element_type(self.inits[0].type))
        if payload is not None:
            _print_payload(printer, payload)
        print_operand_group(printer, "ins", self.inputs)
        print_operand_group(printer, "outs", self.inits)
        print_numbers(printer, "dimensions", self.dimensions)
        print_sorted_attributes(printer, self.attributes)
        if payload is None:
            printer.print_string(" ")
            print_body(printer, self.combiner)

    def verify_(self) -> None:
        only_block(self.combiner)
        if not self.inputs:
            raise VerifyException("expected at least one input")
        dimensions = number_list(self.dimensions)
        if any(a >= b for a, b in pairwise(dimensions)):
            raise VerifyException("expected 'dimensions' to be in increasing order")
        input_shape = _shape(self.inputs[0])
        rank = len(input_shape)
        if any(not 0 <= number < rank for number in dimensions):
            raise VerifyException(
                f"dimensions for reduction should be in the range [0, {rank - 1}]."
            )
        kept = [size for index, size in enumerate(input_shape) if index not in dimensions]
        for value in self.inputs:
            if not shapes_agree(_shape(value), input_shape):
                raise VerifyException(
                    "expects all inputs to have compatible shapes: "
                    f"[{shape_text(_shape(value))}] is not [{shape_text(input_shape)}]"
                )
        for value in self.inits:
            shape = _shape(value)
            if len(shape) != len(kept):
                raise VerifyException(
                    f"number of dimensions after reduction {len(kept)} doesn't match the init "
                    f"rank {len(shape)}"
                )
            if not shapes_agree(shape, kept):
                raise VerifyException(
                    f"init dimensions [{shape_text(shape)}] doesn't match input dimensions after "
                    f"reduction [{shape_text(kept)}]"
                )
        verify_structured(self, len(self.inputs))


class _DataMovementOp(IRDLOperation):
    """Base of the ops that only move or repeat elements."""

    input = operand_def()
    init = operand_def()
    res = var_result_def()
    body = region_def()

    traits = traits_def(DestinationEffects())

    DIMENSIONS_PROPERTY: ClassVar[str]
    """The property that relates dimensions of the input and the output."""

    def __init__(self, input: SSAValue, init: SSAValue, numbers: Sequence[int]) -> None:
        super().__init__(
            operands=[input, init],
            result_types=[tensor_types([init])],
            properties={self.DIMENSIONS_PROPERTY: DenseArrayBase.from_list(i64, numbers)},
            regions=[self._new_body(input, init)],
        )

    def verify_(self) -> None:
        verify_structured(self, 1)
        block = self.body.block
        yielded = block.last_op
        if yielded is None or yielded is not block.first_op or yielded.attributes:
            raise VerifyException(OTHER_BODY)
        if tuple(yielded.operands) != (block.args[0],):
            raise VerifyException(OTHER_BODY)

    @staticmethod
    def _new_body(input: SSAValue, init: SSAValue) -> Region:
        return clone_body(DATA_MOVEMENT, (element_type(input.type), element_type(init.type)))

    # Custom parser: the body is implied, and the results have the types of the outputs.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_input_and_output(parser)
        parser.parse_keyword(cls.DIMENSIONS_PROPERTY)
        properties: dict[str, Attribute] = {cls.DIMENSIONS_PROPERTY: parse_numbers(parser)}
        return cls.create(
            operands=operands,
            result_types=tensor_types(operands[1:]),
            properties=properties,
            attributes=parser.parse_optional_attr_dict(),
            regions=[cls._new_body(*operands)],
        )

    def print(self, printer: Printer) -> None:
        print_operand_group(printer, "ins", (self.input,))
        print_operand_group(printer, "outs", (self.init,))
        print_numbers(printer, self.DIMENSIONS_PROPERTY, self.properties[self.DIMENSIONS_PROPERTY])
        print_sorted_attributes(printer, self.attributes)


@irdl_op_definition
class BroadcastOp(_DataMovementOp):
    """Broadcast a tensor along new dimensions of the output, listed in `dimensions`."""

    name = "linalg.broadcast"
    DIMENSIONS_PROPERTY: ClassVar[str] = "dimensions"

    dimensions = prop_def(DenseArrayBase.constr(i64))

    def verify_(self) -> None:
        dimensions = number_list(self.dimensions)
        input_shape, init_shape = _shape(self.input), _shape(self.init)
        if len(input_shape) + len(dimensions) != len(init_shape):
            raise VerifyException(
                "input rank plus added dimensions does not match init rank. input rank: "
                f"{len(input_shape)}, dimensions size: {len(dimensions)}, init rank: "
                f"{len(init_shape)}"
            )
        for index, dimension in enumerate(dimensions):
            if not 0 <= dimension < len(init_shape) or dimension in dimensions[:index]:
                raise VerifyException(
                    f"dimension {index} is out of range. expected range: "
                    f"[0, {len(init_shape) - 1}] without repetition, got: {dimension}"
                )
        kept = [index for index in range(len(init_shape)) if index not in dimensions]
        for index, (size, target) in enumerate(zip(input_shape, kept, strict=True)):
            if not sizes_agree(size, init_shape[target]):
                raise VerifyException(
                    f"input dim {index} should match init dim {target}. input: {size}, init: "
                    f"{init_shape[target]}"
                )
        super().verify_()


@irdl_op_definition
class TransposeOp(_DataMovementOp):
    """Permute the dimensions of a tensor: output dimension i is input dimension permutation[i]."""

    name = "linalg.transpose"
    DIMENSIONS_PROPERTY: ClassVar[str] = "permutation"

    permutation = prop_def(DenseArrayBase.constr(i64))

    def verify_(self) -> None:
        permutation = number_list(self.permutation)
        input_shape, init_shape = _shape(self.input), _shape(self.init)
        rank = len(input_shape)
        if sorted(permutation) != list(range(len(permutation))):
            raise VerifyException("permutation is not valid")
        if len(init_shape) != rank:
            raise VerifyException(f"input rank {rank} does not match init rank {len(init_shape)}")
        if len(permutation) != rank:
            raise VerifyException(
                f"size of permutation {len(permutation)} does not match the argument rank {rank}"
            )
        for index, source in enumerate(permutation):
            if not sizes_agree(init_shape[index], input_shape[source]):
                raise VerifyException(
                    f"dim(result, {index}) = {init_shape[index]} doesn't match dim(input, "
                    f"permutation[{index}]) = {input_shape[source]}"
                )
        super().verify_()
