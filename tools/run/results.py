"""Print, write and compare the results of `mesh-run`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import numpy as np

from ...ir.usage_error import UsageError
from ...runtime.abi.arrays import Array
from ...runtime.abi.compare import compare, tolerance
from ...runtime.host.entry import DeviceStatistics
from ..output_files import check_folder, open_output
from .inputs import EXPECTED, IGNORED, read_values
from .options import RANK, RunOptions
from .value_text import format_array, format_result

if TYPE_CHECKING:
    from ...api import Function
    from ...saved_programs import LoadedFunction

    AnyFunction = Function | LoadedFunction


def check_outputs(function: AnyFunction, options: RunOptions) -> None:
    """Check before a run that its outputs can be written. Raises UsageError."""
    count = len(function.types.results)
    if is_archive(options.output):
        check_folder(options.output[0].lstrip("@+"))
    elif len(options.output) > count:
        raise UsageError(f"{len(options.output)} outputs are given, but there are {count} results")
    else:
        for text in options.output:
            if text.startswith(("@", "+")):
                _check_array_file(text)
            elif text not in ("", "-"):
                known = "@file.npy, +file.npy, - (print), and nothing"
                raise UsageError(
                    f"--output={text} is not supported, expected {known}; did you mean @{text}?"
                )
    for path in (options.trace, options.report):
        if path is not None:
            check_folder(path)


def _check_array_file(text: str) -> None:
    """Check the file of one result. Raises UsageError."""
    if text.endswith(".npz"):
        raise UsageError(
            f"--output={text}: an .npz file holds whole results, and is the only output; write"
            f" {text[:-1]}y for this one"
        )
    if RANK not in os.path.dirname(text):
        check_folder(text[1:])


def check_given(function: AnyFunction, results: Sequence[object], options: RunOptions) -> None:
    """Check that a run produced all requested results. Raises UsageError.

    If a checkpoint already covers all steps, only the state is available.
    """
    count, given = len(function.types.results), len(results)
    wanted = [number for number, text in enumerate(options.output) if text]
    wanted += [number for number, text in enumerate(options.expected_output) if text != IGNORED]
    last = count - 1 if is_archive(options.output) else max(wanted, default=0)
    if given <= last:
        raise UsageError(
            f"result {last} is not available: --checkpoint={options.checkpoint} has all steps "
            f"already, and holds only the state, results 0 to {given - 1}"
        )


def is_archive(outputs: Sequence[str]) -> bool:
    """Return whether all results go to one `.npz` file."""
    return len(outputs) == 1 and outputs[0].endswith(".npz") and RANK not in outputs[0]


def write_results(
    function: AnyFunction,
    results: Sequence[Array],
    options: RunOptions,
    stdout: TextIO,
) -> None:
    """Print the results, or write them as `--output` says, after `check_outputs`.

    Raises UsageError for a file that cannot be written.
    """
    if not options.output and not options.expected_output:
        for index, (array, value_type) in enumerate(
            zip(results, function.types.results, strict=False)
        ):
            stdout.write(
                format_result(index, array, value_type, options.output_max_element_count) + "\n"
            )
        return
    if is_archive(options.output):
        write_archive(options.output[0].lstrip("@+"), results)
        return
    for index, text in enumerate(options.output):
        if RANK in text:
            # Each rank writes its own shard.
            continue
        if text.startswith(("@", "+")):
            write_array(text[1:], results[index], append=text.startswith("+"))
        elif text == "-":
            line = format_result(
                index,
                results[index],
                function.types.results[index],
                options.output_max_element_count,
            )
            stdout.write(line.partition(": ")[2] + "\n")


def write_array(path: str, array: Array, *, append: bool) -> None:
    """Write an array to an `.npy` or `.bin` file, or append it. Raises UsageError."""
    with open_output(path, append=append) as file:
        if path.endswith(".bin"):
            file.write(np.ascontiguousarray(array).tobytes())
        else:
            # NumPy asks for the position in a file, which a pipe does not have.
            stream = cast("BinaryIO", SimpleNamespace(write=file.write))
            np.save(stream, array, allow_pickle=False)


def write_archive(path: str, arrays: Sequence[Array]) -> None:
    """Write all results to an `.npz` file as out0, out1, ... Raises UsageError."""
    with open_output(path) as file:
        named: dict[str, Any] = {f"out{index}": array for index, array in enumerate(arrays)}
        np.savez(file, **named)


def write_statistics(found: Sequence[DeviceStatistics], stdout: TextIO) -> None:
    """Print the memory use and work of each device; the list is empty if no native code ran."""
    for each in found:
        memory = each.memory
        process = None if each.process is None else f"process {each.process}"
        sent = each.sent_messages
        messages = "" if sent is None else f", {sent} messages sent"
        where = " on ".join(filter(None, (process, each.name))) or "this process"
        stdout.write(
            f"STATISTICS {where}: {each.peak_bytes} bytes at the peak (inputs and results"
            f" {memory.boundary_bytes}, constants {memory.constant_bytes}, transient"
            f" {memory.arena_bytes} for {memory.transient_bytes}), {each.dispatches} dispatches,"
            f" {each.received_bytes} bytes received{messages}\n"
        )
    if not found:
        stdout.write("STATISTICS the interpreter ran the function\n")


def compare_expected(
    function: AnyFunction,
    results: Sequence[Array],
    options: RunOptions,
    stdout: TextIO,
) -> bool:
    """Compare results with `--expected_output` and print differences; return whether they agree.

    Raises UsageError.
    """
    agrees = True
    rounding = function.rounding()
    for index, expected in enumerate(
        read_values(options.expected_output, function.types.results, EXPECTED)
    ):
        if expected is None:
            continue
        value_type = function.types.results[index]
        try:
            difference = compare(results[index], expected, options.tolerance, rounding[index])
            if difference.agrees:
                continue
            place = list(difference.index)
            actual, wanted = results[index][difference.index], expected[difference.index]
            reason = f"element at index {place} ({actual}) does not match the expected ({wanted})"
        except ValueError as problem:
            reason = str(problem)
        agrees = False
        limit = options.output_max_element_count
        stdout.write(
            f"[FAILED] result[{index}]: {reason}\n"
            f"  expected:\n{format_array(expected, value_type, limit)}\n"
            f"  actual:\n{format_array(results[index], value_type, limit)}\n"
        )
    if agrees:
        stdout.write("[SUCCESS] all function outputs matched their expected values.\n")
    return agrees


def compare_reference(
    function: Function,
    results: Sequence[Array],
    expected: Sequence[Array],
    rounding: Sequence[np.dtype[Any] | None],
    options: RunOptions,
    stdout: TextIO,
) -> bool:
    """Compare results with those of the reference interpreter before the passes.

    `rounding` is the least precise float type in the computation of each result. Prints the
    verdicts, and returns whether all results agree.
    """
    # This module imports xDSL, which saved programs do not need.
    from ...runtime.abi.arrays import count_undefined, is_number

    if len(results) != len(expected):
        counts = f"{len(results)} results, expected {len(expected)}"
        stdout.write(f"CHECK @{function.name} DISAGREES with the reference: it has {counts}\n")
        return False
    agrees = True
    for index, (actual, wanted, through) in enumerate(
        zip(results, expected, rounding, strict=True)
    ):
        try:
            difference = compare(actual, wanted, options.tolerance, through)
        except ValueError as problem:
            stdout.write(f"CHECK result[{index}]: DISAGREE: {problem}\n")
            agrees = False
            continue
        absolute, relative = 0.0, 0.0
        if is_number(actual):
            absolute, relative = tolerance(actual.dtype, options.tolerance, through)
        bound = f"{absolute:g} + {relative:g} relative" if absolute or relative else "none"
        verdict = "agree" if difference.agrees else f"DISAGREE at {list(difference.index)}"
        unknown = count_undefined(wanted) if is_number(wanted) else 0
        remark = ""
        if unknown:
            remark = f"; the program leaves {unknown} elements undefined (reads before any write)"
        stdout.write(
            f"CHECK result[{index}]: {verdict}; maximal difference {difference.absolute:.3g}"
            f" absolute, {difference.relative:.3g} relative (allowed: {bound}){remark}\n"
        )
        agrees = agrees and difference.agrees
    devices = function.grid.device_count() if function.grid is not None else 1
    # A program without a grid may run on several devices that it names itself.
    where = f" on {devices} devices" if devices != 1 else ""
    verdict = "agrees" if agrees else "DISAGREES"
    stdout.write(f"CHECK @{function.name}{where} {verdict} with the reference\n")
    return agrees
