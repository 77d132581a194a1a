"""Option groups shared by `mesh-opt` and `mesh-run`, and what the group `Information` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.usage_error import UsageError, did_you_mean
from .command_line import Information, choice, flag, help_text, integer, listed, text, version_text

if TYPE_CHECKING:
    from ..ir.text.print_style import PrintStyle


@dataclass(frozen=True, kw_only=True)
class Pipelines:
    """Passes to run."""

    pass_pipeline: str | None = text("passes to run: builtin.module(func.func(a{k=v}),b)")
    passes: str | None = text("passes to run, in xDSL's flat form: a,b{k=v}", "p")

    @property
    def written_pipelines(self) -> list[str]:
        """Return the given pipelines; more than one is an error."""
        return [text for text in (self.pass_pipeline, self.passes) if text is not None]


@dataclass(frozen=True, kw_only=True)
class Watching:
    """Instrumentation of passes, on standard error."""

    mlir_print_ir_before: tuple[str, ...] = listed("print the IR before these passes")
    mlir_print_ir_after: tuple[str, ...] = listed("print the IR after these passes")
    mlir_print_ir_before_all: bool = flag("print the IR before every pass")
    mlir_print_ir_after_all: bool = flag("print the IR after every pass")
    mlir_print_ir_after_change: bool = flag("after a pass, print the IR only if it changed")
    mlir_print_ir_after_failure: bool = flag("after a pass, print the IR only if it failed")
    mlir_print_ir_module_scope: bool = flag("print the whole module, not only what a pass ran on")
    mlir_print_ir_tree_dir: str | None = text(
        "write the IR to files below this folder, in one folder for each operation", shown="DIR"
    )
    mlir_timing: bool = flag("report the time of each pass")
    mlir_timing_display: str = choice(
        "nested as in the pipeline, or sorted by time", "tree", "list"
    )
    mlir_output_format: str = choice("the format of the timing report", "text", "json")
    mlir_pass_statistics: bool = flag("report the number of operations before and after each pass")
    mlir_pass_statistics_display: str = choice(
        "in the order of the pipeline, or summed by name", "pipeline", "list"
    )
    log_actions_to: str | None = text(
        "log the begin and the end of each pass to this file; - is standard error", shown="FILE"
    )
    log_mlir_actions_filter: tuple[str, ...] = listed(
        "log only passes on operations at these locations", "file:line:col"
    )
    profile_actions_to: str | None = text(
        "write a trace of the passes for Perfetto or chrome://tracing", shown="FILE"
    )
    verify_each: bool = flag("verify the IR after every pass")
    debug: bool = flag("print Python's traceback with each error")

    @property
    def watches_passes(self) -> bool:
        """Return whether any option needs an observer of passes."""
        return bool(
            self.verify_each
            or self.mlir_timing
            or self.mlir_pass_statistics
            or self.log_actions_to is not None
            or self.profile_actions_to is not None
            or self.mlir_print_ir_before
            or self.mlir_print_ir_after
            or self.mlir_print_ir_before_all
            or self.mlir_print_ir_after_all
            or self.mlir_print_ir_after_change
            or self.mlir_print_ir_after_failure
        )

    def check_watched(self, pass_names: Mapping[str, object]) -> None:
        """Raise UsageError if an option names an unknown pass, or a place that is none."""
        for place in self.log_mlir_actions_filter:
            if re.search(r":\d+$", place) is None:
                raise UsageError(f"--log-mlir-actions-filter={place} is not file:line:col")
        for option in ("mlir_print_ir_before", "mlir_print_ir_after"):
            for name in getattr(self, option):
                if name not in pass_names:
                    hint = did_you_mean(name, pass_names)
                    raise UsageError(
                        f"--{option.replace('_', '-')}: there is no pass '{name}'{hint}"
                    )


@dataclass(frozen=True, kw_only=True)
class Printing:
    """Printing of IR."""

    mlir_print_op_generic: bool = flag("print the generic form", "print-op-generic")
    mlir_print_debuginfo: bool = flag("print locations", "print-debuginfo")
    mlir_pretty_debuginfo: bool = flag("print locations in a readable form that does not parse")
    mlir_use_nameloc_as_prefix: bool = flag("use the names in locations as value names")
    mlir_print_local_scope: bool = flag("print attributes where they are used, without aliases")
    mlir_print_unique_ssa_ids: bool = flag("make value names unique across functions")
    mlir_print_value_users: bool = flag("print the users of each value in comments")
    mlir_print_skip_regions: bool = flag("print {...} for regions")
    mlir_print_elementsattrs_with_hex_if_larger: int = integer(
        "print constants with more elements as hexadecimal data; -1 for none (default 100)",
        default=100,
    )
    mlir_elide_elementsattrs_if_larger: int | None = integer(
        "print __elided__ for constants with more elements than this"
    )
    mlir_elide_resource_strings_if_larger: int | None = integer(
        "omit resources with more characters than this"
    )

    def style(self) -> PrintStyle:
        """Return the print style that the options select."""
        from ..ir.text.print_style import PrintStyle

        return PrintStyle(
            generic=self.mlir_print_op_generic,
            locations=self.mlir_print_debuginfo,
            pretty_locations=self.mlir_pretty_debuginfo,
            name_locations=self.mlir_use_nameloc_as_prefix,
            aliases=not self.mlir_print_local_scope,
            unique_names=self.mlir_print_unique_ssa_ids,
            value_users=self.mlir_print_value_users,
            skip_regions=self.mlir_print_skip_regions,
            elide_larger=self.mlir_elide_elementsattrs_if_larger,
            elide_longer_resources=self.mlir_elide_resource_strings_if_larger,
            hex_larger=self.mlir_print_elementsattrs_with_hex_if_larger,
        )


def information_text(
    options: Information, tool: str, introduction: str, passes: Callable[[], Iterable[str]]
) -> str | None:
    """Return the output of an option of `Information`; `None` if none is given.

    `passes` returns the names that a completion script offers. Raises UsageError.
    """
    if options.help or options.help_list:
        return help_text(type(options), introduction, grouped=options.help)
    if options.version:
        return version_text()
    if options.shell_completion is not None:
        from .completion import completion_script

        return completion_script(tool, options.shell_completion, type(options), passes())
    return None
