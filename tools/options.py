"""The command line of `mesh-opt`.

Whatever is not an option here but is the name of a pass asks for that pass, in the order of the
command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .command_line import (
    Information,
    choice,
    flag,
    help_text,
    optional,
    parse_arguments,
    positional,
    text,
)
from .remarks import check_categories
from .shared_options import Pipelines, Printing, Watching

INTRODUCTION = """\
mesh-opt: reads MLIR, runs passes on it and prints the result.

usage: mesh-opt [options] [passes] [file]        (standard input if no file or '-')

A pass is asked for by --name or --name='option=value ...', or in a --pass-pipeline."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What there is."""

    list_passes: bool = flag("list the passes, ours with what they do and their options")
    help_pass: str | None = text("describe a pass and its options", shown="NAME")
    list_pipelines: bool = flag("list the named pipelines and the passes that they run")
    show_dialects: bool = flag("list the dialects")
    dump_pass_pipeline: bool = flag("print the pipeline that will run, on standard error")


@dataclass(frozen=True, kw_only=True)
class InputAndOutput:
    """Input and output."""

    output: str = text("write here instead of to standard output", "o", default="-", shown="FILE")
    split_input_file: str | None = optional(
        "process the pieces between lines '// -----' one by one", "// -----", "MARKER"
    )
    verify_diagnostics: bool = flag("check diagnostics against expected-error {{...}} comments")
    verify_roundtrip: bool = flag("check that what is printed reads as the same IR")
    allow_unregistered_dialect: bool = flag("read operations and attributes of unknown dialects")
    no_implicit_module: bool = flag("do not put operations at the top level into a module")
    emit: str = choice("what to print: the IR, or the host code that runs it", "mlir", "host-code")
    spelling: str = choice(
        "names of the encoding dialects in the output", "as-read", "today", "2024"
    )


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Reports, on standard error."""

    shard_cost_report: bool = flag("what each function of the output costs one device")
    encoding_report: bool = flag("what each encoded tensor takes and where, before it is bytes")


@dataclass(frozen=True, kw_only=True)
class Faults:
    """When a pass fails."""

    run_reproducer: bool = flag("run the pipeline stored in the input by a reproducer")
    mlir_pass_pipeline_crash_reproducer: str | None = text(
        "write a reproducer here if a pass fails", shown="FILE"
    )
    mlir_generate_reproducer: str | None = text("write a reproducer in any case", shown="FILE")
    mlir_disable_threading: bool = flag("taken for the sake of scripts: there are no threads")


@dataclass(frozen=True, kw_only=True)
class Options(Faults, Printing, Reports, Watching, InputAndOutput, Pipelines, Listing, Information):
    """What the user asked for. A field `a_b` is the option `--a-b`."""

    input: str = positional("-")
    pass_flags: tuple[tuple[str, str | None], ...] = dataclasses.field(
        default=(), metadata={"kind": "passes"}
    )


def parse_command_line(
    arguments: Sequence[str], pass_names: Mapping[str, object], defaults: Options | None = None
) -> Options:
    """Read the arguments behind the program's name. Raises UsageError."""
    options, passes = parse_arguments(Options, arguments, pass_names, defaults)
    options.check_pass_names(pass_names)
    check_categories(options.remarks)
    return dataclasses.replace(options, pass_flags=tuple(passes))


def help_of_options(options: Options) -> str:
    """What `--help` or `--help-list` prints."""
    return help_text(Options, INTRODUCTION, grouped=options.help)
