"""Run programs with loops and caches in JAX for `benchmarks.program_times`.

Runs in a Python that has JAX. Reads lines `prepare NAME` and `run NAME REPEATS`, and answers each
with a line of JSON: the program as StableHLO with `sdy` shardings and the shapes of its arguments,
or the seconds of each run.
"""

# pyright: basic
from __future__ import annotations

import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.program_inputs import random_arrays

ALL = Mesh(np.array(jax.devices()), ("x",))
FOUR = Mesh(np.array(jax.devices()[:4]), ("x",))
TWO = Mesh(np.array(jax.devices()[:2]), ("x",))
ONE = Mesh(np.array(jax.devices()[:1]), ("x",))

PROGRAMS = {}
"""By name: the function, its mesh, and for each argument shape, type and partition."""


def program(mesh, *arguments):
    """Register a program under its function's name."""

    def register(function):
        PROGRAMS[function.__name__] = function, mesh, arguments
        return function

    return register


@program(ONE, ((64,), "float32", P()))
def while_on_data(a):
    def proceed(state):
        return jnp.sum(state[0]) < 2000.0

    return lax.while_loop(proceed, lambda s: (s[0] + a, s[1] + 1), (a, jnp.int32(0)))


@program(ONE, ((16,), "float32", P()))
def ten_thousand_iterations(a):
    return lax.fori_loop(0, 10_000, lambda i, x: jnp.tanh(x + a), a)


@program(ONE, ((4096, 16), "float32", P()))
def running_maxima(rows):
    def step(largest, row):
        return jnp.maximum(largest, row), largest

    return lax.scan(step, jnp.zeros(16), rows)


@program(ONE, ((65, 65), "float32", P()), ((64, 64), "float32", P()))
def cheapest_paths(paths, costs):
    def visit(point, paths):
        i, j = point // 64, point % 64
        before = jnp.minimum(jnp.minimum(paths[i, j + 1], paths[i + 1, j]), paths[i, j])
        return paths.at[i + 1, j + 1].set(before + costs[i, j])

    return lax.fori_loop(0, 64 * 64, visit, paths)


@program(ONE, ((16,), "float32", P()), ((16,), "float32", P()))
def add_16(a, b):
    return a + b


@program(ALL, ((64, 64), "float32", P("x", None)))
def jacobi(grid):
    def step(_, u):
        padded = jnp.pad(u, 1)
        return 0.25 * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:])

    return lax.fori_loop(0, 10, step, grid)


HIDDEN, BATCH, STEPS = 64, 8, 16


@program(
    ALL,
    ((STEPS, BATCH, HIDDEN), "float32", P(None, "x", None)),
    ((HIDDEN, 4 * HIDDEN), "float32", P()),
    ((HIDDEN, 4 * HIDDEN), "float32", P()),
)
def lstm(xs, wx, wh):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ wx + h @ wh, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((BATCH, HIDDEN))
    return lax.scan(step, (zero, zero), xs)[1]


@program(
    ALL,
    ((STEPS, BATCH, HIDDEN), "float32", P(None, "x", None)),
    ((HIDDEN, 3 * HIDDEN), "float32", P()),
    ((HIDDEN, 3 * HIDDEN), "float32", P()),
)
def gru(xs, wx, wh):
    def step(h, x):
        a, b = x @ wx, h @ wh
        r = jax.nn.sigmoid(a[:, :HIDDEN] + b[:, :HIDDEN])
        z = jax.nn.sigmoid(a[:, HIDDEN : 2 * HIDDEN] + b[:, HIDDEN : 2 * HIDDEN])
        n = jnp.tanh(a[:, 2 * HIDDEN :] + r * b[:, 2 * HIDDEN :])
        h = (1 - z) * n + z * h
        return h, h

    return lax.scan(step, jnp.zeros((BATCH, HIDDEN)), xs)[1]


@program(
    ALL,
    ((8, 256, 64), "float32", P("x", None, None)),
    ((8, 256, 64), "float32", P("x", None, None)),
    ((8, 256, 64), "float32", P("x", None, None)),
)
def flash_attention(q, k, v):
    block = 64

    def step(i, state):
        total, most, out = state
        kb = lax.dynamic_slice_in_dim(k, i * block, block, 1)
        vb = lax.dynamic_slice_in_dim(v, i * block, block, 1)
        scores = jnp.einsum("hqd,hkd->hqk", q, kb) * 0.125
        now = jnp.maximum(most, scores.max(-1, keepdims=True))
        weights = jnp.exp(scores - now)
        scale = jnp.exp(most - now)
        total = total * scale + weights.sum(-1, keepdims=True)
        return total, now, out * scale + jnp.einsum("hqk,hkd->hqd", weights, vb)

    start = jnp.zeros((8, 256, 1)), jnp.full((8, 256, 1), -jnp.inf), jnp.zeros_like(q)
    total, _, out = lax.fori_loop(0, 256 // block, step, start)
    return out / total


@program(ALL, ((64, 3), "float32", P("x", None)), ((64, 3), "float32", P("x", None)))
def n_body(x, v):
    def force(x):
        d = x[None] - x[:, None]
        return (d / (jnp.sum(d * d, -1, keepdims=True) + 0.1) ** 1.5).sum(1)

    def step(_, state):
        x, v = state
        v = v + 0.01 * force(x)
        return x + 0.01 * v, v

    return lax.fori_loop(0, 10, step, (x, v))


WIDTH, HEADS, TOKENS = 512, 8, 128
_CACHE = ((HEADS, TOKENS, WIDTH // HEADS), "float32", P("x", None, None))


@program(
    FOUR,
    ((1, WIDTH), "float32", P()),
    *[((WIDTH, HEADS, WIDTH // HEADS), "float32", P(None, "x", None))] * 3,
    ((HEADS, WIDTH // HEADS, WIDTH), "float32", P("x", None, None)),
    _CACHE,
    _CACHE,
    ((), "int32", P()),
)
def decode_step(x, wq, wk, wv, wo, keys, values, position):
    q, k, v = (jnp.einsum("td,dhe->hte", x, w) for w in (wq, wk, wv))
    zero = jnp.int32(0)
    keys = lax.dynamic_update_slice(keys, k, (zero, position, zero))
    values = lax.dynamic_update_slice(values, v, (zero, position, zero))
    scores = jnp.einsum("hte,hse->hts", q, keys) * 0.125
    scores = jnp.where(jnp.arange(TOKENS) <= position, scores, -1e9)
    mixed = jnp.einsum("hts,hse->hte", jax.nn.softmax(scores), values)
    return jnp.einsum("hte,hed->td", mixed, wo), keys, values


LAYERS, MODEL, LENGTH = 12, 768, 128


def _gpt2_arguments():
    matrix = lambda rows, columns, *where: ((rows, columns), "float32", P(*where))  # noqa: E731
    vector = lambda size, *where: ((size,), "float32", P(*where))  # noqa: E731
    layer = (
        *(vector(MODEL), vector(MODEL)),
        *(matrix(MODEL, 3 * MODEL, None, "x"), vector(3 * MODEL, "x")),
        *(matrix(MODEL, MODEL, "x", None), vector(MODEL)),
        *(vector(MODEL), vector(MODEL)),
        *(matrix(MODEL, 4 * MODEL, None, "x"), vector(4 * MODEL, "x")),
        *(matrix(4 * MODEL, MODEL, "x", None), vector(MODEL)),
    )
    return ((LENGTH, MODEL), "float32", P()), *(layer * LAYERS)


def norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


@program(FOUR, *_gpt2_arguments())
def gpt2(x, *weights):
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    for layer in range(LAYERS):
        s1, t1, wqkv, bqkv, wo, bo, s2, t2, w1, b1, w2, b2 = weights[12 * layer : 12 * layer + 12]
        heads = (norm(x, s1, t1) @ wqkv + bqkv).reshape(LENGTH, 12, 3, 64)
        q, k, v = (heads[:, :, part].transpose(1, 0, 2) for part in range(3))
        scores = jnp.where(mask, q @ k.transpose(0, 2, 1) * 0.125, -1e9)
        mixed = (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(LENGTH, MODEL)
        x = x + mixed @ wo + bo
        x = x + jax.nn.gelu(norm(x, s2, t2) @ w1 + b1) @ w2 + b2
    return x


def _block_arguments(batch, tokens, parallel=None):
    """Return the arguments of a transformer block.

    They are replicated, or split by batch (`data`), or by heads and hidden units (`tensor`).
    """
    model, hidden = 512, 2048
    rows = P("x") if parallel == "data" else P()
    up, down = (P(None, "x"), P("x")) if parallel == "tensor" else (P(), P())
    norm = [((model,), P())] * 2
    shapes = (
        *(((batch, tokens, model), rows), *norm, ((model, 3 * model), up), ((model, model), down)),
        *(*norm, ((model, hidden), up), ((hidden, model), down)),
    )
    return [(shape, "float32", spec) for shape, spec in shapes]


@program(ONE, *_block_arguments(4, 128))
def transformer_block(x, s1, t1, wqkv, wo, s2, t2, w1, w2):
    batch, tokens, model = x.shape
    heads = (norm(x, s1, t1) @ wqkv).reshape(batch, tokens, 8, 3, model // 8)
    q, k, v = (heads[:, :, :, part].transpose(0, 2, 1, 3) for part in range(3))
    weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * 0.125)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, model) @ wo
    return x + jax.nn.gelu(norm(x, s2, t2) @ w1) @ w2


@program(ONE, *_block_arguments(1, 1))
def one_token(*arguments):
    return transformer_block(*arguments)


def _step_arguments(parallel=None):
    rows = P("x") if parallel == "data" else P()
    up, down = (P(None, "x"), P("x")) if parallel == "tensor" else (P(), P())
    shapes = ((1024, 4096), up), ((4096, 1024), down), ((256, 1024), rows), ((256, 1024), rows)
    return [(shape, "float32", spec) for shape, spec in shapes]


@program(ONE, *_step_arguments())
def training_step(w1, w2, x, y):
    def loss(w1, w2):
        return ((jnp.tanh(x @ w1) @ w2 - y) ** 2).mean()

    d1, d2 = jax.grad(loss, (0, 1))(w1, w2)
    return w1 - 0.01 * d1, w2 - 0.01 * d2


for mesh in (TWO, FOUR):
    for parallel in ("data", "tensor"):
        end = f"{parallel}_{mesh.size}"
        PROGRAMS[f"block_{end}"] = transformer_block, mesh, _block_arguments(4, 128, parallel)
        PROGRAMS[f"step_{end}"] = training_step, mesh, _step_arguments(parallel)


@program(
    ONE,
    ((4, 32, 32, 3), "float32", P()),
    *[((3, 3, *each), "float32", P()) for each in ((3, 32), (32, 64), (64, 64))],
    ((64, 10), "float32", P()),
)
def convnet(x, k1, k2, k3, w):
    for kernel, stride in ((k1, 1), (k2, 2), (k3, 2)):
        layout = ("NHWC", "HWIO", "NHWC")
        strides = (stride, stride)
        x = lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=layout)
        x = jax.nn.relu(x)
    return x.mean((1, 2)) @ w


def main():
    """Answer requests until the input ends."""
    ready = {}
    for line in sys.stdin:
        command, name, *rest = line.split()
        if command == "prepare":
            function, mesh, arguments = PROGRAMS[name]
            shardings = [NamedSharding(mesh, spec) for _, _, spec in arguments]
            given = random_arrays([(shape, kind) for shape, kind, _ in arguments])
            lowered = jax.jit(function, in_shardings=shardings).lower(*given)
            start = time.perf_counter()
            compiled = lowered.compile()
            placed = [jax.device_put(a, s) for a, s in zip(given, shardings, strict=True)]
            ready[name] = compiled, placed
            called = time.perf_counter()
            results = jax.block_until_ready(compiled(*placed))
            end = time.perf_counter()
            found = [np.asarray(each).tolist() for each in jax.tree.leaves(results)]
            answer = {
                "text": lowered.as_text(),
                "arguments": [[shape, kind] for shape, kind, _ in arguments],
                "compile": end - start,
                "first": end - called,
                "results": found,
            }
        else:
            compiled, placed = ready[name]
            times = []
            for _ in range(int(rest[0])):
                start = time.perf_counter()
                jax.block_until_ready(compiled(*placed))
                times.append(time.perf_counter() - start)
            answer = times
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
