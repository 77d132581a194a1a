"""`scf.forall` and its terminator, which xDSL lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    TensorType,
    i64,
)
from xdsl.dialects.scf import Scf
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import number_list
from ...ir.dialect_extension import extended
from ...ir.index_lists import INDEX, parse_index_list, print_index_list
from ...ir.syntax.region_headers import parse_bindings, parse_types, print_bindings
from ..linalg.base import segment_sizes

_PARALLEL_INSERT = "tensor.parallel_insert_slice"


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """Terminate a `scf.forall`; the ops inside insert slices into the shared outputs.

    Only `tensor.parallel_insert_slice` into an output argument is allowed.
    """

    name = "scf.forall.in_parallel"

    body = region_def()

    traits = traits_def(IsTerminator(), NoTerminator(), RecursiveMemoryEffect())

    # Custom parser: a region without text is parsed as an empty block.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        return cls.create(regions=[body], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, ForallOp):
            raise VerifyException("expects parent op 'scf.forall'")
        shared = set(parent.shared_arguments)
        for operation in self.body.block.ops:
            if operation.name != _PARALLEL_INSERT:
                raise VerifyException(
                    f"expected only {_PARALLEL_INSERT} ops, found {operation.name}"
                )
            if operation.operands[1] not in shared:
                raise VerifyException("may only insert into an output block argument")


@irdl_op_definition
class ForallOp(IRDLOperation):
    """Run the iterations of a loop nest in any order, with shared output tensors.

    The body takes one index per loop and one argument per output, and ends in
    `scf.forall.in_parallel`. The results have the types of the outputs.
    """

    name = "scf.forall"

    dynamic_lower_bound = var_operand_def(IndexType)
    dynamic_upper_bound = var_operand_def(IndexType)
    dynamic_step = var_operand_def(IndexType)
    outputs = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    body = region_def()

    static_lower_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticLowerBound")
    static_upper_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticUpperBound")
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name="staticStep")
    mapping = opt_prop_def(ArrayAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(number_list(self.static_upper_bound))

    @property
    def shared_arguments(self) -> Sequence[BlockArgument]:
        """The arguments of the body that represent the outputs."""
        return self.body.block.args[self.rank :]

    # Custom parser: the header binds the arguments of the body; the terminator is optional.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        induction = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        rank = len(induction)
        if parser.parse_optional_keyword("in"):
            lower: tuple[Sequence[SSAValue], Sequence[int]] = ((), (0,) * rank)
            upper = _parse_bounds(parser)
            step: tuple[Sequence[SSAValue], Sequence[int]] = ((), (1,) * rank)
        else:
            parser.parse_punctuation("=")
            lower = _parse_bounds(parser)
            parser.parse_keyword("to")
            upper = _parse_bounds(parser)
            parser.parse_keyword("step")
            step = _parse_bounds(parser)
        shared: list[tuple[Parser.UnresolvedArgument, SSAValue]] = []
        types: Sequence[Attribute] = ()
        if parser.parse_optional_keyword("shared_outs"):
            bindings = parse_bindings(parser)
            parser.parse_punctuation("->")
            position = parser.pos
            types = parse_types(parser)
            values = parser.resolve_operands([each for _, each in bindings], types, position)
            shared = [(name, value) for (name, _), value in zip(bindings, values, strict=True)]
        arguments = [each.resolve(INDEX) for each in induction]
        arguments += [name.resolve(value.type) for name, value in shared]
        body = parser.parse_region(arguments)
        _add_terminator(body)
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {
            "staticLowerBound": DenseArrayBase.from_list(i64, lower[1]),
            "staticUpperBound": DenseArrayBase.from_list(i64, upper[1]),
            "staticStep": DenseArrayBase.from_list(i64, step[1]),
            "operandSegmentSizes": segment_sizes(
                len(lower[0]), len(upper[0]), len(step[0]), len(shared)
            ),
        }
        if "mapping" in attributes:
            properties["mapping"] = attributes.pop("mapping")
        return cls.create(
            operands=(*lower[0], *upper[0], *step[0], *(value for _, value in shared)),
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        def group(dynamic: Sequence[SSAValue], static: Attribute) -> None:
            print_index_list(printer, number_list(static), dynamic, Parser.Delimiter.PAREN)

        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args[: self.rank], printer.print_ssa_value)
        zeros, ones = (0,) * self.rank, (1,) * self.rank
        if (number_list(self.static_lower_bound), number_list(self.static_step)) == (zeros, ones):
            printer.print_string(" in ")
            group(self.dynamic_upper_bound, self.static_upper_bound)
        else:
            printer.print_string(" = ")
            group(self.dynamic_lower_bound, self.static_lower_bound)
            printer.print_string(" to ")
            group(self.dynamic_upper_bound, self.static_upper_bound)
            printer.print_string(" step ")
            group(self.dynamic_step, self.static_step)
        if self.outputs:
            printer.print_string(" shared_outs")
            print_bindings(printer, self.shared_arguments, self.outputs)
            printer.print_string(" -> (")
            printer.print_list(self.res.types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(self.outputs)
        )
        shown = dict(self.attributes)
        if self.mapping is not None:
            shown["mapping"] = self.mapping
        printer.print_op_attributes(shown)

    def prints_generically(self) -> bool:
        """Return whether the terminator has attributes, which the custom syntax would lose."""
        last = self.body.block.last_op
        return last is not None and bool(last.attributes)

    def verify_(self) -> None:
        rank = self.rank
        for what, static, dynamic in (
            ("lower bound", self.static_lower_bound, self.dynamic_lower_bound),
            ("upper bound", self.static_upper_bound, self.dynamic_upper_bound),
            ("step", self.static_step, self.dynamic_step),
        ):
            numbers = number_list(static)
            if len(numbers) != rank or numbers.count(DYNAMIC_INDEX) != len(dynamic):
                raise VerifyException(
                    f"expected {rank} {what} values, {numbers.count(DYNAMIC_INDEX)} of them "
                    f"dynamic, found {len(numbers)} and {len(dynamic)}"
                )
        block = self.body.blocks.first
        if block is None or not isinstance(block.last_op, InParallelOp):
            raise VerifyException("expected a body that ends in 'scf.forall.in_parallel'")
        wanted = [INDEX] * rank + list(self.outputs.types)
        if list(block.arg_types) != wanted:
            raise VerifyException(
                f"region expects {len(wanted)} arguments, indices and then outputs, found "
                f"({', '.join(map(str, block.arg_types))})"
            )
        if self.outputs.types != self.res.types:
            raise VerifyException("expected results of the types of the outputs")
        if self.mapping and len(self.mapping) != rank:
            raise VerifyException(
                f"mapping attribute size must match op rank: {len(self.mapping)} and {rank}"
            )


def _parse_bounds(parser: Parser) -> tuple[Sequence[SSAValue], Sequence[int]]:
    static, dynamic = parse_index_list(parser, parser.Delimiter.PAREN)
    return [parser.resolve_operand(each, INDEX) for each in dynamic], static


def _add_terminator(body: Region) -> None:
    """Add the terminator that a loop without outputs may omit."""
    block = body.blocks.first
    if block is not None and not isinstance(block.last_op, InParallelOp):
        block.add_op(InParallelOp.create(regions=[Region(Block())]))


ExtendedScf = extended(Scf, [ForallOp, InParallelOp])
