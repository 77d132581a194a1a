"""Files of saved programs: what is damaged is refused in words, and costs nothing."""

from __future__ import annotations

import os
import random
import re
import threading
from pathlib import Path
from typing import Any

import mesh_opt
import numpy as np
import pytest
from breadth import cases
from fuzzing import limits
from mesh_opt import api
from mesh_opt.runtime.saved.code_check import decode
from mesh_opt.runtime.saved.fields import DamagedFile, SavedFileError
from mesh_opt.runtime.saved.file_format import HEAD, PAGE, Container, write_container
from mesh_opt.runtime.saved.program import NATIVE_MODULES
from saved_files import altered, mutate, slots, with_section, with_words

MUTATIONS = cases(300, 20_000)

PROGRAM = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = shard.all_reduce %a on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  %r = arith.addf %s, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "p.meshprog"
    api.compile(PROGRAM).save(path)
    assert mesh_opt.load(path).main(np.ones(4, np.float32)).tolist() == [3, 4, 5, 6]
    return path


def refusal(path: Path, data: bytes, *, verify: bool = True) -> str:
    """Why a file of some bytes is refused."""
    path.write_bytes(data)
    with pytest.raises(SavedFileError) as found:
        mesh_opt.load(path, verify=verify)
    assert str(found.value).startswith(f"'{path}' is not a program that can be run: it ")
    return str(found.value)


def test_a_change_of_any_native_function_outdates_saved_programs() -> None:
    folder = Path(mesh_opt.__file__).parent / "runtime"
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    native = {path for path, text in texts.items() if "\nSOURCE = source_of(" in text}
    assert {Path(module.__file__) for module in NATIVE_MODULES} == native


def test_sections_lie_where_they_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    numbers = np.arange(1000.0)
    sections = {"text": [b"hello"], "constants": [b"1", numbers.data, b""], "none": []}
    write_container(path, {"answer": 42}, sections)
    file = Container(path)
    assert file.header["answer"].integer() == 42
    assert file.text("text") == "hello"
    assert bytes(file.section("none")) == b""
    found = np.frombuffer(file.section("constants"), np.uint8)
    assert found.ctypes.data % PAGE == 0
    assert found[64:8064].tobytes() == numbers.tobytes()
    with pytest.raises(DamagedFile, match="has no section 'other'"):
        file.section("other")


def test_a_file_has_the_permissions_of_new_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").touch()
    # The mask belongs to the process: another thread's files would get it, too.
    monkeypatch.delattr(os, "umask")
    write_container(tmp_path / "saved", {}, {})
    assert (tmp_path / "saved").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_container(path, {}, {})
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_container(path, {"no": object()}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_files(program: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "x.meshprog", program.read_bytes()
    assert "it has 0 bytes, expected 64 or more" in refusal(path, b"")
    assert "it begins with b'module {', expected b'MESHPROG'" in refusal(path, b"module {" * 9)
    assert "the text of a program is for mesh_opt.compile" in refusal(path, b"module {}")
    assert "it begins with b'ML\\xefR'" in refusal(path, b"ML\xefR")
    older = data[:8] + (0).to_bytes(4, "little") + data[12:]
    assert "has version 0 of the format, and this mesh-opt reads version 8: an older" in refusal(
        path, older
    )
    newer = data[:8] + (9).to_bytes(4, "little") + data[12:]
    assert "a newer one wrote it; save the program again" in refusal(path, newer)
    assert f"has {len(data) + 1} bytes, but was written with {len(data)}" in refusal(
        path, data + b"\0"
    )
    with pytest.raises(FileNotFoundError):
        mesh_opt.load(tmp_path / "none.meshprog")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.meshprog"
    link.symlink_to("folder/own.meshprog")
    for _ in range(2):
        api.compile(PROGRAM).save(link)
        assert link.is_symlink()
        assert [each.name for each in (tmp_path / "folder").iterdir()] == ["own.meshprog"]
        mesh_opt.load(link)


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    """As a device such as /dev/null, which root could replace by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    api.compile(PROGRAM).save(pipe)
    assert pipe.is_fifo()
    reader.join(60)
    assert os.listdir(tmp_path) == ["pipe"]
    (tmp_path / "copy.meshprog").write_bytes(*found)
    mesh_opt.load(tmp_path / "copy.meshprog")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.meshprog"
    with pytest.raises(FileNotFoundError, match=rf"No such file or directory: '{path}'$"):
        api.compile("").save(path)


def test_a_file_that_was_cut_off_is_refused(program: Path, tmp_path: Path) -> None:
    data = program.read_bytes()
    for size in (1, 63, 64, 65, 1000, PAGE, len(data) // 2, len(data) - 1):
        assert "bytes" in refusal(tmp_path / "x.meshprog", data[:size])


def test_a_changed_byte_is_noticed_wherever_it_means_something(
    program: Path, tmp_path: Path
) -> None:
    data = program.read_bytes()
    file = Container(program)
    length = HEAD.unpack_from(data)[4]
    places = [*range(12), *range(16, HEAD.size), *range(HEAD.size, HEAD.size + length, 97)]
    base = -(-(HEAD.size + length) // PAGE) * PAGE
    for _, row in file.header["sections"].entries():
        start, size, _ = row.items()
        first = base + start.integer()
        places += range(first, first + size.integer(), max(size.integer() // 5, 1))
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        refusal(tmp_path / "x.meshprog", bytes(changed))


def test_constants_are_not_read_unless_they_are_to_be_verified(
    program: Path, tmp_path: Path
) -> None:
    data = program.read_bytes()
    constant = np.array([1, 2, 3, 4], np.float32).tobytes()
    assert data.count(constant) == 1
    path = tmp_path / "x.meshprog"
    assert "its section 'constants' has the checksum" in refusal(
        path, data.replace(constant, bytes(16))
    )
    loaded = mesh_opt.load(path, verify=False)
    assert loaded.main(np.ones(4, np.float32)).tolist() == [2, 2, 2, 2]
    code = bytes(Container(program).section("code"))
    assert data.count(code) == 1
    changed = data.replace(code, bytes(8) + code[8:])
    assert "its section 'code' has the checksum" in refusal(path, changed, verify=False)


@pytest.mark.parametrize("part", range(4))
def test_hostile_headers_are_refused_or_harmless(part: int, program: Path, tmp_path: Path) -> None:
    """Headers that lie, under the right checksum: a file is loaded, or refused in words."""
    path = tmp_path / "x.meshprog"
    loads = 0
    for case in [case for case in MUTATIONS if case % 4 == part]:
        source = random.Random(case)
        change = ""

        def alter(header: Any, source: random.Random = source) -> None:
            nonlocal change
            for _ in range(source.choice([1, 1, 2, 5])):
                place, key = source.choice(list(slots(header)))
                mutate(place, key, source)
                change += f"{key!r} of {str(place)[:200]}\n"

        altered(program, path, alter)
        with limits(f"case {case}: {change}"):
            try:
                mesh_opt.load(path).close()
                loads += 1
            except SavedFileError as problem:
                assert str(problem)
    assert loads < len(MUTATIONS) / 4


LOOP = """
func.func private @add(%x: f32, %y: f32) -> f32 {
  %z = arith.addf %x, %y : f32
  return %z : f32
}
func.func @main(%a: tensor<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f32) {
    %x = tensor.extract %a[%i] : tensor<4xf32>
    %y = func.call @add(%s, %x) : (f32, f32) -> f32
    scf.yield %y : f32
  }
  return %r : f32
}"""


@pytest.mark.parametrize(
    ("name", "operand", "values", "message"),
    [
        ("exchange", 0, [63], "at word 0 63 is not an instruction"),
        ("exchange", 0, [35], "'python' is for programs that have Python"),
        ("exchange", 1, [1], "'exchange' names number 1, expected one from 0 to 0"),
        ("exchange", 1, [-1], "'exchange' names number -1"),
        ("exchange", 2, [1 << 62], "'exchange' has results beyond the end of its function"),
        ("exchange", 2, [-1], "'exchange' has results beyond the end of its function"),
        ("exchange", 3, [112], "'exchange' has results at 112 of a frame of 112 bytes"),
        ("exchange", 4, [65], "'exchange' has results at 65 of a frame"),
        ("exchange", 6, [-8], "'exchange' has values at -8 of a frame"),
        ("run", 1, [1], "'run' names number 1, expected one from 0 to 0"),
        ("run", 2, [80], "'run' has a frame of 80 bytes, expected 88"),
        ("run", 3, [1 << 62], f"'run' has tiles at {1 << 62} of a frame"),
        ("return", -3, [16, 80, 16, 80], "the end of a function, expected a return before it"),
        ("return", 0, [7], "'move' has result beyond the end of its function"),
        ("return", 0, [64], "'addi_i1' has result beyond the end of its function"),
        ("jump_unless", 2, [288], "'jump_unless' jumps by 288 bytes, where no instruction begins"),
        ("jump_unless", 2, [281], "'jump_unless' jumps by 281 bytes"),
        ("jump_unless", 2, [337], "'jump_unless' jumps by 337 bytes"),
        ("position", 5, [-(1 << 40)], "'position' jumps by "),
        ("loop", 4, [1 << 62], "'loop' jumps by "),
        ("addf_f32", 4, [1 << 62], "'addf_f32' has words behind its operands, expected 0"),
        ("fail", 1, [1], "'fail' names number 1"),
    ],
)
def test_host_code_that_cannot_be_run_is_refused(
    name: str, operand: int, values: list[int], message: str, program: Path, tmp_path: Path
) -> None:
    """Words of an instruction are changed, from an operand on."""
    if name not in ("exchange", "run", "return"):
        program = tmp_path / "loop.meshprog"
        api.compile(LOOP).save(program)
    words = np.frombuffer(Container(program).section("code"), np.int64).tolist()
    at = next(each.at for each in decode(words, 0, len(words), "") if each.kind.name == name)

    def change(found: Any) -> None:
        found[at + operand : at + operand + len(values)] = values

    with pytest.raises(SavedFileError, match=re.escape(message)):
        mesh_opt.load(with_words(program, tmp_path / "x.meshprog", change))


ENTRY = ("functions", 0, "entries", 0)
EXCHANGE = (*ENTRY, "exchanges", 0, 2, 1)
MEETING = (*EXCHANGE, 4, 0, 1)


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("functions", 0, "types", 0, 0, 1), "f64", "has tensor<4xf32> of tensor<4xf64> as"),
        (("functions", 0, "types", 0, 0, 3), "", "has tensor<4xf32> of f32 as"),
        ((*ENTRY, "arguments", 0), [5], "has shape [5] as "),
        ((*ENTRY, "arguments", 0), None, "has shape None as "),
        ((*ENTRY, "arguments"), [[4], [4]], "has 2 shapes as "),
        ((*ENTRY, "results", 0), [8], "has shape [8] as "),
        ((*ENTRY, "functions", 0, 1), 1, "has 1 registers for results, expected 2"),
        ((*ENTRY, "functions", 0, 2), 1, "has 1 registers for arguments, expected 2"),
        ((*ENTRY, "functions", 0, 5), 2, "'run' passes 3 words in a frame with room for 2"),
        ((*ENTRY, "exchanges", 0, 2), [], "has no exchange as "),
        ((*EXCHANGE, 0), [5], "cannot be carried out: sizes [4] of [5]"),
        ((*EXCHANGE, 1), 8, "elements of 8 bytes, which are f32"),
        ((*MEETING, "shape"), [8], "shapes [8] and [4]"),
        ((*MEETING, "kind"), "update_halo", "'update_halo' for 'all_reduce'"),
        ((*MEETING, "kind"), "f", "'f' is not a collective"),
        ((*MEETING, "group"), [[1, 0], 1], "process 1 is number 1 of [1, 0]"),
        ((*MEETING, "group"), [[1], 0], "groups [1] and [0, 1]"),
        ((*MEETING, "elements"), ["f32", "f64"], "a result of tensor<4xf64>, which is tensor<4xf"),
        ((*MEETING, "signature", 1), [0, 7], "a group of (0, 7) on 2 devices"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    way: tuple[Any, ...], value: Any, message: str, program: Path, tmp_path: Path
) -> None:
    def change(header: Any) -> None:
        for key in way[:-1]:
            header = header[key]
        header[way[-1]] = value

    with pytest.raises(SavedFileError, match=re.escape(message)):
        mesh_opt.load(altered(program, tmp_path / "x.meshprog", change))


@pytest.mark.parametrize("kind", ["all_gather", "all_slice", "all_to_all", "update_halo"])
def test_a_number_has_no_dimension_to_divide_or_join(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "number.meshprog"
    api.compile(PROGRAM.replace("4x", "").replace("[1.0, 2.0, 3.0, 4.0]", "1.0")).save(path)

    def change(header: Any) -> None:
        for each in header["functions"][0]["entries"][0]["exchanges"][0][2]:
            meeting = each[4][0][1]
            meeting["kind"] = meeting["signature"][0] = kind

    with pytest.raises(SavedFileError, match=f"'{kind}' of a tensor without dimensions"):
        mesh_opt.load(altered(path, tmp_path / "x.meshprog", change))


OPEN = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %s = shard.shift %a on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
    : tensor<?xf32> -> tensor<?xf32>
  return %s : tensor<?xf32>
}"""


def test_elements_of_open_results_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "open.meshprog"
    api.compile(OPEN).save(path)

    def change(header: Any) -> None:
        header["functions"][0]["entries"][0]["exchanges"][0][2][0][4][0][1]["elements"][1] = "i8"

    with pytest.raises(SavedFileError, match=r"a result of tensor<\?xi8>, which is tensor<\?xf32>"):
        mesh_opt.load(altered(path, tmp_path / "x.meshprog", change))


def test_code_for_a_fixed_size_takes_no_open_argument(program: Path, tmp_path: Path) -> None:
    def change(header: Any) -> None:
        header["functions"][0]["types"][0][0] = ["tensor<?xf32>", "f32", [-1], "tensor"]

    with pytest.raises(SavedFileError, match=re.escape("has shape [4] as ")):
        mesh_opt.load(altered(program, tmp_path / "x.meshprog", change))


def test_object_code_that_is_none_is_not_loaded(program: Path, tmp_path: Path) -> None:
    def change(header: Any) -> None:
        for symbol, place in header["objects"]:
            if symbol == header["functions"][0]["entries"][0]["kernels"][0][0]:
                place[1] = 64

    loaded = mesh_opt.load(altered(program, tmp_path / "x.meshprog", change))
    with pytest.warns(RuntimeWarning, match="its object code cannot be loaded: "):
        assert loaded.main(np.ones(4, np.float32)).tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@main", "@other", "holds IR without the function @main, which its header names"),
        (
            "%a: tensor<4xf32>)",
            "%a: tensor<4xf32>, %b: f32)",
            "holds IR with @main of (tensor<4xf32>, f32) -> (tensor<4xf32>), expected",
        ),
    ],
)
def test_ir_of_other_functions_is_refused(
    old: str, new: str, message: str, program: Path, tmp_path: Path
) -> None:
    ir = PROGRAM.replace(old, new).encode()
    loaded = mesh_opt.load(with_section(program, tmp_path / "x.meshprog", "ir", lambda _: ir))
    with pytest.raises(SavedFileError, match=re.escape(message)):
        loaded.compiled()
