"""Programs whose devices do not match in a collective, one for everything that must be equal.

Device 0 runs the first text, all others the second. What the texts may use: the tensors `%a`
(8x8xf32), `%b` (8x8xf64), `%s` (4x8xf32), `%n` (8x8xi32), `%d` (?x8xf32) of another size on each
device, and the indices `%c0`, `%c1`, `%p` (the own number) and `%q` (one more).
"""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = """
shard.grid @g(shape = {grid})
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf64>, %n: tensor<8x8xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = shard.process_linear_index on @g : index
  %q = arith.addi %p, %c1 : index
  %is_first = arith.cmpi eq, %p, %c0 : index
  %s = tensor.extract_slice %a[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %d = tensor.extract_slice %a[0, 0] [%q, 8] [1, 1] : tensor<8x8xf32> to tensor<?x8xf32>
"""

_BRANCHES = """  scf.if %is_first {{
    {first}
  }} else {{
    {second}
  }}
  return
}}
"""

OPERATIONS = {
    "all_gather": "shard.all_gather %a on @g grid_axes = [0] gather_axis = 0"
    " : tensor<8x8xf32> -> tensor<16x8xf32>",
    "all_reduce": "shard.all_reduce %a on @g grid_axes = [0] : tensor<8x8xf32> -> tensor<8x8xf32>",
    "all_to_all": "shard.all_to_all %a on @g grid_axes = [0] split_axis = 0 concat_axis = 1"
    " : tensor<8x8xf32> -> tensor<4x16xf32>",
    "broadcast": "shard.broadcast %a on @g grid_axes = [0] root = [0]"
    " : (tensor<8x8xf32>) -> tensor<8x8xf32>",
    "gather": "shard.gather %a on @g grid_axes = [0] gather_axis = 0 root = [0]"
    " : (tensor<8x8xf32>) -> tensor<16x8xf32>",
    "reduce": "shard.reduce %a on @g grid_axes = [0] root = [0]"
    " : (tensor<8x8xf32>) -> tensor<8x8xf32>",
    "reduce_scatter": "shard.reduce_scatter %a on @g grid_axes = [0] scatter_axis = 0"
    " : tensor<8x8xf32> -> tensor<4x8xf32>",
    "scatter": "shard.scatter %a on @g grid_axes = [0] scatter_axis = 0 root = [0]"
    " : (tensor<8x8xf32>) -> tensor<4x8xf32>",
    "shift": "shard.shift %a on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate"
    " : tensor<8x8xf32> -> tensor<8x8xf32>",
    "update_halo": "shard.update_halo %a on @g split_axes = [[0]] halo_sizes = [1, 1]"
    " : tensor<8x8xf32>",
}
"""One of each kind, that matches itself."""

SEND = (
    "shard.send %a on @g grid_axes = [0] destination = [1] : (tensor<8x8xf32>) -> tensor<8x8xf32>"
)
RECEIVE = "shard.recv %a on @g grid_axes = [0] source = [0] : (tensor<8x8xf32>) -> tensor<8x8xf32>"


@dataclass(frozen=True)
class Mismatch:
    """A program, and how many devices it runs on."""

    text: str
    devices: int = 2


def program(first: str, second: str, grid: str = "2") -> str:
    """Device 0 runs the first text, all others the second; each line is one operation."""
    branches = [
        "\n    ".join(
            f"%r{number} = {line}" if line.startswith("shard.") else line
            for number, line in enumerate(text.splitlines())
        )
        for text in (first, second)
    ]
    return _HEAD.format(grid=grid) + _BRANCHES.format(first=branches[0], second=branches[1])


def _changed(kind: str, *changes: tuple[str, str]) -> str:
    text = OPERATIONS[kind]
    for old, new in changes:
        assert old in text, (old, text)
        text = text.replace(old, new)
    return text


_PARAMETERS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "reduction of all_reduce": ("all_reduce", ((" :", " reduction = max :"),)),
    "reduction of reduce": ("reduce", (("[0] r", "[0] reduction = max r"),)),
    "reduction of reduce_scatter": ("reduce_scatter", (("[0] s", "[0] reduction = max s"),)),
    "gather_axis of all_gather": ("all_gather", (("axis = 0", "axis = 1"), ("16x8", "8x16"))),
    "gather_axis of gather": ("gather", (("axis = 0", "axis = 1"), ("16x8", "8x16"))),
    "both axes of all_to_all": (
        "all_to_all",
        (("= 0 c", "= 1 c"), ("concat_axis = 1", "concat_axis = 0"), ("4x16", "16x4")),
    ),
    "concat_axis of all_to_all": (
        "all_to_all",
        (("concat_axis = 1", "concat_axis = 0"), ("4x16", "8x8")),
    ),
    "axis of reduce_scatter": ("reduce_scatter", (("axis = 0", "axis = 1"), ("4x8", "8x4"))),
    "axis of scatter": ("scatter", (("axis = 0", "axis = 1"), ("4x8", "8x4"))),
    "root of broadcast": ("broadcast", (("root = [0]", "root = [1]"),)),
    "root of gather": ("gather", (("root = [0]", "root = [1]"),)),
    "root of reduce": ("reduce", (("root = [0]", "root = [1]"),)),
    "root of scatter": ("scatter", (("root = [0]", "root = [1]"),)),
    "root at run time": ("broadcast", (("root = [0]", "root = [%p]"), (">)", ">, index)"))),
    "offset of shift": ("shift", (("offset = 1", "offset = 2"),)),
    "rotation of shift": ("shift", ((" rotate", ""),)),
    "sizes of halos": ("update_halo", (("[1, 1]", "[1, 2]"),)),
    "dimension of halos": ("update_halo", (("[[0]]", "[[], [0]]"),)),
}

_TYPES = {
    "source": ("all_reduce", ("%a", "%b"), ("8x8xf32>", "8x8xf64>")),
    "result": ("all_reduce", ("-> tensor<8x8xf32>", "-> tensor<8x8xf64>")),
    "integers": ("all_gather", ("%a", "%n"), ("f32", "i32")),
    "halo": ("update_halo", ("%a", "%b"), ("f32", "f64")),
}

_SHAPES = {
    "all_reduce": (("%a", "%s"), ("8x8", "4x8")),
    "all_gather": (("%a", "%s"), ("16x8", "0x8"), ("tensor<8x8", "tensor<4x8"), ("0x8", "8x8")),
    "all_to_all": (("%a", "%s"), ("8x8", "4x8"), ("4x16", "2x16")),
    "broadcast": (("%a", "%s"), ("8x8", "4x8")),
    "gather": (("%a", "%s"), ("16x8", "0x8"), ("tensor<8x8", "tensor<4x8"), ("0x8", "8x8")),
    "reduce": (("%a", "%s"), ("8x8", "4x8")),
    "reduce_scatter": (("%a", "%s"), ("4x8", "2x8"), ("8x8", "4x8")),
    "scatter": (("%a", "%s"), ("4x8", "2x8"), ("8x8", "4x8")),
    "shift": (("%a", "%s"), ("8x8", "4x8")),
    "update_halo": (("%a", "%s"), ("8x8", "4x8")),
}

_SIZES = {
    kind: _changed(kind, ("%a", "%d"), ("8x8xf32", "?x8xf32"))
    for kind in ("all_reduce", "broadcast", "reduce", "shift")
}
"""The same text on both devices, but not of one size."""

_LOOP = """scf.for %i = %c0 to %q step %c1 {
      %r = shard.all_reduce %a on @g grid_axes = [0] : tensor<8x8xf32> -> tensor<8x8xf32>
    }"""

_STARTED = """%l = scf.for %i = %c0 to %q step %c1 iter_args(%t = %a) -> (tensor<8x8xf32>) {
      %r = shard.all_reduce %t on @g grid_axes = [0] reduction = max
        : tensor<8x8xf32> -> tensor<8x8xf32>
      %w = arith.mulf %t, %t : tensor<8x8xf32>
      %u = arith.addf %w, %r : tensor<8x8xf32>
      scf.yield %u : tensor<8x8xf32>
    }"""
"""From the second turn on, the sum is started in native code before the product."""


def _along(axes: str) -> str:
    return _changed("all_reduce", ("grid_axes = [0]", f"grid_axes = {axes}"))


def mismatches() -> dict[str, Mismatch]:
    """All programs by what does not match in them."""
    found: dict[str, Mismatch] = {}

    def add(name: str, first: str, second: str, grid: str = "2", devices: int = 2) -> None:
        assert name not in found
        found[name] = Mismatch(program(first, second, grid), devices)

    kinds = list(OPERATIONS)
    for kind, other in zip(kinds, [*kinds[1:], kinds[0]], strict=True):
        add(f"{kind} or {other}", OPERATIONS[kind], OPERATIONS[other])
        add(f"{kind} on device 0", OPERATIONS[kind], "")
        add(f"{kind} on device 1", "", OPERATIONS[kind])
        changed = _changed(kind, *_SHAPES[kind])
        add(f"shape of {kind}", OPERATIONS[kind], changed)
        add(f"{kind} once more", f"{OPERATIONS[kind]}\n{OPERATIONS[kind]}", OPERATIONS[kind])
    for name, (kind, changes) in _PARAMETERS.items():
        add(name, OPERATIONS[kind], _changed(kind, *changes))
    for name, (kind, *changes) in _TYPES.items():
        add(f"type of {name}", OPERATIONS[kind], _changed(kind, *changes))
    for kind, text in _SIZES.items():
        add(f"size of {kind}", text, text)
    gathered = _changed("all_gather", ("%a", "%d"), ("16x8", "?x8"), ("tensor<8x8", "tensor<?x8"))
    add("static or dynamic", OPERATIONS["all_gather"], gathered)
    rooted = _changed("gather", ("%a", "%d"), ("16x8", "?x8"), ("tensor<8x8", "tensor<?x8"))
    add("kinds of open sizes", gathered, rooted)
    add("open sizes or none", gathered, OPERATIONS["all_reduce"])
    add("open sizes on device 1", "", gathered)
    add("counts of loops", _LOOP, _LOOP)
    add("a collective that was started", _STARTED, _STARTED)
    add("one that was started or another", f"{_STARTED}\n{OPERATIONS['all_gather']}", _STARTED)
    for first, second in (("[0]", "[1]"), ("[0]", "[0, 1]"), ("[0, 1]", "[1, 0]")):
        add(f"axes {first} or {second}", _along(first), _along(second), "2x2", 4)
    add("axes of which one is missing", _along("[0]"), "", "2x2", 4)
    pair = f"{_along('[0]')}\n{OPERATIONS['all_gather']}"
    swapped = f"{OPERATIONS['all_gather']}\n{_along('[0]')}"
    add("order", pair, swapped)
    narrow = SEND.replace("%a", "%s").replace("8x8", "4x8")
    wide = SEND.replace("%a", "%b").replace("f32", "f64")
    add("size of a message", narrow, RECEIVE)
    add("type of a message", wide, RECEIVE)
    add("message that nobody receives", SEND, "")
    add("message that nobody sends", "", RECEIVE)
    add("message or collective", SEND, OPERATIONS["all_reduce"])
    add("second message", f"{SEND}\n{SEND}", RECEIVE)
    return found
