"""Convolutions whose channels are tiled mean the same after each stage of `data-tile`."""

from __future__ import annotations

import pytest
from breadth import sampled
from mesh_opt.passes.data_tile import DataTilePass
from parsing import parse
from tiled_programs import DEVICES, HERE, check
from xdsl.dialects.builtin import ModuleOp


def program(operation: str, left: str, right: str, result: str, attributes: str = "") -> str:
    """A convolution on the first device, with a relu and another one of its kind on the second."""
    types = [f"tensor<{shape}>" for shape in (left, right, result)]
    wide = result.rpartition("x")[2]
    zero = "0" if wide.startswith("i") else "0.0"
    maximum = "maxsi" if wide.startswith("i") else "maximumf"
    there = "#hal.device.affinity<@b>"
    return f"""
func.func @main(%x: {types[0]} {HERE}, %y: {types[1]} {HERE}) ->
    ({types[2]} {HERE}, {types[2]} {{iree.abi.affinity = {there}}}) {{
  %z = arith.constant {zero} : {wide}
  %e = tensor.empty() : {types[2]}
  %f = linalg.fill ins(%z : {wide}) outs(%e : {types[2]}) -> {types[2]}
  %r = {operation} {attributes} ins(%x, %y : {types[0]}, {types[1]}) outs(%f : {types[2]})
    -> {types[2]}
  %c = arith.constant dense<{zero}> : {types[2]}
  %s = arith.{maximum} %r, %c : {types[2]}
  %u = flow.tensor.transfer %x : {types[0]} to {there}
  %v = flow.tensor.transfer %y : {types[1]} to {there}
  %w = flow.tensor.transfer %s : {types[2]} to {there}
  %t = {operation} {attributes} ins(%u, %v : {types[0]}, {types[1]}) outs(%w : {types[2]})
    -> {types[2]}
  return %s, %t : {types[2]}, {types[2]}
}}"""


STRIDED = "{strides = dense<[2, 3]> : tensor<2xi64>}"
DILATED = "{dilations = dense<2> : tensor<2xi64>}"

TILED = {
    "nhwc_hwcf": ("linalg.conv_2d_nhwc_hwcf", "2x7x6x5xf32", "3x2x5x20xf32", "2x5x5x20xf32"),
    "one_by_one": ("linalg.conv_2d_nhwc_hwcf", "2x4x6x16xf32", "1x1x16x32xf32", "2x4x6x32xf32"),
    "strided": (
        "linalg.conv_2d_nhwc_hwcf", "1x7x8x5xf32", "3x2x5x20xf32", "1x3x3x20xf32", STRIDED,
    ),
    "nchw_fchw": ("linalg.conv_2d_nchw_fchw", "2x5x7x6xf32", "20x5x3x2xf32", "2x20x5x5xf32"),
    "nhwc_fhwc": ("linalg.conv_2d_nhwc_fhwc", "1x7x6x17xf32", "20x3x2x17xf32", "1x5x5x20xf32"),
    "one_dimension": ("linalg.conv_1d_nwc_wcf", "2x9x5xf32", "3x5x20xf32", "2x7x20xf32"),
}  # fmt: skip

PLAIN = {
    "dilated": (
        "linalg.conv_2d_nhwc_hwcf", "1x7x6x5xf32", "3x2x5x8xf32", "1x3x4x8xf32", DILATED,
    ),
    "depthwise": (
        "linalg.depthwise_conv_2d_nhwc_hwc", "1x7x6x5xf32", "3x2x5xf32", "1x5x5x5xf32",
    ),
    "no_channels": ("linalg.conv_2d", "7x6xf32", "3x2xf32", "5x5xf32"),
    "no_tile_for_integers": (
        "linalg.conv_2d_nhwc_hwcf", "1x7x6x5xi8", "3x2x5x8xi8", "1x5x5x8xi32",
    ),
}  # fmt: skip


def packs(module: ModuleOp) -> int:
    return sum(operation.name == "linalg.pack" for operation in module.walk())


@pytest.mark.parametrize("name", sampled(list(TILED), 2))
def test_channels_are_tiled(name: str) -> None:
    text = program(*TILED[name])
    assert packs(check(text, convolutions=True)) > 0
    context, module = parse(DEVICES + text)
    DataTilePass().apply(context, module)
    assert packs(module) == 0


@pytest.mark.parametrize("name", PLAIN)
def test_others_stay_as_they_are(name: str) -> None:
    assert packs(check(program(*PLAIN[name]), convolutions=True)) == 0
