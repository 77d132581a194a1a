"""Complex matrices, spectra of signals, joint reductions and mixed types, as PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable

from torch_scripts import comparing

COMPLEX_MATRICES = """
# Complex matrices, factorised and solved; the phases of vectors are free.
complex = lambda *sizes: torch.randn(*sizes, dtype=torch.complex64)
square, right = complex(2, 4, 4) + 2 * torch.eye(4), complex(2, 4, 3)
def solved(x, y):
    found = (torch.linalg.inv(x), torch.linalg.solve(x, y), torch.linalg.solve(x[0], y[0, :, 0]),
             torch.linalg.solve_triangular(x.triu(), y, upper=True), torch.linalg.matrix_exp(x))
    return *found, *torch.linalg.lu(x), torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y)
same(solved, square, right)
same(lambda x: (torch.linalg.det(x), *torch.linalg.slogdet(x), torch.logdet(x)), square)
def factorised(x):
    (q, r), (u, s, v) = torch.linalg.qr(x), torch.linalg.svd(x, full_matrices=False)
    return q @ r, q.mH @ q, s, (u * s) @ v, torch.linalg.pinv(x)
same(factorised, complex(5, 3))
def spectrum(x):
    values, vectors = torch.linalg.eigh(x + x.mH)
    lower = torch.linalg.cholesky(x @ x.mH + torch.eye(4), upper=True)
    return values, (vectors * values) @ vectors.mH, lower, torch.linalg.eigvals(x).abs().sum()
same(spectrum, square[0])
# Rows that have to be swapped, and matrices without an inverse.
swapped = tensor([[[0.0, 1], [1, 0]], [[0, 0], [0, 1]], [[1, 2], [2, 4]]])
same(lambda x: (torch.linalg.det(x), *torch.linalg.slogdet(x)), swapped)
same(lambda x: (torch.linalg.qr(x, mode="r").R, (lambda q, r: (q.abs(), q @ r))(
    *torch.linalg.qr(x, mode="complete"))), torch.randn(5, 3))
same(lambda x, y: [each for driver in ("gels", "gelsy", "gelss", "gelsd")
                   for each in torch.linalg.lstsq(x, y, driver=driver)],
     complex(5, 3), complex(5, 2))
same(lambda x: torch.linalg.tensorinv(x, ind=1), torch.randn(6, 2, 3))
"""


SHORT_TIME = """
sound, window = torch.randn(2, 64), torch.hann_window(16)
same(lambda x, w: [torch.stft(x, 16, 4, window=w, return_complex=True, **more)
                   for more in ({}, dict(onesided=False), dict(center=False, normalized=True))],
     sound, window)
same(lambda x, w: torch.stft(x, 16, window=w, onesided=False, return_complex=True),
     torch.randn(64, dtype=torch.complex64), window)
same(lambda x: torch.stft(x, 16, 5, 12, window=torch.ones(12), pad_mode="constant",
                          return_complex=True), sound)
same(lambda x: (x * torch.fft.fftfreq(8), x[:4] * torch.fft.rfftfreq(7, 0.5)),
     torch.randn(8)[:, None])
"""


REDUCED = """
# Means of integers are rounded down, and a number may be the source of all places.
x, source = torch.randint(-9, 6, (6, 6)), torch.randint(-9, 6, (5, 6))
at = torch.randint(0, 6, (4, 5))
same(lambda x, i, y: [torch.scatter_reduce(x, 0, i, y, "mean", include_self=own)
                      for own in (True, False)], x, at, source)
same(lambda x, i, y: (x.scatter(1, i, 3.0, reduce="add"), x.scatter(0, i, y, reduce="multiply")),
     x.float(), at, source.float())
same(lambda x: (torch.fmod(x, 5), torch.fmod(x[:, None], x)), tensor([7, -7, 3, -2]))

# Where torch-mlir converts to linalg, NaN stays as well.
edge = tensor([1, nan, nan, 3, -inf])
def extrema(x, y):
    return (torch.maximum(x, y), torch.minimum(x, y), x.clamp(min=0.5), x.clamp(max=0.5),
            x.clamp(-1, 1), torch.clamp(x, y, y + 1), x.cumprod(0), x.logcumsumexp(0))
same(extrema, edge, edge.flip(0))
"""


PROMOTED = """
# Shifts by nothing or by more than the size; operands of different types; also converted to linalg.
x, bytes_ = torch.randn(4, 6), torch.randint(0, 255, (4, 6), dtype=torch.uint8)
small = torch.randint(1, 100, (4, 6), dtype=torch.int8)
edge = tensor([0.0, -0.0, 1, -2.5, 9, 1e30, nan, inf, -inf])
open_sizes = {"inputs[0]": {0: torch.export.Dim("n", min=2, max=99)}}

def mixed(a, b, c):
    compared = [f(u, v) for f in (torch.eq, torch.lt)
                for u, v in ((a, b), (b, a), (c.half(), c[0, 0]), (c > 0, -1), (a, 0.5))]
    return (*compared, a * b, a / b, a / 255, torch.maximum(a, b), torch.minimum(b, a),
            torch.atan2(a, b), a.sum(1), a.prod(1))

def edges(e):
    return (torch.isfinite(e), 1 / e, functional.hardtanh(e), functional.relu6(e),
            torch.logaddexp(e, e), torch.logaddexp2(e, e))

checks = [(mixed, (bytes_, small, x), {}), (edges, (edge,), {"dynamic_shapes": open_sizes}),
          (lambda a: (a * 2.5, a.sum(1), a < 0.5), (bytes_,), {"dynamic_shapes": open_sizes}),
          (lambda x: (x.roll(0, 1), x.roll(4, 0), x.roll(-9, 1), x.roll((1, 2), (0, 0)), x.roll(7)),
           (x,), {}), (lambda x: x.roll(1, 0), (x,), {"dynamic_shapes": open_sizes}),
          (lambda a, b: torch.copysign(a, b), (bytes_, small), {})]
# Squares that overflow in f16.
checks += [(lambda x, w: (functional.rms_norm(x, (2,)), functional.rms_norm(x, (2,), w, 1e-3)),
            (tensor([[300.0, 2.0]] * 2).half(), tensor([1.5, 2.0]).half()), {})]
for function, inputs, options in checks:
    case_numbers = itertools.count()
    same(function, *inputs, **options)
"""


def test_promoted(torch_python: Callable[[str], str]) -> None:
    """Shifts, mixed types and NaN, in StableHLO and in linalg."""
    torch_python(comparing(PROMOTED))


def test_reductions_and_extrema(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(REDUCED))


def test_complex_matrices(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(COMPLEX_MATRICES))


def test_short_time_transforms(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(SHORT_TIME))
