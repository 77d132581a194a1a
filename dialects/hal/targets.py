"""Attributes of the `hal` dialect for executable targets and for devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, operation_name
from ...ir.dialect_extension import plain_type
from ...ir.symbols import defined_name
from ...ir.syntax.attribute_format import KINDS, FormattedAttribute, Kind

DeviceType = plain_type("hal.device", "A device of the running program.")


DEVICE = DeviceType()


def device_globals(module: ModuleOp) -> dict[str, Operation]:
    """Return the device globals of a module by name, in textual order."""
    return {
        defined_name(op): op
        for op in module.body.block.ops
        if operation_name(op) == "util.global" and attribute(op, "type") == DEVICE
    }


def _parse_configuration(parser: AttrParser) -> Attribute:
    """Parse a dictionary. An empty one is the same as none, as in IREE."""
    found = parser.parse_attribute()
    return found if found != DictionaryAttr({}) else NoneAttr()


CONFIGURATION: Mapping[str, Kind] = {"configuration": (_parse_configuration, KINDS["attr"][1])}


@irdl_attr_definition
class ExecutableTargetAttr(FormattedAttribute):
    """`<"backend", "format", {configuration}>`: the target that an executable is compiled for."""

    name = "hal.executable.target"
    backend: StringAttr
    format: StringAttr
    configuration: DictionaryAttr | NoneAttr
    FORMAT: ClassVar[str] = "<$backend:string, $format:string(, $configuration:configuration)?>"
    KINDS: ClassVar[Mapping[str, Kind]] = CONFIGURATION

    @property
    def entries(self) -> DictionaryAttr:
        """The configuration; an empty dictionary if there is none."""
        if isinstance(self.configuration, NoneAttr):
            return DictionaryAttr({})
        return self.configuration


class DeviceAttribute(FormattedAttribute):
    """Base of the initial values of globals of type `!hal.device`; printed with that type."""

    @property
    def type(self) -> Attribute:
        """The type at the end of the attribute's text."""
        return DEVICE

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found = super().parse_parameters(parser)
        _end_device(parser)
        return found

    def print_parameters(self, printer: Printer) -> None:
        super().print_parameters(printer)
        _print_device_end(printer)


def _end_device(parser: AttrParser) -> None:
    """Parse the optional type after a device attribute, which is always `!hal.device`."""
    if parser.parse_optional_punctuation(":") is not None:
        position = parser.pos
        if parser.parse_type() != DEVICE:
            parser.raise_error("expected !hal.device", position)


def _print_device_end(printer: Printer) -> None:
    printer.print_string(" : ")
    printer.print_attribute(DEVICE)


@irdl_attr_definition
class DeviceTargetAttr(DeviceAttribute):
    """`<"id", {configuration}, [targets]>`: a device, and the executable targets that it runs."""

    name = "hal.device.target"
    identifier: StringAttr
    configuration: DictionaryAttr | NoneAttr
    targets: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            identifier = StringAttr(parser.parse_str_literal())
            configuration: Attribute = NoneAttr()
            targets: Attribute = ArrayAttr[Attribute]([])
            while parser.parse_optional_punctuation(",") is not None:
                position = parser.pos
                attribute = parser.parse_attribute()
                if isinstance(attribute, DictionaryAttr):
                    configuration = attribute if attribute.data else NoneAttr()
                elif isinstance(attribute, ArrayAttr):
                    targets = cast("ArrayAttr[Attribute]", attribute)
                else:
                    parser.raise_error("expected a dictionary or a list of targets", position)
        _end_device(parser)
        return [identifier, configuration, targets]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.identifier.data)
            if not isinstance(self.configuration, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.configuration)
            if self.targets:
                printer.print_string(", ")
                printer.print_attribute(self.targets)
        _print_device_end(printer)

    def verify(self) -> None:
        for target in self.targets:
            if not isinstance(target, ExecutableTargetAttr):
                raise VerifyException(f"expected #hal.executable.target, found {target}")


@irdl_attr_definition
class DeviceAliasAttr(DeviceAttribute):
    """`<"id"[ordinal], {configuration}>`: the name of a device target that is resolved later."""

    name = "hal.device.alias"
    identifier: StringAttr
    ordinal: IntegerAttr | NoneAttr
    configuration: DictionaryAttr | NoneAttr
    FORMAT: ClassVar[str] = (
        "<$identifier:string([$ordinal:index])?(, $configuration:configuration)?>"
    )
    KINDS: ClassVar[Mapping[str, Kind]] = CONFIGURATION


@irdl_attr_definition
class DeviceOrdinalAttr(DeviceAttribute):
    """`<3>`: the device with this ordinal among the devices that the program is started with."""

    name = "hal.device.ordinal"
    ordinal: IntegerAttr
    FORMAT: ClassVar[str] = "<$ordinal:index>"


@irdl_attr_definition
class DeviceFallbackAttr(DeviceAttribute):
    """`<@d>`: the device of another global."""

    name = "hal.device.fallback"
    device: SymbolRefAttr
    FORMAT: ClassVar[str] = "<$device:symbol>"


@irdl_attr_definition
class DeviceSelectAttr(DeviceAttribute):
    """`<[first, second]>`: the first of these devices that is available at run time."""

    name = "hal.device.select"
    devices: ArrayAttr[Attribute]
    FORMAT: ClassVar[str] = "<$devices>"

    def verify(self) -> None:
        if not self.devices:
            raise VerifyException("expected at least one device to select from")
        for device in self.devices:
            if not isinstance(device, DeviceAttribute):
                raise VerifyException(f"expected a device attribute, found {device}")
