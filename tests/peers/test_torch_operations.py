"""Operations of PyTorch that torch-mlir refuses or takes for others, against PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable

from torch_scripts import comparing

OPERATIONS = """
x = torch.randn(4, 6)

# Indices that count from the end.
same(lambda x, i: (x[i], x[:, i], x[i[:, None], i]), x, tensor([-1, 0, -4]))
same(lambda x, i: x.index_put((i,), x[:2], accumulate=True), x, tensor([-1, 0]))

# The sign is the divisor's; constants that are compared with whole numbers.
same(lambda x, y: (torch.remainder(x, y), torch.remainder(x, -2), torch.hypot(x, y)), x, x.flip(0))
same(lambda x: torch.where(torch.ones(4, 6) == 1, x, 0) + (torch.ones(4, 6) > 0), x)
same(lambda x, i, y: (x.put(i, y[:, 0], accumulate=True), x.index_reduce(0, i, y, "amax"),
                      x.roll(3)), x, tensor([2, 0, 3]), torch.randn(3, 6))

# The largest in any order.
same(lambda x: torch.topk(x, 3, sorted=False).values.sum(-1), x)

# How many elements a mask chooses depends on data.
same(lambda x: (x[x > 0], x[:, x[0] > 0], torch.masked_select(x, x[0] > 0)), x,
     dynamic_shapes={"inputs[0]": {0: torch.export.Dim.AUTO}})
same(lambda x: (2 * x[x > 0], torch.nonzero(x > 0), x[x[:, 0] > 0, 1]), x)

# Branches, of which one has another inside.
def branch(x):
    return torch.cond(x.sum() > 0, lambda x: (x * 2, x.sin()), lambda x: (x - 1, x.cos()), (x,))

def nested(x):
    inner = lambda x: torch.cond(x[0, 0] > 0, lambda x: x * 3, lambda x: x + 1, (x,))
    return torch.cond(x.sum() > 0, inner, lambda x: x.exp(), (x,))

def own_constants(x):
    some, more = (lambda x: x + tensor(3.0)), (lambda x: x * torch.tensor([1.0, 2, 3, 4, 5, 6]))
    inner = lambda x: torch.cond(x[0, 0] > 0, some, more, (x,))
    return torch.cond(x.sum() > 0, inner, lambda x: x - tensor(2), (x,))

for each in (x, -x):
    same(branch, each)
    same(nested, each)
    same(own_constants, each)

# Loops of a known number of steps, with another inside and with constants of their own.
from torch._higher_order_ops import map as each_row, scan

def running(x):
    step = lambda c, x: (c * 0.5 + x, (c * torch.arange(6.0)).sin())
    last, found = scan(step, torch.zeros(6), x)
    inner = lambda x, y: each_row(lambda row, y: row * y.sum(), x, y)
    return last, found, scan(step, x[0], x, reverse=True), each_row(inner, x[:, None] * 2, x + 1)

same(running, x)

# Operations without a kernel of PyTorch's on a constant number.
same(lambda x: (x * torch.erfinv(tensor(0.5)), x + torch.special.i1(tensor(2.0)) * tensor(3.0)), x)

# Pools whose sizes are rounded up.
images = torch.randn(2, 3, 7, 9)
for window, stride, padding in ((3, 2, 1), ((2, 3), (3, 2), 0)):
    same(lambda x: functional.max_pool2d(x, window, stride, padding, ceil_mode=True), images)
same(lambda x: functional.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), images)
same(lambda x: functional.max_pool1d(x, 3, 2, ceil_mode=True), torch.randn(2, 3, 8))
same(lambda x: functional.max_pool3d(x, 3, 2, ceil_mode=True), torch.randn(1, 2, 6, 6, 5))

# Pools at random places, in whose windows the last NaN wins.
broken = images.clone()
broken[0, 0, 2, 1:5] = torch.nan
same(lambda x, s: functional.fractional_max_pool2d(
    x, 3, (4, 5), _random_samples=s, return_indices=True), broken, torch.rand(2, 3, 2))

# Samples of volumes, also at places that are no numbers.
points = torch.rand(1, 3, 2, 4, 3) * 3 - 1.5
points[0, 0, 0, 0], points[0, 1, 0, 0, 1] = torch.nan, torch.inf
same(lambda x, g: (functional.grid_sample(x, g, "bilinear", "reflection", True),
                   functional.grid_sample(x, g, "nearest", "zeros", False)),
     torch.randn(1, 2, 4, 5, 6), points)

# Rows that are shortened where an index names them.
same(lambda w, i: functional.embedding(i, w.clone(), max_norm=1.0), torch.randn(7, 4),
     tensor([[0, 3], [3, 6]]))

# Fractions and exponents, of subnormal numbers and infinities too.
same(torch.frexp, tensor([0.0, -0.0, -3.7, 8, 5e-45, 3.4e38, torch.inf, torch.nan]))

# A pool of everything, whose result PyTorch gives other strides.
same(lambda x: functional.adaptive_avg_pool2d(x, 1), images,
     dynamic_shapes={"inputs[0]": {0: torch.export.Dim("batch", min=2, max=9)}})

# Windows that overlap or differ, and more of them than elements.
for counts in ((3, 9), (4, 7), (1, 3)):
    same(lambda x: functional.adaptive_avg_pool2d(x, counts), torch.randn(1, 2, 5, 6))
same(lambda x: functional.adaptive_avg_pool1d(x, 9), torch.randn(2, 5))
same(lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 4)), torch.randn(1, 2, 4, 5, 3))
same(lambda x: functional.interpolate(x, (3, 9), mode="area"), torch.randn(1, 2, 5, 6))

# Bags of rows, of which one is empty and one row is padding.
table, rows, bags = torch.randn(9, 3), tensor([1, 2, 4, 5, 2]), tensor([0, 2, 2])
for mode in ("sum", "mean", "max"):
    same(lambda w, i, o: functional.embedding_bag(i, w, o, mode=mode, padding_idx=2), table, rows,
         bags)
    same(lambda w, i, o: functional.embedding_bag(i, w, o, mode=mode, include_last_offset=True),
         table, rows, tensor([0, 2, 5]))
same(lambda w, i, o: functional.embedding_bag(i, w, o, mode="sum", padding_idx=-7), table, rows,
     bags)
same(lambda w, i, s: functional.embedding_bag(i, w, per_sample_weights=s, mode="sum"), table,
     rows[:4].view(2, 2), torch.rand(2, 2))

same(lambda x, y: functional.multilabel_margin_loss(x, y), x, tensor([[3, 0, -1, 1, 0, 0]] * 4))

# What StableHLO has and torch-mlir does not convert, with open sizes as well.
def gammas(x):
    return torch.erfc(x), torch.lgamma(x), torch.digamma(x), torch.polygamma(2, x)

positive = torch.rand(4, 6) + 0.2
same(gammas, positive)
same(gammas, positive, dynamic_shapes={"inputs[0]": {0: torch.export.Dim("n", min=2, max=9)}})
same(lambda x: (torch.erfinv(x - 0.3), torch.special.i1(x), torch.special.zeta(x + 1, x)), positive)
same(lambda x: (torch.fft.fft(x), torch.fft.rfft(x, n=8, dim=0, norm="ortho")), x)
same(lambda x: torch.fft.fft2(x).real, images)
same(lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 2, s=(7, 9)), images)
same(lambda x: torch.stft(x, 8, window=torch.hann_window(8), return_complex=True).abs(),
     torch.randn(2, 32))
def inverted(half, whole, window):
    options = {"window": window, "onesided": False}
    return (torch.istft(whole, 8, **options), torch.istft(half, 8, window=window, length=30),
            torch.istft(whole, 8, **options, return_complex=True).abs())
whole = torch.randn(2, 8, 17, dtype=torch.complex64)  # not the spectrum of a real signal
same(inverted, whole[:, :5], whole, torch.hann_window(8) + 0.1)

def incomplete(a, x):
    return torch.igamma(a, x), torch.special.gammaincc(a, x)
a, values = torch.meshgrid(torch.logspace(-3, 3, 7), torch.logspace(-3, 3, 7), indexing="ij")
same(incomplete, a.contiguous(), values.contiguous())
edges = tensor([0.0, 1.0, -1.0, inf, nan])
same(incomplete, edges[:, None], edges)
same(lambda x: (functional.avg_pool3d(x, 2, divisor_override=3, ceil_mode=True),
                functional.avg_pool3d(x, 3, 2, 1, divisor_override=5)), torch.randn(1, 2, 6, 6, 5))
z = torch.complex(x, x.flip(0))
same(lambda z: (z * z.conj() + 1, z / 2, z - z.real, z.abs(), z.angle(), (z @ z.T).abs()), z)
square = torch.randn(2, 4, 4)
same(lambda x, y: (torch.linalg.inv(x), torch.linalg.solve(x, y)), square, torch.randn(2, 4, 3))
same(lambda x, y: torch.linalg.solve(x, y), square[0], torch.randn(4))
same(lambda x, y: (torch.linalg.lu(x), torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y)),
     square, torch.randn(2, 4, 3))
same(torch.linalg.pinv, torch.randn(5, 3) @ torch.randn(3, 3))
same(lambda x, y: (torch.cholesky_solve(y, x), torch.cholesky_inverse(x),
                   torch.triangular_solve(y, x, upper=False).solution),
     torch.randn(3, 3).tril() + 3 * torch.eye(3), torch.randn(3, 2))
def factors(x):
    # The signs of the vectors are free.
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    return u.abs(), s, v.abs(), (u * s[..., None, :]) @ v

for sides in ((2, 5, 3), (3, 5)):
    same(torch.linalg.qr, torch.randn(sides))
    same(factors, torch.randn(sides))
def spectrum(x):
    # Only the upper triangle counts.
    values, vectors = torch.linalg.eigh(x, UPLO="U")
    return values, vectors.abs(), (vectors * values[:, None]) @ vectors.mT

same(spectrum, square)
same(torch.linalg.svdvals, square)
same(lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(4), upper=True), square)
same(lambda x, y: torch.linalg.solve_triangular(x + 5 * torch.eye(4), y, upper=True, left=False),
     square.triu(), torch.randn(2, 3, 4))
"""


ELEMENTS = """
BESSEL = [*(f"bessel_{kind}{order}" for kind in "jy" for order in (0, 1)), "erfcx", "log_ndtr",
          *(f"{kind}_k{order}" for kind in ("modified_bessel", "scaled_modified_bessel")
            for order in (0, 1)),
          "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0"]
POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_")
               for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                "legendre_polynomial_p"]

# Division and extrema of numbers that are large, infinite or none, spread over each other.
edge = torch.tensor([0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e30, -1e30, 1e-30, nan, inf, -inf])
same(lambda x, y: (torch.fmod(x, y), torch.remainder(x, y), torch.remainder(x, 3), x // y, x // 3,
                   torch.div(x, y, rounding_mode="floor")), edge[:, None], edge)
same(lambda x, y: (torch.clamp_max(x, y), torch.clamp_min(x, y), torch.fmax(x, y),
                   torch.fmin(x, y), torch.nextafter(x, y), torch.copysign(x, -3.0)),
     edge[:, None], edge)
same(lambda x, y: torch.clamp_max(x, y), torch.ones(0, 1, 3), torch.ones(0, 10, 3))
whole = torch.tensor([7, -7, 3, -3, 1, -1, 2**40])
same(lambda x, y: (x << y, x >> y, x << 2), whole[:, None], whole)
same(lambda x, y: (x // y, x % y, x // 3, torch.div(x, y, rounding_mode="trunc")),
     torch.cat((whole, whole * 2**22 + 1, whole * -(2**22) - 1))[:, None], whole)
for shape, dim, window, step in (((7,), 0, 3, 2), ((2, 9, 5), 1, 4, 3), ((3, 8), -1, 8, 1)):
    counted = torch.ones(shape).cumsum(dim).mul(7).sub(9).long()
    same(lambda x: (x.unfold(dim, window, step), (x % 3 == 0).unfold(dim, window, step),
                    x.to(torch.complex64).unfold(dim, window, step)), counted)
equal = torch.tensor([0.0, -0.0, 1, 1, nan, 2, nan, -inf, inf, -1] * 3)
for kind in (torch.float32, torch.bfloat16, torch.int8, torch.bool):
    some = equal if kind.is_floating_point else equal.nan_to_num(3).clamp(-9, 9)
    same(lambda x: (*torch.cummax(x, -1), *torch.cummin(x, 0), *x.flip(1).cummax(0)),
         torch.stack((some, -some)).to(kind))
bessel = torch.tensor([0.0, 1, -2.5, 7.9, 8.1, -20, 80])
for kind in (torch.float32, torch.float64):
    same(lambda x: (torch.i0(x), torch.special.i0e(x)), bessel.to(kind))

    same(lambda x: [getattr(torch.special, name)(x) for name in BESSEL],
         torch.cat([bessel, edge, torch.linspace(-9, 9, 37)]).to(kind))
    same(lambda x: (torch.special.ndtri(x), torch.special.ndtri(x**20)),
         tensor([0.0, 1e-3, 0.1, 0.3, 0.499, 0.5, 0.51, 0.9, 0.999, 1, -0.1, 1.1, nan]).to(kind))

# Polynomials of a degree for each element, or of one.
degree, place = tensor([-1, 0, 1, 2, 3.7, 9]), tensor([-3, -1, -0.7, 0, 0.2, 1, 2.5])[:, None]
same(lambda x, n: [getattr(torch.special, name)(x, n) for name in POLYNOMIALS], place, degree)
same(lambda x: (torch.special.legendre_polynomial_p(x, 4),
                torch.special.hermite_polynomial_h(1.5, x)), degree)

# Numbers without dimensions, of which torch-mlir mistakes the signs.
same(lambda x: [x + f(torch.full((), each)) for f in (torch.sign, torch.trunc)
                for each in (4.5, -4.5, nan)], degree)

# NaN is the largest number, wherever it stands.
rows = tensor([[nan, -1.15, 3, nan], [0.5, nan, -0.0, 0], [inf, nan, 1, -inf], [4, 3, 2, 1]])
for kind in (torch.float32, torch.float64, torch.bfloat16):
    same(lambda x: [each for descending in (False, True) for dim in (0, -1)
                    for each in torch.sort(x, stable=True, dim=dim, descending=descending)],
         rows.to(kind))
for kind in (torch.float32, torch.float64, torch.bfloat16):
    same(lambda x: [f(x, 1) for f in (torch.argmax, torch.argmin)]
         + [each for f in (torch.max, torch.min) for each in f(x, 1)], rows.to(kind))
same(lambda x: (torch.argmax(x), torch.argmin(x, 0, keepdim=True)), rows)
same(lambda x: [f(x, 3, 0).values for f in (torch.topk, torch.kthvalue)], rows)
same(lambda x: (torch.topk(x, 3, largest=False).values, torch.nanmedian(x, 1).values,
                torch.median(x, 1).values, torch.nanmedian(x)), rows)

# Slices up to the end, of which torch-mlir makes the largest number and counts up to it.
x = torch.randn(2, 8, 4)
def assigned(x):
    y = x * 1
    y[:, -2:, 1:] = 1
    y[:, 9:] = 3
    return y
same(assigned, x)
a, b, c = torch.randn(5, 3), torch.randn(3), torch.randn(2)
same(lambda a, b: (torch.diagonal_scatter(a, b), torch.diagonal_scatter(a, b, -2),
                   torch.diagonal_scatter(a.T, b, 1)), a, b)
same(lambda a, b, c: torch.block_diag(a, b, c.int()), a, b, c)
rows, columns = torch.randn(3, 6).sort().values, torch.randn(3, 4)
same(lambda s, x: (torch.searchsorted(s, x), torch.searchsorted(s[0], x, right=True)),
     torch.linspace(-2, 2, 600).reshape(2, 300), torch.randn(2, 40))
same(lambda s, x: (torch.searchsorted(s, x), torch.searchsorted(s, x, right=True, out_int32=True),
                   torch.searchsorted(s[0], x), torch.searchsorted(s[0], 0.3),
                   torch.bucketize(x, s[0]), torch.isin(x, s[0])), rows, columns)
few = torch.randint(0, 4, (5, 7)).float()
same(lambda x: (x.mode().values, x.mode(0, keepdim=True).values, (x > 1).mode().values), few)
same(lambda x: (x.max(1), x.min(0), x[0, 0].max(0)), few > 1)
images = torch.randn(2, 3, 7, 9)
same(lambda x: (functional.adaptive_max_pool2d(x, (3, 2), return_indices=True),
                functional.adaptive_max_pool2d(x, 9)), images)
same(lambda x: functional.adaptive_max_pool1d(x, 3, return_indices=True), x)
same(lambda x: functional.adaptive_max_pool3d(x, (2, 3, 1)), images)
same(lambda a, c: [torch.cdist(a, c, p=p) for p in (0.0, 1.0, 2.0, 3.0, inf)], a,
     torch.randn(2, 4, 3))
same(functional.pdist, a)
same(lambda x, y: (x.var(0), x.std(), torch.var_mean(x, 0), y.var(0), y.std(0, correction=2)),
     torch.randn(0, 5), torch.randn(1, 4))
same(lambda x: (torch.linalg.matrix_exp(x), torch.matrix_exp(3 * x)), torch.randn(2, 4, 4))
"""


RARE = """
# Numbers, which have no dimension, and tensors without elements.
one, three = tensor(2.5), tensor(3)
same(lambda x, y: (x.amax(0), x.argmax(), y.argmin(0), torch.logsumexp(x, (0,), True),
                   torch.logsumexp(y, 0), x.prod(0, keepdim=True),
                   torch.linalg.vector_norm(x, 3, 0), torch.logcumsumexp(x, 0),
                   functional.normalize(x, 1.2, 0), torch.nonzero(x)),
     one, three)
same(lambda x: functional.unfold(x, 2), torch.ones(0, 1, 5, 5))
same(lambda x, y, z: functional.bilinear(x, y, z), torch.ones(0, 3), torch.ones(0, 4),
     torch.ones(5, 3, 4))

# Complex numbers of all kinds.
z, numbers = torch.randn(3, 4, dtype=torch.complex64), torch.arange(4)
same(lambda x, i: (i.to(torch.complex128), (x.real > 0).to(torch.complex64) * x, x + i,
                   torch.view_as_complex(torch.view_as_real(x)), torch.polar(x.real, x.imag[0]),
                   torch.complex(x.real, x.imag[0]), torch.angle(x.real), torch.fft.ihfft(x.real),
                   torch.angle(x.real.double()) * 1e6 - torch.pi * 1e6),
     z, numbers)
same(lambda x: (torch.linalg.vector_norm(x), x.norm(dim=0)), z)
same(lambda z, w: (z @ w, z[None] @ w[None], z @ w[:, 0], torch.vdot(z[0], w[:, 0]), z.sum(),
                   z.mean(1), z.cumsum(0), functional.pad(z, (1, 2)), z.var(0)), z, z.mT.clone())
same(lambda z: (z.masked_fill(z.real > 0, 1 + 2j), z == z, z != 0, torch.ones_like(z), z.exp(),
                z.log(), z.sqrt(), z.sin(), z.cos(), z.tan(), z.tanh(), 1 / z, z**2, z**z, 2.0**z,
                torch.full((2,), 1 + 2j)), z)
same(lambda x: torch.fft.hfft2(x > 0), torch.randn(2, 4))

# Whole numbers.
whole = tensor([0, 6, -4, 12, 35, 2**40, 7])
same(lambda x: (torch.gcd(x[:, None], x), torch.lcm(x[:5, None], x[:4]), 1 / x, x.reciprocal()),
     whole)
a, b, c = (torch.arange(n).view(s) for n, s in ((12, (3, 4)), (12, (2, 3, 2)), (16, (2, 2, 4))))
same(lambda a, b, c: (torch.addbmm(a, b, c), torch.addbmm(a, b, c, beta=2, alpha=3)), a, b, c)
images = torch.randint(0, 9, (1, 2, 3, 6, 5), dtype=torch.int32)
same(lambda x: functional.max_pool3d(x, 3, 2, return_indices=True), images)
bytes = tensor([[1, 200, 255], [0, 3, 128]], dtype=torch.uint8)
same(lambda x: (x.abs(), torch.cumsum(x, 0), torch.cumsum(x, 0, dtype=torch.uint8)), bytes)
same(lambda x: (x.max(), x.max(1), x.amin(0), x.argmax(1), x.topk(2), x.sort(descending=True)),
     bytes)
same(lambda x: (x.any(), x.any(1), x.all(0), torch.ones_like(x) + x, x.new_zeros(3),
                torch.full((2,), 200, dtype=torch.uint8).float()), bytes)
same(lambda x: (x[:, :1].max(), x[:, :1].amax(1), x[:, 2:].min()), bytes)
same(lambda x: (x << 1, x >> 1, x >> x.flip(0), x << 9, 255 >> x, ~x, x | 6, 6 ^ x), bytes)
same(lambda x: (1 << x, -1000 >> x, x | 6, 6 & x, x ^ -1, (x > 1) | False), tensor([0, 3, 5]))

# Poles and limits.
edge = tensor([0.0, -0.0, -1, -2.5, 0.3, 4, nan, inf])
same(lambda x: (torch.digamma(x), *(torch.polygamma(n, x) for n in (1, 2, 3)),
                torch.special.zeta(torch.full_like(x, 3), x)), edge)
same(lambda x: (torch.logcumsumexp(x * 1e4, 0), torch.logcumsumexp(x, 1)),
     tensor([[-inf, -inf, 1, 2], [3, inf, inf, 1]]))

same(lambda x: torch.polygamma(1, x), tensor([-0.3, 0.02, 5], dtype=torch.bfloat16))

# Loops, with others inside, and with one value.
from torch._higher_order_ops import while_loop

def halved(i, x):
    def body(i, x):
        j, y = while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + j), (i * 0, x))
        return i + 1, y * 0.5
    return while_loop(lambda i, x: i < 4, body, (i, x))

same(halved, tensor(0), torch.randn(4, 6))
same(lambda x, w: while_loop(lambda x: x.abs().max() > 0.1, lambda x: (torch.erfc(x) * x @ w,),
                             (x,)), torch.randn(4, 6), torch.rand(6, 6) / 9)

# As many elements as data says.
few = torch.randint(0, 4, (3, 4))
same(lambda x: (torch.unique(x), torch.unique_consecutive(x)), few)
same(lambda x: (torch.unique(x, return_inverse=True, return_counts=True),
                torch.unique_consecutive(x, return_inverse=True, return_counts=True)), few)
same(lambda x: (torch.unique(x > 1, dim=-1), torch.unique(x.float() / 3, dim=0)), few)
same(lambda x: (torch.unique(x, dim=1, return_inverse=True, return_counts=True),
                torch.unique_consecutive(x, dim=1, return_inverse=True, return_counts=True)),
     torch.randint(0, 2, (2, 7, 2)))
same(lambda x: (functional.one_hot(x), functional.one_hot(x[0, 0] + x, 9)), few)
same(lambda x: (torch.nonzero_static(x > 1, size=5),
                torch.nonzero_static(x > 1, size=30, fill_value=-2),
                torch.nonzero_static(x[:, :0], size=2), torch.nonzero_static(x[0, 0], size=2)),
     few)
same(lambda x, i: (x.take(i), x[i]), few, tensor(-2))
same(lambda x: x.repeat_interleave(tensor([2, 0, 3]), 0, output_size=5), few)

# Images made smaller and larger.
image = torch.randn(1, 2, 8, 9)
same(lambda x: [functional.interpolate(x, mode=mode, antialias=True, **each)
                for mode in ("bilinear", "bicubic")
                for each in (dict(size=(5, 12)), dict(scale_factor=0.4),
                             dict(size=(5, 12), align_corners=True))], image)
# Bytes are weighed by whole numbers.
image = torch.randint(0, 256, (1, 5, 8, 9), dtype=torch.uint8)
same(lambda x: [functional.interpolate(x, mode=mode, antialias=antialias, **each)
                for mode in ("bilinear", "bicubic") for antialias in (False, True)
                for each in (dict(size=(5, 12)), dict(scale_factor=2.5),
                             dict(size=(3, 2), align_corners=True))], image)

# Dimensions that count from the end, and what else torch-mlir refuses.
rows, at = torch.randn(10, 5), torch.randint(0, 5, (5, 5))
same(lambda x, i: x.scatter_reduce(-1, i, x[:5], "amin"), rows, at)
same(lambda x: (torch.std_mean(x, 0), torch.std_mean(x, True), torch.geqrf(x),
                torch.linalg.householder_product(*torch.geqrf(x)),
                torch.linalg.norm(x[0])), rows)
same(lambda x: torch.linalg.pinv(x @ x.T, hermitian=True), torch.randn(4, 2))
square = torch.randn(2, 4, 4)
same(lambda x: (*torch.linalg.eig(x), torch.linalg.eigvals(x[0])), square)
same(lambda x, y: [torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y, left=left, adjoint=adjoint)
                   for left in (False, True) for adjoint in (False, True)], square, square.flip(0))
same(lambda x, y: [torch.ormqr(*torch.geqrf(x[0]), y[0], left, transpose)
                   for left in (False, True) for transpose in (False, True)], square, square)

# What crashes torch-mlir, and what it does not count or weigh.
z = torch.randn(3, 4, dtype=torch.complex64)
same(lambda z: (z.cumprod(0), z.prod(), z.prod(1, keepdim=True), torch.logaddexp(z, z.flip(0)),
                torch.linalg.vander(z), z.sigmoid(), functional.silu(z)), z)
same(lambda x: torch.linalg.det(x), torch.randn(2, 0, 0))
def of_nothing(x, y, z):
    linalg, none = torch.linalg, y.new_zeros(2, 3, 0)
    return (*linalg.cholesky_ex(x), *linalg.inv_ex(x), *linalg.solve_ex(x, y), linalg.inv(x),
            linalg.cholesky(x), *linalg.solve_ex(z, none), linalg.solve(z[:0], z[0]),
            linalg.solve(x[0], y[0, :, 0]), linalg.solve(z, none.mT, left=False))
same(of_nothing, torch.zeros(2, 0, 0), torch.zeros(2, 0, 4), torch.randn(2, 3, 3))
same(lambda i, w: torch.bincount(i, w, minlength=7), torch.randint(0, 6, (9,)), torch.randn(9))
same(lambda x: (*torch.histogram(x, 5), *torch.histogram(x, 4, range=(-1.0, 1.0), density=True)),
     rows)
def segments(x, lengths):
    found = [torch.segment_reduce(x, each, lengths=lengths, axis=1, unsafe=True)
             for each in ("sum", "mean", "max", "min", "prod")]
    more = torch.segment_reduce(x, "mean", lengths=lengths, axis=1, initial=2.0, unsafe=True)
    return *found, more
same(segments, torch.randn(2, 5, 3), tensor([[2, 0, 3], [1, 2, 2]]))
def distances(x, y):
    norms = lambda x, y: sum((torch.cdist(x, y, p).sin().sum() + torch.pdist(x[0], p).cos().sum())
                             for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")))
    return torch.func.grad(norms, argnums=(0, 1))(x, y)
same(distances, torch.randn(2, 4, 3), torch.randn(1, 5, 3))
def scattered(x, source):
    return torch.func.grad(lambda x, y: torch.masked_scatter(x, x > 0, y).sin().sum(), (0, 1))(
        x, source)
same(scattered, torch.randn(3, 4), torch.randn(4, 4))
same(lambda x: [torch.lu_unpack(*torch.linalg.lu_factor(x), data, pivots)[3 - which]
                for data, pivots, which in ((True, False, 1), (False, True, 3))],
     torch.randn(3, 3))
same(lambda x: torch.func.grad(lambda x: x.softmax(0) + x.log_softmax(0).sin())(x), tensor(2.0))
def trained(run, *options, **more):
    def gradients(*inputs):
        f = lambda *inputs: run(*inputs, *options, **more).sin().sum()
        return torch.func.grad(f, tuple(range(len(inputs))))(*inputs)
    return gradients
image, volume = torch.randn(2, 4, 7, 8), torch.randn(1, 2, 5, 4, 6)
same(trained(functional.conv2d, padding=1, groups=4), image, torch.randn(4, 1, 3, 3))
same(trained(functional.conv2d, stride=(3, 2), padding=(2, 1), dilation=2, groups=2), image,
     torch.randn(6, 2, 2, 3), torch.randn(6))
same(trained(functional.conv2d, stride=2), image, torch.randn(3, 4, 3, 3))
same(trained(functional.conv3d, stride=(1, 2, 1)), volume, torch.randn(3, 2, 2, 2, 3))
same(trained(functional.conv_transpose2d, stride=2, padding=1, output_padding=1, groups=2), image,
     torch.randn(4, 3, 3, 3))
for options in ((3, 2, 1, True, True), (3, 2, 1, True, False), (2, 2, 0, True),
                (3, 1, 1, False, False), (3, 2, 1, True, True, 5)):
    same(trained(functional.avg_pool2d, *options), image)
    same(trained(functional.avg_pool3d, *options), volume)
    if len(options) < 6:
        same(trained(functional.avg_pool1d, *options), image[0])
    same(lambda x: functional.avg_pool2d(x, *options), (image * 9).round().to(torch.int64))
    same(lambda x, y: (functional.avg_pool2d(x, *options), functional.avg_pool2d(y, *options)),
         image.to(torch.bfloat16), image.to(torch.float64))
for size in (3, 4):
    same(trained(functional.adaptive_avg_pool2d, size), image)
    same(trained(functional.adaptive_avg_pool3d, size), volume)
    same(trained(functional.adaptive_max_pool2d, size), image)
    same(trained(functional.adaptive_max_pool3d, size), volume)
same(trained(functional.max_pool3d, 2, 2, 1), volume)
same(trained(functional.rrelu, training=False), image)
same(trained(torch.sgn), image)
positive = square @ square.mT + torch.eye(square.shape[-1])
for run in (torch.linalg.inv, torch.linalg.cholesky, torch.logdet,
            lambda x: torch.linalg.slogdet(x)[1], lambda x: torch.linalg.lu_factor(x)[0],
            lambda x: torch.linalg.matrix_power(x, -2)):
    same(trained(run), positive)
same(trained(torch.linalg.solve), positive, square)
edges = tensor([-1.0, -0.2, 0.0, 0.7])
same(lambda x, edges: (*torch.histogram(x, edges, weight=x.abs(), density=True),
                       torch.histogramdd(x, [3, 4, 2, 5]).hist,
                       *torch.histogramdd(x[:, :2], [edges, edges[:3]], density=True).bin_edges,
                       torch.histogramdd(x[:, :2], [edges, edges[:3]], density=True).hist),
     torch.randn(30, 4), edges)
same(lambda x: torch.histogram(x, 7).hist, torch.tensor([-7.1, 0.3, 8.9]))
same(lambda x, w: torch.histogram(x, 7, weight=w, density=True).hist, torch.randn(9), torch.rand(9))
same(lambda x, y: functional.multilabel_margin_loss(x, y), torch.tensor(0.3), tensor(0))
same(lambda x: torch.zeros_like(torch.empty_permuted((2, 3), (1, 0))) + x, rows[:2, :3])

# Results that are no tensors.
class Mixed(torch.nn.Module):
    def forward(self, x):
        return {"a": (x + 1, None), "b": x.shape[0], "c": x * 2}
found = mesh_opt.torch.compile(Mixed(), rows, backend="interpreter")(rows)
torch.testing.assert_close(found, Mixed()(rows))
"""


def test_operations(torch_python: Callable[[str], str]) -> None:
    """What torch-mlir refuses or takes for something else."""
    torch_python(comparing(OPERATIONS))


def test_elements(torch_python: Callable[[str], str]) -> None:
    """Numbers at the edges, places in tensors, and what PyTorch has kernels for."""
    torch_python(comparing(ELEMENTS))


def test_rare(torch_python: Callable[[str], str]) -> None:
    """Numbers without dimensions, nothing at all, and sizes that depend on data."""
    torch_python(comparing(RARE))
