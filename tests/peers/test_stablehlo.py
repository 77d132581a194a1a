"""StableHLO against JAX: its text is read by jaxlib, and its numbers are XLA's.

JAX writes programs of one primitive each, over element types and edges, and runs them.
"""

# ruff: noqa: E501

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from breadth import NIGHTLY, is_sampled
from mesh_opt.api import compile
from tool_runs import printed

PRELUDE = """
import base64, itertools, json
import jax, jax.numpy as jnp, numpy as np
from jax import lax
jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
cases = []
def case(name, f, *args):
    cases.append((name, f, args))
def some(shape, dtype):
    dtype = jnp.dtype(dtype)
    if dtype == jnp.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return (rng.standard_normal(shape) * 3 + 1j * rng.standard_normal(shape) * 3).astype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        return (rng.standard_normal(shape) * 3).astype(dtype)
    return rng.integers(0, 9, shape).astype(dtype)
def pairs(dtype):
    if jnp.issubdtype(jnp.dtype(dtype), jnp.floating):
        v = [0., -0., 1., -1., np.inf, -np.inf, np.nan, .5, 2.5, -2.5, 3e4, -7., 1e-3]
    else:
        i = np.iinfo(dtype)
        v = [0, 1, 2, 3, 7, 8, i.max, i.max - 1, i.min, i.max // 2 + 1]
        v += [-1, -2, -3] if i.min < 0 else []
    g = np.array(list(itertools.product(v, v)), dtype=object)
    return g[:, 0].astype(dtype), g[:, 1].astype(dtype)
"""

PROGRAMS = {
    "floats": """
for d in ("float32", "float64", "float16", "bfloat16")[:WIDTH]:
    a, b = pairs(d)
    case("one " + d, lambda x: [getattr(lax, u)(x) for u in (
        "abs ceil cos exp expm1 floor log log1p logistic neg sign sin sqrt rsqrt tan tanh cbrt"
        " round is_finite erf erfc").split()], a)
    case("two " + d, lambda x, y: [getattr(lax, u)(x, y) for u in (
        "add sub mul div rem max min pow atan2 eq ne lt le gt ge").split()], a, b)
    case("to integers " + d, lambda x: [lax.convert_element_type(x, t) for t in (
        "int8", "uint8", "int32", "uint32", "int64", "uint64", "bool")],
        np.array([.7, -.7, 127.6, -128.9, 255.9, 3e9, -3e9, 1e19, np.inf, -np.inf, np.nan]).astype(d))
    case("special " + d, lambda x: [getattr(lax, u)(x) for u in
        "erf_inv asin acos atan atanh sinh cosh asinh digamma lgamma bessel_i1e".split()],
        np.linspace(-.9, .9, 7).astype(d))
    case("precision " + d, lambda x: [lax.reduce_precision(x, e, m) for e, m in ((5, 10), (4, 3))], a)
    case("sorts " + d, lambda x: (lax.sort(x), jnp.argsort(x), lax.top_k(x, 5)[1]), a[::13])
""",
    "integers": """
for d in ("int32", "uint8", "int8", "uint64", "int64", "uint32")[:WIDTH]:
    a, b = pairs(d)
    case("two " + d, lambda x, y: [getattr(lax, u)(x, y) for u in (
        "add sub mul div rem max min eq lt ge shift_left shift_right_logical"
        " shift_right_arithmetic bitwise_and bitwise_xor").split()], a, b)
    case("one " + d, lambda x: [getattr(lax, u)(x) for u in
        "neg sign population_count clz bitwise_not".split()], a)
    case("to others " + d, lambda x: [lax.convert_element_type(x, t) for t in (
        "int8", "uint8", "int32", "uint64", "float32", "bfloat16", "bool")], a)
    i = np.array([0, 1, np.iinfo(d).max, np.iinfo(d).min], d)
    x = some((4, 3), "float32")
    case("indices " + d, lambda x, i: [x.at[i].get(mode="clip"), x.at[i].get(mode="fill"),
        x.at[i].add(jnp.ones((4, 3), x.dtype), mode="drop"),
        lax.dynamic_slice(x, (i[2], i[3]), (2, 2))], x, i)
""",
    "movements": """
for d in ("float32", "bfloat16", "int8", "complex64", "bool")[:WIDTH]:
    x = some((3, 4, 5), d)
    case("moves " + d, lambda x: (lax.transpose(x, (2, 0, 1)), lax.reshape(x, (6, 10)),
        lax.rev(x, (0, 2)), lax.broadcast_in_dim(x, (3, 2, 4, 5), (0, 2, 3)),
        lax.slice(x, (0, 1, 0), (3, 4, 5), (1, 2, 3)), lax.concatenate([x, x], 1),
        lax.pad(x, jnp.zeros((), x.dtype), ((1, 2, 1), (-1, 0, 0), (0, -1, 2)))), x)
    case("updates " + d, lambda x, y: (x.at[1:, 2].set(y), x[jnp.array([2, 0])],
        lax.dynamic_update_slice(x, y[None, :, :5], (2, 3, 1))), x, some((2, 5), d))
case("bits", lambda x: (lax.bitcast_convert_type(x, "uint8"), lax.bitcast_convert_type(x, "uint64")),
    some((3, 2), "float32"))
""",
    "reductions": """
for d in ("float32", "int32", "bfloat16", "complex64")[:WIDTH]:
    x = some((3, 4, 5), d)
    case("products " + d, lambda x, y, d=d: (
        lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
        lax.reduce(x, jnp.zeros((), x.dtype), lax.add, (0,)) if d != "bfloat16" else x), x, some((3, 5, 2), d))
    case("convolutions " + d, lambda x, k, t: (
        lax.conv_general_dilated(x, k, (2, 1), "SAME", rhs_dilation=(1, 2),
            dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2),
        lax.conv_general_dilated(x, t, (1, 1), ((1, 2), (0, 3)), lhs_dilation=(2, 3),
            batch_group_count=2)), some((2, 5, 6, 4), d), some((3, 2, 2, 6), d), some((6, 5, 3, 2), d))
    if d != "complex64":
        case("windows " + d, lambda x: (
            lax.reduce_window(x, jnp.array(0, x.dtype), lax.max, (1, 2, 2), (1, 2, 1), "SAME"),
            lax.reduce_window(x, jnp.array(0, x.dtype), lax.add, (1, 2, 2), (1, 2, 1),
                ((0, 0), (1, 0), (0, 2)), base_dilation=(1, 1, 2), window_dilation=(1, 1, 2)),
            lax.argmax(x, 1, "int32")), x)
case("scatter of gradients", jax.grad(lambda x: lax.reduce_window(
    x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 1), "VALID").sum()), some((3, 4, 5), "float32"))
""",
    "programs": """
case("long sorts", lambda x: (jnp.argsort(x, axis=0), lax.top_k(x.T, 5)), np.round(some((300, 2), "float32")))
case("loop", lambda x: lax.fori_loop(0, 4, lambda i, c: c.at[i].add(i), x), some((5,), "float32"))
case("scan", lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.float32(0), x), some((7,), "float32"))
case("switch", lambda i, x: lax.switch(i, [lambda x: x + 1, lambda x: -x], x), np.int32(7), some((3,), "float32"))
case("random", lambda k: jax.random.normal(k, (5,)), np.array([1, 2], "uint32"))
case("bits", lambda k: [lax.rng_bit_generator(k, s, dtype=t, algorithm=a) for s, t in (
    ((4, 3), "uint32"), ((3,), "uint64"), ((3, 5), "uint8")) for a in (
    lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX)], np.array([1, 2, 3, 4], "uint32"))
m = some((4, 4), "float32")
m = m @ m.T + np.eye(4, dtype="float32") * 4
case("algebra", lambda x: (lax.linalg.cholesky(x), jnp.linalg.inv(x), jnp.linalg.eigh(x)[0],
    jnp.linalg.svd(x, compute_uv=False), jnp.linalg.matrix_rank(x[:, :2]), jnp.linalg.eigvals(x).real.sum(),
    jnp.linalg.qr(x)[1]), m)
case("transforms", lambda x: (jnp.fft.fft(x), jnp.fft.irfft(x)), some((4, 6), "complex64"))
case("segments", lambda x, i: (jax.ops.segment_sum(x, i, 4), jnp.unique(i, size=5)),
    some((11,), "float32"), rng.integers(0, 4, 11).astype("int32"))
case("training", jax.grad(lambda x: jax.nn.log_softmax(jax.nn.gelu(x))[1, 2]), some((3, 4), "float32"))
""",
}
"""Programs of JAX by family. `WIDTH` is how many element types there are, few or all."""

REPORT = """
def packed(array):
    array = np.asarray(array)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [array.dtype.name, array.shape, data]
found = []
for name, f, args in cases:
    program = jax.jit(f, keep_unused=True)
    lowered = program.lower(*args)
    results = jax.tree.leaves(program(*args))
    found.append([name, lowered.as_text(), [packed(a) for a in args], [packed(r) for r in results]])
print(json.dumps(found))
"""

REREAD = """
import json, sys
import jax.interpreters.mlir as mlir
from jaxlib.mlir import ir
found = []
with mlir.make_ir_context():
    for text in json.load(open({path!r})):
        found.append(ir.Module.parse(text).operation.get_asm(print_generic_op_form=True))
print(json.dumps(found))
"""

TOLERANCES = {"bfloat16": 2e-2, "float16": 4e-3, "float32": 1e-4, "complex64": 1e-4}


def unpacked(entry: list[Any]) -> np.ndarray[Any, Any]:
    name, shape, data = entry
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape)


def agree(actual: Any, expected: Any) -> bool:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "biu":
        return bool((actual == expected).all())
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = actual.astype(wide), expected.astype(wide)
    allowed = TOLERANCES.get(expected.dtype.name, 1e-10) * np.maximum(np.abs(b), 0.05)
    with np.errstate(all="ignore"):
        return bool(((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)).all())


@pytest.mark.parametrize("family", PROGRAMS)
def test_programs_of_jax(family: str, peers_python: Callable[[str], str], tmp_path: Path) -> None:
    """Each program prints as jaxlib reads it, and computes what XLA does; every third natively."""
    width = f"WIDTH = {9 if NIGHTLY else 2}\n"
    found = json.loads(peers_python(PRELUDE + width + PROGRAMS[family] + REPORT))
    path = tmp_path / "texts.json"
    spellings = [
        [text, printed(text=text), printed("--mlir-print-op-generic", text=text)]
        for _, text, *_ in found
    ]
    path.write_text(json.dumps([text for each in spellings for text in each]), encoding="utf-8")
    reread = json.loads(peers_python(REREAD.format(path=str(path))))
    for number, (name, text, inputs, results) in enumerate(found):
        wanted, *others = reread[3 * number : 3 * number + 3]
        assert others == [wanted, wanted], name
        backends = ("interpreter", "native") if is_sampled(number, 3) else ("interpreter",)
        given, expected = ([unpacked(each) for each in group] for group in (inputs, results))
        check(name, text, given, expected, backends)


def check(
    name: str, text: str, inputs: list[Any], results: list[Any], backends: Sequence[str]
) -> None:
    for backend in backends:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = compile(text, backend=backend)["main"].run(inputs)
        for place, (output, result) in enumerate(zip(outputs, results, strict=True)):
            assert agree(output, result), (name, backend, place, output, result)
