"""Aliases of attributes in printed IR, and the spelling of affine maps."""

from __future__ import annotations

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context


def printed(text: str, *, generic: bool = False) -> str:
    context = new_context()
    context.allow_unregistered = True
    module = parse_module(context, Source(text, "in.mlir"))
    result = print_operation(module, generic=generic)
    again = parse_module(context, Source(result, "again.mlir"))
    assert print_operation(again, generic=generic) == result
    return result


def test_text_without_aliases_has_no_definitions() -> None:
    assert printed('"t.x"() {a = 1 : i32} : () -> ()').startswith("builtin.module {")


def test_equal_attributes_share_an_alias_in_the_order_of_their_first_use() -> None:
    lines = printed(
        """
        #b = affine_map<(x, y) -> (y, x)>
        "t.x"() {a = #b} : () -> ()
        "t.x"() {a = affine_map<(i) -> (i)>, b = affine_map<(d0, d1) -> (d1, d0)>} : () -> ()
        """
    ).splitlines()
    assert lines == [
        "#map = affine_map<(d0, d1) -> (d1, d0)>",
        "#map1 = affine_map<(d0) -> (d0)>",
        "builtin.module {",
        '  "t.x"() {a = #map} : () -> ()',
        '  "t.x"() {a = #map1, b = #map} : () -> ()',
        "}",
    ]


def test_locations_in_attributes_are_printed_in_full() -> None:
    """MLIR reads no alias in them that is defined after the IR."""
    for location in ('fused["a", "b":1:2]', 'callsite("a" at fused<1 : i32>["b"])', '"n"("a":1:2)'):
        text = f'"t.x"() {{a = loc("a"), b = loc({location})}} : () -> ()'
        assert text in printed(text)
        assert "#loc" not in printed(text)


def test_text_of_unknown_dialects_need_not_begin_with_a_name() -> None:
    for body in ('"b>", 1', "<1, [2]> -> x", "4x!d<>", "", "name<1> x"):
        text = f'"t.x"() {{a = #d<{body}>, t = !d<{body}>}} : () -> ()'
        assert text in printed(text)


def test_the_generic_form_meets_regions_before_the_attributes_around_them() -> None:
    text = """
    "t.x"() ({
      "t.y"() {a = affine_map<(d0) -> (d0)>} : () -> ()
    }) {b = affine_map<(d0) -> (0)>, a = affine_map<(d0) -> (1)>} : () -> ()
    """
    for generic in (False, True):
        assert printed(text, generic=generic).splitlines()[:3] == [
            "#map = affine_map<(d0) -> (d0)>",
            "#map1 = affine_map<(d0) -> (1)>",
            "#map2 = affine_map<(d0) -> (0)>",
        ]


def test_maps_may_divide_and_multiply_by_symbols() -> None:
    maps = [
        "affine_map<()[s0, s1] -> (s0 * s1)>",
        "affine_map<(d0)[s0] -> ((d0 + 1) * s0 + d0 * 2)>",
        "affine_map<()[s0, s1] -> (s0 ceildiv s1)>",
        "affine_map<()[s0] -> (17 ceildiv s0)>",
        "affine_map<(d0)[s0] -> ((d0 + 1) floordiv s0 + d0 mod s0)>",
    ]
    text = f'"t.x"() {{a = [{", ".join(maps)}]}} : () -> ()'
    assert [line.split(" = ")[1] for line in printed(text).splitlines()[: len(maps)]] == maps


def test_nested_aliases_are_defined_before_they_are_used() -> None:
    lines = printed(
        """
        util.global private @d = #hal.device.target<"local", {ordinal = 1 : index},
          [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
        util.global private @e = #hal.device.target<"Lo-cal"> : !hal.device
        """
    ).splitlines()
    target = '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">'
    assert lines[:5] == [
        '#device_target_lo_cal = #hal.device.target<"Lo-cal"> : !hal.device',
        f"#executable_target_embedded_elf_x86_64 = {target}",
        '#device_target_local_1_ = #hal.device.target<"local", {ordinal = 1 : index},'
        " [#executable_target_embedded_elf_x86_64]> : !hal.device",
        "builtin.module {",
        "  util.global private @d = #device_target_local_1_",
    ]


def test_numbers_after_digits_and_names_that_another_took() -> None:
    text = printed(
        """
        "t.x"() {a = [#hal.executable.target<"a", "x1">, #hal.executable.target<"b", "x1">,
                      #hal.executable.target<"c", "x1_1">]} : () -> ()
        """
    )
    names = [line.split(" ")[0] for line in text.splitlines() if line.startswith("#")]
    assert names == [f"#executable_target_{name}" for name in ("x1", "x1_1", "x1_1_1")]


def test_long_tuples() -> None:
    short, long = (f"tuple<{', '.join(['i32'] * length)}>" for length in (16, 17))
    text = printed(f'"t.x"() {{a = {short}, b = {long}}} : () -> ()')
    assert text.startswith(f"!tuple = {long}\nbuiltin.module")
    assert f"{{a = {short}, b = !tuple}}" in text


@pytest.mark.parametrize(
    "expression",
    [
        "d0 + d1",
        "d0 - 1",
        "d0 * 2 - d1",
        "-d0",
        "-d0 + 4",
        "d0 - d1 * 3",
        "d0 floordiv 3",
        "(d0 + 1) floordiv 3",
        "d0 mod 4 + d1",
        "(d0 mod 3) ceildiv 5",
        "(-d0) floordiv 2",
        "d0 - (d1 mod 3) * 5",
        "d0 + d1 - 4",
    ],
)
def test_affine_expressions_have_no_needless_parentheses(expression: str) -> None:
    attribute = f"affine_map<(d0, d1) -> ({expression})>"
    text = printed(f'"t.x"() {{a = {attribute}}} : () -> ()')
    assert text.splitlines()[0] == f"#map = {attribute}"
