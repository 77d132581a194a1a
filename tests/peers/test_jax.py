"""JAX functions through `mesh_opt.jax`, in a Python that has both: numbers against JAX's own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import NIGHTLY

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "jax.md").read_text(encoding="utf-8")

HEAD = """
import mesh_opt
import mesh_opt.api
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

compile = mesh_opt.jax.compile
random = np.random.default_rng(0)
x = random.standard_normal((8, 16)).astype(np.float32)
p = {"b": x[0, :4], "unused": x[:3], "w": random.standard_normal((16, 4)).astype(np.float32)}

def f(p, x):
    return {"o": jnp.tanh(x @ p["w"] + p["b"])}

def close(a, b):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), a, b)

def refused(kind, message, *arguments, **keywords):
    try:
        compile(*arguments, **keywords)
    except kind as problem:
        assert message in str(problem), problem
    else:
        raise AssertionError(f"not refused: {message}")
"""

STAGES = """
expected = f(p, x)
mesh = {"x": 2, "y": 4}
given = ({"w": P(None, "y"), "b": None, "unused": None}, P("x"))
k = compile(f, p, x, mesh=mesh, in_shardings=given)
assert k.in_shardings == (({"b": P("y"), "unused": P(), "w": P(None, "y")}, P("x")), {})
assert k.out_shardings == {"o": P("x", "y")}
close(k(p, x), expected)
close(k.reference(p, x), expected)
# What JAX drops is found again, by types or by what an export says.
for stage in (
    jax.jit(f).lower(p, x), jax.jit(f).trace(p, x), jax.export.export(jax.jit(f))(p, x)
):
    k = compile(stage, backend="interpreter")
    assert k.in_shardings == (({"b": P(), "unused": None, "w": P()}, P()), {})
    close(k(p, x), expected)
close(compile(jax.jit(f), p, x, backend="interpreter")(p, x), expected)

# `None` in the arguments is no array, and may have `None` for its sharding.
holes = {"w": x, "no": None, "all": (x, None)}
total = lambda q: q["w"] + q["all"][0]
for of_hole, of_pair in ((None, (None, None)), (P("y"), P("x"))):
    given = {"w": P("x"), "no": of_hole, "all": of_pair}
    k = compile(total, holes, mesh=mesh, in_shardings=(given,), backend="interpreter")
    assert k.in_shardings[0][0]["w"] == P("x")
    close(k(holes), 2 * x)

# Halves of an axis that are one again bear its name.
ones = np.ones((2, 8, 6), np.float32)
halves = lambda q: (q.reshape(2, 2, 4, 6) * 2).reshape(2, 8, 6)
k = compile(halves, ones, mesh=mesh, in_shardings=P("x", "y"), backend="interpreter")
assert k.out_shardings == P("x", "y"), k.out_shardings

# Integers of 4 bits.
four = np.arange(-8, 8).astype(jnp.int4)
k = compile(lambda a: a + a, four, backend="interpreter")
assert k(four).dtype == k.reference(four).dtype == jnp.int4
assert (k(four) == np.asarray(jnp.array(four) + four)).all()

# Static, donated and keyword arguments, keys, and numbers of other types.
def g(n, x, *, s=2.0, key):
    return x * s + n, jax.random.normal(key, (3,))

key = jax.random.key(3)
k = compile(g, 3, x, s=2.0, key=key, static_argnums=0, donate_argnums=1, backend="interpreter")
close(k(x.astype(np.float64), s=2, key=key), g(3, x, key=key))
close(k(key=key, s=2, x=x), g(3, x, key=key))

# By position or by name, as the function takes them, whichever way it was compiled for.
def h(a, b, /, c, *, d):
    return a - b + 2 * c - 3 * d["w"]

d = {"w": x + 1}
expected = h(x, 2 * x, 3 * x, d=d)
for form in (
    compile(h, x, x, x, d=d, backend="interpreter"),
    compile(h, x, x, c=x, d=d, backend="interpreter"),
    compile(jax.jit(h), x, x, c=x, d=d, backend="interpreter"),
):
    close(form(x, 2 * x, 3 * x, d=d), expected)
    close(form(x, 2 * x, d=d, c=3 * x), expected)
    close(form.reference(x, 2 * x, c=3 * x, d=d), expected)
k = compile(lambda x, s=2.0: x * s, x, backend="interpreter")
close(k(x=x), 2 * x)
k = compile(lambda **each: each["x"] + each["y"], x=x, y=x, backend="interpreter")
close(k(y=x, x=x), 2 * x)

# Arrays of other packages, and arrays that are on the devices.
class Foreign:
    dtype = "float32"
    __dlpack__, __dlpack_device__ = x.__dlpack__, x.__dlpack_device__

k = compile(lambda x: 2 * x, x, mesh=mesh, in_shardings=P("x"), backend="interpreter")
close(k(Foreign()), 2 * x)
k = compile(lambda x: 2 * x, x, mesh=mesh, in_shardings=P("x"))
on_devices = k.program.main.put(x, 0)
type(on_devices).__array__ = None  # It is not gathered.
close(k(on_devices), 2 * x)
k = compile(jax.jit(g, static_argnums=0), 3, x, s=2.0, key=key, backend="interpreter")
close(k(x, s=2, key=key), g(3, x, key=key))
"""

UNUSED = """
# Unused arguments of equal types: names tell which ones JAX drops.
def g(a, p, b, *, c, **more):
    return b + 2 * p["w"][1] + 3 * more["e"]

p = {"v": x, "w": (3 * x, 5 * x), "z": x}
more = dict(c=7 * x, d=11 * x, e=13 * x)
expected = x + 10 * x + 39 * x
k = compile(jax.jit(g), x, p, x, **more, backend="interpreter")
close(k(x, p, x, **more), expected)
close(k(x, p, b=x, **more), expected)
k = compile(jax.jit(g).lower(x, p, x, **more), backend="interpreter")
close(k(x, p, x, **more), expected)
k = compile(jax.jit(lambda *a: a[1] - a[3]), *[x] * 5, backend="interpreter")
close(k(x, 2 * x, 3 * x, 5 * x, 7 * x), -3 * x)
"""

SHARD_MAP = """
mesh = AbstractMesh((2, 4), ("x", "y"))

def h(x):
    def body(a):
        i = jax.lax.axis_index("y")
        b = jax.lax.ppermute(a, "y", [(j, (j + 1) % 4) for j in range(4)])
        c = jax.lax.all_to_all(a, "x", 1, 0, tiled=True).reshape(a.shape)
        d = jax.lax.all_gather(a, "y", axis=1, tiled=True)
        d = jax.lax.psum_scatter(d, "y", scatter_dimension=1, tiled=True)
        return a + 2 * b + 3 * c + d + jax.lax.pmax(a, ("x", "y")) + i.astype(a.dtype)

    y = jax.shard_map(body, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))(x)
    z = jax.shard_map(
        lambda a: a * jax.lax.psum(a.sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
        axis_names={"x"},
    )(x)
    return jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P("y"))), z

k = compile(h, x, mesh=mesh, in_shardings=P("x"), backend="interpreter")
parts = [[x[r : r + 4, c : c + 4] for c in range(0, 16, 4)] for r in (0, 4)]
top = np.maximum.reduce([part for row in parts for part in row])
y = np.block(
    [
        [
            parts[r][c] + 2 * parts[r][(c - 1) % 4] + 4 * parts[r][c] + top + c
            + 3 * np.concatenate([parts[s][c][:, 2 * r : 2 * r + 2] for s in (0, 1)]).reshape(4, 4)
            for c in range(4)
        ]
        for r in (0, 1)
    ]
)
close(k(x), (y, x * x.sum()))
close(k.reference(x), (y, x * x.sum()))
assert k.out_shardings[0] == P("y")

# The number of devices that `jax.pmap` maps over is the extent of its mapped axes.
k = compile(jax.pmap(lambda a: a + jax.lax.psum(a, "i"), axis_name="i"), x[:1])
close(k(x[:1]), 2 * x[:1])

# Axes of a mesh in a context, with no device of JAX, where types of arrays have shardings.
axes = (jax.sharding.AxisType.Explicit,) * 2
with jax.sharding.use_abstract_mesh(AbstractMesh((2, 4), ("x", "y"), axis_types=axes)):
    def product(x, w):
        x, w = jax.sharding.reshard(x, P("x", "y")), jax.sharding.reshard(w, P("y"))
        return jnp.einsum("ij,jk->ik", x, w, out_sharding=P("x"))

    k = compile(product, x, p["w"], backend="interpreter")
close(k(x, p["w"]), x @ p["w"])
assert k.out_shardings == P("x")
"""

FREE_AXES = """
from mesh_opt.sharding.collective_rows import COLLECTIVES

# An axis of the mesh that is not manual splits the body of a shard_map: nothing is gathered.
mesh = AbstractMesh((2, 2), ("x", "y"))
random = np.random.default_rng(0)
a, w, v = (random.standard_normal(s).astype(np.float32) for s in ((8, 16), (16, 8), (8, 16)))

def manual(body, ins, outs):
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, axis_names={"x"})

def swapped(a):
    return a + jax.lax.ppermute(a, "x", [(0, 1), (1, 0)]) * jax.lax.axis_index("x")

def mlp(a, w, v):
    return jax.nn.relu(a @ w) @ v

def loss(w, a):
    body = lambda a, w: jax.lax.psum(((a @ w) ** 2).sum(), "x")
    return manual(body, (P("x"), P()), P())(a, w)

most = lambda a, w: jax.lax.pmax(a @ w, "x")
products = lambda a, w: jax.lax.psum(a @ w, "x")
ordered = lambda a: jnp.sort(a, 1)
halves = np.split(a, 2)
for f, arguments, ins, outs, expected, names in (
    (manual(swapped, P("x"), P("x")), (a,), (P("x", "y"),), P("x", "y"),
     np.concatenate((halves[0], halves[1] + halves[0])), {"shift"}),
    (manual(mlp, (P("x"), P(), P()), P("x")), (a, w, v), (P("x"), P(None, "y"), P("y")), P("x"),
     np.maximum(a @ w, 0) @ v, {"all_reduce"}),
    (jax.grad(loss), (w, a), (P(None, "y"), P("x")), P(None, "y"), 2 * a.T @ (a @ w),
     {"all_reduce"}),
    (manual(most, (P("x"), P()), P()), (a, w), (P("x", "y"), P("y")), P(),
     np.maximum(halves[0] @ w, halves[1] @ w), {"all_reduce"}),
    (manual(products, (P(None, "x"), P("x")), P()), (a, w), (P(None, "x"), P("x", "y")),
     P(None, "y"), a @ w, {"all_reduce"}),
    (manual(ordered, P("x"), P("x")), (a,), (P("x"),), P("x"), np.sort(a, 1), set()),
):
    k = compile(f, *arguments, mesh=mesh, in_shardings=ins, out_shardings=outs,
                backend="interpreter")
    close(k(*arguments), expected)
    sent = {op.name for op in k.program.module.walk()} & COLLECTIVES.keys()
    assert {name.removeprefix("shard.") for name in sent} <= names, sent

# What is not constrained keeps its split.
def constrained(a, w):
    spec = NamedSharding(mesh, P("x", P.UNCONSTRAINED))
    return jax.lax.with_sharding_constraint(a @ w, spec) + 1

k = compile(constrained, a, w, mesh=mesh, in_shardings=(P("x"), P(None, "y")),
            out_shardings=P("x", "y"), backend="interpreter")
close(k(a, w), a @ w + 1)
assert not any(op.name == "shard.all_gather" for op in k.program.module.walk())

# Both dimensions split by manual axes of one size.
double = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
k = compile(double, a, mesh=mesh, in_shardings=P("x", "y"), backend="interpreter")
close(k(a), 2 * a)
assert not any(op.name.startswith("shard.all") for op in k.program.module.walk())
"""

REFUSED = """
mesh = {"x": 2}
refused(ValueError, 'tensor<8x16xf32> is split along the axis "z", but the mesh has "x" of size 2',
        f, p, x, mesh=mesh, in_shardings=(None, P("z")))
refused(ValueError, "args[1] of type tensor<8x16xf32> has a sharding of 3 dimensions, but rank 2",
        f, p, x, mesh=mesh, in_shardings=(None, P(None, None, "x")))
refused(ValueError, "has no mesh: give mesh=", f, p, x, in_shardings=(None, P("x")))
refused(TypeError, "expected a mesh of JAX, or sizes", f, p, x, mesh=3)
refused(TypeError, 'the axis "x" is of size 2.5, expected an integer', f, p, x, mesh={"x": 2.5})
refused(ValueError, "in_shardings is not a prefix of the tree of arguments: ", f, p, x, mesh=mesh,
        in_shardings=(P("x"),))
refused(ValueError, "out_shardings is not a prefix of the tree of results: ", f, p, x, mesh=mesh,
        out_shardings=(P("x"), None))
refused(TypeError, "expected a PartitionSpec or a NamedSharding", f, p, x,
        in_shardings=(None, jax.sharding.SingleDeviceSharding(jax.devices()[0])))
refused(ValueError, "has its arguments already", jax.jit(f).lower(p, x), x)
refused(ValueError, "the function is jitted already", jax.jit(f), p, x, static_argnums=1)
refused(ValueError, "takes 1 of 3 arrays, and JAX does not say which",
        jax.jit(lambda a, b, c: b + b).lower(x, x, x))
refused(TypeError, "expected a function or a stage of JAX, got int", 3)
refused(mesh_opt.api.CompilationError, "xla_ffi_python_cpu_callback",
        lambda x: jax.pure_callback(lambda a: a, x, x), x)
refused(mesh_opt.api.CompilationError, "error: 'stablehlo.custom_call' op has an ordered effect",
        lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], x)
for example, number, told in (
    (np.int32(1), 1.5, "args[0] is of float64, expected tensor<i32> (int32)"),
    (np.uint8(1), 300, "args[0] holds 300, which does not fit tensor<ui8>"),
    (np.int32(1), 2**40, "args[0] holds 1099511627776, which does not fit tensor<i32>"),
):
    try:
        compile(lambda n: n + 1, example, backend="interpreter")(number)
    except mesh_opt.InputError as problem:
        assert str(problem) == told, problem
    else:
        raise AssertionError(told)
k = compile(lambda x: x + 1, x, backend="interpreter")
assert repr(k).startswith("<Compiled <lambda>: <Function @main(x: tensor<")
assert "@main" in k._repr_html_()
for transform in (jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())):
    try:
        transform(k)(x)
    except TypeError as problem:
        assert "args[0] is traced: a compiled function has no rules" in str(problem), problem
    else:
        raise AssertionError
for wrong, told in (((x, x), "with args[1]"), (({"x": x},), "without args[0], with args[0]['x']")):
    try:
        k(*wrong)
    except ValueError as problem:
        assert "was compiled for arguments of the tree" in str(problem) and told in str(problem)
    else:
        raise AssertionError
k = compile(lambda x, s=2.0: x * s, x, backend="interpreter")
for wrong in ({"x": x, "s": 3.0}, {"z": x}):
    try:
        k(**wrong)
    except ValueError as problem:
        assert "was compiled for arguments of the tree" in str(problem)
    else:
        raise AssertionError
try:
    k(x[:1])
except mesh_opt.InputError as problem:
    assert str(problem).startswith("args[0] has shape ")
"""

ARTIFACTS = """
import os, tempfile
from pathlib import Path

file = Path(tempfile.mkdtemp()) / "f.mlirbc"
devices = AbstractMesh((2, 2), ("x", "y"))
placed = jax.jit(
    lambda w, x: jnp.tanh(x @ w),
    in_shardings=(NamedSharding(devices, P(None, "y")), NamedSharding(devices, P("x"))),
    out_shardings=NamedSharding(devices, P("x", "y")),
)
shapes = (jax.ShapeDtypeStruct(p["w"].shape, p["w"].dtype), jax.ShapeDtypeStruct(x.shape, x.dtype))
artifact = jax.export.export(placed)(*shapes).mlir_module_serialized
file.write_bytes(artifact)
program = mesh_opt.compile(file, "spmd", backend="interpreter")
assert "all_gather" not in program.stages[-1].text and "tensor<4x2xf32>" in program.stages[-1].text
close(program.main(p["w"], x), np.tanh(x @ p["w"]))

sizes = jax.export.symbolic_shape("n, m")
dynamic = jax.export.export(jax.jit(lambda x: x * x.shape[0]))(jax.ShapeDtypeStruct(sizes, x.dtype))
file.write_bytes(dynamic.mlir_module_serialized)
close(mesh_opt.compile(file, backend="interpreter").main(x), x * 8)

# What jaxlib refuses, or crashes on, is an error of one line; nothing is read from the folder.
os.chdir(file.parent)
Path("jaxlib.py").write_text("raise SystemExit(3)")
for damaged in (artifact[:300], artifact[:40] + bytes(300), artifact[:-8] + b"\\xff" * 8):
    file.write_bytes(damaged)
    try:
        mesh_opt.compile(file)
    except mesh_opt.CompilationError as problem:
        text = str(problem)
        assert text.startswith(f"cannot read '{file}' by jaxlib: ") and "\\n" not in text, text
    else:
        raise AssertionError
"""


@pytest.mark.parametrize(
    "script",
    [STAGES, UNUSED, SHARD_MAP, FREE_AXES, REFUSED, ARTIFACTS],
    ids=["stages", "unused", "shard_map", "free_axes", "refused", "artifacts"],
)
def test_jax(script: str, jax_python: Callable[[str], str]) -> None:
    jax_python(HEAD + script)


@pytest.mark.skipif(not NIGHTLY, reason="the page trains a model: nightly")
def test_page(jax_python: Callable[[str], str], tmp_path: Path) -> None:
    """The code of `docs/jax.md`, in the interpreter: the kernels of a step take long to compile."""
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    code = code.replace("    mesh={", '    backend="interpreter",\n    mesh={')
    code = code.replace('Path("step.mlir")', f"Path({str(tmp_path / 'step.mlir')!r})")
    checks = """
ours, (_, theirs) = expected, step(params, tokens)
np.testing.assert_allclose(ours[1], theirs, rtol=1e-4)
assert losses[0] > losses[1] > losses[2]
assert train.in_shardings[0][1] == P("data")
"""
    jax_python(code + checks)
    command = [sys.executable, "-m", "mesh_opt.tools.mesh_run", str(tmp_path / "step.mlir")]
    command += ["--pass-pipeline=spmd", "--random-inputs=0", "--check", "--backend=interpreter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
