"""Models of PyTorch on meshes: numbers against PyTorch's, and what devices send each other."""

from __future__ import annotations

from collections.abc import Callable

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
