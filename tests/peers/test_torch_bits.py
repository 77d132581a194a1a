"""Bits, strides, windows and quantised numbers of PyTorch, in StableHLO and in linalg."""

from __future__ import annotations

from collections.abc import Callable

from torch_scripts import comparing

BITS = """
# With an open size, torch-mlir converts to linalg.
open_sizes = {"dynamic_shapes": {"inputs[0]": {0: torch.export.Dim("n", min=2, max=99)}}}
edge = tensor([0.0, -0.0, 1, -2.5, nan, -inf])
bytes_, small = tensor([200, 7, 255, 9]), tensor([-3, 2, 5, -7], dtype=torch.int8)

def bits(x, e, a, b):
    a = a.to(torch.uint8)
    x, e, a, b = (each + (0 * x.sum()).to(each.dtype) for each in (x, e, a, b))
    return (x.view(torch.int32), e.signbit(), b.signbit(), torch.copysign(e, e.flip(0)),
            torch.copysign(b, -2.0), torch.floor_divide(a, b), torch.floor_divide(b, a),
            b**2, b**b, a**3, 2**a, x.roll(1, 0), x.roll(-101, 0), x.roll((0, 8), (0, 1)))

# Padding by slices of the tensor, of no element on some sides and of negative sizes.
case_numbers = itertools.count()
many = {"inputs[0]": {0: torch.export.Dim("many", min=2, max=9)}}
for mode in ("reflect", "replicate", "circular"):
    same(lambda x: functional.pad(x, (0, 4), mode=mode), torch.randn(2, 5, 6), dynamic_shapes=many)
    same(lambda x: functional.pad(x, (2, 0, 1, 3), mode=mode), torch.randn(2, 4, 5, 6))
same(lambda x: functional.pad(x, (-1, 2), mode="replicate"), torch.randn(2, 3, 4))
same(lambda x: functional.pad(x, (1, 1, 0, 2, 1, 0), mode="reflect"), torch.randn(1, 2, 3, 4, 5))

for options in ({}, open_sizes):
    case_numbers = itertools.count()
    same(bits, torch.randn(3, 6), edge, bytes_, small, **options)

def views(x):
    filled, placed = x * 1, x * 1
    filled.fill_diagonal_(6)
    placed.as_strided((2, 3), (6, 2), 1).mul_(3)
    return (x.view(torch.float64).view(torch.int64), x.view(torch.uint8), filled, placed,
            torch.as_strided_scatter(x, x[:2, :2] * 2, (2, 2), (1, 6)),
            x[0, 0] * torch.kaiser_window(5), x[0, 0] * torch.kaiser_window(6, False, 3.0))
case_numbers = itertools.count()
same(views, torch.randn(4, 6))
case_numbers = itertools.count()
same(lambda z: (z.where(z.real > 0, 0j), z * 2j, z.sinh(), z.cosh(), z.asinh(), z.acosh(),
                z.atanh(), z.asin(), z.acos(), z.atan()), torch.randn(4, 6, dtype=torch.complex64))
case_numbers = itertools.count()
same(lambda a: (a.gather(0, tensor(0)), a.var(correction=0), a.std(0), a.mean(0),
                a.softmax(0), a.log_softmax(-1, dtype=torch.float64),
                *torch.var_mean(a, 0, correction=0)), tensor(2.5))
case_numbers = itertools.count()
same(lambda x: [torch.fake_quantize_per_channel_affine(
        x, torch.full((4,), 0.1), torch.arange(4, dtype=kind), 0, -8, 9)
    for kind in (torch.int32, torch.float32)], torch.randn(4, 6))

case_numbers = itertools.count()
same(lambda x, i, y: (x.scatter(-1, i, y), x.scatter(1, i, 2 + 1j),
                      x.scatter(0, i, y, reduce="add"), x[0, 0].scatter_add(0, i[0, 0], y[0, 0])),
     torch.randn(4, 3, dtype=torch.complex64), tensor([[0, 1, 2], [2, 1, 0]]),
     torch.randn(4, 3, dtype=torch.complex64))
"""


def test_bits(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(BITS))


TYPES = """
# Numbers of another type than the tensor's, and options that PyTorch leaves to defaults.
ways, whole = torch.randn(4, 4) > 0, torch.randint(-9, 9, (2, 3, 4, 4))
def of_types(function):
    same(lambda x, m, i: function(x, m, i, i[0, 0], i[1, 0].mT),
         torch.randn(2, 3, 4, 4, 4), ways, whole)

case_numbers = itertools.count()
of_types(lambda x, m, i, a, b: (m.masked_fill(m.T, 10), a[:0].to(torch.uint8).flip(0)))
of_types(lambda x, m, i, a, b: torch.full((3,), 10, dtype=torch.bool) ^ m[0, :3])
of_types(lambda x, m, i, a, b: functional.hardtanh(i, -2.7, 0.5))
of_types(lambda x, m, i, a, b: torch.addbmm(a, i[0], i[1].mT, beta=1.6, alpha=2.3))
of_types(lambda x, m, i, a, b: functional.avg_pool3d(i, 2, divisor_override=3))
of_types(lambda x, m, i, a, b: functional.max_pool2d(i, 2, return_indices=True))
of_types(lambda x, m, i, a, b: torch.zeros_like(torch.empty_strided((2, 3), (1, 2))))
of_types(lambda x, m, i, a, b: tensor(2.5).to(x.dtype).squeeze(0) * x[0, 0, 0, 0, 0].squeeze(0))
of_types(lambda x, m, i, a, b: torch.bincount(a[0].abs(), weights=a[1], minlength=12)[:12])
of_types(lambda x, m, i, a, b: torch.linalg.lstsq(x[0, 0], x[1, 0], driver="gels").rank)
of_types(lambda x, m, i, a, b: torch.zeros_like(torch.normal(0.3, 2.0, (2, 3))))
of_types(lambda x, m, i, a, b: torch.dist(*x.bfloat16()[0, 0, 0, :2]))
of_types(lambda x, m, i, a, b: torch.zeros_like(x[0, 0, 0, 0].to(torch.complex64).normal_(1, 2)))
of_types(lambda x, m, i, a, b: functional.interpolate(x[0, 0], 3, mode="nearest-exact"))
of_types(lambda x, m, i, a, b: torch.special.zeta(a, b))
of_types(lambda x, m, i, a, b: [functional.interpolate(x, (5, 5, 6), mode=mode)
                                for mode in ("nearest", "nearest-exact")])
compare_cases()
# Images without a batch where torch-mlir converts to linalg.
def pooled(x):
    return (functional.avg_pool3d(x, 2), functional.avg_pool2d(x[0], 2),
            *functional.max_pool2d(x[0], 2, return_indices=True), functional.max_pool3d(x, 2),
            functional.fractional_max_pool3d(x, 2, 2, _random_samples=x[:, :2, 0, :3] / 9),
            torch.bincount(x[0, 0, 0].int()))
case_numbers = itertools.count()
same(pooled, torch.rand(2, 4, 4, 4) * 9)
compare_cases()
# A mask that spreads the elements, of which it selects more than there are.
case_numbers = itertools.count()
same(lambda x, m: (torch.masked_select(x, m), m.scatter_reduce(1, 0 * m.long(), m, "sum"),
                   m.scatter_add(1, 0 * m.long(), m)), torch.arange(4), ways)
case_numbers = itertools.count()
same(lambda x, m: x.masked_select(m), tensor(2.5), tensor(True))

class Trials(torch.nn.Module):
    def forward(self, x):
        return x.clone().geometric_(0.2)
drawn = mesh_opt.torch.compile(Trials(), torch.zeros(1000, dtype=int), backend="interpreter")
found = drawn(torch.zeros(1000, dtype=int))
assert found.min() == 1 and 4 < found.double().mean() < 6
"""


def test_types(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(TYPES))
