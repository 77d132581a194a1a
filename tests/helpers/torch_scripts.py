"""Scripts for a Python that has PyTorch."""

from __future__ import annotations

from breadth import NIGHTLY

SAME = (
    f"""
NIGHTLY = {NIGHTLY}
"""
    + """
import itertools
import types
import mesh_opt
import torch

functional, tensor = torch.nn.functional, torch.tensor
nan, inf = torch.nan, torch.inf
torch.manual_seed(0)
case_numbers = itertools.count()
cases = []

def same(function, *inputs, **options):
    if not NIGHTLY and next(case_numbers) % 3:
        return
    if isinstance(function, types.FunctionType):
        # Variables of the script may change before the function is compiled.
        more = function.__defaults__, function.__closure__
        function = types.FunctionType(function.__code__, dict(globals()), None, *more)
    inputs = [each.clone() for each in inputs]
    expected = function(*(each.clone() for each in inputs))
    if NIGHTLY or options:
        compare([(function, inputs, expected)], **options)
        return
    cases.append((function, inputs, expected))
    if len(cases) == 3:
        compare_cases()

def compare_cases():
    try:
        compare(cases)
    except Exception:
        for case in cases:
            compare([case])
        raise
    cases.clear()

def compare(cases, **options):
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            left = list(inputs)
            return [function(*[left.pop(0) for _ in given]) for function, given, _ in cases]

    inputs = [each for _, given, _ in cases for each in given]
    found = mesh_opt.torch.compile(Module(), *inputs, backend="interpreter", **options)(*inputs)
    for got, (_, _, expected) in zip(found, cases, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
"""
)
"""Compares functions with what is compiled of them: every third one in `make test`.

There several functions are one program, unless it fails: most time goes into what is done once for
each program. Each is one in nightly runs.
"""


def comparing(script: str) -> str:
    """Return a script that may call `same`."""
    return f"{SAME}\n{script}\nif cases:\n    compare_cases()\n"
