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

Passes are given as --name or --name='option=value ...', or in a --pass-pipeline."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Lists of passes and dialects."""

    list_passes: bool = flag(
        "list the passes; those of mesh-opt with a description and their options"
    )
    help_pass: str | None = text("describe a pass and its options", shown="NAME")
    list_pipelines: bool = flag("list the named pipelines and the passes that they run")
    show_dialects: bool = flag("list the dialects")
    help_dialect: str | None = text("describe a dialect, or one of its operations", shown="NAME")
    load_dialect_plugin: tuple[str, ...] = repeated(
        "load a dialect from a Python module", shown="MODULE:NAME"
    )
    load_pass_plugin: tuple[str, ...] = repeated(
        "load a pass from a Python module", shown="MODULE:NAME"
    )
    dump_pass_pipeline: bool = flag("print the pipeline that will run, on standard error")


@dataclass(frozen=True, kw_only=True)
class InputAndOutput:
    """Input and output."""

    output: str = text("write the output to this file", "o", default="-", shown="FILE")
    split_input_file: str | None = optional(
        "process the pieces between lines '// -----' one by one", "// -----", "MARKER"
    )
    verify_roundtrip: bool = flag("check that the printed IR parses to the same IR")
    output_split_marker: str = text(
        "the line between the outputs of these pieces", default="// -----", shown="MARKER"
    )
    allow_unregistered_dialect: bool = flag("read operations and attributes of unknown dialects")
    no_implicit_module: bool = flag("do not wrap top-level operations in a module")
    mlir_very_unsafe_disable_verifier_on_parsing: bool = flag(
        "do not verify the input, only the output of passes"
    )
    emit: str = choice(
        "the output: the IR, the host code that runs it, or a saved program for mesh-run (-o)",
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
        "the least severe diagnostics to print", "remarks", "warnings", "errors"
    )
    mlir_disable_diagnostic_notes: bool = flag("print no notes")
    mlir_print_op_on_diagnostic: bool = flag("print the operation with its error")
    mlir_print_stacktrace_on_diagnostic: bool = flag("print Python's stack trace with each error")


@dataclass(frozen=True, kw_only=True)
class RemarkOptions:
    """Remarks."""

    remarks: tuple[str, ...] = listed(REMARKS_HELP)
    remarks_filter: str | None = text("print remarks whose category matches", shown="REGEX")
    remarks_filter_passed: str | None = text("the same for applied optimizations", shown="REGEX")
    remarks_filter_missed: str | None = text(
        "the same for missed optimizations (category backend)", shown="REGEX"
    )
    remarks_filter_failed: str | None = text("accepted; there are no such remarks", shown="REGEX")
    remarks_filter_analyse: str | None = text("accepted; there are no such remarks", shown="REGEX")
    remark_policy: str = choice("print each remark once, or at each occurrence", "final", "all")
    remark_format: str = choice(
        "print remarks as diagnostics, or write a YAML file", "emitRemark", "yaml"
    )
    remarks_output_file: str = text("the YAML file", default="mlir-remarks.yaml", shown="FILE")


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Reports, on standard error."""

    shard_cost_report: str | None = choice(
        "report the cost of each function of the output on one device",
        "text",
        "json",
        bare="text",
        names=("cost-report",),
    )
    machine: str | None = text(
        "the machine of the predicted times: gpu-host, tpu-torus, cpu-cluster, or m.toml",
        shown="NAME",
    )
    report: str | None = text(
        "write an HTML page on all stages: IR, graphs, shardings, costs, remarks, tiles",
        shown="FILE.html",
    )
    show_shardings: bool = flag("show which part of each tensor each device holds")
    encoding_report: bool = flag("report the layout and the size of each encoded tensor")


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Reproducers."""

    run_reproducer: bool = flag("run the pipeline stored in the input by a reproducer")
    mlir_pass_pipeline_crash_reproducer: str | None = text(
        "write a reproducer here if a pass fails", shown="FILE"
    )
    mlir_pass_pipeline_local_reproducer: bool = flag(
        "reproduce only the pass that failed, on the program before it"
    )
    mlir_generate_reproducer: str | None = text(
        "write a reproducer even if no pass fails", shown="FILE"
    )
    mlir_disable_threading: bool = flag("accepted for compatibility; passes run on one thread")


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
    options.check_watched(pass_names)
    filters = {
        "filter": options.remarks_filter,
        "filter-passed": options.remarks_filter_passed,
        "filter-missed": options.remarks_filter_missed,
        "filter-failed": options.remarks_filter_failed,
        "filter-analyse": options.remarks_filter_analyse,
    }
    remarks = wanted_categories(options.remarks, filters)
    return dataclasses.replace(options, remarks=remarks, pass_flags=tuple(passes))
