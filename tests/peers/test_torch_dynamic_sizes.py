"""Operations of PyTorch on dynamic sizes, compiled once and called with several sizes."""

from __future__ import annotations

from collections.abc import Callable

from breadth import NIGHTLY
from torch_scripts import comparing

DYNAMIC = (
    f"NIGHTLY = {NIGHTLY}"
    + """
import warnings
warnings.simplefilter("ignore")
import mesh_opt
import torch

functional, auto = torch.nn.functional, torch.export.Dim.AUTO
torch.manual_seed(0)

def same(function, dynamic, *calls):
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    shapes = {f"inputs[{at}]": sizes for at, sizes in dynamic.items()}
    first = [each.clone() for each in calls[0]]
    compiled = mesh_opt.torch.compile(
        Module(), *first, backend="interpreter", dynamic_shapes=shapes)
    for inputs in calls:
        found, wanted = compiled(*inputs), function(*inputs)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)

def small(*shape):
    return torch.randint(-100, 100, shape, dtype=torch.int8)

rows = {0: auto}

# Integers of one and of several types.
def integers(x, y, z):
    wide = x.to(torch.int32)
    powers = wide.abs() ** 0.5, 2.5 ** (wide % 7), wide.abs() ** z
    divided = x // y, x // 7, x // -3, x % 5, torch.div(x, 3, rounding_mode="trunc")
    logarithms = torch.xlogy(wide, z), torch.xlogy(2, z), torch.special.xlog1py(wide, z)
    every = 1 if NIGHTLY else 2
    return powers[::every], divided[::every], logarithms[::every]

same(integers, {0: rows, 1: rows, 2: rows},
     *((small(n, 6), small(n, 6) | 1, torch.rand(n, 6)) for n in (4, 5)))

def quantized(x, scale, zero):
    of_all = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    of_channels = torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)
    return of_all, of_channels, torch.fake_quantize_per_tensor_affine(x, scale[0], zero[0], -8, 7)

scales = torch.rand(6) + 0.1, torch.zeros(6, dtype=torch.int32)
same(quantized, {0: rows}, *((torch.randn(n, 6), *scales) for n in (4, 5)))

# Values that a mask chooses places for.
same(lambda x, mask, y: x.masked_scatter(mask.unsqueeze(-1), y), {0: rows, 1: rows, 2: rows},
     *((torch.randn(n, 6), torch.randn(n) > 0, torch.randn(7 * n)) for n in (4, 5)))

# As exact as PyTorch's.
def approximated(x):
    return functional.gelu(x, approximate="tanh")

exact = torch.randn(6, 40)
found = mesh_opt.torch.compile(
    torch.nn.GELU("tanh"), exact, backend="interpreter", dynamic_shapes=(rows,))(exact)
torch.testing.assert_close(found, approximated(exact.double()).float(), rtol=1e-6, atol=1e-7)

# Checks of elements, which models of images and text make.
class Checked(torch.nn.Module):
    def forward(self, x, v):
        torch._check_tensor_all((x > 0).sum() * 4 == v.numel())
        return v + 1

for pipeline in ("spmd", "compile"):
    x, v = torch.rand(8) + 1, torch.randn(8, 4)
    checked = mesh_opt.torch.compile(Checked(), x, v, pipeline=pipeline)
    torch.testing.assert_close(checked(x, v), v + 1)
    try:
        checked(-x, v)
    except mesh_opt.api.ExecutionError as problem:
        assert "Runtime assertion failed" in str(problem), problem
    else:
        raise AssertionError("a false check was not seen")

# Samples of images. PyTorch takes long to write them out for open sizes.
ways = (("nearest", "border", True), ("bilinear", "zeros", False),
        ("bicubic", "reflection", True), ("bicubic", "zeros", False))
for mode, padding, corners in ways if NIGHTLY else ways[:1]:
    same(lambda x, grid: functional.grid_sample(x, grid, mode, padding, corners),
         {0: {0: auto, 2: auto, 3: auto}, 1: {0: auto, 1: auto}},
         *((torch.randn(n, 3, 2 + n, 9 - n), torch.randn(n, n + 2, 4, 2)) for n in (2, 3)))

# Transposed convolutions with one channel per group.
weights = torch.randn(4, 1, 3), torch.randn(4, 1, 3, 2)
same(lambda x: functional.conv_transpose1d(
    x, weights[0], stride=2, padding=1, output_padding=1, groups=4), {0: {2: auto}},
     *((torch.randn(2, 4, n),) for n in (5, 6)))
same(lambda x: functional.conv_transpose2d(
    x, weights[1], torch.ones(4), (2, 1), (0, 2), dilation=(1, 2), groups=4),
     {0: {0: auto, 2: auto}}, *((torch.randn(n, 4, n + 3, 5),) for n in (2, 3)))

# Views to sizes that no dimensions of the operand join to.
def views(x, y):
    parts = x.reshape(5, -1), (x + 1).reshape(-1, 5, 2, 1), x.reshape(x.shape[0] // 5, -1, 5)
    return *parts, x.reshape(x.shape[1], x.shape[0]), x.reshape(y.shape) * y

both = {0: auto, 1: auto}
same(views, {0: both, 1: {0: auto}},
     *((torch.randn(n, k), torch.randn(n * k)) for n, k in ((50, 6), (10, 4), (20, 10))))

# Transforms along sizes that are known.
same(lambda x: (torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x, norm="ortho") * 2),
                torch.fft.fft2(x[:, None] + x[..., None]),
                torch.stft(x, 4, 2, return_complex=True)),
     {0: rows}, *((torch.randn(n, 8),) for n in (4, 5)))

# Any number of matrices.
def solved(x):
    positive = x @ x.mT + torch.eye(4)
    return (torch.linalg.solve(positive, x), torch.linalg.cholesky(positive), torch.linalg.det(x),
            torch.linalg.svdvals(x), torch.linalg.pinv(x), torch.linalg.qr(x[..., :2])[1].abs(),
            torch.linalg.eigvals(positive).abs().sort(1)[0])

same(solved, {0: rows}, *((torch.randn(n, 4, 4),) for n in (2, 5)))
try:
    same(torch.linalg.inv, {0: {0: auto, 1: auto, 2: auto}}, (torch.randn(2, 4, 4),))
except ValueError as problem:
    assert "whose rows and columns must be known" in str(problem), problem
else:
    raise AssertionError("matrices of dynamic sizes were not refused")

# A size that is 1 changes the rank of the result.
class Squeeze(torch.nn.Module):
    def forward(self, x):
        return x[1:].squeeze()

compiled = mesh_opt.torch.compile(
    Squeeze(), torch.randn(4, 1, 6), backend="interpreter", dynamic_shapes={"x": rows})
x = torch.randn(3, 1, 6)
torch.testing.assert_close(compiled(x), Squeeze()(x))
try:
    compiled(x[:2])
except TypeError as problem:
    assert "squeeze of a dynamic size that is 1" in str(problem), problem
else:
    raise AssertionError("a size that is 1 was not refused")

# The program has one of the ways that Python takes through a module.
class Branches(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] > 3:
            x = x * 2
        return x + y if x.shape[1] == y.shape[1] else x

def refused(sizes, message, *inputs):
    of_example = torch.randn(8, 5), torch.randn(8, 5)
    compiled = mesh_opt.torch.compile(
        Branches(), *of_example, backend="interpreter", dynamic_shapes={"*": sizes})
    for first in (8, 6, 8):
        x = torch.randn(first, 5)
        torch.testing.assert_close(compiled(x, x), Branches()(x, x))
    try:
        compiled(*inputs)
    except TypeError as problem:
        assert message in str(problem), problem
    else:
        raise AssertionError(message)

few = torch.randn(3, 5)
refused({0: auto}, "traced with sizes for which this holds: x.shape[0] > 3", few, few)
refused({0: torch.export.Dim("rows", min=4)}, "that x.shape[0] is at least 4", few, few)
refused({0: torch.export.Dim("rows", min=4, max=9)}, "that x.shape[0] is at most 9",
        *[torch.randn(10, 5)] * 2)
refused({0: auto, 1: auto}, "with y.shape[1] equal to x.shape[1], but it is 1 instead of 5",
        torch.randn(8, 5), torch.randn(8, 1))

# Some operations of PyTorch need sizes to be as in the example.
class Spaced(torch.nn.Module):
    def forward(self, x):
        return x * torch.linspace(0, 1, x.shape[1])

x = torch.randn(2, 12)
compiled = mesh_opt.torch.compile(
    Spaced(), x[:, :8], backend="interpreter", dynamic_shapes={"x": {0: auto, 1: auto}})
torch.testing.assert_close(compiled(x[:1, :8]), Spaced()(x[:1, :8]))
try:
    compiled(x)
except TypeError as problem:
    assert "with x.shape[1] equal to 8, but it is 12" in str(problem), problem
else:
    raise AssertionError("another size was not refused")
"""
)


SIZES = (
    DYNAMIC[: DYNAMIC.index("def small")]
    + """
import math
from torch import inf, nan
image = {0: {0: auto, 2: auto, 3: auto}}
images = [(torch.randn(n, 2, h, w),) for n, h, w in ((2, 9, 12), (3, 10, 7), (1, 2, 3))]

# Windows whose number or extent depends on sizes.
def pooled(x):
    rows = x[:, :, 0]
    return (functional.adaptive_avg_pool2d(x, (3, 2)), functional.adaptive_avg_pool2d(x, (2, None)),
            functional.adaptive_avg_pool1d(rows, 5),
            *functional.adaptive_max_pool2d(x, (3, 2), return_indices=True),
            functional.adaptive_max_pool2d(x, 1), functional.interpolate(x, (5, 6), mode="area"),
            functional.max_pool1d(rows, 2, padding=1, ceil_mode=True), torch.max_pool1d(rows, 3, 2))

same(pooled, image, *images)

# Numbers that are computed from sizes.
def computed(x):
    n, _, h, w = x.shape
    turned = x.flatten(1, 2)
    return (x * w**-0.5, functional.scaled_dot_product_attention(turned, turned, turned),
            x.new_ones(max(h, w) + h % 3 + math.ceil(h / 2)), x.new_ones(round(w * 0.5), 2**n),
            functional.pad(x, (0, -w % 5)).reshape(n, 2, h, -1, 5).sum(3),
            functional.interpolate(x, (4, 3), mode="bilinear", align_corners=True),
            functional.interpolate(x, scale_factor=2, mode="nearest-exact"))

same(computed, image, *images)

# Less than no padding.
def cropped(x):
    return [functional.pad(x, sizes, mode) for mode in ("replicate", "reflect", "constant")
            for sizes in ((-2, -1, 4, 3), (-3, 5, 2, -1))]

same(cropped, image, *images[:2])

# A size that an operation makes known after it was open.
same(lambda x: torch.fft.fft2(x, s=(9, 5)), image, *images[:1])

# Running extrema, with ties, and logarithms of running sums that would overflow.
def running(x):
    y = (x * 3).round()
    return (torch.cummax(x, 2), torch.cummin(y, -1), torch.cummax(y.to(torch.int32), 0),
            torch.cummin(x > 0, 3), torch.logcumsumexp(x * 100, 2),
            torch.logcumsumexp(torch.log(torch.relu(y.to(torch.float64))), -1))

same(running, image, *images)
special = torch.tensor([nan, -inf, 1, inf, 1, nan, 0, -0.0])
same(lambda x: (torch.cummax(x, 0), torch.cummin(x, 0)), {0: {0: auto}},
     *((special[at:],) for at in range(3)))

# Elements by their places in memory.
same(lambda x: (x.as_strided((3, 2), (4, 1), 1), torch.as_strided_copy(x, (2, 3), (1, 1)),
                x[2:].as_strided((x.shape[0] // 2, 2), (1, 1), 2),
                torch.as_strided_scatter(x, torch.ones(2, 2), (2, 2), (4, 1), 1)),
     {0: {0: auto}}, (torch.randn(12),), (torch.randn(17),))

# Spectra of signals of any length.
def heard(x):
    window = torch.hann_window(8)
    parts = torch.stft(x, 8, 4, window=window, return_complex=True)
    later = torch.istft(parts[:, :, 2:], 8, 3, length=9)
    return parts, torch.istft(parts, 8, 4, window=window), later

same(heard, {0: {0: auto, 1: auto}}, *((torch.randn(n, at),) for n, at in ((2, 24), (3, 31))))

# Products of another type than the numbers.
same(lambda x: (torch.cumprod(x, 2, dtype=torch.float32), torch.cumprod(x, 2, dtype=torch.float64),
                torch.cumprod(x.to(torch.int32), 1, dtype=torch.float32)), image, *images[:2])

# Nothing, and variances of it.
same(lambda x: (x.tile(0), x.tile(2, 0), x.tile(0, 3), x[:, :0].tile(2, 2),
                x[:, :0].repeat(2, 1, 1), x.var(), x.std(1), x.var(0, correction=0),
                x.std(0, keepdim=True)),
     {0: {0: auto}}, *((torch.randn(n, 3),) for n in (4, 2, 1, 0)))
"""
)


def test_computed_from_dynamic_sizes(torch_python: Callable[[str], str]) -> None:
    torch_python(SIZES)


def test_dynamic_sizes(torch_python: Callable[[str], str]) -> None:
    torch_python(DYNAMIC)


TRUTH = """
x, y = tensor([0j, 1j, 1, 1 + 1j]), tensor([1.0, 0, 0, 2])
same(lambda x: (x.bool(), torch.logical_not(x), torch.nonzero(x), torch.where(x.bool(), 1, 2)), x)
same(lambda x, y: (torch.logical_and(x, y), torch.logical_xor(y, x), torch.count_nonzero(x)), x, y)
a, b = torch.randn(3, 4), torch.randn(12)
same(lambda x, m, y: x.masked_scatter(m, y), a, a > 0, b)
same(lambda x: (x.bool(), x.any(), x.all(0), torch.logical_or(x, x)), x)
"""


def test_truth_of_complex_numbers(torch_python: Callable[[str], str]) -> None:
    """A number is true if any of its parts is not zero; masks choose values by these."""
    torch_python(comparing(TRUTH))


NUMBERS = """
def check(function, *calls):
    # Calls choose other numbers of elements.
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    compiled = mesh_opt.torch.compile(Module(), *calls[0], backend="interpreter")
    for inputs in calls:
        found, expected = compiled(*inputs), function(*inputs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

x = torch.randn(5, 3, 4)
some, none = x[:, 0, 0] > 0, x[:, 0, 0] > 100

def written(x, m):
    y, chosen, i = torch.zeros_like(x), x > 0, m.nonzero()[:, 0]
    chosen = chosen & m[:, None, None]
    y[chosen] = x[chosen] * 2
    one = tensor(1)
    return (y, x.index_put((i,), x[i] * 2), x.index_put((i,), tensor(3.0)), x[i, i % 3],
            x.index_put((i - 5, one), x[i, 0], accumulate=True), x[:, i % 3, one],
            x.index_put((i[:, None], tensor([0, 2])), tensor(1.0)), x.index_add(0, i, x[i]),
            x.index_copy(0, i, x[i] + 1), x.index_fill(0, i, 1.0))

check(written, (x, some), (x, none), (x, ~none))

def parts(x, sizes):
    a, b, c = x.split(sizes.tolist())
    return a * 2, b.sum(0), torch.cat((c, a + 1, b))

check(parts, (x[..., 0], tensor([1, 3, 1])), (x[..., 0], tensor([0, 1, 4])))
repeats = tensor([1, 2, 0, 1, 3])
check(lambda x, n: (x.repeat_interleave(n, 0), torch.repeat_interleave(n)),
      (x, repeats), (x, repeats + 1), (x, 0 * repeats))
"""


def test_numbers_of_elements_that_depend_on_data(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(NUMBERS))


UPSAMPLED = """
class Upsampled(torch.nn.Module):
    def forward(self, x):
        wide = functional.interpolate(x[None], scale_factor=(2, 3, 1), mode="nearest-exact")
        weighted = [functional.interpolate(x, scale_factor=(1.5, 0.75), mode=mode)
                    for mode in ("bilinear", "bicubic")]
        return functional.interpolate(x[0], scale_factor=2.0), wide, *weighted

sizes = {"x": {2: torch.export.Dim("height", min=3), 3: torch.export.Dim("width", min=3)}}
compiled = mesh_opt.torch.compile(Upsampled(), torch.randn(1, 2, 4, 5), backend="interpreter",
                                  dynamic_shapes=sizes)
x = torch.randn(1, 2, 3, 7)
torch.testing.assert_close(compiled(x), Upsampled()(x))
"""


def test_upsampled_dynamic_sizes(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(UPSAMPLED))


DRAWN = """
from torch import nn

class Draws(nn.Module):
    def forward(self, x):
        a = torch.rand_like(x), torch.randn_like(x), functional.dropout(x.exp(), 0.25, True)
        b = torch.empty_like(x).uniform_(-3, 5), torch.empty_like(x).normal_(4, 2)
        c = torch.bernoulli(x.sigmoid() * 0 + 0.25), torch.randint_like(x, 3, 7)
        d = torch.empty_like(x).exponential_(2), torch.normal(x, 3.0), torch.bernoulli(x, 0.75)
        return *a, *b, *c, *d, torch.multinomial(x.exp(), 2)

means = [0.5, 0, None, 1, 4, 0.25, 4.5, 0.5, None, 0.75, None]
deviations = [0.289, 1, None, 2.309, 2, 0.433, 1.118, 0.5, None, 0.433, None]
x = torch.randn(64, 64)
for sizes in None, {"x": {0: torch.export.Dim("rows")}}:
    compiled = mesh_opt.torch.compile(Draws(), x, backend="interpreter", dynamic_shapes=sizes)
    found = compiled(x)
    for each, mean, deviation in zip(found, means, deviations, strict=True):
        if mean is not None:
            assert abs(each.mean() - mean) < 0.1 * max(deviation, 0.5), (each.mean(), mean)
            assert abs(each.std() - deviation) < 0.1 * max(deviation, 0.5), (each.std(), deviation)
    dropped, moved, places = found[2], found[8], found[10]
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], (x.exp() / 0.75)[kept])
    assert abs(kept.float().mean() - 0.75) < 0.05 and abs((moved - x).std() - 3) < 0.2
    assert (places[:, 0] != places[:, 1]).all() and places.max() < 64
assert compiled(x[:7])[0].shape == (7, 64)

class Chances(nn.Module):
    def forward(self, x):
        order, many = torch.randperm(50), torch.multinomial(tensor([0.0, 1.0, 3.0]), 900, True)
        return order, many, torch.randn(x[x > 0].shape[0])

order, many, chosen = mesh_opt.torch.compile(Chances(), x, backend="interpreter")(x)
assert order.sort().values.tolist() == list(range(50)) and order.tolist() != list(range(50))
assert many.min() == 1 and abs((many == 2).float().mean() - 0.75) < 0.05
assert chosen.shape == x[x > 0].shape and abs(chosen.std() - 1) < 0.1

# Chances are exact for floats of few bits, and integers may need all of theirs.
class Rare(nn.Module):
    def forward(self, x):
        trials = torch.bernoulli(x, 0.001), x.clone().geometric_(0.1)
        return *trials, torch.randint(-1 << 62, 1 << 62, (64,))

zeros = torch.zeros(100, 100, dtype=torch.bfloat16)
rare, tries, wide = mesh_opt.torch.compile(Rare(), zeros, backend="interpreter")(zeros)
assert rare.float().mean() < 0.003 and tries.max() > 60 and wide.max() > 1 << 60
"""


def test_random_numbers(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(DRAWN))
