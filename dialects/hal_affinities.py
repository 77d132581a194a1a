"""Affinities of the `hal` dialect: which device, and perhaps which of its queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneAttr, SymbolRefAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .affinity import AffinityAttribute


class OneDevice(ParametrizedAttribute, AffinityAttribute):
    """`<@device>`, or `<@device, [queue, ...]>`."""

    device: SymbolRefAttr
    queues: ArrayAttr[IntegerAttr] | NoneAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            device = SymbolRefAttr(parser.parse_symbol_name())
            if parser.parse_optional_punctuation(",") is None:
                return [device, NoneAttr()]
            return [device, parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.device)
            if isinstance(self.queues, ArrayAttr):
                printer.print_string(", [")
                printer.print_list(
                    self.queues, lambda queue: printer.print_string(str(queue.value.data))
                )
                printer.print_string("]")

    def verify(self) -> None:
        if isinstance(self.queues, ArrayAttr) and any(q.value.data < 0 for q in self.queues):
            raise VerifyException("expected queue numbers that are not negative")

    def device_names(self) -> tuple[str, ...]:
        return (self.device.root_reference.data,)


@irdl_attr_definition
class DeviceAffinityAttr(OneDevice):
    """Runs on a device that the module defines."""

    name = "hal.device.affinity"
    device: SymbolRefAttr
    queues: ArrayAttr[IntegerAttr] | NoneAttr


@irdl_attr_definition
class DevicePromiseAttr(OneDevice):
    """Runs on a device that may be defined later."""

    name = "hal.device.promise"
    device: SymbolRefAttr
    queues: ArrayAttr[IntegerAttr] | NoneAttr


@irdl_attr_definition
class DeviceOptimalAttr(ParametrizedAttribute, AffinityAttribute):
    """`<[affinity, ...]>`: wherever suits all of these best."""

    name = "hal.device.optimal"
    affinities: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.affinities)

    def verify(self) -> None:
        for affinity in self.affinities:
            if not isinstance(affinity, AffinityAttribute):
                raise VerifyException(f"expected an affinity, found {affinity}")

    def device_names(self) -> tuple[str, ...]:
        affinities = cast("ArrayAttr[AffinityAttribute]", self.affinities)
        return tuple(dict.fromkeys(n for a in affinities for n in a.device_names()))


@irdl_attr_definition
class DeviceLinkAttr(ParametrizedAttribute):
    """`(@a -> @b = {...})`: what is known of the way from one device to another."""

    name = "hal.device.link"
    source: SymbolRefAttr
    target: SymbolRefAttr
    properties: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_parens():
            source = SymbolRefAttr(parser.parse_symbol_name())
            parser.parse_punctuation("->")
            target = SymbolRefAttr(parser.parse_symbol_name())
            parser.parse_punctuation("=")
            return [source, target, parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_attribute(self.source)
            printer.print_string(" -> ")
            printer.print_attribute(self.target)
            printer.print_string(" = ")
            printer.print_attribute(self.properties)


@irdl_attr_definition
class DeviceTopologyAttr(ParametrizedAttribute):
    """`<links = [...]>`: the ways between devices."""

    name = "hal.device.topology"
    links: ArrayAttr[DeviceLinkAttr]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_link() -> DeviceLinkAttr:
            return DeviceLinkAttr.new(DeviceLinkAttr.parse_parameters(parser))

        with parser.in_angle_brackets():
            parser.parse_keyword("links")
            parser.parse_punctuation("=")
            return [
                ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_link))
            ]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<links = [")
        printer.print_list(self.links, lambda link: link.print_parameters(printer))
        printer.print_string("]>")
