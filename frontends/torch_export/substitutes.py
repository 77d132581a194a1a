"""Substitutes for functions of PyTorch: most read elements of tensors, so it cannot trace them.

They replace the originals while a module is traced or decomposed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, partialmethod
from importlib import import_module
from typing import Any

from ..aten.elementwise import fake_quantized, per_channel
from ..aten.rules import is_static, non_negative, torch


@contextmanager
def traceable() -> Generator[None]:
    """Replace functions that cannot be traced in all calls inside the context."""
    functional, base = torch.nn.functional, torch.Tensor
    known: dict[Any, Callable[..., Any]] = {
        functional.ctc_loss: _ctc_loss,
        functional.gaussian_nll_loss: _gaussian_nll_loss,
        functional.one_hot: _one_hot,
        torch.fake_quantize_per_channel_affine: _fake_quantize_per_channel,
        torch.fake_quantize_per_tensor_affine: _fake_quantize,
        **dict.fromkeys((torch.corrcoef, base.corrcoef), _corrcoef),
        **dict.fromkeys((torch.cov, base.cov), _cov),
        torch.linalg.lstsq: _lstsq,
        **dict.fromkeys((torch.max_pool1d, functional.max_pool1d), _max_pool1d),
        **dict.fromkeys((torch.masked_select, base.masked_select), _masked_select),
        base.__getitem__: _getitem,
        base.__setitem__: _setitem,
    }

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            rule = known.get(function)
            found = NotImplemented if rule is None else rule(*args, **(kwargs or {}))
            return function(*args, **(kwargs or {})) if found is NotImplemented else found

    module: Any = torch.nn.Module
    apply = module._apply
    transformer: Any = import_module("torch.nn.modules.transformer")
    adaptive: Any = import_module("torch.nn.modules.adaptive")
    softmax = adaptive.AdaptiveLogSoftmaxWithLoss
    detect, forward = transformer._detect_is_causal_mask, softmax.forward
    distribution = torch.distributions.Distribution
    validates = distribution._validate_args
    distribution.set_default_validate_args(False)
    transformer._detect_is_causal_mask = _is_causal
    module._apply = partialmethod(_apply, apply)
    softmax.forward = partialmethod(_adaptive_log_softmax, adaptive._ASMoutput, forward)
    try:
        with Mode():
            yield
    finally:
        transformer._detect_is_causal_mask, softmax.forward = detect, forward
        module._apply = apply
        distribution.set_default_validate_args(validates)


@contextmanager
def composites_listed_once() -> Generator[None]:
    """Let PyTorch list its composite operations once in the context.

    It does so for each namespace of operations, about 30 times in a decomposition, which takes
    longer than to decompose a small program.
    """
    utils: Any = import_module("torch._export.utils")
    name = "_materialize_cpp_cia_ops"
    original = getattr(utils, name, None)
    if original is None:  # in another version of PyTorch
        yield
        return
    setattr(utils, name, cache(original))
    try:
        yield
    finally:
        setattr(utils, name, original)


def _is_causal(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Return only an explicit hint: it selects kernels that we do not use; the mask is applied."""
    return is_causal is True


def _apply(module: Any, original: Callable[..., Any], change: Any, recurse: bool = True) -> Any:
    """Leave a module as it is if no tensor changes: `layer.to(dtype)` replaces traced weights."""
    tensors = [*module.parameters(recurse), *module.buffers(recurse)]
    if all(change(each) is each for each in tensors):
        return module
    return original(module, change, recurse)


# Places that a tensor says -----------------------------------------------------------------------


def _is_place(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and not index.dim() and not _chooses(index)


def _is_plain(index: Any) -> bool:
    """Return whether an index is a number, a slice, `None` or `...`, and not a truth value."""
    is_known = isinstance(index, int | slice) or index is None or index is Ellipsis
    return is_known and not isinstance(index, bool)


def _chooses(index: Any) -> bool:
    return index.dtype in (torch.bool, torch.uint8) or index.dtype.is_floating_point


def _spread(x: Any, index: Any) -> tuple[list[Any], list[tuple[int, Any]]] | None:
    """Split an index: replace each tensor position by a full slice.

    Return the index, and the dimensions with their positions. Return `None` if there is no tensor
    position, or there are other indices than integers and slices.
    """
    items: list[Any] = [*index] if isinstance(index, tuple) else [index]  # pyright: ignore
    if not any(map(_is_place, items)) or not all(
        _is_plain(each) or _is_place(each) for each in items
    ):
        return None
    used = sum(each is not None and each is not Ellipsis for each in items)
    for at in [at for at, each in enumerate(items) if each is Ellipsis][:1]:
        items[at : at + 1] = [slice(None)] * (x.dim() - used)
    found: list[Any] = []
    places: list[tuple[int, Any]] = []
    # The dimensions of the result before positions are selected.
    dimension = 0
    for each in items:
        if _is_place(each):
            places.append((dimension, each))
        found.append(slice(None) if _is_place(each) else each)
        dimension += not isinstance(each, int)
    return found, places


def _as_index(place: Any, size: Any) -> Any:
    """Return a position counted from the start, as a vector."""
    return non_negative(place, size).reshape(1)


def _getitem(x: Any, index: Any) -> Any:
    found = _spread(x, index)
    if found is None:
        return NotImplemented
    items, places = found
    x = x[tuple(items)]
    for dimension, place in reversed(places):
        x = x.index_select(dimension, _as_index(place, x.shape[dimension])).squeeze(dimension)
    return x


def _setitem(x: Any, index: Any, value: Any) -> Any:
    found = _spread(x, index)
    if found is None or len(found[1]) > 1:
        return NotImplemented
    items, ((dimension, place),) = found
    part = x[tuple(items)]
    shape = [size for at, size in enumerate(part.shape) if at != dimension]
    value = torch.as_tensor(value, dtype=x.dtype).expand(shape).unsqueeze(dimension)
    part.index_copy_(dimension, _as_index(place, part.shape[dimension]), value)
    return None


def _masked_select(x: Any, mask: Any) -> Any:
    """Broadcast first: PyTorch assumes no more elements than `x` has."""
    x, mask = torch.broadcast_tensors(x, mask)
    return x.reshape(-1)[mask.reshape(-1)]


def _one_hot(x: Any, num_classes: int = -1) -> Any:
    """Without a number of classes, derive it from the largest index, which must not be negative."""
    if num_classes < -1 or not num_classes or not x.numel() or x.dtype != torch.int64:
        return NotImplemented
    if num_classes == -1:
        num_classes = x.max().item() + 1
        torch._check(num_classes >= 1)
    return (x[..., None] == torch.arange(num_classes)).to(x.dtype)


def _max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Pool an image of one row: PyTorch's function makes the size of a vector known."""
    if is_static(x.shape) or return_indices:
        return NotImplemented
    number: Any = torch.nn.modules.utils._single
    values = kernel_size, stride or kernel_size, padding, dilation
    window, step, pad, apart = (number(each)[0] for each in values)
    row = x.unsqueeze(-2)
    found = torch.max_pool2d(row, (1, window), (1, step), (0, pad), (1, apart), ceil_mode)
    return found.squeeze(-2)


# Quantization that PyTorch's kernels compute, which cannot be traced with dynamic sizes -----------


def _fake_quantize(x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    if torch.is_grad_enabled() and x.requires_grad:
        return NotImplemented
    return fake_quantized(x, scale, zero_point, quant_min, quant_max)[0]


def _fake_quantize_per_channel(
    x: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    scale, zero_point = (per_channel(each, x, axis) for each in (scale, zero_point))
    return _fake_quantize(x, scale, zero_point, quant_min, quant_max)


# Losses ------------------------------------------------------------------------------------------


def _reduced(loss: Any, reduction: str) -> Any:
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def _gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Compute the loss without the check that no variance is negative."""
    var = torch.as_tensor(var, dtype=x.dtype)
    if var.dim() and var.shape != x.shape and var.shape == x.shape[:-1]:
        var = var.unsqueeze(-1)
    var = torch.clamp(var, min=eps)
    loss = 0.5 * (torch.log(var) + (x - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * torch.log(torch.full((), 2 * torch.pi, dtype=x.dtype))
    return _reduced(loss, reduction)


def _adaptive_log_softmax(
    module: Any, results: Any, forward: Callable[..., Any], x: Any, target: Any
) -> Any:
    """Read the logarithms of all classes at the targets, and do not check their range.

    PyTorch computes the clusters whose classes occur among the targets. `forward` is its own
    function, which refuses shapes that do not fit.
    """
    if target.dim() > 1 or x.dim() != target.dim() + 1 or x.shape[:-1] != target.shape:
        return forward(module, x, target)
    logs = module.log_prob(x.reshape(-1, x.shape[-1]))
    output = logs.gather(1, target.reshape(-1, 1)).reshape(target.shape)
    return results(output, (-output).mean())


def _log_sum(values: Sequence[Any]) -> Any:
    """Return the logarithm of a sum of exponentials, all of which may be 0."""
    stacked = torch.stack(values)
    most = stacked.amax(0)
    most = torch.where(most == -torch.inf, torch.zeros_like(most), most)
    return torch.log(torch.exp(stacked - most).sum(0)) + most


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Sum over all paths to each label and to the blanks between labels, step by step."""
    alone = log_probs.dim() == 2
    log_probs = log_probs.unsqueeze(1) if alone else log_probs
    steps, count = log_probs.shape[:2]
    times, sizes = (
        torch.as_tensor(each, dtype=torch.int64).reshape(-1).expand(count)
        for each in (input_lengths, target_lengths)
    )
    if targets.dim() == 1:
        starts = torch.cumsum(sizes, 0) - sizes
        numbers = starts[:, None] + torch.arange(targets.shape[0])
        targets = targets[torch.clamp(numbers, max=targets.shape[0] - 1)]
    targets = targets.to(torch.int64)
    # blank, label, blank, label, ..., blank
    between = torch.full_like(targets, blank)
    labels = torch.stack((between, targets), -1).reshape(count, -1)
    labels = torch.cat((labels, between.new_full((count, 1), blank)), 1)
    # Labels beyond the end of a target may be anything.
    labels = torch.clamp(labels, 0, log_probs.shape[2] - 1)
    chances = log_probs.gather(2, labels.expand(steps, *labels.shape))
    never = torch.full_like(chances[0], -torch.inf)
    skips = torch.cat((never[:, :2] == 0, labels[:, 2:] != labels[:, :-2]), 1)
    sums = torch.where(torch.arange(labels.shape[1]) < 2, chances[0], never)

    def step(sums: Any, row: tuple[Any, Any]) -> Any:
        now, time = row
        one = torch.cat((never[:, :1], sums[:, :-1]), 1)
        two = torch.cat((never[:, :2], sums[:, :-2]), 1)
        two = torch.where(skips, two, never)
        new = _log_sum((sums, one, two)) + now
        return torch.where((time < times)[:, None], new, sums), time.clone()

    if steps > 1:
        scan = import_module("torch._higher_order_ops").scan
        sums, _ = scan(step, sums, (chances[1:], torch.arange(1, steps)))
    last = sums.gather(1, 2 * sizes[:, None])
    before = sums.gather(1, torch.clamp(2 * sizes[:, None] - 1, min=0))
    before = torch.where(sizes[:, None] > 0, before, -torch.inf)
    loss = -_log_sum((last, before)).squeeze(1)
    if zero_infinity:
        loss = torch.where(loss == torch.inf, 0.0, loss)
    if reduction == "mean":
        return (loss / torch.clamp(sizes, min=1)).mean()
    loss = _reduced(loss, reduction)
    return loss.reshape(()) if alone else loss


# Least squares -----------------------------------------------------------------------------------


def _lstsq(x: Any, y: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    """Solve with the pseudo-inverse.

    Assume full rank, on which the shape of the residuals depends. Which of the other results are
    empty depends on the driver.
    """
    driver = driver or "gelsy"
    rows, columns = x.shape[-2:]
    vector = y.dim() == x.dim() - 1
    y = y.unsqueeze(-1) if vector else y
    if rcond is None:
        rcond = torch.finfo(x.dtype).eps * max(rows, columns)
    found = torch.linalg.pinv(x, rtol=rcond) @ y
    residuals = singular_values = x.new_zeros(0, dtype=x.dtype.to_real())
    if rows > columns and driver != "gelsy":
        residuals = torch.abs(x @ found - y).square().sum(-2)
    if driver in ("gelsd", "gelss"):
        singular_values = torch.linalg.svdvals(x)
    shape = (0,) if driver == "gels" else x.shape[:-2]
    rank = torch.full(shape, min(rows, columns), dtype=torch.int64)
    found = found.squeeze(-1) if vector else found
    return torch.return_types.linalg_lstsq((found, residuals, rank, singular_values))


def _cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Assume weights that PyTorch accepts."""
    x = x.reshape(1, -1) if x.dim() < 2 else x
    x = x if x.dtype.is_floating_point or x.is_complex() else x.to(torch.get_default_dtype())
    weights = torch.ones_like(x[0].real)
    for each in (fweights, aweights):
        weights = weights if each is None else weights * each
    total = weights.sum()
    taken = 1 if aweights is None else (weights * aweights).sum() / total
    x = x - (x * weights).sum(1, keepdim=True) / total
    found = (x * weights) @ x.mH / (total - correction * taken).clamp(min=0)
    return found.squeeze()


def _corrcoef(x: Any) -> Any:
    found = _cov(x)
    if not found.dim():
        return found / found
    width = found.diagonal().real.sqrt()
    found = found / width[:, None] / width
    if not found.is_complex():
        return found.clamp(-1, 1)
    return torch.complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
