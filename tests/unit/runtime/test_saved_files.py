"""Files of saved programs: what is damaged is refused in words, and costs nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import mesh_opt
import numpy as np
import pytest
from breadth import cases
from fuzzing import limits
from mesh_opt import api
from mesh_opt.runtime.saved.container import HEAD, PAGE, Container, write_container
from mesh_opt.runtime.saved.fields import DamagedFile, SavedFileError
from saved_files import altered

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
    api.compile(PROGRAM, stages=False).save(path)
    assert mesh_opt.load(path).main(np.ones(4, np.float32)).tolist() == [3, 4, 5, 6]
    return path


def refusal(path: Path, data: bytes) -> str:
    """Why a file of some bytes is refused."""
    path.write_bytes(data)
    with pytest.raises(SavedFileError) as found:
        mesh_opt.load(path)
    assert str(found.value).startswith(f"'{path}' is no program that can be run: it ")
    return str(found.value)


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


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_container(path, {}, {})
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_container(path, {"no": object()}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_program_is_refused_in_words(program: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "x.meshprog", program.read_bytes()
    assert "it has 0 bytes, expected 64 or more" in refusal(path, b"")
    assert "it begins with b'module {', expected b'MESHPROG'" in refusal(path, b"module {" * 9)
    assert "the text of a program is for mesh_opt.compile" in refusal(path, b"module {}")
    assert "it begins with b'ML\\xefR'" in refusal(path, b"ML\xefR")
    older = data[:8] + (0).to_bytes(4, "little") + data[12:]
    assert "has version 0 of the format, and this mesh-opt reads version 7: an older" in refusal(
        path, older
    )
    newer = data[:8] + (9).to_bytes(4, "little") + data[12:]
    assert "a newer one wrote it; save the program again" in refusal(path, newer)
    assert f"has {len(data) + 1} bytes, but was written with {len(data)}" in refusal(
        path, data + b"\0"
    )
    with pytest.raises(FileNotFoundError):
        mesh_opt.load(tmp_path / "none.meshprog")


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


HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64, 1.5, "", "f32", "x" * 5000,
    [], [0], [-1], [1 << 40] * 3, [[]], {}, {"a": 1},
)  # fmt: skip


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a header where something may be put."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from slots(inner)


@pytest.mark.parametrize("part", range(4))
def test_hostile_headers_are_refused_or_harmless(part: int, program: Path, tmp_path: Path) -> None:
    """Headers that lie, under the right checksum: a file is loaded, or refused in words."""
    path = tmp_path / "x.meshprog"
    loads = 0
    for case in [case for case in MUTATIONS if case % 4 == part]:
        source = random.Random(case)
        change = ""

        def mutate(header: Any, source: random.Random = source) -> None:
            nonlocal change
            for _ in range(source.choice([1, 1, 2, 5])):
                place, key = source.choice(list(slots(header)))
                if source.random() < 0.2:
                    del place[key]
                elif source.random() < 0.2 and isinstance(place[key], list):
                    place[key] = place[key] * source.choice([2, 3, 50])
                elif source.random() < 0.3 and type(place[key]) is int:
                    place[key] += source.choice([-64, -1, 1, 2, 64, 4096])
                else:
                    place[key] = deepcopy(source.choice(HOSTILE))
                change += f"{key!r} of {str(place)[:200]}\n"

        altered(program, path, mutate)
        with limits(f"case {case}: {change}"):
            try:
                mesh_opt.load(path).close()
                loads += 1
            except SavedFileError as problem:
                assert str(problem)
    assert loads < len(MUTATIONS) / 4
