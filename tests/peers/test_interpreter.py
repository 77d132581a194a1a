"""What programs mean: the interpreter against IREE, on the same inputs.

The annotations are taken out, since IREE does not know the `shard` dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from breadth import NIGHTLY, sampled
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import (
    argument_types,
    find_function,
    plain_types,
    public_functions,
    run,
)
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.imports.conversions import convert_imported
from mesh_opt.runtime.abi.arrays import is_number
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.run.inputs import random_inputs
from xdsl.dialects.builtin import ShapedType

CASES = Path(__file__).parent.parent / "cases"

SCRIPT = """
import json, pathlib, subprocess
from concurrent.futures import ThreadPoolExecutor
from iree._runtime.libs import library_path
from iree.compiler.tools.binaries import find_tool
iree_compile, iree_run = find_tool("iree-compile"), library_path + "/iree-run-module"
def run(entry):
    folder, function, inputs, outputs = entry
    path = pathlib.Path(folder)
    options = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx"]
    done = subprocess.run([iree_compile, path / "p.mlir", *options,
                           "-o", path / "p.vmfb"], capture_output=True, text=True)
    if done.returncode:
        return "compile: " + done.stderr[:500]
    done = subprocess.run([iree_run, "--device=local-task",
                           "--module=" + str(path / "p.vmfb"), "--function=" + function,
                           *["--input=" + each for each in inputs],
                           *["--output=@" + each for each in outputs]],
                          capture_output=True, text=True)
    return "run: " + done.stderr[:500] if done.returncode else ""
with ThreadPoolExecutor(2) as pool:
    print(json.dumps(list(pool.map(run, json.loads({request!r})))))
"""

BEYOND_IREE = {
    "70_axis_out_of_range": "is no program",
    "77_tosa_matmul_batch": "a zero point that is an argument",
    "78_tosa_matmul_m": "a zero point that is an argument",
    "79_tosa_matmul_k": "a zero point that is an argument",
    "a5_embedding_gather": "a tensor of index between dispatches",
    "b2_get_sharding": "returns a sharding",
    "b3_bufferization_alloc": "linalg.exp, which LLVM has dropped since",
    "c0_two_empties_diff_sharding": "linalg.exp, which LLVM has dropped since",
    "c1_shared_empty_diff_sharding": "linalg.exp, which LLVM has dropped since",
}


def _without_annotations(text: str) -> Any:
    module = parse_module(new_context(), Source(text, "case.mlir"))
    for op in list(module.walk(reverse=True)):
        if op.name == "shard.shard":
            op.results[0].replace_all_uses_with(op.operands[0])
        if op.name.startswith("shard.") or op.name == "sdy.mesh":
            op.detach()
            op.erase()
    return module


def test_case_programs(peers_python: Callable[[str], str], tmp_path: Path) -> None:
    requests: list[Any] = []
    expected: list[list[Any]] = []
    paths = sampled(sorted(CASES.glob("shard/*.mlir")), 3)
    paths += [*sorted(CASES.glob("linalg_ext/*.mlir")), CASES / "models" / "transformer_block.mlir"]
    for path in paths:
        if path.stem in BEYOND_IREE:
            continue
        module = _without_annotations(path.read_text())
        text = print_operation(module)
        convert_imported(module)
        for name in public_functions(module):
            function = find_function(Program(module), name)
            inputs = random_inputs(3, plain_types(argument_types(function)), 0, 4)
            # Indices into tables must not be negative.
            inputs = [np.abs(each) if each.dtype.kind == "i" else each for each in inputs]
            results = run(module, name, inputs)
            assert all(map(is_number, results))
            folder = tmp_path / f"{path.stem}_{name}"
            folder.mkdir()
            (folder / "p.mlir").write_text(text)
            files: list[str] = []
            for index, (array, kind) in enumerate(
                zip(inputs, argument_types(function), strict=True)
            ):
                if not isinstance(kind, ShapedType):
                    files.append(str(array.item() if array.dtype.kind != "b" else int(array)))
                    continue
                np.save(folder / f"in{index}.npy", array)
                files.append(f"@{folder}/in{index}.npy")
            outputs = [str(folder / f"out{index}.npy") for index in range(len(results))]
            requests.append([str(folder), name, files, outputs])
            expected.append(results)
    assert len(requests) > (64 if NIGHTLY else 20)
    answers = json.loads(peers_python(SCRIPT.format(request=json.dumps(requests))))
    problems: list[str] = []
    for request, results, answer in zip(requests, expected, answers, strict=True):
        if answer:
            problems.append(f"{request[0]}: {answer}")
            continue
        for output, result in zip(request[3], results, strict=True):
            theirs = np.load(output).astype(result.dtype).reshape(result.shape)
            difference = compare(result, theirs)
            if not difference.agrees:
                problems.append(f"{request[0]}: {difference}")
    assert not problems, "\n".join(problems)
