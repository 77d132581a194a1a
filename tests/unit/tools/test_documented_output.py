"""The IR in the documentation is what mesh-opt prints; pages are listed, and links lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documented_output import with_current_output

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_output_is_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_current_output(text, DOCS) == text, "`make docs` brings it up to date"


def test_blocks_are_replaced_and_others_stay() -> None:
    page = "```mlir\nkept\n```\n<!-- mesh-opt examples/product.mlir -->\n```mlir\nold\n```\nend\n"
    current = with_current_output(page, DOCS)
    assert "old" not in current
    assert current.startswith("```mlir\nkept\n```\n") and current.endswith("  }\n}\n```\nend\n")


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(ValueError, match="there is no option or pass '--nope'"):
        with_current_output("<!-- mesh-opt --nope -->\n```mlir\n```\n", DOCS)


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"({page.name})" not in index] == ["README.md"]


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
