"""StableHLO's control flow, calls, tuples and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, IsTerminator, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, integer, number_list
from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Parsed
from ...ir.syntax.region_headers import parse_bindings, print_bindings
from ...ir.syntax.rows import PURE, Rows
from ...ir.syntax.typed_values import parse_typed_operands, print_typed_operands
from .attributes import OutputOperandAliasAttr
from .collective_checks import verify_composite
from .lapack_calls import lapack_name
from .lapack_checks import verify_custom_call
from .syntax import Custom, define
from .types import TokenType, types_agree

ReturnOp = Rows("stablehlo", {}, default="any")(
    "return",
    "arguments*",
    "( $arguments)? attr-dict( : type($arguments))?",
    traits=(IsTerminator(), *PURE),
    doc="Terminate a region and return its values.",
)


# while -------------------------------------------------------------------------------------------


class WhileSyntax(IRDLOperation):
    """The custom syntax of `stablehlo.while`: both regions use the argument names of the header."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        bindings = parse_bindings(parser)
        names, values = [name for name, _ in bindings], [value for _, value in bindings]
        types: list[Attribute] = []
        if names:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != len(names):
            parser.raise_error(f"expected {len(names)} types, got {len(types)}", position)
        found = parser.parse_optional_attr_dict_with_keyword()
        operands = parser.resolve_operands(values, types, position)

        def arguments() -> list[Parser.Argument]:
            return [name.resolve(type_) for name, type_ in zip(names, types, strict=True)]

        parser.parse_keyword("cond")
        condition = parser.parse_region(arguments())
        parser.parse_keyword("do")
        body = parser.parse_region(arguments())
        return cls.create(
            operands=operands,
            result_types=types,
            attributes=dict(found.data) if found is not None else {},
            regions=[condition, body],
        )

    def print(self, printer: Printer) -> None:
        condition, body = self.regions
        block = condition.block
        # The body's arguments are printed with the names of the condition's arguments.
        print_bindings(printer, block.args, self.operands)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string("\n cond ")
        printer.print_region(condition, print_entry_block_args=False)
        printer.print_string(" do ")
        for mine, other in zip(block.args, body.block.args, strict=True):
            printer._ssa_values[other] = printer._ssa_values[mine]  # pyright: ignore
        printer.print_region(body, print_entry_block_args=False)

    def prints_generically(self) -> bool:
        """Return whether types differ, in sizes that are not known, which the syntax cannot say."""
        arguments = [tuple(each.type for each in region.block.args) for region in self.regions]
        return any(types != self.operand_types for types in (self.result_types, *arguments))


def _verify_while(operation: Operation) -> None:
    types = operation.operand_types
    if not types_agree(operation.result_types, types):
        raise VerifyException("expected results of the operands' types")
    for name, region in zip(("cond", "body"), operation.regions, strict=True):
        block = region.blocks.first
        if block is None or not types_agree([argument.type for argument in block.args], types):
            raise VerifyException(f"expected '{name}' to have arguments of the operands' types")
    condition, body = (region.block.last_op for region in operation.regions)
    if condition is None or tuple(condition.operand_types) != (TensorType(IntegerType(1), []),):
        raise VerifyException("expected 'cond' to return one tensor<i1>")
    if body is None or not types_agree(body.operand_types, types):
        raise VerifyException("expected 'body' to return values of the operands' types")


def _verify_branches(operation: Operation) -> None:
    if not operation.regions:
        raise VerifyException("expected at least one branch")
    element = IntegerType(1 if operation.name == "stablehlo.if" else 32)
    if operation.operand_types[0] != TensorType(element, []):
        raise VerifyException(f"expected an operand of type tensor<{element}>")
    for region in operation.regions:
        block = region.blocks.first
        last = None if block is None else block.last_op
        if block is None or block.args or last is None:
            raise VerifyException("expected branches without arguments")
        if not types_agree(last.operand_types, operation.result_types):
            raise VerifyException("expected branches to return values of the results' types")


# Calls -------------------------------------------------------------------------------------------


def _parse_regions(parser: Parser, parsed: Parsed) -> None:
    found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_region)
    parsed.region_lists["composite_regions"] = found or []


def _print_regions(printer: Printer, operation: Operation) -> None:
    if operation.regions:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(operation.regions, printer.print_region)


# Values that are no tensors ----------------------------------------------------------------------


def _parse_list(parser: Parser, parsed: Parsed) -> None:
    """Read `%a, %b : t, u`, or `()` for no values; results have the operands' types."""
    if parser.parse_optional_punctuation("(") is not None:
        parser.parse_punctuation(")")
        return
    operands, types = parse_typed_operands(parser)
    parsed.operands["operands_"] = operands
    parsed.types |= dict.fromkeys(("operands_", "results_"), types)


def _print_list(printer: Printer, operation: Operation) -> None:
    if operation.operands:
        printer.print_string(" ")
        print_typed_operands(printer, operation.operands)
    else:
        printer.print_string("()")


def _verify_barrier(operation: Operation) -> None:
    found, expected = (
        ", ".join(map(str, types)) for types in (operation.result_types, operation.operand_types)
    )
    if found != expected:
        raise VerifyException(
            f"expected results of the operands' types ({expected}), got ({found})"
        )


def _verify_tokens(operation: Operation) -> None:
    for each in (*operation.operand_types, *operation.result_types):
        if not isinstance(each, TokenType):
            raise VerifyException(f"expected tokens, got {each}")


def _verify_tuple(operation: Operation) -> None:
    result = operation.result_types[0]
    if not isinstance(result, TupleType) or tuple(_members(result)) != operation.operand_types:
        wanted = ", ".join(map(str, operation.operand_types))
        raise VerifyException(f"expected a tuple of ({wanted}), got {result}")


def _verify_tuple_element(operation: Operation) -> None:
    index, members = integer(operation, "index"), _members(operation.operand_types[0])
    if not 0 <= index < len(members):
        raise VerifyException(
            f"expected a tuple with an element {index}, got {operation.operand_types[0]}"
        )
    if operation.result_types[0] != members[index]:
        raise VerifyException(
            f"expected a result of {members[index]}, got {operation.result_types[0]}"
        )


def _members(kind: Attribute) -> Sequence[Attribute]:
    return _listed(kind.types) if isinstance(kind, TupleType) else ()


def _listed(found: Attribute | None) -> Sequence[Attribute]:
    return cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()


def _verify_call(operation: Operation) -> None:
    """Check the layouts of a custom call: a permutation of the dimensions for each tensor."""
    found = [attribute(operation, name) for name in ("operand_layouts", "result_layouts")]
    if (found[0] is None) != (found[1] is None):
        raise VerifyException("expected layouts of operands and of results, or none")
    if found[0] is not None:
        _verify_layouts(found[0], operation.operand_types)
    if found[1] is not None:
        results = operation.result_types
        is_tuple = len(results) == 1 and isinstance(results[0], TupleType)
        _verify_layouts(found[1], _members(results[0]) if is_tuple else results)
    for each in _listed(attribute(operation, "called_computations")):
        if not isinstance(each, SymbolRefAttr):
            raise VerifyException(f"expected symbols in 'called_computations', got {each}")
    _verify_backend_config(operation)
    _verify_aliases(operation)
    verify_custom_call(operation)


def _verify_aliases(operation: Operation) -> None:
    """Check that results that share memory with an operand have its type."""
    for alias in _listed(attribute(operation, "output_operand_aliases")):
        if not isinstance(alias, OutputOperandAliasAttr):
            raise VerifyException(f"expected #stablehlo.output_operand_alias<...>, got {alias}")
        index = alias.integer("operand_index")
        if not 0 <= index < len(operation.operands):
            raise VerifyException(
                f"expected an operand below {len(operation.operands)} in an alias, got {index}"
            )
        results, path = operation.result_types, alias.integers("output_tuple_indices")
        if len(results) > 1:
            # Several results are as the members of one tuple.
            position, path = (*path, -1)[0], path[1:]
            results = results[position : position + 1] if position >= 0 else ()
        if len(results) != 1:
            raise VerifyException(f"expected the index of a result in an alias, got {alias}")
        shared = _member_at(operation.operand_types[index], alias.integers("operand_tuple_indices"))
        result = _member_at(results[0], path)
        if shared != result:
            raise VerifyException(f"expected an alias of one type, got {shared} and {result}")


def _member_at(kind: Attribute, path: Sequence[int]) -> Attribute:
    """Return the type at these positions in nested tuples. Raises VerifyException."""
    for index in path:
        members = _members(kind)
        if not 0 <= index < len(members):
            raise VerifyException(f"expected a tuple with an element {index}, got {kind}")
        kind = members[index]
    return kind


_TYPED_FFI = 4
"""The version whose calls have a dictionary as `backend_config`; earlier ones have a string."""


def _verify_backend_config(operation: Operation) -> None:
    version, config = integer(operation, "api_version", 1), attribute(operation, "backend_config")
    if not 0 <= version <= _TYPED_FFI:
        raise VerifyException(f"expected 'api_version' in [0, {_TYPED_FFI}], got {version}")
    wanted = DictionaryAttr if version == _TYPED_FFI else StringAttr
    if config is not None and not isinstance(config, wanted):
        what = "a dictionary" if wanted is DictionaryAttr else "a string"
        raise VerifyException(
            f"expected 'backend_config' of version {version} to be {what}, got {config}"
        )


def _verify_layouts(found: Attribute, types: Sequence[Attribute]) -> None:
    layouts = _listed(found)
    if len(layouts) != len(types):
        raise VerifyException(f"expected {len(types)} layouts, got {len(layouts)}")
    for layout, kind in zip(layouts, types, strict=True):
        rank = kind.get_num_dims() if isinstance(kind, TensorType) else 0
        is_index = getattr(layout, "type", None) == TensorType(INDEX, [rank])
        if not is_index or sorted(number_list(layout)) != list(range(rank)):
            raise VerifyException(f"expected a permutation of {rank} dimensions, got {layout}")


def _parse_tuple_type(parser: Parser, parsed: Parsed) -> None:
    """Read the type of a tuple, which implies the types of the operands."""
    position, type_ = parser.pos, parser.parse_type()
    if not isinstance(type_, TupleType):
        parser.raise_error("expected a tuple", position)
    parsed.types |= {"val": [*_members(type_)], "result": [type_]}


def _print_tuple_type(printer: Printer, operation: Operation) -> None:
    printer.print_attribute(operation.result_types[0])


class _CallEffects(MemoryEffect):
    """A call of LAPACK has no effects, nor has one with `has_side_effect = false`."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        target = attribute(op, "call_target_name")
        is_lapack = isinstance(target, StringAttr) and lapack_name(target.data) is not None
        is_pure = is_lapack or attribute(op, "has_side_effect") == IntegerAttr(0, 1)
        return set() if is_pure else None


ROWS: list[type[IRDLOperation]] = [
    define(
        "stablehlo.while",
        "operands_* -> results_* | | cond body",
        pure=False,
        verify=_verify_while,
        base=WhileSyntax,
    ),
    define("stablehlo.case", "index -> results_* | | branches*", verify=_verify_branches),
    define(
        "stablehlo.if", "pred -> results_* | | true_branch false_branch", verify=_verify_branches
    ),
    define(
        "stablehlo.custom_call",
        "inputs* -> results_* | call_target_name:str has_side_effect:bool? backend_config? "
        "api_version:i32attr? called_computations:array? operand_layouts:array? "
        "result_layouts:array? output_operand_aliases:array?",
        " @$call_target_name($inputs) attr-dict : signature($inputs, $results_)",
        effects=_CallEffects(),
        verify=_verify_call,
    ),
    define(
        "stablehlo.composite",
        "inputs* -> results_* | name:str composite_attributes:dict? decomposition version:int? | "
        "composite_regions*",
        (
            " $name $inputs",
            Custom(_parse_regions, _print_regions),
            " attr-dict : signature($inputs, $results_)",
        ),
        pure=False,
        verify=verify_composite,
    ),
    define(
        "stablehlo.optimization_barrier",
        "operands_* -> results_*",
        (" attr-dict", Custom(_parse_list, _print_list)),
        verify=_verify_barrier,
    ),
    define(
        "stablehlo.after_all",
        "inputs* -> result",
        " $inputs attr-dict : type($result, $inputs)",
        verify=_verify_tokens,
    ),
    define(
        "stablehlo.tuple",
        "val* -> result",
        (" $val attr-dict : ", Custom(_parse_tuple_type, _print_tuple_type)),
        verify=_verify_tuple,
    ),
    define(
        "stablehlo.get_tuple_element",
        "operand -> result | index:i32attr",
        " $operand[int32($index)] attr-dict : signature($operand, $result)",
        verify=_verify_tuple_element,
    ),
    define(
        "stablehlo.create_token",
        "-> output",
        " attr-dict : type($output)",
        verify=_verify_tokens,
    ),
]
"""The op classes of this module."""
