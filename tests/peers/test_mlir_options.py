"""The general options of `mlir-opt-22 --help` are taken here, or a page says why not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from mesh_opt.tools.command_line import option_names
from mesh_opt.tools.opt.options import Options

OPTIONS = Path(__file__).parents[2] / "docs" / "options.md"

OTHERS = """
    allow-unregistered-dialect color dump-pass-pipeline elide-resource-data-from-bytecode
    emit-bytecode emit-bytecode-version help help-list irdl-file list-passes load-dialect-plugin
    load-pass-plugin log-actions-to log-mlir-actions-filter no-implicit-module output-split-marker
    pass-pipeline profile-actions-to remark-format remark-policy remarks-filter
    remarks-filter-analyse remarks-filter-failed remarks-filter-missed remarks-filter-passed
    remarks-output-file show-dialects split-input-file verify-diagnostics verify-each
    verify-roundtrip version
""".split()
"""Options of MLIR among LLVM's, apart from those that begin with `mlir-`."""


def _options_of_mlir(help_text: str) -> set[str]:
    # What is indented further is a pass, or an option of one.
    names = set(re.findall(r"^  --([\w-]+)", help_text, re.MULTILINE))
    return {name for name in names if name.startswith("mlir-") or name in OTHERS}


def test_options_are_taken_or_explained(mlir_opt: Callable[..., str]) -> None:
    theirs = _options_of_mlir(mlir_opt("", "--help"))
    missing = theirs - set(option_names(Options))
    page = OPTIONS.read_text(encoding="utf-8")
    explained = set(re.findall(r"`--([\w-]+)`", page.partition("## Options of `mlir-opt`")[2]))
    assert missing <= explained and missing <= set(Options.REFUSED)
    assert len(theirs) >= 64 and len(theirs - missing) >= 58
