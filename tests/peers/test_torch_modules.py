"""Modules that write in place, loop, ask for elements, and train, against PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable

from torch_scripts import comparing

WRITES = """
from copy import deepcopy

def follows(module, *calls, **options):
    # Results and all that is written, call after call.
    own = deepcopy(module)
    compiled = mesh_opt.torch.compile(own, *calls[0], backend="interpreter", **options)
    for at, inputs in enumerate(calls):
        if at == 1:
            compiled.place_weights()
        given, wanted = [[each.clone() for each in inputs] for _ in range(2)]
        found, expected = compiled(*given), module(*wanted)
        close = dict(rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found, expected.detach(), **close)
        torch.testing.assert_close(given, wanted, **close)
        torch.testing.assert_close(dict(own.state_dict()), dict(module.state_dict()), **close)
    return compiled

nn = torch.nn
images = [(torch.randn(4, 4, 6, 6),) for _ in range(3)]
norms = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                      nn.InstanceNorm2d(8, track_running_stats=True))
k = follows(norms, *images, mesh={"d": 2, "m": 2},
            placements={"input": [["d"]], "1.running_*": [["m"]]}, results=[["d"]])
assert k.placements["1.running_mean"] == [("m",)]
assert k.result_placements == [[("d",), (), (), ()]]

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cache", torch.zeros(2, 8, 4))
        self.project = nn.Linear(4, 4)

    def forward(self, x, place):
        self.cache[:, place] = self.project(x)
        self.count += 1
        x[0] = 0
        return self.cache.sum(1) * self.count + x

follows(Counted(), *[(torch.randn(2, 4), tensor(place)) for place in (3, 0, -1)])
"""

LOOPS = """
from torch._higher_order_ops import map as each_row, scan

def running(x, y):
    def step(state, row):
        total = state["t"] * 0.5 + row["x"] @ y
        return {"t": total, "n": state["n"] + 1}, (total.sin(), state["n"] * 2)
    start = {"t": torch.zeros(4), "n": torch.zeros((), dtype=torch.int64)}
    rows = each_row(lambda row, y: torch.tanh(y @ row), x, y)
    return scan(step, start, {"x": x}, reverse=True), rows

same(running, torch.randn(70, 4), torch.randn(4, 4))

# A loop of fewer steps stays one if its steps are many operations.
class Paths(torch.nn.Module):
    def forward(self, x, labels, times, sizes):
        return functional.ctc_loss(x, labels, times, sizes)

given = (torch.randn(50, 4, 20).log_softmax(-1), torch.randint(1, 20, (4, 15)),
         torch.full((4,), 50), tensor([10, 15, 12, 8]))
compiled = mesh_opt.torch.compile(Paths(), *given)
assert compiled.text.count("stablehlo.log ") < 5
torch.testing.assert_close(compiled(*given), Paths()(*given))
"""

OPEN = """
# Two open sizes, in views that split and join them.
def sizes():
    return {0: torch.export.Dim("rows", min=2, max=64), 1: torch.export.Dim("more", min=2, max=64)}

def views(x):
    a, b, _ = x.shape
    y = x + 1
    z = (y.view(a * b, 8) @ torch.ones(8, 6)).view(a, b, 2, 3)
    return (y.view(a, 2 * b, 4), y.view(a, 2 * b, 4).view(a, b, 2, 4), y.view(a * b, 2, 4),
            y.view(a, 1, b, 8), y.view(1, a * b, 8, 1), y.view(a * b * 8), z)

# torch-mlir crashes on negative dimensions of a scatter.
def scatters(x):
    order, zeros = x.argsort(-1), torch.zeros_like(x)
    return zeros.scatter(-1, order, x), zeros.scatter(-1, order, 2), zeros.scatter_add(-1, order, x)

same(scatters, torch.randn(4, 6), dynamic_shapes={"inputs[0]": {0: torch.export.Dim("rows")}})

attend = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
for function in (views, lambda x: attend(x, x, x, need_weights=False)[0].detach(),
                 lambda x: attend(x, x, x)[1].detach()):
    same(function, torch.randn(4, 6, 8), dynamic_shapes={"inputs[0]": sizes()})
"""

TRACED = """
# Elements that torch.export asks for.
place = tensor(-1)
x = torch.randn(4, 6)
same(lambda x, p: (x[p], x[:, p], x[..., p, None], x[p, 1:3], x[p][p]), x, place)

# Distributions look at their parameters before they compute.
def likelihoods(x, mean):
    distributions = torch.distributions
    width = functional.softplus(mean) + 1
    student = distributions.Independent(distributions.StudentT(width, mean, width), 1)
    normal, standard = distributions.Normal(mean, width), distributions.Normal(0 * x, 1 + 0 * x)
    return student.log_prob(x), distributions.kl_divergence(normal, standard)

case_numbers = itertools.count()
same(likelihoods, x, x + 1)

# So do covariances, at their weights.
def covariances(x, weights):
    counts = (3 * weights).long() + 1
    return (x.cov(), torch.cov(x, correction=0, fweights=counts), x[0].corrcoef(),
            torch.cov(x, correction=2, fweights=counts, aweights=weights), torch.corrcoef(x))

case_numbers = itertools.count()
same(covariances, x, torch.rand(6))

# Examples that are one tensor say nothing of calls.
class Two(torch.nn.Module):
    def forward(self, a, b):
        return a * 2 + b

compiled = mesh_opt.torch.compile(Two(), x, x, backend="interpreter")
torch.testing.assert_close(compiled(x, x + 1), 3 * x + 1)

def marked(x, rows, columns, values):
    x = x.clone()
    x[rows, 1:] = 5.0
    x[:, columns] = -1
    y = x.clone()
    y[rows] = values
    y[:, columns] += 2
    return x, y

rows, columns = tensor([True, False, True, False]), x[0] > 0
same(marked, x, rows, columns, torch.randn(2, 6))

# Sizes from buffers: these are constants.
class Strided(torch.nn.Module):
    def __init__(self, counts):
        super().__init__()
        self.register_buffer("stride", tensor(2), persistent=False)
        self.register_buffer("calls", tensor(0))
        self.counts, self.layer = counts, torch.nn.Linear(6, 6)

    def forward(self, x):
        if self.counts:
            self.calls += 1
        frames = torch.ceil((x.shape[-1] - 1) / self.stride + 1).to(torch.int64)
        more = int(frames * self.stride) - x.shape[-1]
        return functional.pad(self.layer.to(x.dtype)(x), (0, more)) * self.stride

strided = Strided(False)
compiled = mesh_opt.torch.compile(strided, x, backend="interpreter")
torch.testing.assert_close(compiled(x), strided(x).detach())
strided.stride.fill_(3)
for call, problem in ((lambda: compiled(x), "buffer stride is 3, compiled for the constant 2"),
                      (lambda: mesh_opt.torch.compile(Strided(True), x), "calls is written")):
    try:
        call()
    except (TypeError, ValueError) as found:
        assert problem in str(found), found
    else:
        raise AssertionError(problem)

chances = torch.randn(8, 3, 5).log_softmax(2)
targets, times, sizes = torch.randint(1, 5, (3, 4)), tensor([8, 3, 6]), tensor([4, 3, 0])
for reduction in ("none", "mean"):
    same(lambda x, t, n, s: functional.ctc_loss(x, t, n, s, reduction=reduction,
         zero_infinity=reduction == "mean"), chances, targets, times, sizes)
same(lambda x, t: functional.ctc_loss(x, t, (8, 8, 8), (2, 1, 3)), chances,
     tensor([1, 1, 2, 3, 3, 4]))
same(lambda x, y, v: functional.gaussian_nll_loss(x, y, v, full=True), x, x + 1, x.exp())
classes = torch.nn.AdaptiveLogSoftmaxWithLoss(6, 20, [4, 10], head_bias=True).eval()
same(lambda x, y: tuple(each.detach() for each in classes(x, y)), torch.randn(5, 6),
     tensor([0, 12, 19, 3, 4]))
same(lambda x, y: classes(x, y).output.detach(), torch.randn(6), tensor(11))
for driver in (None, "gels", "gelsd"):
    same(lambda x, y: tuple(torch.linalg.lstsq(x.T, y, driver=driver)), x, torch.randn(6, 2))
layer = torch.nn.TransformerDecoderLayer(8, 2, 16).eval()
decoder = torch.nn.TransformerDecoder(layer, 1)
mask = torch.nn.Transformer.generate_square_subsequent_mask(4)
same(lambda x, y: decoder(x, y, tgt_mask=mask).detach(), torch.randn(4, 2, 8), torch.randn(5, 2, 8))
same(lambda x: tuple(torch.polygamma(n, x) for n in (1, 2, 3, 5)),
     tensor([0.5, -0.5, -1.3, 2.7, 0.0, -2.0, 30.0]))

def refused(name, what, *inputs):
    try:
        mesh_opt.torch.compile(namespace[name](), *inputs)
    except ValueError as problem:
        assert what in str(problem), problem
    else:
        raise AssertionError(what)

import pathlib, tempfile
own = pathlib.Path(tempfile.mkdtemp()) / "model.py"
own.write_text('''import torch

class Decides(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x

class Compares(torch.nn.Module):
    def forward(self, x):
        return x if torch.equal(x, x * 2) else -x

class Airy(torch.nn.Module):
    def forward(self, x):
        return torch.special.airy_ai(x)

class Draws(torch.nn.Module):
    def forward(self, x):
        return torch.poisson(x[x > 0])
''')
namespace = {}
exec(compile(own.read_text(), str(own), "exec"), namespace)
fault = "torch.export cannot trace this code"
refused("Decides", f"{own}:5: {fault}", x)
refused("Compares", f"{own}:11: {fault}, aten.equal", x)
namespace["Averages"] = lambda: torch.nn.BatchNorm1d(6, momentum=None)
refused("Averages", "buffer num_batches_tracked is written in place, but Python reads a number", x)
refused("Airy", "conversion of aten.special_airy_ai to stablehlo", x[:, :4])
refused("Draws", "nor of aten.poisson.default (it draws random numbers) to linalg", x)
refused("Draws", f"which is written at {own}:19", x)
refused("Airy", f"which is written at {own}:15", x[:, :4])
"""

TRAINS = """
import io, sys
from mesh_opt.tools.mesh_opt import main

nn, func = torch.nn, torch.func

class Adam(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))

    def forward(self, weights, mean, square, x, y):
        def loss(weights):
            return functional.cross_entropy(func.functional_call(self.net, weights, (x,)), y)

        slopes, found = func.grad_and_value(loss)(weights)
        mean = {k: 0.9 * mean[k] + 0.1 * slopes[k] for k in weights}
        square = {k: 0.99 * square[k] + 0.01 * slopes[k] ** 2 for k in weights}
        steps = {k: mean[k] / (square[k].sqrt() + 1e-4) for k in weights}
        return found, {k: weights[k] - 0.01 * steps[k] for k in weights}, mean, square

module = Adam()
weights = {k: v.detach() for k, v in module.net.named_parameters()}
zeros = {k: torch.zeros_like(v) for k, v in weights.items()}
given = weights, zeros, zeros, torch.randn(8, 8), torch.randint(0, 4, (8,))
k = mesh_opt.torch.compile(
    module, *given, mesh={"d": 2, "m": 2}, backend="interpreter",
    placements={"x": [["d"]], "y": [["d"]], "weights.0.*": [["m"]],
                "weights.3.weight": [[], ["m"]]},
)
for _ in range(3):
    found, expected = k(*given), module(*given)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    given = (*found[1:], *given[3:])

def each(x, y):
    loss = lambda w, x, y: functional.mse_loss(torch.tanh(x @ w["a"]), y)
    return func.vmap(func.grad(loss), (None, 0, 0))({"a": y[:4].T @ y[:4]}, x, y)

same(each, torch.randn(5, 3), torch.randn(5, 3))
same(lambda x: (func.jacrev(torch.sin)(x), func.jacfwd(torch.exp)(x),
                func.hessian(lambda x: (x ** 3).sum())(x)), torch.randn(4))

# With the batch split, the gradients of all weights are one all-reduce, and nothing is gathered.
class Convolutions(nn.Module):
    def forward(self, x, deep, wide, back):
        def loss(deep, wide, back):
            y = functional.conv2d(x, deep, padding=1, groups=8)
            y = functional.conv2d(y, wide, stride=2, padding=1).relu()
            return functional.conv_transpose2d(y, back, stride=2).square().mean()

        return func.grad(loss, (0, 1, 2))(deep, wide, back)

given = (torch.randn(8, 8, 12, 12), torch.randn(8, 1, 3, 3), torch.randn(16, 8, 3, 3),
         torch.randn(16, 4, 2, 2))
k = mesh_opt.torch.compile(Convolutions(), *given, mesh=4, placements={"x": [[0]]})
torch.testing.assert_close(k(*given), Convolutions()(*given), rtol=1e-4, atol=1e-5)
partitioned = io.StringIO()
assert main(["--spmd"], io.StringIO(k.text), partitioned, sys.stderr) == 0
assert partitioned.getvalue().count("shard.all_reduce") == 1
assert "all_gather" not in partitioned.getvalue()

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x):
        loss = self.net(x)[0].square().sum()
        return loss.detach(), *torch.autograd.grad(loss, [*self.parameters()])

module, x = Recurrent(), torch.randn(3, 5, 4)
k = mesh_opt.torch.compile(module, x, backend="interpreter")
torch.testing.assert_close(k(x), module(x), rtol=1e-4, atol=1e-5)
chosen = lambda w, i: (w.log_softmax(-1) * functional.one_hot(i, 4)).sum()
same(lambda w, i: func.grad(chosen)(w, i), torch.randn(3, 4), torch.tensor([0, 3, 1]))

# Gradients of operations whose backward operations have no rule, and of tensors that are saved.
def slopes(of, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    found = of(*inputs)
    weights = torch.arange(found.numel()).reshape(found.shape).cos()
    return torch.autograd.grad((found * weights).sum(), inputs)

def sampled(x, points):
    return (slopes(lambda x: functional.pad(x, (2, -1, 3, 1), mode="replicate"), x),
            slopes(lambda x: functional.pad(x, (2, 1, 0, 3), mode="replicate"), x),
            slopes(functional.grid_sample, x, points),
            slopes(lambda x: functional.adaptive_avg_pool2d(x, 3), x),
            slopes(lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), x),
            slopes(lambda x: functional.avg_pool2d(x, 2, divisor_override=3), x),
            slopes(lambda x: functional.interpolate(x, (7, 9), mode="bilinear"), x),
            slopes(lambda x: functional.max_pool2d(x, 2), x))

def bags(table, i, starts, weights):
    return ([slopes(lambda x: functional.embedding_bag(i, x, starts, mode=mode, padding_idx=-2),
                    table) for mode in ("sum", "mean", "max")],
            slopes(lambda x, y: functional.embedding_bag(i, x, starts, mode="sum",
                                                         per_sample_weights=y), table, weights),
            slopes(lambda x, y: x.scatter_reduce(0, i, y, "prod"), table[:, 0], weights))

case_numbers = itertools.count()
same(sampled, torch.randn(1, 2, 4, 5), torch.rand(1, 3, 3, 2))
case_numbers = itertools.count()
same(bags, torch.randn(4, 3), tensor([1, 2, 0, 2, 3, 2, 1]), tensor([0, 2, 2, 5]), torch.randn(7))
"""


def test_mutated_buffers(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(WRITES))


def test_loops_of_many_steps(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(LOOPS))


def test_open_sizes(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(OPEN))


def test_modules_that_torch_export_cannot_trace(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(TRACED))


def test_training_steps(torch_python: Callable[[str], str]) -> None:
    torch_python(comparing(TRAINS))
