"""Scripts for a Python that has PyTorch."""

from __future__ import annotations

from breadth import NIGHTLY

SAME = (
    f"""
NIGHTLY = {NIGHTLY}
"""
    + """
import itertools
import mesh_opt
import torch

functional, tensor = torch.nn.functional, torch.tensor
nan, inf = torch.nan, torch.inf
torch.manual_seed(0)
case_numbers = itertools.count()

def same(function, *inputs, **options):
    if not NIGHTLY and next(case_numbers) % 3:
        return

    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    found = mesh_opt.torch.compile(Module(), *inputs, backend="interpreter", **options)(*inputs)
    expected = function(*(each.clone() for each in inputs))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
"""
)
"""Compares functions with what is compiled of them: every third one in `make test`."""
