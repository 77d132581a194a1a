"""The command line of `mesh-opt`: one field an option, read as LLVM's tools read theirs.

`--name=value`, `--name value` and a single dash are all the same. Whatever is not an option here
but is the name of a pass asks for that pass, in the order of the command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.usage_error import UsageError
from ..passes.manager.pass_options import did_you_mean
from .remarks import REMARKS_HELP, check_categories


def _flag(help_text: str, *, default: bool = False, names: tuple[str, ...] = ()) -> Any:
    metadata = {"help": help_text, "kind": "flag", "names": names}
    return dataclasses.field(default=default, metadata=metadata)


def _value(help_text: str, default: str | None = None, names: tuple[str, ...] = ()) -> Any:
    metadata = {"help": help_text, "kind": "value", "names": names}
    return dataclasses.field(default=default, metadata=metadata)


def _optional(help_text: str, bare: str, names: tuple[str, ...] = ()) -> Any:
    """An option that may stand alone, which then means `bare`."""
    metadata = {"help": help_text, "kind": "optional", "bare": bare, "names": names}
    return dataclasses.field(default=None, metadata=metadata)


def _choice(help_text: str, *choices: str) -> Any:
    metadata = {"help": help_text, "kind": "choice", "choices": choices, "names": ()}
    return dataclasses.field(default=choices[0], metadata=metadata)


def _many(help_text: str) -> Any:
    metadata = {"help": help_text, "kind": "many", "names": ()}
    return dataclasses.field(default=(), metadata=metadata)


def _number(help_text: str) -> Any:
    metadata = {"help": help_text, "kind": "number", "names": ()}
    return dataclasses.field(default=None, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for. A field `a_b` is the option `--a-b`."""

    input: str = dataclasses.field(default="-", metadata={"kind": "positional"})
    pass_flags: tuple[tuple[str, str | None], ...] = dataclasses.field(
        default=(), metadata={"kind": "passes"}
    )

    help: bool = _flag("print this text", names=("h",))
    version: bool = _flag("print the versions of mesh-opt and xDSL")
    list_passes: bool = _flag("list the passes")
    show_dialects: bool = _flag("list the dialects")
    shell_completion: str | None = _optional(
        "print a completion script to source; for bash unless =zsh is given", "bash"
    )

    output: str = _value("write here instead of to standard output", "-", ("o",))
    pass_pipeline: str | None = _value("passes to run: builtin.module(func.func(a{k=v}),b)")
    passes: str | None = _value("passes to run, in xDSL's flat form: a,b{k=v}", None, ("p",))
    dump_pass_pipeline: bool = _flag("print the pipeline that will run, on standard error")
    split_input_file: str | None = _optional(
        "process the pieces between lines '// -----' one by one", "// -----"
    )
    verify_diagnostics: bool = _flag("check diagnostics against expected-error {{...}} comments")
    allow_unregistered_dialect: bool = _flag("read operations and attributes of unknown dialects")
    no_implicit_module: bool = _flag("do not put operations at the top level into a module")
    remarks: tuple[str, ...] = _many(REMARKS_HELP)
    emit: str = _choice(
        "what to write: the IR, the host code that runs it, or a program for mesh-run (-o)",
        "mlir",
        "host-code",
        "program",
    )
    spelling: str = _choice(
        "names of the encoding dialects in the output", "as-read", "today", "2024"
    )

    mlir_print_op_generic: bool = _flag("print the generic form", names=("print-op-generic",))
    mlir_print_debuginfo: bool = _flag("print locations", names=("print-debuginfo",))
    mlir_print_local_scope: bool = _flag("print attributes where they are used, without aliases")
    mlir_elide_elementsattrs_if_larger: int | None = _number(
        "print __elided__ for constants with more elements than this"
    )
    mlir_print_ir_before: tuple[str, ...] = _many("print the IR before these passes")
    mlir_print_ir_after: tuple[str, ...] = _many("print the IR after these passes")
    mlir_print_ir_before_all: bool = _flag("print the IR before every pass")
    mlir_print_ir_after_all: bool = _flag("print the IR after every pass")
    mlir_print_ir_after_change: bool = _flag("after a pass, print the IR only if it changed")
    mlir_print_ir_after_failure: bool = _flag("after a pass, print the IR only if it failed")
    shard_cost_report: str | None = _optional(
        "report on standard error what each function of the output costs one device, =json as JSON",
        "text",
        ("cost-report",),
    )
    machine: str | None = _value(
        "a machine for the times of the cost report: gpu-host, tpu-torus, cpu-cluster, or m.toml"
    )
    encoding_report: bool = _flag(
        "report on standard error what each encoded tensor takes and where, before it is bytes"
    )
    mlir_timing: bool = _flag("report on standard error where the time went")
    mlir_disable_threading: bool = _flag("taken for the sake of scripts: there are no threads")

    verify_each: bool = _flag("verify the IR after every pass")
    verify_roundtrip: bool = _flag("check that what is printed reads as the same IR")
    debug: bool = _flag("show Python tracebacks of faults")
    run_reproducer: bool = _flag("run the pipeline stored in the input by a reproducer")
    mlir_pass_pipeline_crash_reproducer: str | None = _value(
        "write a reproducer here if a pass fails"
    )
    mlir_generate_reproducer: str | None = _value("write a reproducer here in any case")

    @property
    def watches_passes(self) -> bool:
        """Whether anything is to be done before or after single passes."""
        return bool(
            self.verify_each
            or self.mlir_timing
            or self.mlir_print_ir_before
            or self.mlir_print_ir_after
            or self.mlir_print_ir_before_all
            or self.mlir_print_ir_after_all
            or self.mlir_print_ir_after_change
            or self.mlir_print_ir_after_failure
        )


def _fields() -> dict[str, dataclasses.Field[Any]]:
    table: dict[str, dataclasses.Field[Any]] = {}
    for field in dataclasses.fields(Options):
        if field.metadata["kind"] in ("positional", "passes"):
            continue
        for name in (field.name.replace("_", "-"), *field.metadata["names"]):
            table[name] = field
    return table


def option_names() -> list[str]:
    """Every option by the name that stands after the dashes, sorted."""
    return sorted(_fields())


def parse_command_line(
    arguments: Sequence[str], pass_names: Mapping[str, object], defaults: Options | None = None
) -> Options:
    """Read the arguments behind the program's name. Raises UsageError."""
    table = _fields()
    values: dict[str, Any] = {}
    passes: list[tuple[str, str | None]] = []
    rest = iter(arguments)
    positional_only = False
    for argument in rest:
        if positional_only or not argument.startswith("-") or argument == "-":
            if "input" in values:
                raise UsageError(f"more than one input: '{values['input']}' and '{argument}'")
            values["input"] = argument
        elif argument == "--":
            positional_only = True
        else:
            name, equals, written = argument.lstrip("-").partition("=")
            value = written if equals else None
            field = table.get(name)
            if field is not None:
                _set(values, field, name, value, rest)
            elif name in pass_names:
                passes.append((name, value))
            else:
                hint = did_you_mean(name, {**table, **pass_names})
                raise UsageError(f"there is no option or pass '{argument.partition('=')[0]}'{hint}")
    _check_pass_names(values, pass_names)
    check_categories(values.get("remarks", ()))
    return dataclasses.replace(defaults or Options(), **values, pass_flags=tuple(passes))


def _check_pass_names(values: Mapping[str, Any], pass_names: Mapping[str, object]) -> None:
    for option in ("mlir_print_ir_before", "mlir_print_ir_after"):
        for name in values.get(option, ()):
            if name not in pass_names:
                hint = did_you_mean(name, pass_names)
                raise UsageError(f"--{option.replace('_', '-')}: there is no pass '{name}'{hint}")


def _set(
    values: dict[str, Any],
    field: dataclasses.Field[Any],
    name: str,
    value: str | None,
    rest: Iterator[str],
) -> None:
    match field.metadata["kind"]:
        case "flag":
            if value is not None and value.lower() not in ("true", "false", "1", "0"):
                raise UsageError(f"option '--{name}' is true or false, not '{value}'")
            values[field.name] = value is None or value.lower() in ("true", "1")
        case "optional":
            values[field.name] = field.metadata["bare"] if value is None else value
        case "many":
            names = tuple(_required(name, value, rest).split(","))
            values[field.name] = (*values.get(field.name, ()), *names)
        case "number":
            text = _required(name, value, rest)
            if not text.lstrip("-").isdecimal():
                raise UsageError(f"option '--{name}' takes an integer, not '{text}'")
            values[field.name] = int(text)
        case "choice":
            text = _required(name, value, rest)
            choices: tuple[str, ...] = field.metadata["choices"]
            if text not in choices:
                listing = f"{', '.join(choices[:-1])} or {choices[-1]}"
                raise UsageError(f"option '--{name}' is {listing}, not '{text}'")
            values[field.name] = text
        case _:
            values[field.name] = _required(name, value, rest)


def _required(name: str, value: str | None, rest: Iterator[str]) -> str:
    if value is not None:
        return value
    following = next(rest, None)
    if following is None:
        raise UsageError(f"option '{'-' if len(name) == 1 else '--'}{name}' needs a value")
    return following


def help_text() -> str:
    """What `--help` prints."""
    lines = [
        "mesh-opt: reads MLIR, runs passes on it and prints the result.",
        "",
        "usage: mesh-opt [options] [passes] [file]        (standard input if no file or '-')",
        "",
        "A pass is asked for by --name or --name='option=value ...', or in a --pass-pipeline.",
        "",
        "options:",
    ]
    for field in dataclasses.fields(Options):
        kind = field.metadata["kind"]
        if kind in ("positional", "passes"):
            continue
        names = [f"--{field.name.replace('_', '-')}"]
        names += [f"{'-' if len(n) == 1 else '--'}{n}" for n in field.metadata["names"]]
        suffix = {"flag": "", "optional": "[=...]", "many": "=a,b", "number": "=N"}.get(
            kind, "=..."
        )
        if kind == "choice":
            suffix = f"={'|'.join(field.metadata['choices'])}"
        lines.append(f"  {', '.join(names) + suffix:<44} {field.metadata['help']}")
    return "\n".join(lines) + "\n"
