"""The documentation as a site: `make site` builds it into `site/`, which opens from the folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

project = "mesh-opt"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "mesh-opt"
html_show_sphinx = False
html_copy_source = False
root_doc = "README"
exclude_patterns = ["examples"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

CONTENTS = {
    "To begin with": "tutorial cookbook python editors jax torch stablehlo",
    "Stages of a program": (
        "architecture shard_dialect propagation sharding_choices sharding_search partition"
        " encodings data_tiling walkthrough_two_devices commands grid_devices backend_and_runtime"
        " host_code interpreter"
    ),
    "Running": "mpi cluster saved_programs long_runs",
    "Reference": "options passes operations differences",
    "Working on it": "extending development",
}
"""The pages by the part of the sidebar that they stand in."""


_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)]*)\)")
"""A link to a file of the repository that is no page."""


def _as_page(app: Any, page: str, source: list[str]) -> None:
    """Turn the text of a file into that of a page of the site.

    The first page gets the table of contents, which a reader of the file has no need of. Files of
    the repository are named.
    """
    source[0] = _OUTSIDE.sub(r"\1 (`\2`)", source[0])
    if page == root_doc:
        for title, pages in CONTENTS.items():
            listed = "\n".join(pages.split())
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def _with_index(app: Any, failure: Exception | None) -> None:
    """Let the folder begin with the first page."""
    if failure is None:
        text = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _as_page)
    app.connect("build-finished", _with_index)
