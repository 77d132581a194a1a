"""Sets of flags in integer properties: `usage("TransferSource|TransferTarget")`, `flags(None)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import DIRECTIVES, Directive, Parsed, PrintsProperty

Flags = Mapping[str, int]
"""The bits of each flag by name; a flag may consist of several bits."""

FLAGS: dict[str, tuple[Flags, IntegerType]] = {
    "access-flags": (
        {"Read": 1, "Write": 2, "Discard": 4, "MayAlias": 8, "Unaligned": 16, "Any": 32},
        i32,
    ),
    "alloca-flags": ({"IndeterminateLifetime": 1}, i64),
    "buffer-usage": (
        {
            "TransferSource": 1,
            "TransferTarget": 1 << 1,
            "Transfer": 3,
            "DispatchIndirectParameters": 1 << 8,
            "DispatchUniformRead": 1 << 9,
            "DispatchStorageRead": 1 << 10,
            "DispatchStorageWrite": 1 << 11,
            "DispatchStorage": 3 << 10,
            "DispatchImageRead": 1 << 12,
            "DispatchImageWrite": 1 << 13,
            "DispatchImage": 3 << 12,
            "SharingExport": 1 << 16,
            "SharingReplicate": 1 << 17,
            "SharingConcurrent": 1 << 18,
            "SharingImmutable": 1 << 19,
            "MappingScoped": 1 << 24,
            "MappingPersistent": 1 << 25,
            "MappingOptional": 1 << 26,
            "MappingAccessRandom": 1 << 27,
            "MappingAccessSequentialWrite": 1 << 28,
            "Mapping": 1 << 24 | 1 << 27,
        },
        i32,
    ),
    "command-categories": ({"Transfer": 1, "Dispatch": 2}, i32),
    "dealloca-flags": ({"PreferOrigin": 1}, i64),
    "descriptor-flags": ({"ReadOnly": 1, "Indirect": 2}, i32),
    "reserved-flags": ({"Reserved": 1}, i64),
    "memory-types": (
        {
            "Optimal": 1,
            "HostVisible": 2,
            "HostCoherent": 4,
            "HostCached": 8,
            "HostLocal": 70,
            "DeviceVisible": 16,
            "DeviceLocal": 48,
        },
        i32,
    ),
    "command-modes": ({"OneShot": 1, "AllowInlineExecution": 16}, i32),
    "execution-stages": (
        {
            "CommandIssue": 1,
            "CommandProcess": 2,
            "Dispatch": 4,
            "Transfer": 8,
            "CommandRetire": 16,
            "Host": 32,
        },
        i32,
    ),
}
"""The flags that the directive `kind($property)` accepts, and the type of the property."""


@dataclass(eq=False)
class FlagSet(PrintsProperty):
    """`Name`, `"Name|Other"`, or `"None"`."""

    name: str
    kind: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        flags, type_ = FLAGS[self.kind]
        position = parser.pos
        bits = 0
        for word in parser.parse_identifier_or_str_literal().split("|"):
            if word != "None" and word not in flags:
                expected = ", ".join(["None", *flags])
                parser.raise_error(f"expected flags out of {expected}, found '{word}'", position)
            bits |= flags.get(word, 0)
        parsed.attributes[self.name] = IntegerAttr(bits, type_)

    def print(self, printer: Printer, operation: Operation) -> None:
        names = self._names(operation.get_attr_or_prop(self.name))
        if len(names) == 1:
            printer.print_string(names[0])
        else:
            printer.print_string_literal("|".join(names) or "None")

    def fits(self, operation: Operation) -> bool:
        """Return whether the property consists of these flags and has the type that is parsed."""
        found = operation.get_attr_or_prop(self.name)
        flags, type_ = FLAGS[self.kind]
        bits = 0
        for name in self._names(found):
            bits |= flags[name]
        return found is None or found == IntegerAttr(bits, type_)

    def verify(self, operation: Operation) -> None:
        found = operation.get_attr_or_prop(self.name)
        if found is not None and not isinstance(found, IntegerAttr):
            raise VerifyException(f"expected a number as '{self.name}', found {found}")

    def _names(self, attribute: Attribute | None) -> list[str]:
        bits = attribute.value.data if isinstance(attribute, IntegerAttr) else 0
        return [name for name, flag in FLAGS[self.kind][0].items() if bits & flag == flag]


def _flag_set(kind: str, definition: OpDef, name: str) -> Directive:
    """Return the directive for `kind($name)` in a format."""
    return FlagSet(name, kind)


DIRECTIVES.update({kind: partial(_flag_set, kind) for kind in FLAGS})
