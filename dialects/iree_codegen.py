"""The `iree_codegen` dialect: ops by which kernels query their target, and tiled contractions.

The attributes that tell IREE how to compile an op are kept as text and have no effect here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.dialect_extension import attribute_class
from ..ir.linear_forms import loops_of
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.rows import PURE, Rows
from ..ir.text.printer import attribute_text


def _verify_query(query: Operation) -> None:
    tensor_type = cast("TensorType[Attribute]", query.properties["tensor_type"])
    count, rank = len(query.results), tensor_type.get_num_dims()
    if count != rank:
        raise VerifyException(f"has {count} results, but {tensor_type} has {rank} dimensions")


QueryTileSizesOp = Rows("iree_codegen", {})(
    "query_tile_sizes",
    "-> sizes* | tensor_type:tensor",
    " attr-dict type($tensor_type) -> type($sizes)",
    traits=PURE,
    verify=_verify_query,
    doc="Return the tile sizes of a microkernel for an encoded tensor, one for each dimension.",
)


@irdl_op_definition
class InnerTiledOp(SyntaxOperation):
    """Apply an instruction to tiles, inside loops over tiles.

    `indexing_maps` describe the outer dimensions. The elements of the inner dimensions are in the
    order in which the instruction's lanes hold them, as given by `kind`. The verifier asks for one
    map per tensor and for equal sizes of the dimensions that share a loop.
    """

    name = "iree_codegen.inner_tiled"

    inputs = var_operand_def(TensorType)
    outputs = var_operand_def(TensorType)
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[Attribute])
    kind = prop_def(Attribute)
    permutations = opt_prop_def(ArrayAttr[Attribute])
    semantics = prop_def(Attribute)
    results_ = var_result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " ins($inputs) outs($outputs) <indexing_maps = $indexing_maps,"
        " iterator_types = $iterator_types, kind = $kind,"
        "( permutations = $permutations,)? semantics = $semantics>"
        " attr-dict : type($inputs) into type($outputs, $results_)"
    )

    def verify_(self) -> None:
        super().verify_()
        maps = [one.data for one in self.indexing_maps]
        if len(maps) != len(self.operands):
            raise VerifyException(f"has {len(maps)} maps for {len(self.operands)} tensors")
        sizes: dict[int, int] = {}
        for map_, operand in zip(maps, self.operands, strict=True):
            loops = loops_of(map_)
            if map_.num_dims != len(self.iterator_types) or len(loops) != len(map_.results):
                raise VerifyException(
                    f"expects maps of {len(self.iterator_types)} loops, not {map_}"
                )
            shape = cast("TensorType[Attribute]", operand.type).get_shape()
            if len(loops) > len(shape):
                raise VerifyException(f"has a map to {len(loops)} dimensions of {operand.type}")
            for loop, size in zip(loops, shape, strict=False):
                known = sizes.setdefault(loop, size)
                if DYNAMIC_INDEX not in (size, known) and known != size:
                    raise VerifyException(
                        f"has operands with {known} and with {size} tiles along loop {loop}"
                    )


@dataclass(frozen=True, init=False)
class DescriptionAttribute(ParametrizedAttribute):
    """`<key = value, ...>`: an attribute whose parameters are kept as text."""

    description: StringAttr | NoneAttr
    """The text between the brackets; `None` if there are none
    (`#iree_gpu.derived_thread_config`).
    """

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        entries = parser.parse_optional_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: _parse_entry(parser)
        )
        return [NoneAttr() if entries is None else StringAttr(", ".join(entries))]

    def print_parameters(self, printer: Printer) -> None:
        if isinstance(self.description, StringAttr):
            printer.print_string(f"<{self.description.data}>")


def described(dialect: str, *names: str) -> list[type[Attribute]]:
    """Return classes of attributes that configure IREE's code generation and are kept as text."""
    return [
        attribute_class(f"{dialect}.{name}", "Kept as text, without effect.", DescriptionAttribute)
        for name in names
    ]


def parse_entries(parser: AttrParser) -> list[str]:
    """Parse `<entry, ...>`; return the text of each entry, which is a value with or without key."""
    return parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_entry(parser))


def _parse_entry(parser: AttrParser) -> str:
    """Parse `key = value`, several of them without commas, or a single value; return the text."""
    word = parser.parse_optional_identifier()
    if word is None:
        return _parse_value(parser)
    entries: list[str] = []
    while word is not None:
        if parser.parse_optional_punctuation("=") is None:
            entries.append(_parse_words(parser, word))
            break
        entries.append(f"{word} = {_parse_value(parser)}")
        word = parser.parse_optional_identifier()
    return " ".join(entries)


def _parse_words(parser: AttrParser, word: str) -> str:
    """Parse words joined by bars, `fp32|fp16|int8`; return the text."""
    words = [word]
    while parser.parse_optional_punctuation("|") is not None:
        words.append(parser.parse_identifier())
    return "|".join(words)


def _parse_value(parser: AttrParser) -> str:
    """Parse a number, string, word, attribute, `<entries>` or `[entries]`; return the text."""
    if (text := parser.parse_optional_str_literal()) is not None:
        return f'"{text}"'
    if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return str(number)
    for opening, delimiter in (("<", parser.Delimiter.ANGLE), ("[", parser.Delimiter.SQUARE)):
        entries = parser.parse_optional_comma_separated_list(
            delimiter, lambda: _parse_entry(parser)
        )
        if entries is not None:
            return f"{opening}{', '.join(entries)}{'>' if opening == '<' else ']'}"
    if (word := parser.parse_optional_identifier()) is not None:
        return _parse_words(parser, word)
    return attribute_text(parser.parse_attribute())


IreeCodegen = Dialect(
    "iree_codegen",
    [InnerTiledOp, QueryTileSizesOp],
    described(
        "iree_codegen",
        "compilation_info",
        "denormal_fp_math",
        "export_config",
        "local_mapping",
        "lowering_config",
        "no_pipeline",
        "pass_pipeline",
        "root_op",
        "rotate_rows",
        "simple_target",
        "symbolic_ukernel_provider",
        "transform_dialect_codegen",
        "translation_info",
        "ukernel_descriptor",
        "vmvx_pipeline",
        "workgroup_local",
        "workgroup_mapping",
        "workgroup_scope",
        "xor_shuffle",
    ),
)
