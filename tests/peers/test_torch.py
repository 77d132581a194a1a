"""PyTorch modules through `mesh_opt.torch`, where both are: numbers against those of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import NIGHTLY

PAGE = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")

SCRIPT = """
import sys, warnings
import mesh_opt
import mesh_opt.api

compile = mesh_opt.torch.compile
assert "torch" not in sys.modules
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

def refused(kind, message, *arguments, **keywords):
    try:
        compile(*arguments, **keywords)
    except kind as problem:
        assert message in str(problem), problem
    else:
        raise AssertionError(f"not refused: {message}")

mesh = (2, 2)
refused(ValueError, "has an effect, USER_INPUT_MUTATION", cnn.train(), z)
refused(ValueError, "give mesh=(2, 2)", mlp, x, placements={"input": [[0]]})
refused(ValueError, "placements for y fit nothing; there are 0.weight", mlp, x, mesh=mesh,
        placements={"y": [[0]]})
refused(ValueError, "split along axis 5 of 2", mlp, x, mesh=mesh, placements={"input": [[5]]})
refused(ValueError, "input of type tensor<8x16xf32> cannot lie so: sharding doesn't match", mlp, x,
        mesh=mesh, placements={"input": [[0], [], [1]]})
refused(ValueError, "1 placements on a mesh of 2 axes", mlp, x, mesh=mesh,
        placements={"input": [Shard(0)]})
refused(ValueError, "dynamic_shapes for y, but the inputs are input", mlp, x,
        dynamic_shapes={"y": {0: None}})
refused(TypeError, "expected the sizes of a mesh", mlp, x, mesh="a", placements={"input": [[0]]})
refused(TypeError, "input input is int, expected a tensor", mlp, 3)
try:
    two(x)
except TypeError as problem:
    assert "expected 1 inputs and the keywords ['b'], got 1 and []" in str(problem)
else:
    raise AssertionError
"""


def test_torch(torch_python: Callable[[str], str]) -> None:
    torch_python(SCRIPT)


@pytest.mark.skipif(not NIGHTLY, reason="the page trains a model: nightly")
def test_page(torch_python: Callable[[str], str]) -> None:
    """The code of `docs/torch.md`, in the interpreter: kernels take long to compile."""
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if "transformers" not in code:
            torch_python(code.replace("    mesh={", '    backend="interpreter",\n    mesh={'))
