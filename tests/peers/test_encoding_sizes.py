"""Random storage sizes through the passes against IREE 3.13's.

Both tools are given programs of the same `stream.tensor.sizeof`, with sizes that are known and
sizes that are not; what each makes of them is folded to numbers by iree-opt. There is one list of
differences, `differs_on_purpose`: elements that IREE gives less than they take, or more.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import peer_tools
import pytest
from breadth import breadth
from mesh_opt.tiling.element_types import element_type
from tool_runs import printed

DATA = Path(__file__).parents[1] / "data"
TARGETS: dict[str, tuple[str, str, str]] = json.loads((DATA / "encoding_targets.json").read_text())
PAIRS = {f"{one}__{other}": (one, other) for one, other in itertools.combinations(TARGETS, 2)}
"""Devices of two targets."""

COUNT = breadth(600, 20_000)
SEED = 1
BATCH = 2000

# Loops of each operation, and the loops that index left, right and result.
OPERATIONS = (
    ("mnk", ("mk", "kn", "mn")),
    ("mnk", ("km", "kn", "mn")),
    ("mnk", ("mk", "nk", "mn")),
    ("mnk", ("km", "nk", "nm")),
    ("knm", ("mk", "kn", "mn")),
    ("mk", ("mk", "k", "m")),
    ("nk", ("k", "kn", "n")),
    ("bmnk", ("bmk", "bkn", "bmn")),
    ("bmnk", ("mbk", "nkb", "mbn")),
    ("bmk", ("bmk", "bk", "bm")),
    ("bnk", ("bk", "bkn", "bn")),
    ("abmnk", ("abmk", "abkn", "abmn")),
    ("bmnk", ("bmk", "kn", "bmn")),
)

USUAL = (
    ("f32", "f32", "f32"),
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("bf16", "bf16", "bf16"),
    ("f64", "f64", "f64"),
    ("i8", "i8", "i32"),
    ("i16", "i16", "i32"),
    ("i8", "i4", "i32"),
    ("i16", "ui4", "i32"),
    ("i4", "i4", "i32"),
    ("f8E4M3FNUZ", "f8E4M3FNUZ", "f32"),
)
ELEMENTS = (
    *("i1", "i2", "i4", "i8", "i12", "i16", "i24", "i32", "i33", "i64", "ui4", "ui8"),
    *("f4E2M1FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f16", "bf16", "f32", "f64"),
)


@dataclass(frozen=True)
class Query:
    """One size that is asked for."""

    device: str
    tensor: str
    """The type."""
    element: str
    dims: tuple[int, ...]
    """What the dynamic dimensions are."""
    joins_loops: bool = False
    """Whether it is a contraction with several loops of one role."""


def iree_opt(text: str, *passes: str) -> str:
    pipeline = f"--pass-pipeline=builtin.module({','.join(passes)})"
    return peer_tools.iree_opt(text, pipeline, "--mlir-disable-threading")


def mesh_opt(text: str, *arguments: str) -> str:
    return printed(*arguments, text=text)


def random_size(rng: random.Random) -> int:
    return rng.choice(
        (
            rng.randint(1, 9),
            rng.randint(1, 70),
            rng.randint(1, 700),
            rng.randint(1, 9000),
            2 ** rng.randint(0, 12),
            2 ** rng.randint(1, 12) - 1,
        )
    )


def contraction(rng: random.Random, devices: list[str]) -> Query:
    """An operand of a random contraction on one of some devices."""
    loops, indexed = rng.choice(OPERATIONS)
    types = rng.choice(USUAL) if rng.random() < 0.7 else rng.choices(ELEMENTS, k=3)
    operand = rng.randrange(3)
    sizes = {loop: min(random_size(rng), 9 if loop in "ab" else 9000) for loop in loops}
    dynamic = {loop for loop in loops if rng.random() < rng.choice((0, 0, 0.3, 1))}
    maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(m)})>" for m in indexed)
    listed = ", ".join("?" if loop in dynamic else str(sizes[loop]) for loop in loops)
    iteration = f", iteration_sizes = [{listed}]" if rng.random() < 0.9 else ""
    encoding = (
        f"#iree_encoding.encoding<operand_index = {operand} : index, op_type = matmul, "
        f"element_types = [{', '.join(types)}], user_indexing_maps = [{maps}]{iteration}>"
    )
    device = rng.choice(devices)
    query = tensor(device, types[operand], indexed[operand], sizes, dynamic, encoding)
    roles = [tuple(loop in map_ for map_ in indexed) for loop in loops]
    return replace(query, joins_loops=len(set(roles)) < len(roles))


def tensor(
    device: str,
    element: str,
    indexed: str,
    sizes: dict[str, int],
    dynamic: set[str],
    encoding: str,
) -> Query:
    element = element.removeprefix("u")
    shape = "".join("?x" if loop in dynamic else f"{sizes[loop]}x" for loop in indexed)
    text = f"tensor<{shape}{element}{encoding and ', ' + encoding}>"
    return Query(device, text, element, tuple(sizes[d] for d in indexed if d in dynamic))


def self_contained(rng: random.Random) -> Query:
    """A tensor whose encoding says by itself how it is stored, or that has none."""
    loops = "wxyz"[: rng.randint(1, 4)]
    sizes = {loop: random_size(rng) % 99 + 1 for loop in loops}
    dynamic = {loop for loop in loops if rng.random() < 0.3}
    kinds = ["", "#iree_encoding.identity"]
    padding = ", ".join(str(rng.choice((0, 0, 1, 17, 64))) for _ in loops)
    kinds.append(f"#iree_encoding.padding<[{padding}]>")
    element = rng.choice(ELEMENTS)
    if element.removeprefix("u") in ("i1", "i2", "i4"):
        kinds.append("#iree_encoding.packed_storage")
    if element_type(element).bits < 8:
        # IREE refuses tensors that end within a byte.
        sizes[loops[0]] *= 8
    return tensor("x86_sse", element, loops, sizes, dynamic, rng.choice(kinds))


def program(queries: list[Query]) -> str:
    lines: list[str] = []
    for device in dict.fromkeys(query.device for query in queries):
        targets = ", ".join(
            '#hal.executable.target<"{}", "{}", {}>'.format(*TARGETS[name])
            for name in PAIRS.get(device, (device,))
        )
        target = f'#hal.device.target<"local", [{targets}]> : !hal.device'
        lines.append(f"util.global private @{device} = {target}")
    lines.append("util.func public @sizes() {")
    for number, query in enumerate(queries):
        names = [f"%d{number}_{index}" for index in range(len(query.dims))]
        for name, size in zip(names, query.dims, strict=True):
            lines.append(f"  {name} = arith.constant {size} : index")
        dims = f"{{{', '.join(names)}}}" if names else ""
        on = f"on(#hal.device.affinity<@{query.device}>)"
        lines.append(f"  %s{number} = stream.tensor.sizeof {on} {query.tensor}{dims} : index")
        lines.append(f"  %b{number} = util.optimization_barrier %s{number} : index")
    return "\n".join([*lines, "  util.return", "}"])


ENCODE = "util.func(iree-stream-encode-host-tensors)"
SPECIALIZE = "iree-stream-specialize-encodings"


def numbers(folded: str, count: int) -> list[int]:
    """The operands of the barriers, all of which must have been folded."""
    constants = {
        name: int(value)
        for name, value in re.findall(r"(%\w+) = arith\.constant (-?\d+) : index", folded)
    }
    found = [constants[name] for name in re.findall(r"util\.optimization_barrier (%\w+)", folded)]
    assert len(found) == count
    return found


def differs_on_purpose(query: Query, ours: int, theirs: int) -> bool:
    """IREE's solvers cut bits to whole bytes, or bytes of a boolean to bits; its identity and
    padding give every element of less than a byte one of its own. It tiles no contraction with
    several loops of one role."""
    if query.joins_loops:
        return ours > theirs
    element = element_type(query.element)
    plain = element.bits in (2, 4, 8, 16, 32, 64)
    if not plain:
        return ours > theirs
    return element.bits < 8 and "#iree_encoding.encoding" not in query.tensor and ours < theirs


def compare(queries: list[Query], settled: Callable[[str], tuple[str, str]]) -> None:
    """Compare the sizes of queries; `settled` gives a program as each tool is to encode it."""
    wrong: list[tuple[Query, int, int]] = []
    for start in range(0, len(queries), BATCH):
        batch = queries[start : start + BATCH]
        mine, other = settled(program(batch))
        theirs = numbers(iree_opt(other, ENCODE, "canonicalize"), len(batch))
        encoded = mesh_opt(mine, "--encode-host-tensors")
        ours = numbers(iree_opt(encoded, "canonicalize"), len(batch))
        wrong += [
            (query, our, their)
            for query, our, their in zip(batch, ours, theirs, strict=True)
            if our != their and not differs_on_purpose(query, our, their)
        ]
    assert not wrong, f"{len(wrong)} of {len(queries)}: {wrong[:5]}"


def settled_by_each(text: str) -> tuple[str, str]:
    return mesh_opt(text, "--specialize-encodings"), iree_opt(text, SPECIALIZE)


def settled_by_iree(text: str) -> tuple[str, str]:
    settled = iree_opt(text, SPECIALIZE)
    return settled, settled


def test_contractions() -> None:
    rng = random.Random(SEED)
    compare([contraction(rng, list(TARGETS)) for _ in range(COUNT)], settled_by_each)


def test_tensors_of_several_layouts() -> None:
    """Devices of two targets: the larger of two sizes. Which layouts there are is IREE's choice,
    as we give such devices none."""
    rng = random.Random(SEED)
    compare([contraction(rng, list(PAIRS)) for _ in range(COUNT // 2)], settled_by_iree)


def test_encodings_that_say_all_by_themselves() -> None:
    rng = random.Random(SEED)
    compare([self_contained(rng) for _ in range(COUNT // 2)], settled_by_each)


@pytest.mark.parametrize(
    ("element", "bytes_"),
    [("i3", 35), ("f6E3M2FN", 35), ("complex<f32>", 280), ("complex<f64>", 560)],
)
def test_elements_that_iree_refuses(element: str, bytes_: int) -> None:
    """Nothing tiles these: they take what they take in any tensor."""
    maps = ", ".join(f"affine_map<(m, n, k) -> ({map_})>" for map_ in ("m, k", "k, n", "m, n"))
    encoding = (
        "#iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, "
        f"element_types = [{element}, {element}, {element}], user_indexing_maps = [{maps}]>"
    )
    query = Query("x86_bf16", f"tensor<5x7x{element}, {encoding}>", element, ())
    encoded = mesh_opt(program([query]), "--specialize-encodings", "--encode-host-tensors")
    assert f"arith.constant {bytes_} : index" in encoded
