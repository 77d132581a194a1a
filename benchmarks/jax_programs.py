"""Print small annotated JAX programs, and the cost of Shardy's and XLA's partitions, as JSON.

Runs in a Python that has JAX, outside of the package: `python jax_programs.py TOKENS...`. For each
program and number of tokens it prints the program as linalg with `sdy` shardings. For Shardy's and
XLA's partitioners it prints the KiB that each device sends with ring algorithms, and the
multiplications and additions that it does in tensor products.

The mesh is dp=2 x tp=4, and all floats are f32.
"""

# pyright: basic
from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
from math import prod

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

SIZES = {"dp": 2, "tp": 4}
WIDTH, HIDDEN, BATCH, HEADS, VOCABULARY = 128, 512, 4, 8, 1024
MESH = Mesh(np.array(jax.devices()).reshape(2, 4), tuple(SIZES))
LINALG = "builtin.module(inline,symbol-dce,stablehlo-legalize-to-linalg,canonicalize)"
SHARDY = (
    "builtin.module(inline,symbol-dce,sdy-propagation-pipeline,"
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true}),canonicalize,"
    "func.func(sdy-reshard-to-collectives),canonicalize)"
)


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def mlp(x, w1, w2):
    return jax.nn.gelu(x @ w1) @ w2


def mlp_bias(x, w1, b1, w2, b2):
    return jax.nn.gelu(x @ w1 + b1) @ w2 + b2


def train(w1, w2, x, y):
    def loss(weights):
        return jnp.mean((mlp(x, *weights) - y) ** 2)

    d1, d2 = jax.grad(loss)((w1, w2))
    return w1 - 0.1 * d1, w2 - 0.1 * d2


def heads(x):
    """Return `[batch, tokens, width]` as `[batch, heads, tokens, width of a head]`."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, HEADS, width // HEADS).transpose(0, 2, 1, 3)


def attention(x, wq, wk, wv, wo):
    q, k, v = heads(x @ wq), heads(x @ wk), heads(x @ wv)
    scores = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), axis=-1)
    return (scores @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ wo


def rotated(x):
    """Apply a rotary position embedding to `[batch, heads, tokens, width]`."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[-2])[:, None] / 10000 ** (jnp.arange(half) / half)
    cosine, sine, first, second = jnp.cos(angles), jnp.sin(angles), x[..., :half], x[..., half:]
    return jnp.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)


def rotary_attention(x, wq, wk, wv, wo):
    tokens = x.shape[1]
    q, k, v = rotated(heads(x @ wq)), rotated(heads(x @ wk)), heads(x @ wv)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
    weighted = jax.nn.softmax(scores, -1) @ v
    return weighted.transpose(0, 2, 1, 3).reshape(x.shape) @ wo


def decode(x, keys, values, wq, wk, wv, wo):
    """Decode one token per sequence, with caches `[batch, heads, tokens, width]`."""
    batch, width = x.shape
    place = keys.shape[2] // 3

    def heads(y):
        return y.reshape(batch, HEADS, width // HEADS)

    def put(cache, new):
        return jax.lax.dynamic_update_slice(cache, new[:, :, None], (0, 0, place, 0))

    keys, values = put(keys, heads(x @ wk)), put(values, heads(x @ wv))
    scores = jnp.einsum("bhd,bhtd->bht", heads(x @ wq), keys)
    scores = jnp.where(jnp.arange(keys.shape[2]) <= place, scores, -1e9)
    weighted = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores, -1), values)
    return weighted.reshape(batch, width) @ wo, keys, values


def gated_mlp(x, w1, w2, w3):
    return (jax.nn.silu(x @ w1) * (x @ w3)) @ w2


def layernorm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gain + bias


def block(x, wq, wk, wv, wo, g1, b1, g2, b2, w1, w2):
    x = x + attention(layernorm(x, g1, b1), wq, wk, wv, wo)
    return x + mlp(layernorm(x, g2, b2), w1, w2)


def cross_entropy(x, w, y):
    logits = x @ w
    logits = logits - jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    logs = logits - jnp.log(jnp.exp(logits).sum(-1, keepdims=True))
    return -(logs * jax.nn.one_hot(y, w.shape[1])).sum(-1)


COLUMNS, ROWS, BOTH = P(None, "tp"), P("tp"), P(("dp", "tp"))
MEGATRON = (COLUMNS, COLUMNS, COLUMNS, ROWS)


def programs(tokens):
    """Return, by name: function, shapes, shardings of the arguments, sharding of the result."""
    return mlp_programs(tokens) | attention_programs(tokens) | other_programs(tokens)


def mlp_arguments(tokens):
    return f32(tokens, WIDTH), f32(WIDTH, HIDDEN), f32(HIDDEN, WIDTH)


def attention_arguments(tokens):
    return f32(BATCH, tokens, WIDTH), *(f32(WIDTH, WIDTH),) * 4


def mlp_programs(tokens):
    mlp_args = x, w1, w2 = mlp_arguments(tokens)
    steps, row = (w1, w2, x, x), f32(WIDTH)
    return {
        "mlp_dp": (mlp, mlp_args, (P("dp"), P(), P()), None),
        "mlp_megatron": (mlp, mlp_args, (P(), COLUMNS, ROWS), None),
        "mlp_w1_only": (mlp, mlp_args, (None, COLUMNS, None), None),
        "mlp_dp_tp": (mlp, mlp_args, (P("dp"), COLUMNS, ROWS), None),
        "mlp_dp_tp_seqout": (mlp, mlp_args, (P("dp"), COLUMNS, ROWS), BOTH),
        "mlp_fsdp": (mlp, mlp_args, (BOTH, BOTH, BOTH), BOTH),
        "mlp_2d_weights": (mlp, mlp_args, (P("dp"), P("dp", "tp"), P("tp", "dp")), P("dp")),
        "mlp_contract": (mlp, mlp_args, (COLUMNS, ROWS, P()), None),
        "mlp_conflict": (mlp, mlp_args, (ROWS, COLUMNS, P()), None),
        "mlp_out_repl": (mlp, mlp_args, (P("dp"), COLUMNS, ROWS), P()),
        "mlp_bias": (
            mlp_bias,
            (x, w1, f32(HIDDEN), w2, row),
            (P("dp"), COLUMNS, None, ROWS, None),
            None,
        ),
        "mlp_train_dp": (train, steps, (P(), P(), P("dp"), P("dp")), None),
        "mlp_train_dp_tp": (train, steps, (COLUMNS, ROWS, P("dp"), P("dp")), None),
        "mlp_train_zero": (train, steps, (P("dp"), P("dp"), P("dp"), P("dp")), None),
    }


def attention_programs(tokens):
    attention_args = attention_arguments(tokens)
    cache = f32(BATCH, HEADS, tokens, WIDTH // HEADS)
    decode_args = (f32(BATCH, WIDTH), cache, cache, *attention_args[1:])
    return {
        "attn_heads": (attention, attention_args, (P("dp"), *MEGATRON), None),
        "attn_wq_only": (attention, attention_args, (P("dp"), COLUMNS, None, None, None), None),
        "attn_seq": (attention, attention_args, (P("dp", "tp"), P(), P(), P(), P()), None),
        "attn_x_hidden": (
            attention,
            attention_args,
            (P("dp", None, "tp"), None, None, None, None),
            None,
        ),
        "attn_fsdp": (attention, attention_args, (P("dp"),) * 5, None),
        "rope_heads": (rotary_attention, attention_args, (P("dp"), *MEGATRON), None),
        "rope_seq": (rotary_attention, attention_args, (P("dp", "tp"), P(), P(), P(), P()), None),
        "decode_heads": (
            decode,
            decode_args,
            (P("dp"), P("dp", "tp"), P("dp", "tp"), *MEGATRON),
            None,
        ),
        "decode_seq": (
            decode,
            decode_args,
            (P("dp"), *(P("dp", None, "tp"),) * 2, P(), P(), P(), P()),
            None,
        ),
    }


def other_programs(tokens):
    x, w1, w2 = mlp_arguments(tokens)
    row = f32(WIDTH)
    gated_args = (x, w1, w2, w1)
    block_args = (*attention_arguments(tokens), row, row, row, row, w1, w2)
    block_weights = (*MEGATRON, P(), P(), P(), P(), COLUMNS, ROWS)
    return {
        "gated_seqout": (gated_mlp, gated_args, (P("dp"), COLUMNS, ROWS, COLUMNS), BOTH),
        "block_dp_tp": (block, block_args, (P("dp"), *block_weights), None),
        "block_seqpar": (block, block_args, (P("dp", "tp"), *block_weights), P("dp", "tp")),
        "layernorm_hidden": (layernorm, (x, row, row), (P("dp", "tp"), None, None), None),
        "softmax_hidden": (lambda x: jax.nn.softmax(x, -1), (x,), (P("dp", "tp"),), None),
        "embed_vocab": (
            lambda table, index: table[index],
            (f32(VOCABULARY, WIDTH), i32(tokens)),
            (ROWS, P("dp")),
            None,
        ),
        "xent_vocab": (
            cross_entropy,
            (x, f32(WIDTH, VOCABULARY), i32(tokens)),
            (P("dp"), COLUMNS, P("dp")),
            None,
        ),
        "transpose": (lambda x: x.T, (f32(256, 512),), (P("dp", "tp"),), P("dp", "tp")),
        "reshard_row_col": (lambda x: x * 2, (f32(256, 512),), (ROWS,), COLUMNS),
        "reshape_split": (
            lambda x: x.reshape(2, 4, tokens // 8, WIDTH) * 2,
            (x,),
            (BOTH,),
            None,
        ),
    }


def random_program(seed):
    """Return a random program: a few operations on matrices, some arguments annotated."""
    generator = random.Random(seed)
    extents = (8, 16, 64)
    shapes = [tuple(generator.choices(extents, k=2)) for _ in range(generator.randint(2, 4))]
    steps = [(generator.random(), generator.random(), generator.random()) for _ in range(6)]

    def function(*arguments):
        values = list(arguments)
        for kind, first, second in steps:
            a = values[int(first * len(values))]
            b = values[int(second * len(values))]
            if kind < 0.35 and a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0]:
                values.append(a @ b / a.shape[1])
            elif kind < 0.35 and a.ndim == 2 and b.ndim == 2 and a.shape[0] == b.shape[0]:
                values.append(a.T @ b / a.shape[0])
            elif kind < 0.55 and a.shape == b.shape:
                values.append(a + b)
            elif kind < 0.65:
                values.append(jnp.tanh(a))
            elif kind < 0.75 and a.ndim == 2:
                values.append(a.T)
            elif kind < 0.85 and a.ndim == 2:
                values.append(a - a.max(1, keepdims=True))
            elif kind < 0.92 and a.ndim == 2:
                values.append(a.sum(0))
            elif a.ndim == 2:
                values.append(a.reshape(2, a.shape[0] // 2, a.shape[1]).sum(1))
        return values[-1]

    def sharding(shape):
        if generator.random() < 0.3:
            return None
        axes = [[], []]
        for name in generator.sample(sorted(SIZES), k=2):
            place = generator.randrange(3)
            if place < 2 and shape[place] % prod(SIZES[n] for n in (*axes[place], name)) == 0:
                axes[place].append(name)
        return P(*(tuple(each) or None for each in axes))

    given = tuple(sharding(shape) for shape in shapes)
    return function, tuple(f32(*shape) for shape in shapes), given, None


def single_operations():
    """Return, by name: function and shapes of programs of one StableHLO operation."""
    x, y, cube = f32(8, 16), f32(16, 4), f32(2, 8, 16)
    return {
        "matmul": (lambda a, b: a @ b, (x, y)),
        "batch_matmul": (lambda a, b: a @ b, (cube, f32(2, 16, 4))),
        "matvec": (lambda a, b: a @ b, (x, f32(16))),
        "dot": (lambda a, b: a @ b, (f32(16), f32(16))),
        "outer": (lambda a, b: jnp.einsum("i,j->ij", a, b), (f32(8), f32(16))),
        "transposed": (lambda a, b: jnp.einsum("ik,jk->ij", a, b), (x, f32(4, 16))),
        "transpose": (lambda a: a.T, (x,)),
        "permute": (lambda a: a.transpose(2, 0, 1), (cube,)),
        "add": (lambda a, b: a + b, (x, x)),
        "tanh": (jnp.tanh, (cube,)),
        "sum_rows": (lambda a: a.sum(0), (x,)),
        "sum_all": (lambda a: a.sum(), (x,)),
        "max_columns": (lambda a: a.max(1), (x,)),
        "expand": (lambda a: a.reshape(2, 4, 16), (x,)),
        "collapse": (lambda a: a.reshape(16, 16), (cube,)),
        "broadcast": (lambda a: jnp.broadcast_to(a, (4, 8)), (f32(8),)),
        "slice": (lambda a: a[2:4], (x,)),
    }


def rules():
    """Return Shardy's rule for each single operation, and the operation as linalg."""
    pipeline = (
        "builtin.module(inline,symbol-dce,canonicalize,func.func(sdy-populate-op-sharding-rules))"
    )
    result = {}
    for name, (function, shapes) in single_operations().items():
        lowered = jax.jit(function).lower(*shapes)
        found = re.findall(r"#sdy.op_sharding_rule<(.*?)>[}]", run_passes(lowered, pipeline))
        result[name] = {"rules": found, "linalg": run_passes(lowered, LINALG)}
    return result


def lower(function, shapes, arguments, result):
    shardings = tuple(None if each is None else NamedSharding(MESH, each) for each in arguments)
    options = {} if result is None else {"out_shardings": NamedSharding(MESH, result)}
    return jax.jit(function, in_shardings=shardings, **options).lower(*shapes)


def run_passes(lowered, pipeline):
    context = jax_mlir.make_ir_context()
    importlib.import_module("jaxlib.mlir._mlir_libs._mosaic_gpu_ext").register_inliner_extensions(
        context
    )
    with context:
        module = ir.Module.parse(str(lowered.compiler_ir()))
        PassManager.parse(pipeline).run(module.operation)
        return str(module)


SENT = {
    "all-gather": lambda n: (n - 1) / n,
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
    "collective-permute": lambda n: 1,
    "reduce-scatter": lambda n: n - 1,
}
"""By XLA's name of a collective: bytes that one of `n` devices sends per byte of its result."""


def axes_in(text):
    return [
        int(part) if part else SIZES[name]
        for name, part in re.findall(r'"(\w+)"(?::\(\d+\)(\d+))?', text)
    ]


def shardy_bytes(text):
    total = 0.0
    for line in text.splitlines():
        found = re.search(r"= sdy\.(\w+)", line)
        sent = SENT.get(found.group(1).replace("_", "-")) if found else None
        types = re.findall(r"tensor<((?:\d+x)*)[fi]32>", line)
        if sent is None or not types:
            continue
        before, after = line.split("out_sharding")
        size = 4 * prod(int(n) for n in types[-1].split("x") if n)
        held = size / prod(axes_in(after.split("]>")[0]))
        total += held * sent(prod(axes_in(before)))
    return total


def group_size(line):
    if found := re.search(r"replica_groups=\{\{([\d,]+)\}", line):
        return found.group(1).count(",") + 1
    if found := re.search(r"replica_groups=\[\d+,(\d+)\]", line):
        return int(found.group(1))
    if found := re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\S+)? \{(.*?)\}", line):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", found.group(1)))
        used = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", found.group(2))
        return prod(int(part or sizes[name]) for name, part in used)
    return 8


def xla_bytes(text):
    total = 0.0
    kinds = "|".join(SENT)
    # Tuples of more than five shapes are numbered by comments.
    for line in re.sub(r"/\*.*?\*/", "", text).splitlines():
        found = re.search(rf"= (\(?[^=]*?) ({kinds})(?:-start)?\(", line)
        if found is None:
            continue
        shapes = re.findall(r"[fsu]32\[([\d,]*)\]", found.group(1))
        held = sum(4 * prod(int(n) for n in shape.split(",") if n) for shape in shapes)
        total += held * SENT[found.group(2)](group_size(line))
    return total


def dimension_parts(text):
    """Return into how many parts each dimension is split, from `[{"dp"}, {}]`."""
    return [prod(axes_in(each)) for each in re.findall(r"\{(.*?)\}", text)]


def shardy_work(text):
    """Count the multiplications and additions of one device's products in Shardy's output."""
    split = {}
    total = 0
    for name, found in re.findall(
        r"(%arg\d+): tensor<[^>]*> \{sdy.sharding = #sdy.sharding<@mesh, \[(.*?)\]>", text
    ):
        split[name] = dimension_parts(found)
    for line in text.splitlines():
        named = re.match(r"\s*(%\w+) = ", line)
        if named is None:
            continue
        sharding = re.search(r"(?:out_sharding=|sharding_per_value<\[)<@mesh, \[(.*?)\]>", line)
        if sharding is not None:
            split[named.group(1)] = dimension_parts(sharding.group(1))
        dot = re.search(r"dot_general (%\w+), .*contracting_dims = \[([\d, ]*)\]", line)
        if dot is None:
            continue
        shapes = [
            [int(n) for n in shape.split("x") if n]
            for shape in re.findall(r"tensor<((?:\d+x)*)f32>", line)
        ]
        left, result = split.get(dot.group(1)), split.get(named.group(1))
        contracted = [int(n) for n in dot.group(2).split(",")]
        inner = prod(shapes[0][d] // (left[d] if left else 1) for d in contracted)
        outer = prod(shapes[-1]) // prod(result or [1])
        total += 2 * inner * outer
    return total


def xla_work(text):
    """Count the multiplications and additions of one device's products in XLA's output."""
    shapes = {
        name: [int(n) for n in shape.split(",") if n]
        for name, shape in re.findall(r"(%[\w.-]+) = \w+\[([\d,]*)\]", text)
    }
    # The parameter list of a computation omits the % of names.
    shapes |= {
        f"%{name}": [int(n) for n in shape.split(",") if n]
        for name, shape in re.findall(r"([\w.-]+): \w+\[([\d,]*)\]", text)
    }
    total = 0
    for result, left, contracted in re.findall(
        r"(%[\w.-]+) = \w+\[[\d,]*\]\S* dot\((%[\w.-]+), .*?lhs_contracting_dims=\{([\d,]*)\}", text
    ):
        inner = prod(shapes[left][int(d)] for d in contracted.split(",") if d)
        total += 2 * inner * prod(shapes[result])
    return total


def figures(program, *, with_xla=True):
    lowered = lower(*program)
    shardy = run_passes(lowered, SHARDY)
    found = {
        "linalg": run_passes(lowered, LINALG),
        "shardy": shardy_bytes(shardy) / 1024,
        "shardy_work": shardy_work(shardy),
    }
    if with_xla:
        xla = lowered.compile().as_text()
        found |= {"xla": xla_bytes(xla) / 1024, "xla_work": xla_work(xla)}
    return found


def main():
    """Print the figures that the arguments ask for as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    about = "numbers of tokens; or `random`, the first seed and how many; or `rules`"
    parser.add_argument("tokens", nargs="+", metavar="TOKENS", help=about)
    arguments = parser.parse_args().tokens
    importlib.import_module("jaxlib.mlir._mlir_libs._stablehlo").register_stablehlo_passes()
    if arguments[0] == "rules":
        print(json.dumps(rules()))
        return
    if arguments[0] == "random":
        first, count = map(int, arguments[1:])
        seeds = range(first, first + count)
        print(json.dumps({n: figures(random_program(n), with_xla=False) for n in seeds}))
        return
    result = {
        f"{name}/{tokens}": figures(program)
        for tokens in map(int, arguments)
        for name, program in programs(tokens).items()
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
