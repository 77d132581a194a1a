"""PyTorch modules through `mesh_opt.torch`, where both are: numbers against those of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import NIGHTLY

PAGE = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")

SCRIPT = """
import warnings
import mesh_opt
import mesh_opt.api

compile = mesh_opt.torch.compile
warnings.simplefilter("ignore")
import torch
from torch import nn
from torch.distributed.tensor import Replicate, Shard

torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
x = torch.randn(8, 16)

def close(a, b):
    torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)

# Patterns, and what follows from them; weights as they are at the call.
k = compile(mlp, x, mesh=(2, 2), backend="interpreter",
            placements={"input": [[0]], "0.*": [[1]], "2.weight": [[], [1]]})
assert k.placements["input"] == [("axis_0",), ()]
assert k.placements["0.bias"] == [("axis_1",)]
assert k.placements["2.weight"] == [(), ("axis_1",)]
assert k.result_placements == [[("axis_0",), ()]]
with torch.no_grad():
    mlp[0].bias += 1
close(k(x), mlp(x))
close(k.reference(x), mlp(x))

# Placements of PyTorch, a result's placement, an export, native code.
k = compile(torch.export.export(mlp, (x,)), mesh={"a": 2, "b": 2}, results=[["a"], ["b"]],
            placements={"input": [Shard(0), Replicate()], "0.weight": [Replicate(), Shard(-2)]})
assert k.placements["0.weight"] == [("b",), ()]
assert k.result_placements == [[("a",), ("b",)]]
close(k(x), mlp(x))

cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.MaxPool2d(2)).eval()
z = torch.randn(4, 3, 8, 8)
close(compile(cnn, z, mesh=4, placements={"input": [[0]]}, backend="interpreter")(z), cnn(z))

class Two(nn.Module):
    def forward(self, a, *, b):
        return {"sum": a + b, "others": (a.argmax(-1), torch.topk(b, 2).values)}

two = compile(Two(), x, b=2 * x, backend="interpreter")
torch.testing.assert_close(two(x, b=2 * x), Two()(x, b=2 * x))

half = nn.Linear(4, 4).to(torch.bfloat16)
q = torch.randn(2, 4, dtype=torch.bfloat16)
torch.testing.assert_close(compile(half, q, backend="interpreter")(q), half(q).detach())

# Functions of several operations are computed in f32, and rounded to bf16 once.
class Functions(nn.Module):
    def forward(self, a):
        f = nn.functional
        return (f.gelu(a), f.gelu(a, approximate="tanh"), f.silu(a), f.elu(a), f.selu(a),
                f.leaky_relu(a), f.log_softmax(a, 0), torch.hypot(a, 2 * a))

many = torch.linspace(-3, 6, 501).to(torch.bfloat16)
ours, exact = compile(Functions(), many)(many), Functions()(many.double())
for found, wanted in zip(ours, exact, strict=True):
    torch.testing.assert_close(found.double(), wanted, rtol=1.01 * 2**-8, atol=0)

# One tensor with two names, a buffer that is not saved, and a constant.
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(32, 8), nn.Linear(8, 32, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("positions", torch.randn(64, 8), persistent=False)
        self.scale = torch.rand(32)
    def forward(self, tokens):
        x = self.embedding(tokens) + self.positions[: tokens.shape[1]]
        x = x.view(*x.shape[:2], 2, 4).transpose(1, 2)
        x = nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).transpose(1, 2)
        return self.head(x.reshape(tokens.shape[0], -1, 8)) * self.scale

tied, tokens = Tied().eval(), torch.randint(0, 32, (4, 6))
k = compile(tied, tokens, mesh=(2, 2), placements={"tokens": [[0]], "head.weight": [[1]]})
assert k.placements["embedding.weight"] == [("axis_1",), ()]
assert "dense_resource" in k.text
close(k(tokens), tied(tokens))
k.place_weights()
before = tied(tokens)
with torch.no_grad():
    tied.head.weight += 1
close(k(tokens), before)
k.place_weights()
close(k(tokens), tied(tokens))

# Sizes that calls choose.
k = compile(mlp, x, mesh=(2, 2), placements={"input": [[0]], "0.*": [[1]]},
            dynamic_shapes={"input": {0: torch.export.Dim("batch")}})
for batch in (8, 6, 1):
    y = torch.randn(batch, 16)
    close(k(y), mlp(y))

class Sum(nn.Module):
    def forward(self, a, *, b):
        return a + b

k = compile(Sum(), x, b=2 * x, backend="interpreter",
            dynamic_shapes={"a": {0: torch.export.Dim.AUTO}, "b": {0: torch.export.Dim.AUTO}})
torch.testing.assert_close(k(x[:3], b=x[:3]), 2 * x[:3])
k = compile(Sum(), x, b=2 * x, backend="interpreter",
            dynamic_shapes=({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO}))
torch.testing.assert_close(k(x[:3], b=x[:3]), 2 * x[:3])

# What torch-mlir alone refuses, with open sizes and without.
class Spread(nn.Module):
    def forward(self, a):
        # Both limits alike: from the least element to the largest.
        counts = torch.histc(a, 5, -1, 1), torch.histc(a, 3)
        return torch.sort(a, dim=0, stable=True).indices, a.cumsum(0), *counts

for sizes in (None, {"a": {0: torch.export.Dim("n", min=2, max=99)}}):
    k = compile(Spread(), x, backend="interpreter", dynamic_shapes=sizes)
    z2 = x if sizes is None else torch.cat((x[:3], x[:2]))
    torch.testing.assert_close(k(z2), Spread()(z2), rtol=1e-4, atol=1e-5)
torch.testing.assert_close(k(0 * x), Spread()(0 * x))

# What is open in views: dimensions that become one, and that are split and joined.
class Views(nn.Module):
    def forward(self, a):
        m, n, _ = a.shape
        return (2 * a).view(m * n, 8), a.view(n, m, 8), a.view(m, -1, 2), a.reshape(-1)

# StableHLO has neither of the next two, and linalg as torch-mlir writes it none of the others.
class Rare(nn.Module):
    def forward(self, a):
        pooled = nn.functional.avg_pool2d(a[None], 3, 2, ceil_mode=True)
        middle = a.median(), a.median(2), a.nanmedian(0)
        return pooled, a.cumprod(0), a.cummax(1), a.cummin(-1), *middle

# PyTorch's kernels would make the number of images known.
class Resized(nn.Module):
    def forward(self, a):
        return [nn.functional.interpolate(a, (3, 5), mode=mode) for mode in ("bilinear", "bicubic")]

a = torch.randn(4, 6, 8)
a[0, 0, 0] = a[1, 2, 3] = torch.nan
a[:, 4] = 1
either = torch.export.Dim.AUTO
for module, a, sizes, others in (
    (Views(), a, {"a": {0: either, 1: either}}, a[:3, :5].clone()),
    (Rare(), a, None, a),
    (Resized(), torch.randn(6, 2, 4, 7), {"a": {0: either}}, torch.randn(3, 2, 4, 7)),
):
    k = compile(module, a, backend="interpreter", dynamic_shapes=sizes)
    torch.testing.assert_close(k(others), module(others), equal_nan=True)

# What it refuses is called as TorchScript does, which has more operations.
class Transformed(nn.Module):
    def forward(self, a):
        return torch.fft.rfft(a).abs()

class Airy(nn.Module):
    def forward(self, a):
        return torch.special.airy_ai(a)

def refused(kind, message, *arguments, **keywords):
    try:
        compile(*arguments, **keywords)
    except kind as problem:
        assert message in str(problem), problem
    else:
        raise AssertionError(f"not refused: {message}")

class Masked(nn.Module):
    def forward(self, a, rows):
        return a[a[:, 0] > 0, rows]

class Loop(nn.Module):
    def forward(self, a):
        again, step = lambda i, a: i < 3, lambda i, a: (i + 1, a * 2)
        return torch._higher_order_ops.while_loop(again, step, (0, a))

refused(ValueError, "conversion of aten.index.Tensor of a mask among other indices", Masked(), x,
        torch.tensor([1]))
refused(ValueError, "conversion of higher_order.while_loop to stablehlo or linalg", Loop(), x)

mesh = (2, 2)
refused(ValueError, "no conversion of aten.special_airy_ai to stablehlo or linalg-on-tensors",
        Airy(), x)
refused(ValueError, "no conversion of aten._fft_r2c to linalg-on-tensors", Transformed(), x,
        dynamic_shapes={"a": {1: either}})
refused(TypeError, "expected a torch.nn.Module or an ExportedProgram, got int", 3, x)
refused(ValueError, "give mesh=(2, 2)", mlp, x, placements={"input": [[0]]})
refused(ValueError, "for 'y' matches no parameter, buffer or input; there are 0.weight, 0.bias,",
        mlp, x, mesh=mesh, placements={"y": [[0]]})
refused(ValueError, "for '0.weigth' matches no parameter, buffer or input; there are 0.weight, 2",
        mlp, x, mesh=mesh, placements={"0.weigth": [[0]]})
refused(ValueError, 'input is split along axis 5, but the mesh has "axis_0" of size 2 and "axis_1"',
        mlp, x, mesh=mesh, placements={"input": [[5]]})
refused(ValueError, "input of type tensor<8x16xf32> has a sharding of 3 dimensions, but rank 2",
        mlp, x, mesh=mesh, placements={"input": [[0], [], [1]]})
refused(ValueError, "input has 1 placements, expected one for each axis of the mesh", mlp, x,
        mesh=mesh, placements={"input": [Shard(0)]})
refused(ValueError, "input of rank 2 has the placement Shard(2), expected Shard(0) to Shard(1)",
        mlp, x, mesh=(2,), placements={"input": [Shard(2)]})
refused(TypeError, "input has placement 'x', expected a list: the axes that split each", mlp, x,
        mesh=mesh, placements={"input": "x"})
refused(ValueError, "dynamic_shapes for y, but the inputs are input", mlp, x,
        dynamic_shapes={"y": {0: None}})
refused(ValueError, "dynamic_shapes for 2 inputs, but the inputs are input", mlp, x,
        dynamic_shapes=(None, None))
refused(TypeError, "expected the sizes of a mesh", mlp, x, mesh=2.5, placements={"input": [[0]]})
refused(TypeError, "is of size 2.5, expected an integer", mlp, x, mesh=(2.5,),
        placements={"input": [[0]]})
refused(TypeError, "placements are [[0]], expected a dictionary from names", mlp, x, mesh=mesh,
        placements=[[0]])
refused(TypeError, "input is of torch.uint16, which torch-mlir does not take; it takes", mlp,
        x.to(torch.uint16))
refused(TypeError, "input is of torch.complex32, which torch-mlir does not take; it takes", mlp,
        x.to(torch.complex32))
class Half(nn.Module):
    def forward(self, x):
        return x.chalf()
class Sparse(nn.Module):
    def forward(self, x):
        return x.to_sparse()
refused(TypeError, "result is torch.sparse_coo, expected a dense tensor", Sparse(), x)
refused(ValueError, "no conversion of aten.chalf.default of torch.complex32", Half(), x)
refused(TypeError, "input input is object, expected a tensor, a constant", mlp, object())
refused(TypeError, "input input is torch.sparse_coo, expected a dense tensor", mlp,
        torch.randn(2, 4).to_sparse())
torch.testing.assert_close(two(a=x, b=2 * x), two(x, b=2 * x))
floats = [x.to(dtype) for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16)]
class Floats(nn.Module):
    def forward(self, *x):
        return [each.clone() for each in x], [each.float() for each in x]
found, wide = compile(Floats(), *floats)(*floats)
for each, given in zip([*found, *wide], [*floats, *map(torch.Tensor.float, floats)], strict=True):
    assert each.dtype == given.dtype and torch.equal(each.float(), given.float())
try:
    two(x)
except TypeError as problem:
    assert "1 positional inputs and the keywords ['b'], but called with 1 and []" in str(problem)
else:
    raise AssertionError
"""


LINALG = (
    f"NIGHTLY = {NIGHTLY}"
    + """
import warnings
import mesh_opt.api
from mesh_opt.tools.driver import new_context
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
warnings.simplefilter("ignore")
import ml_dtypes
import numpy as np
import torch
from torch_mlir import fx, ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.passmanager import PassManager

functional, tensor, nan, inf = torch.nn.functional, torch.tensor, torch.nan, torch.inf
torch.manual_seed(0)
context = ir.Context()
torch_dialect.register_dialect(context)
pipeline = "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline)"
# A pipeline loads the dialects that it makes, tm_tensor among them.
PassManager.parse(pipeline, context).run(ir.Module.parse("module {}", context).operation)
seen = set()

def check(function, *inputs, expected=None, sizes=None, native=False, decomposed=None):
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    exported = torch.export.export(Module(), inputs, dynamic_shapes=sizes)
    text = fx.export_and_import(
        exported, output_type="linalg-on-tensors", func_name="main", decomposition_table=decomposed
    ).operation.get_asm()
    seen.update(word for word in text.split() if word.startswith("tm_tensor."))
    module = parse_module(new_context(), Source(text, "torch-mlir"))
    # What we print is to torch-mlir what it printed itself, in both forms.
    for generic in (False, True):
        printed = print_operation(module, generic=generic)
        assert ir.Module.parse(printed, context).operation.get_asm() == text, printed
    wanted = (expected or function)(*inputs)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    arrays = [x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16
              else x.numpy() for x in inputs]
    for backend in ("interpreter", "native") if native else ("interpreter",):
        found = mesh_opt.api.compile(text, "", backend=backend)["main"].run(arrays)
        for one, other in zip(found, wanted, strict=True):
            one = np.asarray(one)
            kind = np.float32 if one.dtype.name == "bfloat16" else one.dtype
            np.testing.assert_allclose(
                one.astype(kind), other.to(torch.float32).numpy() if kind != one.dtype
                else other.numpy(), rtol=1e-2 if kind != one.dtype else 1e-4, atol=1e-5)

def data(shape, kind):
    if kind.is_floating_point:
        return torch.randn(shape).to(kind)
    return torch.randint(0 if kind == torch.bool else -9, 9, shape).to(kind)

def ordered(dimension, stable=False):
    def function(x):
        most, middle = min(2, x.shape[dimension]), (x.shape[dimension] + 1) // 2
        found = [x.cumsum(dimension), x.cumprod(dimension), x.topk(most, dim=dimension).values]
        for descending in (False, True):
            options = {"stable": True} if stable else {}
            found += torch.sort(x, dim=dimension, descending=descending, **options)
        if middle:
            found.append(torch.kthvalue(x, middle, dim=dimension).values)
        return found
    return function

kinds = torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64, torch.int8
shapes = (3, 7), (5, 1), (1,), (2, 131, 3), (0, 7), (3, 0)
for place, (shape, dimension) in enumerate(zip(shapes, (1, 1, 0, 1, 1, 1))):
    several = kinds if NIGHTLY else kinds[::2]
    for kind in several if shape == (3, 7) else kinds[2 + place % 2:][:1]:
        check(ordered(dimension), data(shape, kind), expected=ordered(dimension, stable=True),
              native=shape == (3, 7) and kind == torch.float32)
    check(lambda x: x.cumsum(dimension), data(shape, torch.bool))

x = torch.randn(3, 7)
special = x.clone()
special[1, 2], special[1, 5], special[2, 0], special[0, 3] = nan, nan, inf, -inf
check(lambda x: [x.cumsum(0), x.topk(3).values, *torch.sort(x, dim=1),
                 *torch.sort(x, dim=1, descending=True)], special)
check(lambda x: [x.logcumsumexp(1), *torch.kthvalue(x, 2, dim=0, keepdim=True)], x)

rows, indices = tensor([0, 2, 0]), tensor([[0, 2], [1, 1]])
check(lambda x, i, v: x.index_put((i,), v, accumulate=True), x, rows, torch.randn(3, 7),
      native=True)
check(lambda x, i, j, two, one: (x.index_put((i,), two), x.index_put((i, j), one),
                                 x.index_copy(0, i, two)),
      x, rows[:2], tensor([1, 1]), torch.randn(2, 7), torch.randn(2))
check(lambda x, i, v, at, w, p: (x.index_add(0, i, v), x.scatter(1, at, w), p.scatter(1, at, w > 0),
                                 x.scatter_add(1, at[:0], w[:0])),
      x, rows, torch.randn(3, 7), tensor([[0, 2], [1, 0]]), torch.randn(2, 2), x > 0)
check(lambda i, *given: [y.scatter_add(1, i, v) for y, v in zip(given[::2], given[1::2])], indices,
      *[each for kind in kinds[:5] for each in (x.to(kind), data((2, 2), kind))])
check(lambda x, i, v: [x.scatter_reduce(1, i, v, how, include_self=own)
                       for how in ("sum", "prod", "amax", "amin", "mean")
                       for own in (True, False)], x, indices, torch.randn(2, 2))
check(lambda i: torch.bincount(i, minlength=5), tensor([0, 2, 2]))
check(lambda x, y: x.masked_scatter(x > 0, y), x, torch.randn(21))
check(lambda w, i, o: functional.embedding_bag(i, w, o, mode="sum"), x, rows, tensor([0, 2]))

attention = functional.scaled_dot_product_attention
q, k, v = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 4, 8), torch.randn(2, 3, 4, 8)
check(attention, q, k, v)
check(attention, q, k, v, torch.randn(2, 3, 5, 4), decomposed={}, native=True)
check(lambda q, k, v: attention(q, k, v, is_causal=True), q, q + 1, q - 1, decomposed={})

size = torch.export.Dim("n", min=2, max=100)
check(lambda x: x.cumsum(1), x, sizes=(({1: size},),), native=True)
check(lambda x: torch.sort(x, dim=1), x, sizes=(({1: size},),))
check(lambda x, i, v: x.scatter_add(1, i, v), x, indices, torch.randn(2, 2),
      sizes=(({0: size}, None, None),))
assert {f"tm_tensor.{word}" for word in ("scan", "sort", "topk", "scatter", "attention")} <= seen
"""
)


def test_linalg(torch_python: Callable[[str], str]) -> None:
    """torch-mlir's output in linalg: read, printed back, and computed."""
    torch_python(LINALG)


def test_torch(torch_python: Callable[[str], str]) -> None:
    torch_python(SCRIPT)


@pytest.mark.skipif(not NIGHTLY, reason="the page trains a model: nightly")
def test_page(torch_python: Callable[[str], str]) -> None:
    """The code of `docs/torch.md`, in the interpreter: kernels take long to compile."""
    found = torch_python("from importlib.util import find_spec as f; print(f('transformers'))")
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if "transformers" not in code or "None" not in found:
            torch_python(code.replace("    mesh={", '    backend="interpreter",\n    mesh={'))
