"""Small attributes of the `hal` dialect: collectives, calling conventions, object files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, Kind, one_of
from ...ir.syntax.keyword_attributes import KeywordAttribute
from ..stream.types import COLLECTIVE_ELEMENTS, Collective


@irdl_attr_definition
class CollectiveAttr(Collective):
    """A collective of the `hal` dialect."""

    name = "hal.collective"
    KINDS: ClassVar[Mapping[str, Kind]] = {
        **Collective.KINDS,
        "element": one_of((*COLLECTIVE_ELEMENTS, "f8E5M2", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ")),
    }


@irdl_attr_definition
class AbiConventionAttr(KeywordAttribute[str]):
    """How an exported function waits for its arguments and signals its results."""

    name = "hal.abi.convention"
    WORDS = ("synchronous", "coarse_fences")


@irdl_attr_definition
class DescriptorTypeAttr(KeywordAttribute[str]):
    """The kind of binding that a memref is in."""

    name = "hal.descriptor_type"
    WORDS = ("storage_buffer", "uniform_buffer")


@irdl_attr_definition
class ExecutableObjectAttr(FieldsAttribute):
    """`<{path = "file.o", data = dense<...>}>`: an object file that is linked to an executable."""

    name = "hal.executable.object"
    path: StringAttr | NoneAttr
    contents: Attribute
    FIELDS: ClassVar[Mapping[str, Kind]] = {"path": KINDS["string"], "data": KINDS["attr"]}
    BRACES: ClassVar[bool] = True


@irdl_attr_definition
class ExecutableObjectsAttr(ParametrizedAttribute):
    """`<{#target = [object, ...], ...}>`: object files by executable target."""

    name = "hal.executable.objects"
    targets: ArrayAttr[Attribute]
    target_objects: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_one() -> tuple[Attribute, Attribute]:
            target = parser.parse_attribute()
            parser.parse_punctuation("=")
            return target, parser.parse_attribute()

        with parser.in_angle_brackets():
            found = parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        return [ArrayAttr(each[0] for each in found), ArrayAttr(each[1] for each in found)]

    def print_parameters(self, printer: Printer) -> None:
        def print_one(pair: tuple[Attribute, Attribute]) -> None:
            printer.print_attribute(pair[0])
            printer.print_string(" = ")
            printer.print_attribute(pair[1])

        with printer.in_angle_brackets(), printer.in_braces():
            printer.print_list(
                tuple(zip(self.targets, self.target_objects, strict=True)), print_one
            )
