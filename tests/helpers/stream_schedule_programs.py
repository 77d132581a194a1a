"""Small programs of asynchronous operations, on two devices, for what makes commands of them."""

from __future__ import annotations

from collections.abc import Sequence

A, B = "#hal.device.affinity<@a>", "#hal.device.affinity<@b>"
UNKNOWN = "!stream.resource<*>"
CONSTANT, VARIABLE = "!stream.resource<constant>", "!stream.resource<variable>"

_TENSOR = "iree_tensor_ext.dispatch.tensor"
_DEVICES = """
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index},
  [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index},
  [#hal.executable.target<"vmvx", "vmvx-bytecode-fb">]> : !hal.device
"""


def _bound(binding: str, access: str, load: bool = True) -> str:
    """A binding as a tensor of `%n` numbers, and what is in it."""
    type_ = f"!{_TENSOR}<{access}:tensor<?xf32>>{{%n}}"
    text = f"%{binding}b = stream.binding.subspan %{binding}[%c0] : !stream.binding -> {type_}\n"
    if load:
        text += (
            f"%{binding}t = {_TENSOR}.load %{binding}b, offsets = [0], sizes = [%n],"
            f" strides = [1] : {type_} -> tensor<?xf32>\n"
        )
    return text


def _kernel(name: str, arguments: str, body: str, binding: str, access: str) -> str:
    return f"""
    func.func @{name}({arguments}) {{
      %c0 = arith.constant 0 : index
      {body}
      {_TENSOR}.store %result, %{binding}b, offsets = [0], sizes = [%n], strides = [1]
        : tensor<?xf32> -> !{_TENSOR}<{access}:tensor<?xf32>>{{%n}}
      return
    }}"""


def _kernels() -> str:
    """Kernels that add two bindings, scale one, and double one in place."""
    exports = "".join(
        f"""
  stream.executable.export public @{name} workgroups(%n: index) -> (index, index, index) {{
    %c1 = arith.constant 1 : index
    stream.return %c1, %c1, %c1 : index, index, index
  }}"""
        for name in ("add", "scale", "double")
    )
    add = _bound("x", "readonly") + _bound("y", "readonly") + _bound("z", "writeonly", load=False)
    add += "%result = arith.addf %xt, %yt : tensor<?xf32>"
    scale = _bound("x", "readonly") + _bound("z", "writeonly", load=False)
    scale += """%e = tensor.empty(%n) : tensor<?xf32>
      %ft = linalg.fill ins(%f : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %result = arith.mulf %xt, %ft : tensor<?xf32>"""
    double = _bound("x", "readwrite") + "%result = arith.addf %xt, %xt : tensor<?xf32>"
    binding, numbers = "!stream.binding", "%n: index, %f: f32"
    two = f"%x: {binding}, %y: {binding}"
    kernels = (
        _kernel("add", f"{two}, %n: index, %z: {binding}", add, "z", "writeonly"),
        _kernel("scale", f"%x: {binding}, {numbers}, %z: {binding}", scale, "z", "writeonly"),
        _kernel("double", f"%x: {binding}, %n: index", double, "x", "readwrite"),
    )
    module = f"  builtin.module {{{''.join(kernels)}\n  }}"
    return f"stream.executable private @ex {{{exports}\n{module}\n}}"


KERNELS = _DEVICES + _kernels()

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  %bits = arith.constant 1077936128 : i32
"""
"""`%bits` are those of 3.0."""

Extent = tuple[str, str]
"""How many numbers a tensor has, and how many bytes that are."""
FOUR, OPEN = ("%c4", "%c16"), ("%n", "%s")


def _type(extent: Extent) -> str:
    return "tensor<4xf32>" if extent is FOUR else "tensor<?xf32>{%n}"


def imported(result: str, extent: Extent = FOUR) -> str:
    """The argument `%v` as a resource on the first device."""
    count, size = extent
    return f"""
  %type = hal.element_type<f32> : i32
  %order = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%v : !hal.buffer_view> message("v") shape([{count}]) type(%type)
    encoding(%order)
  %of_{result[1:]} = stream.tensor.import on({A}) %v : !hal.buffer_view -> {_type(extent)}
    in !stream.resource<external>{{{size}}}
  {result} = stream.async.cast on({A}) %of_{result[1:]} : !stream.resource<external>{{{size}}}
    -> {UNKNOWN}{{{size}}}"""


def exported(result: str, source: str, extent: Extent = FOUR) -> str:
    """A resource on the first device as a buffer view."""
    size = extent[1]
    return f"""
  %of_{result[1:]} = stream.async.cast on({A}) {source} : {UNKNOWN}{{{size}}}
    -> !stream.resource<external>{{{size}}}
  {result} = stream.tensor.export on({A}) %of_{result[1:]} : {_type(extent)}
    in !stream.resource<external>{{{size}}} -> !hal.buffer_view"""


def dispatch(
    kernel: str,
    result: str,
    sources: Sequence[str],
    extent: Extent = FOUR,
    place: str = A,
    tied: bool = False,
) -> str:
    """Run a kernel of `KERNELS` on whole resources."""
    count, size = extent
    given = [f"{source}[%c0 to {size} for {size}]" for source in sources] + [count]
    types = [f"{UNKNOWN}{{{size}}}"] * len(sources) + ["index"]
    if kernel == "scale":
        given, types = [*given, "%two"], [*types, "f32"]
    to = f"{sources[0]}{{{size}}}" if tied else f"{UNKNOWN}{{{size}}}"
    return f"""
  {result} = stream.async.dispatch on({place}) @ex::@{kernel}[{count}]({", ".join(given)})
    : ({", ".join(types)}) -> {to}"""


def add(result: str, one: str, other: str, extent: Extent = FOUR, place: str = A) -> str:
    return dispatch("add", result, [one, other], extent, place)


def scale(result: str, source: str, extent: Extent = FOUR, place: str = A) -> str:
    return dispatch("scale", result, [source], extent, place)


def double(result: str, source: str, extent: Extent = FOUR, place: str = A) -> str:
    return dispatch("double", result, [source], extent, place, tied=True)


def transferred(result: str, source: str, sender: str, receiver: str) -> str:
    return f"""
  {result} = stream.async.transfer {source} : {UNKNOWN}{{%c16}} from({sender})
    -> to({receiver}) {UNKNOWN}{{%c16}}"""


def main(body: str, results: Sequence[str], arguments: str = "") -> str:
    """A program whose function is `@main`."""
    types = ", ".join(["!hal.buffer_view"] * len(results))
    return f"""
util.func public @main(%v: !hal.buffer_view{arguments}) -> ({types}) {{{CONSTANTS}{body}
  util.return {", ".join(results)} : {types}
}}"""


_VALUES = f"""stream.async.constant on({A}) : {UNKNOWN}{{%c16}}
    = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>"""

_CHAIN = (
    imported("%x")
    + f"\n  %k = {_VALUES}"
    + add("%1", "%x", "%k")
    + scale("%2", "%1")
    + scale("%3", "%x")
    + add("%4", "%2", "%3")
    + double("%5", "%4")
    + add("%6", "%5", "%1")
    + exported("%7", "%6")
    + exported("%8", "%2")
)

_DYNAMIC = (
    """
  %n = hal.buffer_view.dim<%v : !hal.buffer_view>[0] : index
  %s = arith.muli %n, %c4 : index"""
    + imported("%x", OPEN)
    + scale("%1", "%x", OPEN)
    + add("%2", "%1", "%x", OPEN)
    + add("%3", "%2", "%1", OPEN)
    + add("%4", "%3", "%3", OPEN)
    + f"""
  %5 = stream.async.fill on({A}) %bits, %4[%c0 to %c4 for %c4] : i32 -> %4 as {UNKNOWN}{{%s}}"""
    + exported("%6", "%5", OPEN)
)

_COPIES = (
    imported("%x")
    + f"""
  %1 = stream.async.slice on({A}) %x[%c4 to %c8] : {UNKNOWN}{{%c16}} -> {UNKNOWN}{{%c4}}
  %2 = stream.async.update on({A}) %1, %x[%c0 to %c4] : {UNKNOWN}{{%c4}} -> %x as {UNKNOWN}{{%c16}}
  %3 = stream.async.splat on({A}) %bits : i32 -> {UNKNOWN}{{%c16}}
  %4 = stream.async.copy on({A}) %2[%c0 to %c8], %3[%c8 to %c16], %c8
    : {UNKNOWN}{{%c16}} -> %3 as {UNKNOWN}{{%c16}}
  %5 = stream.async.fill on({A}) %bits, %2[%c8 to %c16 for %c8] : i32 -> %2 as {UNKNOWN}{{%c16}}"""
    + add("%6", "%4", "%5")
    + double("%7", "%4")
    + add("%8", "%6", "%7")
    + add("%9", "%8", "%x")
    + exported("%10", "%9")
    + exported("%11", "%5")
)

_DEVICES_MEET = (
    imported("%x")
    + scale("%1", "%x")
    + transferred("%2", "%1", A, B)
    + scale("%3", "%2", place=B)
    + transferred("%4", "%x", A, B)
    + add("%5", "%3", "%4", place=B)
    + transferred("%6", "%5", B, A)
    + add("%7", "%6", "%1")
    + transferred("%8", "%7", A, B)
    + double("%9", "%8", place=B)
    + transferred("%10", "%9", B, A)
    + exported("%11", "%10")
)

_LOOP = (
    imported("%x")
    + scale("%1", "%x")
    + f"""
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%y = %1) -> ({UNKNOWN}) {{
    %odd = arith.andi %i, %c1 : index
    %is = arith.cmpi eq, %odd, %c0 : index
    %z = scf.if %is -> ({UNKNOWN}) {{{add("%2", "%y", "%x")}
      scf.yield %2 : {UNKNOWN}
    }} else {{{double("%3", "%y")}
      scf.yield %3 : {UNKNOWN}
    }}
    scf.yield %z : {UNKNOWN}
  }}"""
    + add("%4", "%l", "%1")
    + exported("%5", "%4")
)

_GLOBALS = f"""
util.global private @w : {CONSTANT}
util.global private mutable @s : {VARIABLE}
util.initializer {{{CONSTANTS}
  %k = {_VALUES}{scale("%1", "%k")}
  %2 = stream.async.cast on({A}) %1 : {UNKNOWN}{{%c16}} -> {CONSTANT}{{%c16}}
  util.global.store %2, @w : {CONSTANT}
  %3 = stream.async.splat on({A}) %bits : i32 -> {UNKNOWN}{{%c16}}
  %4 = stream.async.cast on({A}) %3 : {UNKNOWN}{{%c16}} -> {VARIABLE}{{%c16}}
  util.global.store %4, @s : {VARIABLE}
  util.return
}}
util.func private @step(%x: {UNKNOWN}, %y: {UNKNOWN}) -> {UNKNOWN} {{{CONSTANTS}
  {add("%1", "%x", "%y")}
  util.return %1 : {UNKNOWN}
}}"""

_STATE = (
    imported("%x")
    + f"""
  %wl = util.global.load @w : {CONSTANT}
  %w = stream.async.cast on({A}) %wl : {CONSTANT}{{%c16}} -> {UNKNOWN}{{%c16}}
  %sl = util.global.load @s : {VARIABLE}
  %s = stream.async.cast on({A}) %sl : {VARIABLE}{{%c16}} -> {UNKNOWN}{{%c16}}"""
    + add("%1", "%w", "%s")
    + f"\n  %2 = util.call @step(%1, %x) : ({UNKNOWN}, {UNKNOWN}) -> {UNKNOWN}"
    + add("%3", "%1", "%2")
    + f"""
  %4 = stream.async.clone on({A}) %3 : {UNKNOWN}{{%c16}} -> {UNKNOWN}{{%c16}}
  %5 = stream.async.cast on({A}) %4 : {UNKNOWN}{{%c16}} -> {VARIABLE}{{%c16}}
  util.global.store %5, @s : {VARIABLE}"""
    + scale("%6", "%2")
    + exported("%7", "%6")
)

PROGRAMS = {
    "chain": KERNELS + main(_CHAIN, ["%7", "%8"]),
    "copies": KERNELS + main(_COPIES, ["%10", "%11"]),
    "devices": KERNELS + main(_DEVICES_MEET, ["%11"]),
    "dynamic": KERNELS + main(_DYNAMIC, ["%6"]),
    "globals": KERNELS + _GLOBALS + main(_STATE, ["%7"]),
    "loop": KERNELS + main(_LOOP, ["%5"], ", %n: index"),
}
"""Programs by what they are about. All take four numbers, `loop` also how often it runs."""
