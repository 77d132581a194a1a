"""Channels of the `stream` dialect: groups of devices and the collectives between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, values
from .dispatch_directives import DispatchResources
from .rows import PLACED, row
from .types import CollectiveAttr


@dataclass(eq=False)
class PeerOperand:
    """` source(%rank)`, ` target(%rank)`, `source_target_pair(%ranks)`, or nothing.

    The kind of the collective determines the keyword.
    """

    operand: str
    collective: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        word = _PEER_KEYWORDS.get(
            cast(CollectiveAttr, parsed.attributes[self.collective]).kind.data
        )
        if word is not None:
            parser.parse_keyword(word)
            with parser.in_parens():
                parsed.operands[self.operand] = [parser.parse_unresolved_operand()]

    def print(self, printer: Printer, operation: Operation) -> None:
        for value in values(operation, self.operand):
            printer.print_string(f" {self._word(operation)}(")
            printer.print_ssa_value(value)
            printer.print_string(")")

    def verify(self, operation: Operation) -> None:
        word = self._word(operation)
        if word is not None and not values(operation, self.operand):
            raise VerifyException(f"requires the parameter '{word}' for its kind of collective")

    def fits(self, operation: Operation) -> bool:
        return (self._word(operation) is not None) == bool(values(operation, self.operand))

    def _word(self, operation: Operation) -> str | None:
        return _PEER_KEYWORDS.get(
            cast(CollectiveAttr, operation.properties[self.collective]).kind.data
        )


_PEER_KEYWORDS = {
    "broadcast": "source",
    "recv": "source",
    "reduce": "target",
    "send": "target",
    "send_recv": "source_target_pair",
}

ROWS = (
    row(
        "channel.create",
        "id:host? rank? count? -> result:channel | group:str? affinity:attr?",
        "( on($affinity))?( id($id))?( group($group))?( rank($rank))?( count($count))?"
        " : type($result) attr-dict-with-keyword",
        traits=PLACED,
    ),
    row(
        "channel.split",
        "channel:channel color key -> result:channel",
        " $channel, $color, $key : type($channel) -> type($result) attr-dict-with-keyword",
    ),
    *(
        row(
            f"channel.{what}",
            "channel:channel -> result",
            " $channel : type($result) attr-dict-with-keyword",
        )
        for what in ("rank", "count")
    ),
    row(
        "async.collective",
        "target:resource target_size target_offset target_end target_length source:resource"
        " source_size source_offset source_end source_length element_count channel:channel"
        " param:i32? -> result:resource | op:collective affinity:attr?",
        (
            "bare($op)[$element_count]( on($affinity))? channel($channel)",
            PeerOperand("param", "op"),
            " $source[$source_offset to $source_end for $source_length],"
            " $target[$target_offset to $target_end for $target_length]"
            " : type($source){$source_size} -> tied($target) type($target, $result){$target_size}"
            " attr-dict-with-keyword",
        ),
        traits=PLACED,
    ),
)

CmdCollectiveOp = row(
    "cmd.collective",
    "channel:channel element_count param:i32? resources:any_resource* resource_sizes*"
    " resource_offsets* resource_lengths* | op:collective resource_accesses:array",
    (
        "bare($op)[$element_count] channel($channel)( param($param : type($param)))? ",
        DispatchResources(),
        " attr-dict-with-keyword",
    ),
)
