"""The parser: locations, scopes, what is refused and where."""

from __future__ import annotations

import sys
import time
from itertools import product

import pytest
from breadth import sampled
from mesh_opt.ir.nesting_limits import MAXIMUM_AFFINE_DEPTH, MAXIMUM_NESTING
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source, split_source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, NameLoc, UnknownLoc
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError


def parse(text: str, unregistered: bool = True) -> ModuleOp:
    return parse_module(new_context(unregistered), Source(text, "x.mlir"))


def refuse(text: str, unregistered: bool = True) -> tuple[int, int, str]:
    """Line, column and message of the error that a text gets."""
    source = Source(text, "x.mlir")
    with pytest.raises(ParseError) as raised:
        parse_module(new_context(unregistered), source)
    return *source.line_and_column(raised.value.span.start), raised.value.msg


class TestLocations:
    def test_operation_stands_where_its_name_does(self) -> None:
        module = parse("func.func @f(%a: i32) {\n  %x = arith.addi %a, %a : i32\n  return\n}\n")
        places = {
            op.name: (op.location.line.data, op.location.column.data)
            for op in module.walk()
            if isinstance(op.location, FileLineColLoc)
        }
        assert places == {
            "builtin.module": (1, 1),
            "func.func": (1, 1),
            "arith.addi": (2, 8),
            "func.return": (3, 3),
        }

    def test_generic_form_too(self) -> None:
        (inner,) = parse('%0 = "a.b"() : () -> i32').body.block.ops
        assert str(inner.location) == 'loc("x.mlir":1:6)'

    def test_written_locations_stay(self) -> None:
        module = parse(
            '"a.b"() : () -> () loc("name")\n'
            '"a.c"() : () -> () loc(unknown)\n'
            '"a.d"() : () -> () loc("f.py":3:4)\n'
        )
        locations = [op.location for op in module.body.block.ops]
        assert isinstance(locations[0], NameLoc)
        assert isinstance(locations[1], UnknownLoc)
        assert str(locations[2]) == 'loc("f.py":3:4)'

    def test_location_alias_may_follow_its_use(self) -> None:
        module = parse(
            '#loc = loc("a.py":1:2)\n"a.b"() : () -> () loc(#loc2)\n#loc2 = loc("outer"(#loc))\n'
        )
        assert str(next(iter(module.body.block.ops)).location) == 'loc("outer"("a.py":1:2))'

    def test_printing_without_locations_is_as_before(self) -> None:
        text = "func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}"
        ours = parse(text)
        theirs = Parser(new_context(), text).parse_module()
        assert print_operation(ours) == str(theirs)
        assert ours.is_structurally_equivalent(theirs)

    def test_pieces_of_a_file_count_lines_of_the_file(self) -> None:
        first, second = split_source("x.mlir", 'a\n// -----\n\n"a.b"() : () -> ()\n')
        assert first.first_line == 1
        module = parse_module(new_context(True), second)
        assert str(next(iter(module.body.block.ops)).location) == 'loc("x.mlir":4:1)'

    def test_a_marker_between_pieces_may_be_indented(self) -> None:
        pieces = split_source("x.mlir", "a\n  // -----  \r\nb\n// ----- c\n")
        assert [each.content for each in pieces] == ["a\n", "b\n// ----- c\n"]

    def test_clones_keep_their_location(self) -> None:
        module = parse('"a.b"() : () -> ()')
        (inner,) = module.clone().body.block.ops
        assert str(inner.location) == 'loc("x.mlir":1:1)'


class TestErrors:
    def test_undefined_value_is_reported_at_its_first_use(self) -> None:
        text = "func.func @f() {\n  %x = arith.addi %b, %a : i32\n  return\n}\nmodule {}"
        assert refuse(text) == (2, 19, "use of undefined value '%b'")

    @pytest.mark.parametrize(
        ("shape", "column", "message"),
        [
            ("2xqxf32", 18, "expected a dimension or the type of elements, found 'qxf32'"),
            ("f33", 16, "expected a dimension or the type of elements, found 'f33'"),
            ("2x", 18, "expected a dimension or the type of elements, found '>'"),
            ("2", 17, "expected 'x' after a dimension, found '>'"),
            ("*xq", 18, "expected the type of elements, found 'q'"),
            ("*", 17, "expected 'x' after '*', found '>'"),
        ],
    )
    def test_shapes_that_are_none(self, shape: str, column: int, message: str) -> None:
        text = f'"a.b"() : () -> tensor<{shape}>'
        assert refuse(text) == (1, column + 8, message)

    def test_a_value_with_nearly_that_name_is_offered(self) -> None:
        text = 'func.func @f(%rows: i32) {\n  "a.b"(%row) : (i32) -> ()\n  return\n}'
        assert refuse(text) == (2, 9, "use of undefined value '%row'; did you mean '%rows'?")

    def test_functions_do_not_see_each_other_s_values(self) -> None:
        text = (
            "func.func @f(%a: i32) { return }\nfunc.func @g() {\n"
            "  %x = arith.addi %a, %a : i32\n  return\n}"
        )
        assert refuse(text) == (3, 19, "use of undefined value '%a'")

    def test_isolated_regions_may_reuse_outer_names(self) -> None:
        parse(
            '%a = "a.b"() : () -> i32\nfunc.func @f(%a: i64) -> i64 { return %a : i64 }\n'
            '"a.c"(%a) : (i32) -> ()'
        )

    def test_values_of_a_region_end_with_it(self) -> None:
        line, column, message = refuse(
            '"a.b"() ({\n  %v = "a.c"() : () -> i32\n}) : () -> ()\n"a.d"(%v) : (i32) -> ()'
        )
        assert (line, column, message) == (4, 7, "use of undefined value '%v'")

    def test_regions_do_not_define_values_for_what_is_around_them(self) -> None:
        line, column, message = refuse('"a.b"(%v) ({\n  %v = "a.c"() : () -> i32\n}) : (i32) -> ()')
        assert (line, column, message) == (1, 7, "use of undefined value '%v'")

    def test_values_to_come_may_be_used_in_a_region_first(self) -> None:
        module = parse(
            '"a.b"(%v) ({\n  "a.c"(%v) : (i32) -> ()\n}) : (i32) -> ()\n%v = "a.d"() : () -> i32'
        )
        outer, last = module.body.block.ops
        inner = outer.regions[0].block.first_op
        assert inner is not None
        assert inner.operands[0] is outer.operands[0] is last.results[0]
        wrong = '"a.b"(%v) ({\n  "a.c"(%v) : (i64) -> ()\n}) : (i32) -> ()'
        assert "prior uses: 'i32' vs 'i64'" in refuse(wrong)[2]

    def test_unknown_operation(self) -> None:
        line, column, message = refuse("func.func @f() {\n  arith.addii\n}", unregistered=False)
        assert (line, column) == (2, 3)
        assert "unknown operation 'arith.addii'" in message
        assert "'arith.addi'" in message

    def test_unknown_dialect(self) -> None:
        _, _, message = refuse("shart.grid @g", unregistered=False)
        assert "no dialect 'shart'" in message
        assert "'shard'" in message

    def test_undefined_block(self) -> None:
        line, column, message = refuse("func.func @f() {\n  cf.br ^bb7\n}")
        assert (line, column, message) == (2, 9, "reference to undefined block '^bb7'")

    def test_end_of_text(self) -> None:
        assert "the end of the text" in refuse("func.func @f() {\n")[2]

    def test_number_of_results(self) -> None:
        assert "has 1 results, but 2 are named" in refuse('%a, %b = "a.b"() : () -> i32')[2]
        assert refuse('%a:0 = "a.b"() : () -> ()')[2] == "expected at least one result"

    @pytest.mark.parametrize(
        "text",
        [
            "%x = arith.constant " + "9" * 5000 + " : i32",
            "%x = arith.constant 0x" + "F" * 100 + " : f32",
            "%x = arith.constant dense<[1, 2]> : tensor<3xi32>",
            "%x = arith.constant 1.0 : i32",
            '"a.b"() {x = affine_map<(d0) -> (d1)>} : () -> ()',
            '"a.b"() {x = array<i32: 1.5>} : () -> ()',
            '"a.b"() {x = dense<"0xZZ"> : tensor<2xi32>} : () -> ()',
            '"a.b"() {x = strided<[1], offset: x>} : () -> ()',
            '"a.b"() {x = !y} : () -> ()',
            '"a.b"() {x, x} : () -> ()',
            '"a.b"() {x = @"\\ff"} : () -> ()',
            "func.func @f(%a: i32, i32)",
            "func.func @f(%a: i32, %a: i32) { return }",
            "{-# external_resources: 3 #-}",
            "{-# a: { } #-}",
            "module { } }",
            "#a = 1\n#a = 2\nmodule {}",
            "\x00",
            '"',
            "%",
            '"a.b"() {x = 1 : i16777216} : () -> ()',
            '"a.b"() {x = array<i18446744073709551616: 1>} : () -> ()',
            '"a.b"() : () -> si99999999999999999999',
            '"a.b"() : () -> tensor<4x-3xf32>',
            '"a.b"() : () -> vector<0x1xf32',
            '"a.b"() : () -> !llvm.ptr<<<',
        ],
    )
    def test_bad_text_is_an_error_and_no_crash(self, text: str) -> None:
        line, column, message = refuse(text)
        assert line >= 1 and column >= 1 and message


def _nested_regions(depth: int) -> str:
    return '"a.b"() ({' * depth + "}) : () -> ()" * depth


def _nested_arrays(depth: int) -> str:
    return '"a.b"() {x = ' + "[" * depth + "]" * depth + "} : () -> ()"


def _nested_types(depth: int) -> str:
    return '"a.b"() : () -> ' + "tuple<" * depth + "i32" + ">" * depth


def _nested_functions(depth: int) -> str:
    return '"a.b"() {x = ' + "(" * depth + ") -> ()" * depth + "} : () -> ()"


def _nested_affine(depth: int) -> str:
    return '"a.b"() {x = affine_map<(d0) -> (' + "(" * depth + "d0" + ")" * depth + ")>} : () -> ()"


def _nested_dense(depth: int) -> str:
    return '"a.b"() {x = dense<' + "[" * depth + "1" + "]" * depth + "> : tensor<1xi32>} : () -> ()"


def _nested_locations(depth: int) -> str:
    return '"a.b"() : () -> () loc(' + "fused[" * depth + "unknown" + "]" * depth + ")"


@pytest.mark.parametrize(
    "nested",
    [
        _nested_regions,
        _nested_arrays,
        _nested_types,
        _nested_functions,
        _nested_affine,
        _nested_dense,
        _nested_locations,
    ],
)
@pytest.mark.parametrize("depth", [5_000, 100_000])
def test_deep_nesting_is_refused(nested, depth: int) -> None:
    limit = sys.getrecursionlimit()
    assert "nested deeper than" in refuse(nested(depth))[2]
    assert sys.getrecursionlimit() == limit


TERMS = ("d0 + ", "d0 floordiv 3 + ", "d0 * 2 - ")
SPACES = ("affine_map<(d0) -> (%s)>", "affine_set<(d0) : (%s >= 0)>")


@pytest.mark.parametrize(("term", "space"), sampled([*product(TERMS, SPACES)], 3))
def test_affine_expressions_are_as_deep_as_what_reads_them_can_follow(
    term: str, space: str
) -> None:
    text = '"a.b"() {m = ' + space + "} : () -> ()"
    parse(text % (term * (MAXIMUM_AFFINE_DEPTH // 2) + "d0"))
    message = refuse(text % (term * (MAXIMUM_AFFINE_DEPTH + 1) + "d0"))[2]
    assert f"at most {MAXIMUM_AFFINE_DEPTH} operators in a row" in message


@pytest.mark.parametrize("nested", [_nested_regions, _nested_arrays, _nested_types])
def test_nesting_up_to_the_limit_goes_through(nested) -> None:
    module = parse(nested(MAXIMUM_NESTING - 3))
    assert print_operation(parse(print_operation(module))) == print_operation(module)


class TestTypeCache:
    @pytest.mark.parametrize(
        "text",
        [
            '"a.b"() : () -> (tensor<4xf32>, tensor<4xf32>, tensor<4x?xi8>)',
            '!t = tensor<2xi32>\n"a.b"() {x = !t, y = !t} : () -> (!t, !t)',
            '"a.b"() {x = vector<[4]x2xf32>, y = vector<[4]x2xf32>} : () -> ()',
            '"a.b"() {x = f32, y = f32, z = index, w = i32, v = i32} : () -> ()',
            '"a.b"() {x = memref<4xf32, strided<[2], offset: ?>>, y = memref<4xf32>} : () -> ()',
            '"a.b"() {x = tuple<i32, tensor<4xf32>>, y = tuple<i32, tensor<4xf32>>} : () -> ()',
            '"a.b"() {x = tensor<4xf32, "e">, y = tensor<4xf32, "e">} : () -> ()',
            '"a.b"() {x = !u.v, y = !u.v, z = !u.v<a<b>>, w = !u.v<a<b>>} : () -> ()',
            '"a.b"() {x = complex<f32>, y = complex<f32>, z = none, w = none} : () -> ()',
            '"a.b"() {x = 1 : i32, y = 1 : i32, z = dense<1> : tensor<4xi32>} : () -> ()',
            '"a.b"() {x = tensor<*xf32>, y = tensor<*xf32>} : () -> ()',
            '"a.b"() {unit, x = true, y = false, z = true} : () -> ()',
        ],
    )
    def test_same_ir_as_xdsl(self, text: str) -> None:
        context = new_context(True)
        theirs = Parser(context, text).parse_module()
        assert parse_module(context, Source(text, "x")).is_structurally_equivalent(theirs)


class TestDenseLiterals:
    @pytest.mark.parametrize(
        "text",
        [
            "dense<1> : tensor<4xi32>",
            "dense<-1> : tensor<4xi32>",
            "dense<[1, -2, 3]> : tensor<3xi64>",
            "dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xindex>",
            "dense<[[[1.0]], [[2.5e-3]]]> : tensor<2x1x1xf32>",
            "dense<[1, 2]> : tensor<2xf32>",
            "dense<1.> : tensor<2xf64>",
            "dense<1.0e400> : tensor<2xf64>",
            "dense<1.5> : tensor<f32>",
            "dense<7> : tensor<i8>",
            "dense<255> : tensor<2xi8>",
            "dense<255> : tensor<2xui8>",
            "dense<true> : tensor<3xi1>",
            "dense<[true, false]> : tensor<2xi1>",
            "dense<1> : tensor<3xi1>",
            "dense<> : tensor<0xi32>",
            "dense<1.0> : tensor<3xbf16>",
            "dense<[1.0, 2.0]> : tensor<2xf16>",
            "dense<1.0> : vector<3xf8E4M3FN>",
            "dense<(1.0, 2.0)> : tensor<3xcomplex<f32>>",
            "dense<[1, // one\n 2]> : tensor<2xi32>",
            "dense<\n[1,\n2]\n> : tensor<2xi32>",
            'dense<"0x01000000"> : tensor<2xi32>',
            "dense<3> : tensor<0xi32>",
        ],
    )
    def test_same_constants_as_xdsl(self, text: str) -> None:
        text = f'"a.b"() {{x = {text}}} : () -> ()'
        context = new_context(True)
        theirs = Parser(context, text).parse_module()
        assert parse_module(context, Source(text, "x")).is_structurally_equivalent(theirs)

    @pytest.mark.parametrize(
        "text",
        [
            "dense<[1, 2]> : tensor<3xi32>",
            "dense<[[1, 2], [3]]> : tensor<2x2xi32>",
            "dense<[1, [2]]> : tensor<2xi32>",
            "dense<300> : tensor<2xi8>",
            "dense<-1> : tensor<2xui8>",
            "dense<1.5> : tensor<2xi32>",
            "dense<true> : tensor<2xi32>",
            "dense<1e5> : tensor<2xf32>",
            "dense<1> : tensor<?xi32>",
            "dense<[1, 2,]> : tensor<2xi32>",
            "dense<1> : i32",
            "dense<0> : tensor<4294967296xi32>",
            "dense<true> : tensor<18446744073709551616xi1>",
        ],
    )
    def test_rejected_text(self, text: str) -> None:
        refuse(f'"a.b"() {{x = {text}}} : () -> ()')

    def test_many_numbers_and_big_splats_are_quick(self) -> None:
        numbers = ", ".join(map(str, range(200_000)))
        begin = time.process_time()
        module = parse(f'"a.b"() {{x = dense<[{numbers}]> : tensor<200000xi32>}} : () -> ()')
        parse('"a.b"() {x = dense<1.5> : tensor<4096x4096xf32>} : () -> ()')
        # A tenth of a second; number by number it takes seven.
        assert time.process_time() - begin < 2
        constant = next(iter(module.body.block.ops)).attributes["x"]
        assert constant.get_values()[199_999] == 199_999


class TestMendedForms:
    def test_declaration_keeps_attributes_of_arguments_and_results(self) -> None:
        text = (
            "func.func private @e(tensor<4xf32> {x.a = 1 : i32}, i32) -> (tensor<4xf32> {x.b}) "
            "attributes {x.c}"
        )
        module = parse(text)
        assert text in print_operation(module)
        again = parse(print_operation(module))
        assert again.is_structurally_equivalent(module)
        generic = parse(print_operation(module, generic=True))
        assert generic.is_structurally_equivalent(module)

    def test_named_arguments_of_a_declaration(self) -> None:
        module = parse("func.func private @e(%a: i32 {x.a})")
        assert "@e(i32 {x.a})" in print_operation(module)

    def test_definition_is_untouched(self) -> None:
        text = "func.func public @f(%a: i32 {x.a}) -> (i32 {x.b}) {\n    func.return %a : i32\n  }"
        assert text in print_operation(parse(text))


@pytest.mark.parametrize(
    ("first", "step"),
    [
        ("#a0 = [1]", "#a{next} = [#a{this}, #a{this}]"),
        ("#a0 = 1", "#a{next} = {{x = #a{this}, y = #a{this}}}"),
        ("!a0 = i32", "!a{next} = tuple<!a{this}, !a{this}>"),
        ('#a0 = loc("x")', "#a{next} = loc(fused[#a{this}, #a{this}])"),
    ],
)
def test_aliases_that_stand_for_too_much(first: str, step: str) -> None:
    lines = [first, *(step.format(this=number, next=number + 1) for number in range(60))]
    with pytest.raises(ParseError, match="expands to more than 262144 attributes"):
        parse_module(new_context(), Source("\n".join(lines), "x"))
