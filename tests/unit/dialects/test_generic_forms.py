"""Operations that no custom form can mean: refused, or printed in the generic form."""

from __future__ import annotations

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from tool_runs import mesh_opt

R = "!stream.resource<*>"
VALUES = f'%s, %r = "test.op"() : () -> (index, {R})\n'

REFUSED = {
    "a flag with a value": (
        '%b = "test.op"() : () -> !hal.buffer_view\n'
        '%0 = "hal.tensor.import"(%b) <{consume = 1 : i32, target_encoding = tensor<4xf32>, '
        "operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!hal.buffer_view) -> tensor<4xf32>",
        "attribute 'consume' must be unit attribute, but got '1 : i32'",
    ),
    "reassociation of another type": (
        '%0 = "test.op"() : () -> tensor<8x6xf32>\n'
        '%1 = "tensor.expand_shape"(%0) <{reassociation = [[0 : i64, 1 : i2], [2 : i64]], '
        "static_output_shape = array<i64: 2, 4, 6>}> : (tensor<8x6xf32>) -> tensor<2x4x6xf32>",
        "expected reassociation maps of i64 numbers",
    ),
    "tie without its operand": (
        '%0 = "stream.async.dispatch"(%s) <{entry_points = [@ex::@f], tied_operands = [3 : index], '
        f"operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 1>}}> : (index) -> {R}",
        "a result is tied to operand #3, but there are only 0 operands",
    ),
    "negative tie": (
        '%0 = "stream.async.dispatch"(%s) <{entry_points = [@ex::@f], tied_operands = [-7 : index],'
        f" operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 1>}}> : (index) -> {R}",
        "a result is tied to operand #-7, but there are only 0 operands",
    ),
    "sizes that stand elsewhere": (
        '%0 = "stream.async.dispatch"(%s) <{entry_points = [@ex::@f], '
        f"operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 1, 0>}}> : (index) -> {R}",
        "lengths, one for each resource operand, found 1",
    ),
    "no entry point": (
        '%0 = "stream.async.dispatch"(%s) <{entry_points = [], '
        f"operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 1>}}> : (index) -> {R}",
        "expects at least one entry point",
    ),
    "an encoding that is no type": (
        '%0 = "stream.tensor.sizeof"() <{encoding = @a}> : () -> index',
        "expected a type as 'encoding', found @a",
    ),
    "a visibility that is none": (
        '"util.func"() <{sym_name = "f", sym_visibility = "x", function_type = () -> ()}> ({\n'
        '  "util.return"() : () -> ()\n}) : () -> ()',
        "visibility expected to be one of private, public, nested, found 'x'",
    ),
    "a function of no function type": (
        '"util.func"() <{sym_name = "f", function_type = [1 : index]}> ({\n'
        '  "util.return"() : () -> ()\n}) : () -> ()',
        "must be function type, but got '[1 : index]'",
    ),
    "attributes of arguments that there are not": (
        '"func.func"() <{sym_name = "f", function_type = (index) -> (), arg_attrs = []}> ({\n'
        '^bb0(%x: index):\n  "func.return"() : () -> ()\n}) : () -> ()',
        "got 0, but expected 1",
    ),
    "a predicate of another type": (
        '%0 = "arith.cmpi"(%s, %s) <{predicate = 0 : i0}> : (index, index) -> i1',
        "expected a predicate from 0 to 9 of type i64",
    ),
    "an integer of another type": (
        '%0 = "stream.dispatch.workgroup.id"() <{dimension = 1 : i32}> : () -> index',
        "attribute 'dimension' must be integer of index, but got '1 : i32'",
    ),
    "flags of another type": (
        '%d = "test.op"() : () -> !hal.device\n'
        '%0 = "hal.fence.create"(%d) <{flags = 1 : i32}> : (!hal.device) -> !hal.fence',
        "attribute 'flags' must be integer of i64, but got '1 : i32'",
    ),
    "a default value of another type": (
        '%d = "test.op"() : () -> !hal.device\n'
        '%0, %1 = "hal.device.query"(%d) <{category = "a", key = "b", default_value = 1 : i32}>'
        " : (!hal.device) -> (i1, i64)",
        "type mismatch between result and default value",
    ),
    "a dynamic constant that is none": (
        '%0 = "flow.tensor.dynamic_constant"() <{value = @a}> : () -> tensor<?xf32>',
        "expected a constant tensor, found @a",
    ),
    "a sum of another shape": (
        '%a, %b, %c = "test.op"() : () -> (tensor<4xf32>, tensor<8xf32>, !flow.channel)\n'
        '%0 = "flow.collective.all_reduce"(%a, %b, %c) <{reduction_op = 1 : i32, '
        "element_type = 9 : i32, tied_operands = [0 : index]}>"
        " : (tensor<4xf32>, tensor<8xf32>, !flow.channel) -> tensor<4xf32>",
        "failed to verify that all of {source, target, result} have same type",
    ),
    "numbers of another type": (
        '%a = "test.op"() : () -> tensor<4x4xf32>\n'
        '%0 = "linalg.transpose"(%a, %a) <{permutation = array<i32: 1, 0>}> ({\n'
        '^bb0(%x: f32, %y: f32):\n  "linalg.yield"(%x) : (f32) -> ()\n'
        "}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
        "must be array of i64, but got 'array<i32: 1, 0>'",
    ),
    "a result without the type of its operand": (
        '%0 = "util.optimization_barrier"(%s) : (index) -> i32',
        "expected sources, results_ to have the same types",
    ),
    "a nested symbol": (
        '%0 = "util.global.address"() <{global = @a::@b}> : () -> !util.ptr<index>',
        "undefined global: @a",
    ),
    "two blocks": (
        '%0 = "stream.async.execute"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({\n'
        '^bb0:\n  "cf.br"()[^bb1] : () -> ()\n^bb1:\n  "stream.yield"() : () -> ()\n'
        "}) : () -> !stream.timepoint",
        "expects a region of one block, found 2",
    ),
}

GENERIC = {
    "an attribute with the name of a property": (
        '%0 = "stream.async.alloca"(%s) <{affinity = #hal.device.affinity<@a>}> '
        f"{{affinity = @b}} : (index) -> {R}"
    ),
    "an attribute in the place of sizes": (
        '%b = "test.op"() : () -> !hal.buffer_view\n'
        '%0 = "hal.tensor.import"(%b) <{target_encoding = tensor<4xf32>, '
        'operandSegmentSizes = array<i32: 1, 0, 0, 0>}> {"a b" = 1 : i32} : '
        "(!hal.buffer_view) -> tensor<4xf32>"
    ),
    "results without ties": (
        '%0 = "util.call"(%s) <{callee = @f}> : (index) -> index\n'
        "util.func private @f(%x: index) -> index"
    ),
    "an attribute that xDSL does not print": '%0 = "tensor.empty"() {a} : () -> tensor<4xf32>',
    "attributes of a terminator in a body that is left out": (
        '%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<f32>)\n'
        '%0 = "linalg.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({\n'
        '^bb0(%x: f32, %y: f32):\n  %z = "arith.addf"(%x, %y) : (f32, f32) -> f32\n'
        '  "linalg.yield"(%z) {a} : (f32) -> ()\n'
        "}) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"
    ),
    "maps that a reader puts in": (
        '%a = "test.op"() : () -> tensor<4x4xf32>\n'
        '%0 = "linalg.matmul"(%a, %a, %a) <{operandSegmentSizes = array<i32: 2, 1>}> ({\n'
        '^bb0(%x: f32, %y: f32, %z: f32):\n  %m = "arith.mulf"(%x, %y) : (f32, f32) -> f32\n'
        '  %n = "arith.addf"(%z, %m) : (f32, f32) -> f32\n  "linalg.yield"(%n) : (f32) -> ()\n'
        "}) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
    ),
    "an initializer without its type": (
        '"util.initializer"() ({\n  "util.return"() : () -> ()\n}) : () -> ()'
    ),
    "a terminator with attributes": (
        '"stream.executable"() <{sym_name = "x", sym_visibility = "public"}> ({\n'
        '  "stream.executable.end"() {a} : () -> ()\n}) : () -> ()'
    ),
}


def run(text: str) -> tuple[int, str, str]:
    return mesh_opt("--allow-unregistered-dialect", text=VALUES + text)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, message = REFUSED[name]
    code, _, errors = run(text)
    assert code == 1
    assert message in errors


@pytest.mark.parametrize("name", GENERIC)
def test_printed_so_that_it_reads_as_the_same(name: str) -> None:
    code, printed, errors = run(GENERIC[name])
    assert (code, errors) == (0, "")
    context = new_context(True)
    module = parse_module(context, Source(VALUES + GENERIC[name], "first"))
    assert module.is_structurally_equivalent(parse_module(context, Source(printed, "second")))
