"""mesh-run against IREE: the same program, the same arguments, the same text and numbers."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tool_runs import mesh_run

SCRIPT = """
import json, pathlib, subprocess, sys
program, calls, folder = json.loads({request!r})
path = pathlib.Path(folder)
(path / "p.mlir").write_text(program)
tools = pathlib.Path(sys.executable).parent
options = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx",
           "--iree-input-demote-f64-to-f32=false"]
subprocess.run([tools / "iree-compile", path / "p.mlir", *options, "-o", path / "p.vmfb"],
               check=True, capture_output=True)
outputs = []
for call in calls:
    done = subprocess.run([tools / "iree-run-module", "--device=local-task",
                           "--module=" + str(path / "p.vmfb"), *call],
                          capture_output=True, text=True)
    outputs.append([done.returncode, done.stdout])
print(json.dumps(outputs))
"""

IDENTITY = """
func.func @types(%a: tensor<2x3xf32>, %b: tensor<i8>, %c: tensor<2x2xf16>, %d: tensor<2xi64>,
                 %e: f32, %f: i32, %g: tensor<4xf64>)
    -> (tensor<2x3xf32>, tensor<i8>, tensor<2x2xf16>, tensor<2xi64>, f32, i32, tensor<4xf64>,
        tensor<0x3xf32>, tensor<2x2x2xi8>, i1, index, tensor<2x2xi1>, tensor<2xbf16>) {
  %h = arith.constant dense<0.0> : tensor<0x3xf32>
  %i = arith.constant dense<-1> : tensor<2x2x2xi8>
  %j = arith.constant true
  %k = arith.constant 7 : index
  %l = arith.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %m = arith.constant dense<[1.1, -3.0]> : tensor<2xbf16>
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l, %m
      : tensor<2x3xf32>, tensor<i8>, tensor<2x2xf16>, tensor<2xi64>, f32, i32, tensor<4xf64>,
        tensor<0x3xf32>, tensor<2x2x2xi8>, i1, index, tensor<2x2xi1>, tensor<2xbf16>
}
func.func @open(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
"""

ARITHMETIC = """
func.func @f(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>, %n: tensor<3x4xi32>)
    -> (tensor<3x2xf32>, tensor<3x4xf32>, tensor<3xi32>, tensor<4x3xf32>, tensor<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %product = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>)
                           outs(%1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = tensor.empty() : tensor<3x4xf32>
  %softmax = linalg.softmax dimension(1) ins(%x : tensor<3x4xf32>)
                            outs(%2 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %lowest = arith.constant dense<-2147483648> : tensor<3xi32>
  %top = linalg.reduce { arith.maxsi } ins(%n : tensor<3x4xi32>) outs(%lowest : tensor<3xi32>)
      dimensions = [1]
  %3 = tensor.empty() : tensor<4x3xf32>
  %turned = linalg.transpose ins(%x : tensor<3x4xf32>) outs(%3 : tensor<4x3xf32>)
      permutation = [1, 0]
  %padded = tensor.pad %x low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x4xf32> to tensor<5x6xf32>
  return %product, %softmax, %top, %turned, %padded
      : tensor<3x2xf32>, tensor<3x4xf32>, tensor<3xi32>, tensor<4x3xf32>, tensor<5x6xf32>
}
"""

CALLS = [
    (
        IDENTITY,
        [
            "--function=types",
            "--input=2x3xf32=1.5 1e10 1234567.8 -0.0 inf 0.1",
            "--input=i8=-3",
            "--input=2x2xf16=0.1",
            "--input=2xi64=5",
            "--input=2.1",
            "--input=7",
            "--input=4xf64=0.1,123456789,1e-5,-2.5e300",
        ],
    ),
    (IDENTITY, ["--function=open", "--input=2000xf32=1"]),
    (IDENTITY, ["--function=open", "--input=5xf32=[1 2 3 4 5]", "--output_max_element_count=3"]),
    (IDENTITY, ["--function=open", "--input=2xf32=1,2", "--output=-"]),
    (IDENTITY, ["--function=open", "--input=2xf32=1,2", "--expected_output=2xf32=1,2"]),
    (
        ARITHMETIC,
        [
            "--input=3x4xf32=1,2,3,4,-1,-2,-3,-4,0.5,0.25,0,8",
            "--input=4x2xf32=1,0,0,1,2,0,0,2",
            "--input=3x4xi32=3,1,4,1,-5,-9,-2,-6,5,3,5,8",
        ],
    ),
]


@pytest.mark.parametrize("program", [IDENTITY, ARITHMETIC])
def test_text_and_numbers_are_those_of_iree(
    peers_python: Callable[[str], str], tmp_path: Path, program: str
) -> None:
    calls = [call for text, call in CALLS if text == program]
    request = json.dumps([program, calls, str(tmp_path)])
    answers = json.loads(peers_python(SCRIPT.format(request=request)))
    path = tmp_path / "ours.mlir"
    path.write_text(program)
    for call, (code, expected) in zip(calls, answers, strict=True):
        ours, found, errors = mesh_run(str(path), *call)
        difference = difflib.unified_diff(expected.splitlines(), found.splitlines())
        assert ours == code, errors
        assert found == expected, "\n".join(difference)
