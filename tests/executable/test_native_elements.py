"""Arithmetic, conversions and comparisons of each element type: kernels against the interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from backend_checks import check, function, is_interpreted
from breadth import NIGHTLY, sampled
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.abi.arrays import FLOAT_TYPES

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i1", "i4", "i8", "i12", "i16", "i32", "i64"]


def together(lines: Sequence[str], kind: str, operands: int) -> str:
    """A program with the results of all lines `%name = operation %a0, ...` on tensors of a kind: in
    a kernel each for the commonest elements, for others in one kernel, which is compiled sooner."""
    element = kind.removesuffix(">").rpartition("x")[2]
    names = [line.partition(" = ")[0].strip() for line in lines]
    kinds = ", ".join([kind] * len(names))
    if element in ("f32", "i32") or NIGHTLY:
        body = "\n".join(f"{line} : {kind}" for line in lines)
        body += f"\n  return {', '.join(names)} : {kinds}"
        return function([kind] * operands, kinds, body)
    rank = kind.count("x")
    loops = ", ".join(f"d{n}" for n in range(rank))
    maps = ", ".join([f"affine_map<({loops}) -> ({loops})>"] * (operands + len(names)))
    iterators = ", ".join(['"parallel"'] * rank)
    given = ", ".join(f"%a{n}" for n in range(operands))
    blocks = [*(f"%x{n}" for n in range(operands)), *(f"%o{n}" for n in range(len(names)))]
    inside = [re.sub(r"%a(\d)", r"%x\1", line) for line in lines]
    body = "\n".join(f"  {line} : {element}" for line in inside)
    text = f"""  %e = tensor.empty() : {kind}
  %all:{len(names)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins({given} : {", ".join([kind] * operands)})
      outs({", ".join(["%e"] * len(names))} : {kinds}) {{
  ^bb0({", ".join(f"{each}: {element}" for each in blocks)}):
{body}
    linalg.yield {", ".join(names)} : {", ".join([element] * len(names))}
  }} -> ({kinds})
  return {", ".join(f"%all#{n}" for n in range(len(names)))} : {kinds}"""
    return function([kind] * operands, kinds, text)


FLOAT_BINARY = [
    "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf",
]  # fmt: skip
INTEGER_BINARY = [
    "addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui",
]  # fmt: skip
DIVISIONS = ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"]
SHIFTS = ["shli", "shrsi", "shrui"]


@pytest.mark.parametrize("element", FLOATS)
def test_float_arithmetic(element: str) -> None:
    lines = [f"  %{n} = arith.{n} %a0, %a1" for n in FLOAT_BINARY]
    check(together([*lines, "  %negf = arith.negf %a0"], f"tensor<3x5x{element}>", 2))


@pytest.mark.parametrize("element", INTEGERS)
def test_integer_arithmetic(element: str) -> None:
    lines = [f"  %{n} = arith.{n} %a0, %a1" for n in INTEGER_BINARY]
    check(together(lines, f"tensor<7x9x{element}>", 2))


@pytest.mark.parametrize("element", ["i4", "i8", "i12", "i32", "i64"])
@pytest.mark.parametrize("is_read_by_host", [False, True])
def test_integers_computed_of_constants(element: str, is_read_by_host: bool) -> None:
    """Kernels compute them again, each number once: this one doubles 40 times, and wraps around."""
    kind = f"tensor<11x{element}>"
    lines = [f"  %c = arith.constant 3 : i64\n  %d0 = arith.trunci %c : i64 to {element}"]
    if element == "i64":
        lines = [f"  %d0 = arith.constant 3 : {element}"]
    for n in range(40):
        lines.append(f"  %s{n} = arith.addi %d{n}, %d{n} : {element}")
        lines.append(f"  %d{n + 1} = arith.xori %s{n}, %d{n} : {element}")
    lines.append(f"""  %e = tensor.empty() : {kind}
  %f = linalg.fill ins(%d40 : {element}) outs(%e : {kind}) -> {kind}
  %r = arith.remsi %a0, %f : {kind}
  return %r, %d{40 if is_read_by_host else 0} : {kind}, {element}""")
    check(function([kind], f"{kind}, {element}", "\n".join(lines)))


@pytest.mark.parametrize("element", ["i4", "i8", "i12", "i32", "i64"])
def test_divisions_and_shifts(element: str) -> None:
    lines = [f"  %{n} = arith.{n} %a0, %a1" for n in DIVISIONS]
    lines += [f"  %{n} = arith.{n} %a0, %a2" for n in SHIFTS]
    rng = np.random.default_rng(3)
    dtype = {"i4": np.int8, "i8": np.int8, "i12": np.int16, "i32": np.int32, "i64": np.int64}
    width = int(element[1:])
    top = 1 << (width - 1)
    left = rng.integers(-top, top, (7, 9)).astype(dtype[element])
    right = rng.integers(1, 7, (7, 9)) * rng.choice([-1, 1], (7, 9))
    amounts = rng.integers(0, width if width < 8 else 7, (7, 9))
    if width == 4:
        amounts = amounts % 4
    inputs = [left, right.astype(dtype[element]), amounts.astype(dtype[element])]
    check(together(lines, f"tensor<7x9x{element}>", 3), inputs)


UNARY_MATH = [
    "exp", "exp2", "expm1", "cbrt", "erf", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh",
    "asinh", "absf", "ceil", "floor", "round", "roundeven", "trunc",
]  # fmt: skip
POSITIVE_MATH = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh"]
UNIT_MATH = ["asin", "acos", "atanh"]


@pytest.mark.parametrize("element", FLOATS)
def test_math_functions(element: str) -> None:
    calls = [(name, "%a0") for name in UNARY_MATH]
    calls += [(name, "%a1") for name in POSITIVE_MATH]
    calls += [(name, "%a2") for name in UNIT_MATH]
    calls += [(name, "%a1, %a0") for name in ("powf", "atan2", "copysign")]
    calls.append(("fma", "%a0, %a1, %a2"))
    # Both narrow types are computed in `f32`: a function in one of them stands for the other.
    calls = {"f16": sampled(calls, 2), "bf16": sampled(calls, 2, 1)}.get(element, calls)
    kind = f"tensor<40x{element}>"
    lines = [f"  %{name} = math.{name} {operands} : {kind}" for name, operands in calls]
    kinds = ", ".join([kind] * len(calls))
    lines.append(f"  return {', '.join('%' + name for name, _ in calls)} : {kinds}")
    dtype = {"f16": "float16", "f32": "float32", "f64": "float64"}.get(element, "bfloat16")
    rng = np.random.default_rng(5)
    inputs = [
        (rng.standard_normal(40) * 2).astype(dtype),
        (rng.random(40) * 3 + 1).astype(dtype),
        (rng.random(40) * 1.8 - 0.9).astype(dtype),
    ]
    check(function([kind] * 3, kinds, "\n".join(lines)), inputs)


def conversion(source: str, target: str, name: str) -> str:
    kinds = f"tensor<33x{source}>", f"tensor<33x{target}>"
    body = f"""
  %e = tensor.empty() : {kinds[1]}
  %0 = linalg.map ins(%a0 : {kinds[0]}) outs(%e : {kinds[1]}) (%x: {source}, %o: {target}) {{
    %y = arith.{name} %x : {source} to {target}
    linalg.yield %y : {target}
  }}
  return %0 : {kinds[1]}"""
    return function([kinds[0]], kinds[1], body)


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [
        ("f64", "f32", "truncf"),
        ("f64", "f16", "truncf"),
        ("f64", "bf16", "truncf"),
        ("f32", "bf16", "truncf"),
        ("f16", "f64", "extf"),
        ("bf16", "f32", "extf"),
        ("i1", "f32", "uitofp"),
        ("i1", "i32", "extsi"),
        ("i1", "i32", "extui"),
        ("i4", "i32", "extsi"),
        ("i4", "i32", "extui"),
        ("i32", "i4", "trunci"),
        ("i32", "i1", "trunci"),
        ("i64", "bf16", "sitofp"),
        ("i32", "f16", "sitofp"),
        ("i8", "f32", "uitofp"),
        ("f32", "i8", "fptosi"),
        ("f32", "i32", "bitcast"),
        ("bf16", "i16", "bitcast"),
    ],
)
def test_conversions(source: str, target: str, name: str) -> None:
    check(conversion(source, target, name))


def test_every_f16_keeps_its_bits() -> None:
    """Also what is no number: converting to f32 and back would make it quiet."""
    body = """
  %0 = arith.bitcast %a0 : tensor<65536xi16> to tensor<65536xf16>
  %1 = arith.bitcast %0 : tensor<65536xf16> to tensor<65536xi16>
  return %1 : tensor<65536xi16>"""
    every = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    check(function(["tensor<65536xi16>"], "tensor<65536xi16>", body), [every])


def test_every_f16_in_a_chain() -> None:
    """A NaN that is moved keeps its bits, and one that is computed is quiet."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    kind = "tensor<65536xf16>"
    body = f"""  %0 = arith.addf %a0, %a1 : {kind}
  %1 = arith.select %a2, %a0, %0 : tensor<65536xi1>, {kind}
  %2 = arith.mulf %1, %a1 : {kind}
  %3 = arith.select %a2, %2, %1 : tensor<65536xi1>, {kind}
  return %1, %2, %3 : {kind}, {kind}, {kind}"""
    text = function([kind, kind, "tensor<65536xi1>"], f"{kind}, {kind}, {kind}", body)
    inputs = [every, np.roll(every, 12345), np.arange(1 << 16) % 3 == 0]
    main = api.compile(text)["main"]
    for found, expected in zip(main.run(inputs), main.reference(inputs), strict=True):
        np.testing.assert_array_equal(found, expected)
    moved = main.run(inputs)[0].view(np.uint16)
    np.testing.assert_array_equal(moved[inputs[2]], every.view(np.uint16)[inputs[2]])


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_quotients_next_to_whole_numbers(width: int) -> None:
    """Integers are divided as floats; one bit too few would give the next quotient."""
    info, rng = np.iinfo(f"int{width}"), np.random.default_rng(width)
    divisors = rng.integers(1, info.max, 4000, info.dtype, endpoint=True) >> rng.integers(
        0, width - 1, 4000, info.dtype
    )
    divisors = np.maximum(divisors, 1)
    whole = rng.integers(info.min // 2, info.max // 2, 4000, info.dtype) // divisors * divisors
    extremes = np.array([info.min, info.min + 1, -5, 0, 1, 3, info.max - 1, info.max], info.dtype)
    dividends, others = (each.ravel() for each in np.meshgrid(extremes, extremes[extremes != 0]))
    left = np.concatenate([whole - 1, whole, whole + 1, dividends]).astype(info.dtype)
    right = np.concatenate([divisors, divisors, divisors, others]).astype(info.dtype)
    kind = f"tensor<{left.size}xi{width}>"
    names = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
    lines = [f"  %{number} = arith.{name} %a0, %a1 : {kind}" for number, name in enumerate(names)]
    results = ", ".join(f"%{number}" for number in range(len(names)))
    kinds = ", ".join([kind] * len(names))
    body = "\n".join([*lines, f"  return {results} : {kinds}"])
    check(function([kind, kind], kinds, body), [left, right])


def test_signs_of_every_f16() -> None:
    """Operations on signs keep all other bits, and a choice keeps all."""
    every = np.arange(1 << 16, dtype=np.uint16)
    kind = "tensor<65536xf16>"
    body = f"""  %0 = arith.negf %a0 : {kind}
  %1 = math.absf %a0 : {kind}
  %2 = math.copysign %a0, %a1 : {kind}
  %c = arith.constant dense<-1.5> : {kind}
  %3 = arith.select %a2, %0, %c : tensor<65536xi1>, {kind}
  return %0, %1, %2, %3 : {kind}, {kind}, {kind}, {kind}"""
    text = function([kind, kind, "tensor<65536xi1>"], ", ".join([kind] * 4), body)
    other, chosen = np.roll(every, 12345), every % 3 == 0
    main = api.compile(text)["main"]
    found = main.run([every.view(np.float16), other.view(np.float16), chosen])
    sign, rest = np.uint16(0x8000), np.uint16(0x7FFF)
    expected = (every ^ sign, every & rest, every & rest | other & sign)
    for bits, wanted in zip(
        found, (*expected, np.where(chosen, every ^ sign, 0xBE00)), strict=True
    ):
        np.testing.assert_array_equal(bits.view(np.uint16), wanted)


def test_halfway_cases_are_rounded_once() -> None:
    """An f64 just above the middle of two f16 rounds up, though its f32 is the middle."""
    values = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 65519.99999999, 1e-8, np.nan])
    check(conversion("f64", "f16", "truncf").replace("33", "5"), [values])


COMPARISONS = """
#id = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<37xf32>, %b: tensor<37xf32>, %c: tensor<37xi8>, %d: tensor<37xi8>)
    -> (tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>) {
  %p = tensor.empty() : tensor<37xi1>
  %q = tensor.empty() : tensor<37xf32>
  %0:4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id],
                         iterator_types = ["parallel"]}
      ins(%a, %b, %c, %d : tensor<37xf32>, tensor<37xf32>, tensor<37xi8>, tensor<37xi8>)
      outs(%p, %p, %p, %q : tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>) {
    ^bb0(%x: f32, %y: f32, %i: i8, %j: i8, %o0: i1, %o1: i1, %o2: i1, %o3: f32):
      %1 = arith.cmpf olt, %x, %y : f32
      %2 = arith.cmpi ult, %i, %j : i8
      %3 = arith.cmpi sge, %i, %j : i8
      %4 = arith.select %1, %x, %y : f32
      linalg.yield %1, %2, %3, %4 : i1, i1, i1, f32
  } -> (tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>
}
"""


SMALL_FLOATS = [name for name, dtype in FLOAT_TYPES.items() if dtype.itemsize == 1]


@pytest.mark.parametrize("element", sampled(SMALL_FLOATS, 4))
def test_collectives_combine_all_pairs_of_small_floats(element: str) -> None:
    size = 1 << int(element[1])
    count = size * size
    part, whole = f"tensor<{count}x{element}>", f"tensor<{2 * count}x{element}>"
    kinds = ["sum", "product", "average"]
    lines = [
        f"  %{kind} = shard.all_reduce %a on @g grid_axes = [0] reduction = {kind}"
        f" : {part} -> {part}"
        for kind in kinds
    ]
    boundary = f"global_type = {whole}, grid = @g, split_axes = #shard<axisarray[[0]]>"
    results = ", ".join([part] * 3)
    text = f"""shard.grid @g(shape = 2)
func.func @main(%a: {part} {{shard.boundary = {{{boundary}}}}}) -> ({results}) {{
{chr(10).join(lines)}
  return {", ".join("%" + kind for kind in kinds)} : {results}
}}"""
    numbers = np.arange(count, dtype=np.uint32)
    pairs = np.concatenate([numbers // size, numbers % size]).astype(np.uint8)
    found = [
        api.compile(text, "", backend=backend)["main"].run([pairs.view(FLOAT_TYPES[element])])
        for backend in ("interpreter", "native")
    ]
    for want, have in zip(*found, strict=True):
        assert want.tobytes() == have.tobytes()


def check_exactly(text: str, inputs: list[np.ndarray]) -> None:
    """Native code computes the numbers of the interpreter, and runs without it."""
    program = api.compile(text)
    assert not is_interpreted(CompiledProgram(program.module))
    main = program["main"]
    for want, have in zip(main.reference(inputs), main.run(inputs), strict=True):
        np.testing.assert_array_equal(have.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("element", sampled(SMALL_FLOATS, 4))
def test_operations_on_all_pairs_of_small_floats(element: str) -> None:
    size = 1 << int(element[1])
    kind = f"tensor<{size * size}x{element}>"
    lines = [
        *(f"%{name} = arith.{name} %a0, %a1" for name in FLOAT_BINARY[:6]),
        *(f"%{name} = math.{name} %a0" for name in ("sqrt", "exp", "absf", "ceil")),
        "%negf = arith.negf %a0",
        "%sign = math.copysign %a0, %a1",
    ]
    numbers = np.arange(size * size, dtype=np.uint32)
    pairs = [each.astype(np.uint8) for each in (numbers // size, numbers % size)]
    inputs = [each.view(FLOAT_TYPES[element]) for each in pairs]
    check_exactly(together(lines, kind, 2), inputs)


@pytest.mark.parametrize("element", sampled(SMALL_FLOATS, 4))
def test_every_number_is_rounded_to_small_floats(element: str) -> None:
    """Numbers are ties, next to ties, and any others, of `f32` and of `f64`."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    drawn = np.random.default_rng(1).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    numbers = np.concatenate([high, high + 1, high - 1, drawn]).view(np.float32)
    with np.errstate(invalid="ignore"):
        wide = numbers.astype(np.float64)
    wide = wide * np.tile([1 - 2.0**-40, 1, 1 + 2.0**-40, 1], 1 << 16)
    for kind, inputs in (("f32", numbers), ("f64", wide)):
        source, target = (f"tensor<{numbers.size}x{each}>" for each in (kind, element))
        body = f"  %0 = arith.truncf %a0 : {source} to {target}\n  return %0 : {target}"
        check_exactly(function([source], target, body), [inputs])


@pytest.mark.parametrize("element", SMALL_FLOATS)
def test_bits_of_small_floats_are_kept(element: str) -> None:
    """A choice keeps the bits of each NaN, and so does a bitcast."""
    size, width = 1 << int(element[1]), int(element[1])
    kind, bits = (f"tensor<{size}x{each}>" for each in (element, f"i{width}"))
    body = f"""  %0 = arith.select %a2, %a0, %a1 : tensor<{size}xi1>, {kind}
  %1 = arith.bitcast %0 : {kind} to {bits}
  %2 = arith.bitcast %1 : {bits} to {kind}
  return %0, %2 : {kind}, {kind}"""
    every = np.arange(size, dtype=np.uint8)
    chosen = every % 3 == 0
    main = api.compile(function([kind, kind, f"tensor<{size}xi1>"], f"{kind}, {kind}", body))[
        "main"
    ]
    found = main.run([each.view(FLOAT_TYPES[element]) for each in (every, every[::-1])] + [chosen])
    for each in found:
        np.testing.assert_array_equal(each.view(np.uint8), np.where(chosen, every, every[::-1]))


@pytest.mark.parametrize("width", [4, 6])
def test_negative_integers_become_floats_of_their_width(width: int) -> None:
    elements = f"i{width}", {4: "f4E2M1FN", 6: "f6E3M2FN"}[width]
    source, target = (f"tensor<{1 << width}x{each}>" for each in elements)
    body = f"  %0 = arith.bitcast %a0 : {source} to {target}\n  return %0 : {target}"
    half = 1 << (width - 1)
    text = function([source], target, body)
    for backend in ("interpreter", "native"):
        main = api.compile(text, "", backend=backend)["main"]
        (found,) = main.run([np.arange(-half, half, dtype=np.int8)])
        expected = np.arange(-half, half) % (2 * half)
        np.testing.assert_array_equal(found.view(np.uint8), expected)


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f8E8M0FNU"])
def test_softmax_is_rounded_once(element: str) -> None:
    kind = f"tensor<8x50x{element}>"
    body = f"""  %e = tensor.empty() : {kind}
  %0 = linalg.softmax dimension(1) ins(%a0 : {kind}) outs(%e : {kind}) -> {kind}
  return %0 : {kind}"""
    numbers = 2.0 ** np.random.default_rng(0).integers(-3, 3, (8, 50))
    check_exactly(function([kind], kind, body), [numbers.astype(FLOAT_TYPES[element])])


def test_comparisons() -> None:
    check(COMPARISONS)


@pytest.mark.parametrize("element", FLOATS)
def test_every_clamp_of_special_numbers(element: str) -> None:
    kind = f"tensor<512x{element}>"
    numbers = np.array([np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf])
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    inputs = [each.ravel().astype(dtype[element]) for each in np.meshgrid(*[numbers] * 3)]
    body = f"  %0 = math.clampf %a0 to [%a1, %a2] : {kind}\n  return %0 : {kind}"
    check(function([kind] * 3, kind, body), inputs)


@pytest.mark.parametrize("name", ["maximumf", "minimumf", "maxnumf", "minnumf"])
@pytest.mark.parametrize("element", FLOATS)
def test_reductions_of_special_numbers(element: str, name: str) -> None:
    """A NaN is the result of one kind of maximum, and the other ignores it, in every lane."""
    left, right, result = (f"tensor<{each}x{element}>" for each in ("3x17x7", "999x17x7", "3x999"))
    body = f"""  %0 = linalg.generic {{indexing_maps = [affine_map<(m, n, i, j) -> (m, i, j)>,
      affine_map<(m, n, i, j) -> (n, i, j)>, affine_map<(m, n, i, j) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%a0, %a1 : {left}, {right}) outs(%a2 : {result}) {{
  ^bb0(%x: {element}, %y: {element}, %most: {element}):
    %sum = arith.addf %x, %y : {element}
    %r = arith.{name} %most, %sum : {element}
    linalg.yield %r : {element}
  }} -> {result}
  return %0 : {result}"""
    rng = np.random.default_rng(3)
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    inputs = [
        rng.integers(-8, 8, shape).astype(dtype[element])
        for shape in ((3, 17, 7), (999, 17, 7), (3, 999))
    ]
    inputs[1].reshape(-1)[rng.permutation(inputs[1].size)[:999]] = np.nan
    inputs[1][5] = inputs[2][1] = np.nan
    check(function([left, right, result], result, body), inputs)


@pytest.mark.parametrize(
    "kinds", ["parallel reduction", "reduction parallel", "reduction reduction"]
)
@pytest.mark.parametrize("body", ["%x, %y", "%x, %o"])
def test_reduction_loops_that_index_the_result(kinds: str, body: str) -> None:
    """MLIR allows them: each step has an element of its own."""
    iterators = ", ".join(f'"{each}"' for each in kinds.split())
    text = f"""
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x3xf32>, %b: tensor<2xf32>) -> tensor<4x3xf32> {{
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %c = shard.shard %a to %s : tensor<4x3xf32>
  %half = arith.constant dense<0.5> : tensor<4x3xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = [{iterators}]}}
      ins(%c, %b : tensor<4x3xf32>, tensor<2xf32>) outs(%half : tensor<4x3xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %d = arith.subf {body} : f32
    linalg.yield %d : f32
  }} -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}}"""
    given = [np.arange(12, dtype=np.float32).reshape(4, 3), np.array([7, 8], np.float32)]
    wanted = given[0] - (7 if body == "%x, %y" else 0.5)
    for pipeline in ("", "spmd", "compile"):
        program = api.compile(text, pipeline)
        program.require_native = True
        for backend in ("interpreter", "native"):
            (found,) = program.main.run(given, backend=backend)
            np.testing.assert_array_equal(found, wanted)
