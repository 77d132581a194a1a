"""Custom forms of `scf` operations, for which xDSL's support less than MLIR's.

xDSL 0.74 has none for `scf.parallel`. It requires parentheses around single types and arguments,
takes an empty region for one without a terminator, drops the attributes of `scf.execute_region`,
and prints its region without the required terminator. The op classes are kept because other passes
look for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ...index_lists import INDEX
from ...syntax.region_headers import Bindings, add_terminator, parse_arrow_types, parse_bindings
from ...syntax.typed_values import parse_typed_operands, print_typed_operands


def _resolve_assignments(
    parser: Parser, pairs: Bindings, types: Sequence[Attribute], position: int
) -> tuple[list[Parser.Argument], list[SSAValue]]:
    if len(pairs) != len(types):
        parser.raise_error(
            f"mismatch in number of loop-carried values and defined values: {len(pairs)} and "
            f"{len(types)}",
            position,
        )
    arguments = [name.resolve(each) for (name, _), each in zip(pairs, types, strict=True)]
    operands = [
        parser.resolve_operand(value, each) for (_, value), each in zip(pairs, types, strict=True)
    ]
    return arguments, operands


def _parse_region(parser: Parser, arguments: Sequence[Parser.Argument] | None = None) -> Region:
    """Read a region whose terminator may be omitted if it yields nothing."""
    region = parser.parse_region(arguments)
    add_terminator(region, scf.YieldOp)
    return region


def parse_for(parser: Parser) -> Operation:
    """Read a `scf.for` after its name."""
    position = parser.pos
    if parser.parse_optional_keyword("unsigned"):
        parser.raise_error("loops with unsigned comparison of bounds are not supported", position)
    induction = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    bounds = [parser.parse_unresolved_operand()]
    for word in ("to", "step"):
        parser.parse_keyword(word)
        bounds.append(parser.parse_unresolved_operand())
    position = parser.pos
    pairs: Bindings = []
    types: Sequence[Attribute] = ()
    if parser.parse_optional_keyword("iter_args"):
        pairs = parse_bindings(parser)
        types = parse_arrow_types(parser)
    arguments, operands = _resolve_assignments(parser, pairs, types, position)
    kind = parser.parse_type() if parser.parse_optional_punctuation(":") else INDEX
    limits = [parser.resolve_operand(bound, kind) for bound in bounds]
    body = _parse_region(parser, [induction.resolve(kind), *arguments])
    return scf.ForOp.create(
        operands=[*limits, *operands],
        result_types=types,
        attributes=parser.parse_optional_attr_dict(),
        regions=[body],
    )


def parse_if(parser: Parser) -> Operation:
    """Read a `scf.if` after its name."""
    condition = parser.parse_operand(i1)
    types = parse_arrow_types(parser)
    taken = _parse_region(parser)
    other = _parse_region(parser) if parser.parse_optional_keyword("else") else Region()
    return scf.IfOp.create(
        operands=[condition],
        result_types=types,
        attributes=parser.parse_optional_attr_dict(),
        regions=[taken, other],
    )


def parse_while(parser: Parser) -> Operation:
    """Read a `scf.while` after its name."""
    pairs = parse_bindings(parser)
    parser.parse_punctuation(":")
    position = parser.pos
    function_type = parser.parse_function_type()
    arguments, operands = _resolve_assignments(parser, pairs, function_type.inputs.data, position)
    before = parser.parse_region(arguments)
    parser.parse_keyword("do")
    after = parser.parse_region()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return scf.WhileOp.create(
        operands=operands,
        result_types=function_type.outputs.data,
        attributes=attributes.data if attributes is not None else {},
        regions=[before, after],
    )


def parse_execute_region(parser: Parser) -> Operation:
    """Read a `scf.execute_region` after its name."""
    types = parse_arrow_types(parser)
    no_inline = parser.parse_optional_keyword("no_inline") is not None
    region = parser.parse_region()
    attributes = parser.parse_optional_attr_dict()
    if no_inline:
        attributes["no_inline"] = UnitAttr()
    return scf.ExecuteRegionOp.create(result_types=types, regions=[region], attributes=attributes)


def print_execute_region(printer: Printer, operation: Operation) -> None:
    """Print a `scf.execute_region` after its name, with the terminator, which is required."""
    printer.print_string(" ")
    if operation.results:
        printer.print_string("-> (")
        printer.print_list(operation.result_types, printer.print_attribute)
        printer.print_string(") ")
    printer.print_region(operation.regions[0], print_entry_block_args=False)
    printer.print_op_attributes(operation.attributes)


def parse_index_switch(parser: Parser) -> Operation:
    """Read a `scf.index_switch` after its name."""
    selector = parser.parse_operand(INDEX)
    attributes = parser.parse_optional_attr_dict()
    types: Sequence[Attribute] = ()
    if parser.parse_optional_punctuation("->"):
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    values: list[int] = []
    regions: list[Region] = []
    while parser.parse_optional_keyword("case"):
        values.append(parser.parse_integer())
        regions.append(_parse_region(parser))
    parser.parse_keyword("default")
    return scf.IndexSwitchOp.create(
        operands=[selector],
        result_types=types,
        properties={"cases": DenseArrayBase.from_list(i64, values)},
        attributes=attributes,
        regions=[_parse_region(parser), *regions],
    )


def parse_parallel(parser: Parser) -> Operation:
    """Read a `scf.parallel` after its name."""
    induction = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    groups: list[list[SSAValue]] = []
    for word in ("=", "to", "step"):
        if word == "=":
            parser.parse_punctuation("=")
        else:
            parser.parse_keyword(word)
        position = parser.pos
        bounds = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        if len(bounds) != len(induction):
            parser.raise_error(f"expected {len(induction)} operands", position)
        groups.append([parser.resolve_operand(bound, INDEX) for bound in bounds])
    position = parser.pos
    initial: list[UnresolvedOperand] = []
    if parser.parse_optional_keyword("init"):
        initial = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
    types = parse_arrow_types(parser)
    groups.append([*parser.resolve_operands(initial, types, position)])
    body = parser.parse_region([each.resolve(INDEX) for each in induction])
    add_terminator(body, scf.ReduceOp)
    return scf.ParallelOp.create(
        operands=[value for group in groups for value in group],
        result_types=types,
        properties={
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(one) for one in groups])
        },
        attributes=parser.parse_optional_attr_dict(),
        regions=[body],
    )


def print_parallel(printer: Printer, operation: Operation) -> None:
    """Print a `scf.parallel` after its name."""
    assert isinstance(operation, scf.ParallelOp)
    body = operation.body
    last = body.block.last_op
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(body.block.args, printer.print_ssa_value)
    for word, values in (
        (" = ", operation.lowerBound),
        (" to ", operation.upperBound),
        (" step ", operation.step),
        (" init ", operation.initVals),
    ):
        if values or word != " init ":
            printer.print_string(word)
            with printer.in_parens():
                printer.print_list(values, printer.print_ssa_value)
    if operation.results:
        printer.print_string(" -> (")
        printer.print_list(operation.result_types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" ")
    printer.print_region(
        body,
        print_entry_block_args=False,
        print_block_terminators=last is None or bool(last.operands or last.attributes),
    )
    printer.print_op_attributes(operation.attributes)


def parse_reduce(parser: Parser) -> Operation:
    """Read a `scf.reduce` after its name; its regions are separated by commas."""
    operands: Sequence[SSAValue] = ()
    regions: list[Region] = []
    position = parser.pos
    if parser.parse_optional_punctuation("("):
        unresolved, types = parse_typed_operands(parser)
        parser.parse_punctuation(")")
        operands = parser.resolve_operands(unresolved, types, position)
        regions = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_region)
    return scf.ReduceOp.create(
        operands=operands, regions=regions, attributes=parser.parse_optional_attr_dict()
    )


def print_reduce(printer: Printer, operation: Operation) -> None:
    """Print a `scf.reduce` after its name."""
    if operation.operands:
        with printer.in_parens():
            print_typed_operands(printer, operation.operands)
    if operation.regions:
        printer.print_string(" ")
        printer.print_list(operation.regions, printer.print_region)
    printer.print_op_attributes(operation.attributes)
