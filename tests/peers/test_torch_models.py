"""Models of PyTorch on meshes: numbers against PyTorch's, and what devices send each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ATTENTION = """
import re, warnings
warnings.simplefilter("ignore")
import mesh_opt
import torch
from mesh_opt.ir.text.printer import print_operation
from torch import nn
from torch.nn import functional

torch.manual_seed(0)

class Attention(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.attend = attend
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (4, 4)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.o(self.attend(q, k, v).transpose(1, 2).flatten(2))

def written_out(q, k, v):
    return torch.softmax(q @ k.mT, -1) @ v

# The batch is split along one axis and the heads along the other: nothing is sent but one sum.
x = torch.randn(4, 6, 16)
size = torch.export.Dim
sizes = {"x": {0: size("batch"), 1: size("tokens")}}
for attend in (functional.scaled_dot_product_attention, written_out):
    module = Attention(attend).eval()
    for open_sizes, others in ((None, x), (sizes, x[:3, :5])):
        compiled = mesh_opt.torch.compile(
            module, x, mesh=(2, 2), backend="interpreter", dynamic_shapes=open_sizes,
            placements={"x": [[0]], "[qkv].*": [[1]], "o.weight": [[], [1]]})
        text = print_operation(compiled.program.module)
        # Of sizes that are open, the sum of the devices' rows may be sent as well.
        sent = re.findall(r"shard\\.(all_\\w+|send|recv) .* -> tensor<.*f32>", text)
        assert sent == ["all_reduce"], sent
        torch.testing.assert_close(compiled(others), module(others), rtol=1e-4, atol=1e-5)
"""


def test_attention(torch_python: Callable[[str], str]) -> None:
    torch_python(ATTENTION)


NESTED = """
import warnings
warnings.simplefilter("ignore")
import mesh_opt
import torch
from torch import nn

class Step(nn.Module):
    def forward(self, x, cache, *, scale=None, sign="+", more=()):
        y = x if scale is None else x * scale
        y = y if sign == "+" else -y
        keys = torch.cat((cache["keys"][0], y), 1)
        return {"y": y, "cache": (keys, None), "sign": sign, "sums": [each.sum(0) for each in more]}

x, cache = torch.randn(4, 2, 6), {"keys": [torch.randn(4, 3, 6)], "length": 3}
more = [torch.randn(2, 2), torch.randn(2, 2)]
compiled = mesh_opt.torch.compile(
    Step(), x, cache, sign="-", more=more, mesh=(2, 2), backend="interpreter",
    placements={"x": [[0]], "cache.*": [[0], [], [1]]},
    dynamic_shapes={"cache.keys.*": {1: torch.export.Dim("length")}})
assert list(compiled.placements) == ["x", "cache.keys.0", "more.0", "more.1"]
assert compiled.placements["cache.keys.0"] == [("axis_0",), (), ("axis_1",)]
for length in 3, 5:
    cache["keys"] = [torch.randn(4, length, 6)]
    found, wanted = (f(x, cache, sign="-", more=more) for f in (compiled, Step()))
    assert found["sign"] == "-" and found["cache"][1] is None
    torch.testing.assert_close(found["cache"][0], wanted["cache"][0])
    torch.testing.assert_close((found["y"], found["sums"]), (wanted["y"], wanted["sums"]))

def refused(message, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except TypeError as problem:
        assert message in str(problem), problem
    else:
        raise AssertionError(f"not refused: {message}")

refused("input sign is '+', compiled for the constant '-'", compiled, x, cache, sign="+", more=more)
refused("input cache.length is 4, compiled for the constant 3", compiled, x,
        cache | {"length": 4}, sign="-", more=more)
refused("the inputs are", compiled, x, cache, sign="-", more=more[:1])
refused("sign is Tensor, compiled for the constant '-'", compiled, x, cache, sign=x, more=more)
refused("input x is 3, compiled for a tensor", compiled, 3, cache, sign="-", more=more)

class Other(nn.Module):
    def forward(self, x):
        return {"found": object()}

refused("result found is object, expected a tensor", mesh_opt.torch.compile, Other(), x)
exported = torch.export.export(Step(), (x, cache), {"sign": "-", "more": more})
compiled = mesh_opt.torch.compile(exported, backend="interpreter")
torch.testing.assert_close(compiled(x, cache, sign="-", more=more)["y"], -x)
"""


def test_nested_inputs(torch_python: Callable[[str], str]) -> None:
    """Inputs and results inside others, and constants among them."""
    torch_python(NESTED)


DECODER = """
import copy, re, warnings
warnings.simplefilter("ignore")
import mesh_opt
import torch
from mesh_opt.ir.text.printer import print_operation
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                     num_attention_heads=4, num_key_value_heads=2)
model = LlamaForCausalLM(config).eval().requires_grad_(False)
tokens = torch.randint(0, 64, (4, 6))
wanted = model(tokens)
token, cache = tokens[:, :1], copy.deepcopy(wanted.past_key_values)
compiled = mesh_opt.torch.compile(
    model, token, past_key_values=cache, mesh={"data": 2, "model": 2}, backend="interpreter",
    dynamic_shapes={"past_key_values.*": {2: torch.export.Dim.AUTO}},
    placements={
        "input_ids": [["data"]],
        "past_key_values.*": [["data"], ["model"]],
        "*.[qkv]_proj.weight": [["model"]],
        "*.o_proj.weight": [[], ["model"]],
        "*.gate_proj.weight": [["model"]],
        "*.up_proj.weight": [["model"]],
        "*.down_proj.weight": [[], ["model"]],
    })
text = print_operation(compiled.program.module)
sent = re.findall(r"shard\\.(all_\\w+|send|recv) .* -> tensor<.*f32>", text)
assert sent == ["all_reduce", "all_reduce"], sent
# The cache that one step gives is what the next one takes.
for _ in range(2):
    found = compiled(token, past_key_values=cache)
    wanted = model(token, past_key_values=wanted.past_key_values)
    torch.testing.assert_close(found.logits, wanted.logits, rtol=1e-4, atol=1e-5)
    cache = found.past_key_values
"""


def test_decoder(torch_python: Callable[[str], str]) -> None:
    """A step of a model of `transformers` with its cache, where that is installed."""
    if "None" in torch_python(
        "from importlib.util import find_spec as f; print(f('transformers'))"
    ):
        pytest.skip("transformers is not in MESH_OPT_PEERS_PYTHON")
    torch_python(DECODER)
