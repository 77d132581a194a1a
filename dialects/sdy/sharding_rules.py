"""The attribute `#sdy.op_sharding_rule`: which factors the dimensions of an operation share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ...ir.verification import attribute_check

Mapping = tuple[tuple[int, ...], ...]
"""The factors of each dimension of a tensor, major to minor."""

_LETTERS = "ijklmnopqrstuvwxyz"
_FACTOR = r"[i-z](?:_\d+)?"
_SETS = ("reduction", "need_replication", "permutation", "blocked_propagation")
_EXCLUSIVE = 3
"""The number of sets, from the first on, of which a factor can be in one."""

_RULE = re.compile(
    r"\((?P<operands>[^()]*)\)\s*->\s*\((?P<results>[^()]*)\)\s*\{(?P<sizes>[^{}]*)\}"
    + "".join(rf"(?:\s*{name}\s*=\s*\{{(?P<{name}>[^{{}}]*)\}})?" for name in _SETS)
    + r"\s*(?P<custom>,\s*custom)?\s*"
)


@dataclass(frozen=True, slots=True)
class OpShardingRule:
    """The factors of operands and results, their sizes, and those that are special."""

    operands: tuple[Mapping, ...]
    results: tuple[Mapping, ...]
    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    """Factors that are reduced, need replication, are permuted, or do not propagate."""
    is_custom: bool

    def __str__(self) -> str:
        operands, results = (
            ", ".join(
                f"[{', '.join(''.join(map(_symbol, each)) for each in mapping)}]"
                for mapping in side
            )
            for side in (self.operands, self.results)
        )
        sizes = ", ".join(f"{_symbol(index)}={size}" for index, size in enumerate(self.sizes))
        sets = [
            f" {name}={{{', '.join(map(_symbol, factors))}}}"
            for name, factors in zip(_SETS, self.sets, strict=True)
            if factors
        ]
        custom = ", custom" if self.is_custom else ""
        return f"({operands})->({results}) {{{sizes}}}{''.join(sets)}{custom}"


def _symbol(index: int) -> str:
    last = len(_LETTERS) - 1
    return _LETTERS[index] if index <= last else f"z_{index - last}"


def _index(symbol: str) -> int:
    """Return the number of a factor: 0 for `i`, 17 for `z`, 18 for `z_1`. Raises ValueError."""
    letter, _, number = symbol.strip().partition("_")
    if re.fullmatch(_FACTOR, symbol.strip()) is None or (number and letter != "z"):
        raise ValueError(f"expected a factor such as i or z_1, got '{symbol.strip()}'")
    return _LETTERS.index(letter) + int(number or 0)


def _listed(text: str) -> list[str]:
    return text.split(",") if text.strip() else []


def _mappings(text: str) -> tuple[Mapping, ...]:
    """Read `[i, jk], [i]`. Raises ValueError."""
    found = re.findall(r"\[([^\[\]]*)\]", text)
    if re.sub(r"\[[^\[\]]*\]|\s", "", text) != "," * (len(found) - 1):
        raise ValueError(f"expected the factors of each tensor in brackets, got '{text}'")
    return tuple(
        tuple(_dimension(dimension.strip()) for dimension in _listed(mapping)) for mapping in found
    )


def _dimension(text: str) -> tuple[int, ...]:
    factors = re.findall(_FACTOR, text)
    if "".join(factors) != text:
        raise ValueError(f"expected factors such as ij, got '{text}'")
    return tuple(map(_index, factors))


def parse_rule(text: str) -> OpShardingRule:
    """Read `([i, j])->([j]) {i=2, j=4} reduction={i}, custom`. Raises ValueError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError("expected a rule such as ([i, j])->([j]) {i=2, j=4} reduction={i}")
    sizes: list[int] = []
    for entry in _listed(found["sizes"]):
        symbol, _, size = entry.partition("=")
        if _index(symbol) != len(sizes) or not size.strip().isdecimal():
            raise ValueError(f"expected {_symbol(len(sizes))} and its size, got '{entry.strip()}'")
        sizes.append(int(size))
    sets = tuple(tuple(map(_index, _listed(found[name] or ""))) for name in _SETS)
    operands, results = _mappings(found["operands"]), _mappings(found["results"])
    return OpShardingRule(operands, results, tuple(sizes), sets, found["custom"] is not None)


@irdl_attr_definition
class OpShardingRuleAttr(Data[OpShardingRule]):
    """`#sdy.op_sharding_rule<([i, j])->([j, i]) {i=4, j=8}>`."""

    name = "sdy.op_sharding_rule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> OpShardingRule:
        start, depth = parser.pos, 0
        while True:
            token = parser._current_token  # pyright: ignore[reportPrivateUsage]
            depth += (token.text == "<") - (token.text == ">")
            if token.kind is MLIRTokenKind.EOF:
                parser.raise_error("expected '>' at the end of a sharding rule", start)
            end = token.span.end
            parser._consume_token()  # pyright: ignore[reportPrivateUsage]
            if depth == 0:
                break
        try:
            return parse_rule(parser.lexer.input.content[start + 1 : end - 1].strip())
        except ValueError as error:
            parser.raise_error(str(error), start, end)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@attribute_check("sdy.sharding_rule")
def _verify_rule(operation: Operation, attribute: Attribute, types: Sequence[Attribute]) -> None:
    """Check that a rule has the factors of the operation's operands and results."""
    if not isinstance(attribute, OpShardingRuleAttr):
        raise VerifyException(f"sdy.sharding_rule = {attribute}, expected a sharding rule")
    rule = attribute.data
    if rule.is_custom and operation.name != "stablehlo.custom_call":
        raise VerifyException("a custom sharding rule is only for 'stablehlo.custom_call'")
    for what, mappings, found in (
        ("operand", rule.operands, operation.operand_types),
        ("result", rule.results, types),
    ):
        if len(mappings) != len(found):
            raise VerifyException(
                f"expected the factors of {len(found)} {what}s in a sharding rule, got "
                f"{len(mappings)}"
            )
        for index, (mapping, tensor) in enumerate(zip(mappings, found, strict=True)):
            _verify_mapping(f"{what} {index}", mapping, tensor, rule.sizes)
    used = {
        factor
        for mapping in (*rule.operands, *rule.results)
        for dimension in mapping
        for factor in dimension
    }
    for factor, size in enumerate(rule.sizes):
        if factor not in used:
            raise VerifyException(f"factor {_symbol(factor)}={size} has no dimension")
    _verify_sets(rule)


def _verify_mapping(what: str, mapping: Mapping, tensor: Attribute, sizes: Sequence[int]) -> None:
    if not isinstance(tensor, TensorType) or not tensor.has_static_shape():
        raise VerifyException(
            f"expected {what} of a sharding rule to be a tensor of known sizes, got {tensor}"
        )
    if len(mapping) != tensor.get_num_dims():
        raise VerifyException(
            f"expected the factors of {tensor.get_num_dims()} dimensions of {what}, got "
            f"{len(mapping)}"
        )
    factors = [factor for dimension in mapping for factor in dimension]
    _verify_known(factors, sizes)
    if len(set(factors)) != len(factors):
        raise VerifyException(f"expected a factor once in {what}, got {_listing(factors)}")
    for dimension in mapping:
        if not dimension:
            raise VerifyException(f"expected a factor of each dimension of {what}")
        if len(dimension) > 1 and 1 in (sizes[factor] for factor in dimension):
            raise VerifyException(
                f"a factor of size 1 is not one of several of a dimension of {what}"
            )


def _verify_known(factors: Iterable[int], sizes: Sequence[int]) -> None:
    for factor in factors:
        if factor >= len(sizes):
            raise VerifyException(f"factor {_symbol(factor)} has no size")


def _verify_sets(rule: OpShardingRule) -> None:
    for name, factors in zip(_SETS, rule.sets, strict=True):
        _verify_known(factors, rule.sizes)
        if any(first >= second for first, second in pairwise(factors)):
            raise VerifyException(f"expected {name} to be sorted, got {_listing(factors)}")
    special = [factor for factors in rule.sets[:_EXCLUSIVE] for factor in factors]
    if len(set(special)) != len(special):
        raise VerifyException(
            f"a factor is in one of {', '.join(_SETS[:_EXCLUSIVE])}, got {_listing(special)}"
        )


def _listing(factors: Iterable[int]) -> str:
    return "{" + ", ".join(map(_symbol, factors)) + "}"
