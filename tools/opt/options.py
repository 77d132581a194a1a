"""The command line of `mesh-opt`.

Any other `--name` that is the name of a pass adds that pass, in command line order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..command_line import (
    Information,
    choice,
    flag,
    listed,
    optional,
    parse_arguments,
    positional,
    repeated,
    text,
)
from ..remarks import REMARKS_HELP, wanted_categories
from ..shared_options import Pipelines, Printing, Watching
from .iree_options import IGNORED, IgnoredFlag, IreeFlags

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
    help_dialect: str | None = text("describe a dialect, or one of its operations", shown="NAME")
    load_dialect_plugin: tuple[str, ...] = repeated(
        "read programs with a dialect that is no part of an installed package",
        shown="MODULE:NAME",
    )
    load_pass_plugin: tuple[str, ...] = repeated("the same for a pass", shown="MODULE:NAME")
    dump_pass_pipeline: bool = flag("print the pipeline that will run, on standard error")


@dataclass(frozen=True, kw_only=True)
class InputAndOutput:
    """Input and output."""

    output: str = text("write here instead of to standard output", "o", default="-", shown="FILE")
    split_input_file: str | None = optional(
        "process the pieces between lines '// -----' one by one", "// -----", "MARKER"
    )
    verify_roundtrip: bool = flag("check that what is printed reads as the same IR")
    output_split_marker: str = text(
        "the line between the outputs of such pieces", default="// -----", shown="MARKER"
    )
    allow_unregistered_dialect: bool = flag("read operations and attributes of unknown dialects")
    no_implicit_module: bool = flag("do not put operations at the top level into a module")
    mlir_very_unsafe_disable_verifier_on_parsing: bool = flag(
        "do not verify what is read, only what passes make of it"
    )
    emit: str = choice(
        "what to write: the IR, the host code that runs it, or a program for mesh-run (-o)",
        "mlir",
        "host-code",
        "program",
    )
    spelling: str = choice(
        "names of the encoding dialects in the output", "as-read", "today", "2024"
    )


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """Diagnostics, on standard error."""

    color: bool | None = flag("use colours; by default on a terminal", default=None)
    verify_diagnostics: str | None = choice(
        "check diagnostics against expected-error {{...}} comments",
        "all",
        "only-expected",
        bare="all",
    )
    mlir_diagnostic_verbosity_level: str = choice(
        "the least that is shown", "remarks", "warnings", "errors"
    )
    mlir_disable_diagnostic_notes: bool = flag("show no notes")
    mlir_print_op_on_diagnostic: bool = flag("show the operation with an error at it")
    mlir_print_stacktrace_on_diagnostic: bool = flag("show where in mesh-opt an error was found")


@dataclass(frozen=True, kw_only=True)
class RemarkOptions:
    """Remarks: what was decided."""

    remarks: tuple[str, ...] = listed(REMARKS_HELP)
    remarks_filter: str | None = text("print remarks whose category matches", shown="REGEX")
    remarks_filter_passed: str | None = text("the same for what was done", shown="REGEX")
    remarks_filter_missed: str | None = text(
        "the same for what could not be done (category backend)", shown="REGEX"
    )
    remarks_filter_failed: str | None = text("the same; there are none", shown="REGEX")
    remarks_filter_analyse: str | None = text("the same; there are none", shown="REGEX")
    remark_policy: str = choice("each remark once, or whenever it is made", "final", "all")
    remark_format: str = choice("as diagnostics, or in a file", "emitRemark", "yaml")
    remarks_output_file: str = text("the file", default="mlir-remarks.yaml", shown="FILE")


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Reports, on standard error."""

    shard_cost_report: str | None = choice(
        "what each function of the output costs one device",
        "text",
        "json",
        bare="text",
        names=("cost-report",),
    )
    machine: str | None = text(
        "a machine for the times of the cost report: gpu-host, tpu-torus, cpu-cluster, or m.toml",
        shown="NAME",
    )
    report: str | None = text(
        "write a page about all stages: changes, values, graphs, shardings, costs, remarks, tiles",
        shown="FILE.html",
    )
    show_shardings: bool = flag("maps of devices: which part of each tensor is where")
    encoding_report: bool = flag("what each encoded tensor takes and where, before it is bytes")


@dataclass(frozen=True, kw_only=True)
class Faults:
    """When a pass fails."""

    run_reproducer: bool = flag("run the pipeline stored in the input by a reproducer")
    mlir_pass_pipeline_crash_reproducer: str | None = text(
        "write a reproducer here if a pass fails", shown="FILE"
    )
    mlir_pass_pipeline_local_reproducer: bool = flag(
        "put into a reproducer the pass that failed alone, and the program before it"
    )
    mlir_generate_reproducer: str | None = text("write a reproducer in any case", shown="FILE")
    mlir_disable_threading: bool = flag("taken for the sake of scripts: there are no threads")


@dataclass(frozen=True, kw_only=True)
class Options(
    IreeFlags,
    Faults,
    Printing,
    Reports,
    RemarkOptions,
    Watching,
    Diagnostics,
    InputAndOutput,
    Pipelines,
    Listing,
    Information,
):
    """The parsed command line. A field `a_b` is the option `--a-b`."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("emit-bytecode", "emit-bytecode-version", "elide-resource-data-from-bytecode"),
            "programs are written as text, which mlir-opt --emit-bytecode turns into bytecode",
        ),
        "irdl-file": "dialects are classes of Python, see --load-dialect-plugin",
        **dict.fromkeys(
            ("mlir-debug-counter", "mlir-print-debug-counter", "mlir-enable-debugger-hook"),
            "passes are the only actions",
        ),
    }
    """Options of mlir-opt that are rejected, with the reasons."""

    IGNORED: ClassVar[Mapping[str, IgnoredFlag]] = IGNORED
    """Options of iree-opt that have no effect here."""

    input: str = positional("-")
    ignored: tuple[str, ...] = dataclasses.field(default=(), metadata={"kind": "passes"})
    """The ignored options on this command line."""
    pass_flags: tuple[tuple[str, str | None], ...] = dataclasses.field(
        default=(), metadata={"kind": "passes"}
    )


def parse_command_line(
    arguments: Sequence[str], pass_names: Mapping[str, object], defaults: Options | None = None
) -> Options:
    """Parse the arguments after the program's name. Raises UsageError."""
    options, passes = parse_arguments(Options, arguments, pass_names, defaults)
    options.check_pass_names(pass_names)
    filters = {
        "filter": options.remarks_filter,
        "filter-passed": options.remarks_filter_passed,
        "filter-missed": options.remarks_filter_missed,
        "filter-failed": options.remarks_filter_failed,
        "filter-analyse": options.remarks_filter_analyse,
    }
    remarks = wanted_categories(options.remarks, filters)
    return dataclasses.replace(options, remarks=remarks, pass_flags=tuple(passes))
