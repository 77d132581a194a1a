"""The page about a pipeline: what is in it, and that it works in a browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import mesh_opt
import pytest
import tool_runs
from mesh_opt.passes.encoding.encoding_report import EncodedTensor
from mesh_opt.tiling.packed_layouts import PackedLayout
from mesh_opt.tools.html_report.tiles import draw_tiles
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "mlp_dp_tp.mlir"
BLOCK = ROOT / "tests" / "cases" / "models" / "transformer_block_sharded.mlir"

HOSTILE = """
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a {note = "</script><b>"} : tensor<4xf32>
  return %b : tensor<4xf32>
}
"""


def run(*arguments: str, text: str = "") -> tuple[int, str]:
    code, _, errors = tool_runs.mesh_opt(*arguments, text=text)
    return code, errors


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    code, errors = run(str(EXAMPLE), "--spmd", f"--report={path}", "-o", "/dev/null")
    assert code == 0 and not errors
    return path


@pytest.fixture(scope="module")
def data(path: Path) -> dict[str, Any]:
    return data_of(path.read_text(encoding="utf-8"))


def stage(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in data["stages"] if stage["name"] == name)


def line(data: dict[str, Any], of: dict[str, Any], part: str) -> int:
    texts = [data["lines"][number] for number in of["lines"]]
    return next(index for index, text in enumerate(texts) if part in text)


def test_stages_are_those_of_the_pipeline(data: dict[str, Any]) -> None:
    program = mesh_opt.compile(EXAMPLE, "spmd")
    names = [stage["name"] for stage in data["stages"]]
    assert names == [stage.name for stage in program.stages]
    for shown, kept in zip(data["stages"], program.stages, strict=True):
        assert "\n".join(data["lines"][number] for number in shown["lines"]) == kept.text


def test_lines_know_where_they_come_from(data: dict[str, Any]) -> None:
    source = EXAMPLE.read_text(encoding="utf-8").splitlines()
    for name, part in (("input", "%h = linalg.matmul"), ("shard-simplify", "%h = linalg.matmul")):
        found = stage(data, name)
        places = found["places"][str(line(data, found, part))]
        file, number, _ = data["places"][places[0]].rsplit(":", 2)
        assert file == str(EXAMPLE)
        assert source[int(number) - 1].lstrip().startswith("%h = linalg.matmul")


def test_collectives_have_their_bytes(data: dict[str, Any]) -> None:
    last = stage(data, "shard-simplify")
    at = str(line(data, last, "shard.all_reduce"))
    assert last["sends"] == {at: ["shard.all_reduce", 256.0]}
    assert stage(data, "input")["sends"] == {}


def test_costs_and_shardings(data: dict[str, Any]) -> None:
    (cost,) = stage(data, "shard-simplify")["costs"]
    assert (cost["function"], cost["sent"], cost["work"], cost["peak"]) == ("mlp", 256, 4544, 2944)
    assert cost["collectives"] == [["shard.all_reduce", "@devices[1] (2)", 1, 256.0]]
    propagated = stage(data, "sharding-propagation")["shardings"]
    (hidden,) = (each for each in propagated if "%h" in each["values"])
    assert "8x32 by @devices [[0], [1]] on 4 devices: 4 parts" in data["maps"][hidden["map"]]


def test_remarks_are_those_of_their_pass(data: dict[str, Any]) -> None:
    assert not stage(data, "input")["remarks"]
    remarks = stage(data, "sharding-propagation")["remarks"]
    _, errors = run(str(EXAMPLE), "--sharding-propagation", "--remarks=all", "-o", "/dev/null")
    assert len(remarks) == errors.count(" remark: ")
    category, message, place = remarks[0]
    assert category == "sharding" and message
    assert data["places"][place].startswith(str(EXAMPLE))


def test_graphs(data: dict[str, Any]) -> None:
    kinds = data["kinds"]
    nodes = stage(data, "shard-simplify")["graphs"]["mlp"]
    names = [kinds[name] for _, name, _, _ in nodes]
    assert names[:5] == ["argument"] * 5 and "arith.constant" not in names
    at = names.index("shard.all_reduce")
    line_of, _, type_of, reads = nodes[at]
    assert "shard.all_reduce" in data["lines"][stage(data, "shard-simplify")["lines"][line_of]]
    assert kinds[type_of] == "4x16xf32" and [names[read] for read in reads] == ["linalg.matmul"]
    # An annotation is no node: who reads it reads what it annotates.
    nodes = stage(data, "sharding-propagation")["graphs"]["mlp"]
    names = [kinds[name] for _, name, _, _ in nodes]
    assert not any(name.startswith("shard.") for name in names)
    assert [names[read] for read in nodes[names.index("linalg.matmul")][3]] == ["argument"] * 2


def test_layouts_are_drawn_as_tiles(tmp_path: Path) -> None:
    path = tmp_path / "layouts.html"
    program = ROOT / "docs" / "examples" / "two_targets.mlir"
    assert run(str(program), "-p", "compile", f"--report={path}", "-o", "/dev/null")[0] == 0
    found = data_of(path.read_text(encoding="utf-8"))
    assert not stage(found, "input")["layouts"]
    shown = stage(found, "iree-stream-specialize-encodings")["layouts"]
    pictures = [found["maps"][number] for number in shown]
    assert len(pictures) == 4
    assert "tensor&lt;16x32xf32&gt; on @vm: tiles 8x4 of dimensions [1, 0]" in pictures[3]
    assert pictures[3].count('class="tile"') == 16
    assert "32 by 8: 4 tiles" in pictures[3] and "16 by 4: 4 tiles" in pictures[3]


def test_tiles_that_are_not_full_are_padded() -> None:
    layout = PackedLayout((0, 1), (8, 4), (0, 1))
    row = EncodedTensor(ModuleOp([]), "t", (12, DYNAMIC_INDEX), "l", (layout,), "@d", "@d", 1, 1)
    picture = draw_tiles(row)
    assert picture.count('class="tile"') == 6
    assert picture.count('height="20.0"/>') == picture.count('height="10.0"/>') == 3
    assert "12 by 8: 2 tiles" in picture and "? by 4" in picture


def test_the_page_is_whole(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    # The name of SVG's elements looks like an address, and is none.
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"<(?:link|img|iframe)\b|\bsrc=|@import|url\(", page)


def test_nothing_of_a_program_becomes_a_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    code, errors = run(f"--report={path}", "--cse", text=HOSTILE)
    assert code == 0, errors
    page = path.read_text(encoding="utf-8")
    assert page.count("</script>") == 2 and "<b>" not in page
    assert any("</script><b>" in text for text in data_of(page)["lines"])


def test_a_pass_that_fails_is_the_end(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    text = (
        "func.func @f(%a: i32, %b: i32) -> i32 {\n  %t = arith.constant true\n"
        "  %s = arith.select %t, %a, %b : i32\n  return %s : i32\n}"
    )
    pipeline = "--pass-pipeline=cse,canonicalize{max-iterations=0 test-convergence},cse"
    assert run(pipeline, f"--report={path}", text=text)[0] == 1
    names = [stage["name"] for stage in data_of(path.read_text(encoding="utf-8"))["stages"]]
    assert names == ["input", "cse"]


def test_functions_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    two = "func.func @f() { return }\nfunc.func @g() { return }"
    run("--pass-pipeline=builtin.module(func.func(cse))", f"--report={path}", text=two)
    names = [stage["name"] for stage in data_of(path.read_text(encoding="utf-8"))["stages"]]
    assert names == ["input", "cse on @f", "cse on @g"]


def test_pieces_have_no_report(tmp_path: Path) -> None:
    code, errors = run("--split-input-file", f"--report={tmp_path / 'x'}", text="")
    assert code == 1 and "--report is about one program" in errors


def test_from_python(tmp_path: Path, data: dict[str, Any]) -> None:
    program = mesh_opt.compile(EXAMPLE, "spmd")
    path = tmp_path / "page.html"
    page = program.report(path)
    assert path.read_text(encoding="utf-8") == page
    assert data_of(page)["stages"] == data["stages"]


def test_size_of_a_transformer_block(tmp_path: Path) -> None:
    path = tmp_path / "block.html"
    assert run(str(BLOCK), "--spmd", f"--report={path}", "-o", "/dev/null")[0] == 0
    assert path.stat().st_size < 3_000_000


DRIVE = """
<script>
const press = key => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const seen = {};
const headings = () => [...document.querySelectorAll(".pane h2")].map(one => one.textContent);
seen.first = headings();
press("ArrowRight");
seen.next = headings();
const boxes = selector => [...document.querySelectorAll(selector)].map(
  one => one.getBoundingClientRect());
seen.over = boxes("#after .chip").filter(chip => boxes("#after .chip ~ *, #after .at, #after .op")
  .some(one => one.top < chip.bottom && chip.top < one.bottom
    && one.left < chip.right && chip.left < one.right)).length;
seen.tabLines = new Set(boxes("#tabs button").map(one => one.top)).size;
seen.tabsFit = $("tabs").scrollWidth <= $("tabs").clientWidth;
press("ArrowLeft");
seen.rows = ["before", "after"].map(pane =>
  [...document.querySelectorAll(`#${pane} .code > *`)].map(one => one.textContent));
seen.changed = document.querySelectorAll("#after .row.changed").length;
press("n");
seen.here = document.querySelector("#after .row.here").textContent;
press("j");
[...document.querySelectorAll("#after .value")].find(one => one.textContent === "%h").click();
seen.followed = [...document.querySelectorAll(".row.followed")].map(one => one.textContent);
seen.tab = document.querySelector("#tabs [aria-selected=true]").textContent;
seen.maps = document.querySelectorAll("#panel table").length;
press("3");
seen.collectives = document.querySelector("#panel").textContent;
seen.chips = [...document.querySelectorAll("#after .chip")].map(one => one.textContent);
press("4");
seen.costs = document.querySelectorAll("#panel tr").length;
press("5");
seen.remarks = document.querySelectorAll("#panel tr").length;
press("g");
seen.graph = [...document.querySelectorAll("#graph .node title")].map(one => one.textContent);
seen.pills = [...document.querySelectorAll("#graph .collective .kind")].map(one => one.textContent);
seen.miniatures = document.querySelectorAll("#graph .miniature").length;
seen.edges = document.querySelectorAll("#graph .edge").length;
press("n");
seen.chosen = document.querySelector("#graph .chosen title").textContent;
seen.near = document.querySelectorAll("#graph .edge.near").length;
press("ArrowDown");
seen.below = document.querySelector("#graph .chosen title").textContent;
seen.graphHash = location.hash;
press("g");
press("l");
seen.lanes = [...document.querySelectorAll("#times table td:first-child")].length;
seen.events = document.querySelectorAll("#times .event").length;
press("n");
seen.meeting = document.querySelector("#times .event-text").textContent;
press("+");
press("+");
seen.zoomed = document.querySelectorAll("#times .event.chosen").length;
seen.timesHash = location.hash;
press("l");
press("5");
press("Escape");
seen.none = document.querySelectorAll(".row.followed").length;
press("c");
seen.single = document.querySelector("main").className;
const dark = document.documentElement.className;
press("t");
seen.theme = [dark, document.documentElement.className].sort();
seen.hash = location.hash;
document.title = JSON.stringify(seen);
</script>
"""


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run."""
    path = tmp_path_factory.mktemp("report") / "run.html"
    arguments = (str(EXAMPLE), "-p", "spmd", "--random-inputs=0", f"--report={path}")
    code, _, errors = tool_runs.mesh_run(*arguments)
    assert code == 0, errors
    return path


def test_device_timeline(run_path: Path, data: dict[str, Any]) -> None:
    found = data_of(run_path.read_text(encoding="utf-8"))
    assert found["stages"] == data["stages"] and data["times"] is None
    times = found["times"]
    assert times["lanes"] == [f"process {number}" for number in range(4)] and not times["left"]
    names = [(lane, name) for lane, kind, name, *_ in times["events"] if kind != "wait"]
    for lane in range(4):
        assert [name.rpartition("_")[0] for one, name in names if one == lane][-2:] == [
            "shard.all",
            "linalg.generic",
        ]
    assert all(
        0 <= start <= start + length <= times["end"] + 1e-6
        for *_, start, length, _ in times["events"]
    )


def test_saved_programs_have_a_report(tmp_path: Path) -> None:
    saved, path = tmp_path / "p.meshprog", tmp_path / "p.html"
    mesh_opt.compile(EXAMPLE, "spmd").save(saved)
    code, _, _ = tool_runs.mesh_run(str(saved), "--random-inputs=0", f"--report={path}")
    assert code == 0
    found = data_of(path.read_text(encoding="utf-8"))
    assert [stage["name"] for stage in found["stages"]] == ["input"]
    assert len(found["times"]["lanes"]) == 4


def test_the_page_works_in_a_browser(run_path: Path, data: dict[str, Any], tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium")
    page = tmp_path / "driven.html"
    page.write_text(run_path.read_text(encoding="utf-8") + DRIVE, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"]
    flags += [f"--user-data-dir={tmp_path / 'user'}"]
    done = subprocess.run(
        [chromium, *flags, "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title is not None, done.stderr
    seen = json.loads(unescape(title[1]))
    # The page opens at the last pass that has changed something: the one after it has not.
    assert seen["first"] == ["shard-complete", "shard-partition"]
    assert seen["next"] == ["shard-partition", "shard-simplify"]
    assert seen["changed"] > 5 and "func.func @mlp" in seen["here"]
    # Lines that are the same, or define the same value, are side by side.
    before, after = seen["rows"]
    assert len(before) == len(after)
    assert any(
        "%h = linalg.matmul" in one and "%h = linalg.matmul" in other
        for one, other in zip(before, after, strict=True)
    )
    # Nothing lies over the text, nothing is wrapped or cut off.
    assert seen["over"] == 0 and seen["tabLines"] == 1 and seen["tabsFit"]
    assert 2 <= len(seen["followed"]) < 20
    assert any("%h = linalg.matmul" in text for text in seen["followed"])
    assert seen["tab"] == "Value"
    assert "shard.all_reduce256" in seen["collectives"] and seen["chips"] == ["sends 256 B"]
    # The head, the program as it was, and as partitioning left it: no other stage changes costs.
    assert seen["costs"] == 3
    assert seen["remarks"] == sum(len(stage["remarks"]) for stage in data["stages"]) + 1
    assert len(seen["graph"]) == 12 and seen["pills"] == ["sends 256 B"]
    assert seen["miniatures"] == 4 and seen["edges"] == 11
    assert "shard.all_reduce" in seen["chosen"] and seen["near"] == 2
    assert "linalg.generic" in seen["below"] and "graph=1" in seen["graphHash"]
    assert seen["lanes"] == 4 and seen["events"] >= 8 and seen["zoomed"] == 1
    assert re.match(r"process \d: (wait|collective shard.all_reduce), ", seen["meeting"])
    assert "times=1" in seen["timesHash"] and "graph" not in seen["timesHash"]
    assert seen["none"] == 0 and seen["single"] == "single"
    assert seen["theme"] == ["", "dark"]
    last = data["stages"].index(stage(data, "shard-simplify"))
    assert seen["hash"].startswith(f"#stage={last}&follow=&tab=4")
