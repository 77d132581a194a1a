"""`mesh-opt`: read MLIR, run passes and print the result, as `mlir-opt` does.

`main` keeps no state between calls and uses only the given streams and files, so that tests and
other programs can call it repeatedly.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from typing import TextIO

from ..dialects.registry import all_dialects
from ..ir.text.source import Source, read_source, split_source
from ..ir.usage_error import UsageError
from ..passes.manager.pass_manager import Step, build_root_steps, build_steps, describe_steps
from ..passes.manager.pass_options import PassTable
from ..passes.manager.pipeline_text import PassEntry, PipelineError, parse_options, parse_pipeline
from ..passes.registry import all_passes
from .command_line import option_hint
from .console import exit_at_once, fault_text, is_for_console, run_console
from .diagnostics import SourcePosition, error, render
from .driver import Driver, new_context
from .opt.options import INTRODUCTION, Options, parse_command_line
from .output_files import write_output
from .plugins import PassLookup, load_dialects, loaded_passes
from .shared_options import information_text

VERIFY_EACH_VARIABLE = "MESH_OPT_VERIFY_EACH"
"""The environment variable that enables `--verify-each` in test suites."""


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool on the arguments after its name. Returns 0, or 1 if there was an error."""
    try:
        passes = PassLookup({**all_passes(), **loaded_passes(argv)})
        defaults = Options(verify_each=os.environ.get(VERIFY_EACH_VARIABLE, "0") == "1")
        options = parse_command_line(argv, passes, defaults)
        information = _information(options, passes)
        if information is not None:
            stdout.write(information)
            return 0
        whole = read_source(options.input, stdin)
        steps = _steps(options, whole, passes)
        if options.dump_pass_pipeline:
            stderr.write(f"{describe_steps(steps)}\n")
        return _process(options, whole, steps, stdout, stderr)
    except UsageError as problem:
        stderr.write(f"mesh-opt: {problem}\n")
    except PipelineError as problem:
        source = Source(problem.text, "pass-pipeline")
        line, column = source.line_and_column(problem.offset)
        position = SourcePosition(source.name, line, column)
        message = problem.message + option_hint(problem.unknown_pass, Options)
        stderr.write(render(error(message, position), [source]))
    except MemoryError:
        stderr.write("mesh-opt: out of memory\n")
    except Exception as fault:
        if is_for_console(fault):
            raise
        stderr.write(fault_text("mesh-opt", fault))
        if "--debug" in argv:
            stderr.write(traceback.format_exc())
    return 1


def main_console() -> None:
    """Run `main` on the process's own arguments and streams (the console script)."""
    exit_at_once(run_console(main))


def _information(options: Options, passes: PassTable) -> str | None:
    """Return the output of options such as `--list-passes`; `None` if there is none."""
    if options.list_passes or options.list_pipelines or options.help_pass is not None:
        from .opt import help as help_texts

        if options.help_pass is not None:
            return help_texts.help_pass(options.help_pass, passes)
        return (
            help_texts.list_passes(passes) if options.list_passes else help_texts.list_pipelines()
        )
    if options.help_dialect is not None:
        from .opt.help import help_dialect

        context = new_context()
        load_dialects(context, options.load_dialect_plugin)
        return help_dialect(options.help_dialect, context)
    if options.show_dialects:
        return "".join(f"{name}\n" for name in sorted(all_dialects()))
    return information_text(options, "mesh-opt", INTRODUCTION, lambda: passes)


def _steps(options: Options, whole: Source, passes: PassTable) -> tuple[Step, ...]:
    """Return the passes to run from any of the ways to specify them. Raises UsageError."""
    pipelines = options.written_pipelines
    if options.run_reproducer:
        from .opt.reproducer import stored_pipeline

        stored = stored_pipeline(whole.content)
        if stored is None:
            raise UsageError(f"'{options.input}' does not contain a pipeline to run")
        pipelines.append(stored)
    if len(pipelines) + bool(options.pass_flags) > 1:
        raise UsageError("passes are given in more than one way: use one pipeline")
    if pipelines:
        (text,) = pipelines
        return build_root_steps(parse_pipeline(text), text, passes)
    steps: list[Step] = []
    for name, written in options.pass_flags:
        entry = PassEntry(name, parse_options(written) if written else ())
        steps += build_steps([entry], written or name, passes)
    return tuple(steps)


def _process(
    options: Options, whole: Source, steps: tuple[Step, ...], stdout: TextIO, stderr: TextIO
) -> int:
    if options.machine is not None and options.shard_cost_report is None:
        raise UsageError("--machine needs --shard-cost-report")
    if options.emit == "program" and (options.output == "-" or options.split_input_file):
        raise UsageError("--emit=program writes one file, which -o must name")
    if options.report is not None and options.split_input_file is not None:
        raise UsageError("--report is about one program, not with --split-input-file")
    driver = Driver(options, steps, whole, stderr)
    if options.split_input_file is not None:
        pieces = split_source(whole.name, whole.content, options.split_input_file)
    else:
        pieces = [whole]
    outputs: list[str] = []
    has_unexpected = False
    for piece in pieces:
        seen = len(driver.diagnostics)
        outputs.append(driver.process(piece) or "")
        if options.verify_diagnostics:
            from .opt.expectations import check_expectations

            only = options.verify_diagnostics == "only-expected"
            for diagnostic in check_expectations(piece, driver.diagnostics[seen:], only=only):
                stderr.write(render(diagnostic, [whole]))
                has_unexpected = True
    driver.report_measures()
    failed = has_unexpected if options.verify_diagnostics else driver.has_errors
    if any(outputs):
        _write_output(options, f"{options.output_split_marker}\n".join(outputs), stdout)
    return 1 if failed else 0


def _write_output(options: Options, text: str, stdout: TextIO) -> None:
    if options.output == "-":
        stdout.write(text)
        return
    write_output(options.output, text)


if __name__ == "__main__":
    main_console()
