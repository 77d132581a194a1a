"""The documentation as a site: it is built without a warning, and every link leads somewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from breadth import NIGHTLY

ROOT = Path(__file__).parents[3]
# Each process that collects tests would import them, and only the process below needs them.
MISSING = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} is not installed"),
    # `test_docs.py` follows the links of the sources in every run.
    pytest.mark.skipif(not NIGHTLY, reason="the whole site takes seconds"),
]


class Page(HTMLParser):
    """The links and anchors of a page, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value is not None}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag in ("script", "img", "iframe") and "src" in named:
            self.loads.append(named["src"])
        elif tag == "link" and "href" in named:
            self.loads.append(named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, ROOT / "docs", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    built = {path.stem for path in site.glob("*.html")} - {"genindex", "index", "search"}
    assert built == {path.stem for path in (ROOT / "docs").glob("*.md")}
    contents = Page(site / "README.html")
    assert {f"{name}.html" for name in built - {"README"}} <= set(contents.links)


def test_the_folder_begins_with_the_first_page(site: Path) -> None:
    assert "url=README.html" in (site / "index.html").read_text(encoding="utf-8")


def test_links_lead_somewhere(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.glob("*.html")}
    broken: list[str] = []
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set[str]()
            missing = parts.fragment and target in pages and unquote(parts.fragment) not in anchors
            if not target.exists() or missing:
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_no_network_needed(site: Path) -> None:
    for path in site.glob("*.html"):
        remote = [each for each in Page(path).loads if urlsplit(each).netloc]
        assert not remote, path.name
    for style in (site / "_static").rglob("*.css"):
        assert "url(http" not in style.read_text(encoding="utf-8")
