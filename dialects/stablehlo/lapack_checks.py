"""Check calls of LAPACK: its functions trust sizes, and access memory by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ComplexType, StringAttr, TensorType, f32, f64, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, flag
from ...ir.tensor_types import shape_text
from .lapack_calls import CallOptions, lapack_name

ELEMENTS = {"s": f32, "d": f64, "c": ComplexType(f32), "z": ComplexType(f64)}
"""The element types by the first letter of a function's name."""

_FORMS = {
    "potrf": "t:nn -> t:nn i:",
    "trsm": "t:qq t:mn -> t:mn",
    "getrf": "t:mn -> t:mn i:k i:",
    "geqrf": "t:mn -> t:mn t:k",
    "geqp3": "t:mn i:n -> t:mn i:n t:k",
    "orgqr": "t:mn t:p -> t:mn",
    "ormqr": "t:qr t:p t:mn -> t:mn",
    "syevd": "t:nn -> t:nn r:n i:",
    "geev": "t:nn -> t:n t:n c:** c:** i:",
    "gesdd": "t:mn -> t:mn r:k t:** t:** i:",
    "gesvd": "t:mn -> t:mn r:k t:** t:** i:",
    "gtsv": "t:n t:n t:n t:nm -> t:n t:n t:n t:nm i:",
    "gehrd": "t:nn -> t:nn t:h i:",
    "sytrd": "t:nn -> t:nn r:n r:h t:h i:",
    "gees": "t:nn -> t:nn t:** t:n t:n i: i:",
    "stablehlo.cholesky": "t:nn -> t:nn",
    "stablehlo.triangular_solve": "t:qq t:mn -> t:mn",
}
"""The operands and results of functions: an element type, and a letter for each size.

Types are `t`, that of the matrix; `r`, of its real parts; `c`, the complex one; and `i`, i32. `k`
is the least of `m` and `n`, `h` is `n - 1`, `q` is `m` or `n`, by the side, and `*` is any size.
"""

_COMPLEX_FORMS = {
    "geev": "t:nn -> t:n c:** c:** i:",
    "gees": "t:nn -> t:nn t:** t:n i: i:",
}
"""Functions that have other results for complex numbers: one array of eigenvalues, not two."""

_ORDERS = {"orgqr": "mnp", "ormqr": "qp rp"}
"""Letters of sizes of which none is less than the next."""

_LETTERS = {
    "trsm": ("trans_x", "NTC"),
    "gesdd": ("mode", "ASN"),
    "gesvd": ("mode", "ASN"),
}
"""An option of a function, and the letters that it may be."""


def verify_custom_call(op: Operation) -> None:
    """Raise VerifyException for a call of LAPACK whose operands or results do not fit together."""
    target = attribute(op, "call_target_name")
    word = target.data if isinstance(target, StringAttr) else ""
    name = lapack_name(word)
    if name not in _FORMS:
        return
    letter = word.removeprefix("lapack_")[0]
    form = _COMPLEX_FORMS.get(name, _FORMS[name]) if letter in "cz" else _FORMS[name]
    operands, results = (each.split() for each in form.split(" -> "))
    # JAX has the shapes of results with dynamic sizes as further operands.
    given = *op.operand_types[: len(operands)], *op.result_types
    wanted = *operands, *results
    if len(given) != len(wanted):
        raise VerifyException(
            f"expected {len(operands)} operands and {len(results)} results of {word}, got"
            f" {len(op.operand_types)} and {len(op.result_types)}"
        )
    for kind, part in zip(given, wanted, strict=True):
        expected = _element(letter, part[0])
        if element_type(kind) != expected or not isinstance(kind, TensorType):
            raise VerifyException(f"expected tensors of {expected} in a call of {word}, got {kind}")
    shapes = [kind.get_shape() for kind in given if isinstance(kind, TensorType)]
    try:
        _check_sizes(op, name, shapes, wanted)
    except ValueError as cause:
        raise VerifyException(str(cause)) from None


def operand_ranks(name: str) -> list[int]:
    """Return the ranks of the operands that a function reads, without batch dimensions."""
    return [len(part.partition(":")[2]) for part in _operands(name)]


def _operands(name: str) -> list[str]:
    return _FORMS[name].split(" -> ")[0].split()


def check_operands(op: Operation, name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise ValueError if an operation's function cannot be called for operands of such shapes."""
    _check_sizes(op, name, shapes, _operands(name))


def _is_left(op: Operation, name: str) -> bool:
    """Return whether a solve or a product has its matrix on the left."""
    options = CallOptions(op)
    if name == "trsm":
        return options.letter("side", "L") == "L"
    return options.truth("left") or flag(op, "left_side")


def _element(letter: str, part: str) -> Attribute | None:
    """Return the element type of an array of a function, `None` if there is no such function."""
    if part == "i":
        return i32
    letters = {"r": {"c": "s", "z": "d"}, "c": {"s": "c", "d": "z"}}.get(part, {})
    return ELEMENTS.get(letters.get(letter, letter))


def _check_sizes(
    op: Operation, name: str, shapes: Sequence[tuple[int, ...]], parts: Sequence[str]
) -> None:
    """Raise ValueError for sizes that differ where their letters are equal, or bad options.

    Dynamic sizes, which are negative, fit all.
    """
    option, allowed = _LETTERS.get(name, ("", ""))
    if option and (found := CallOptions(op).letter(option, allowed[0])) not in allowed:
        raise ValueError(f"expected '{option}' of {name} to be one of {allowed}, got {found}")
    side = "m" if _is_left(op, name) else "n"
    letters = [part[2:].replace("q", side) for part in parts]
    rank = max(0, len(shapes[0]) - len(letters[0]))
    batch = "".join(chr(ord("A") + each) for each in range(rank))
    sizes: dict[str, int] = {}
    for part, shape in zip(letters, shapes, strict=True):
        pairs = zip(batch + part, shape, strict=False)
        known = [(letter, size) for letter, size in pairs if size >= 0]
        fits = len(shape) == rank + len(part) and all(
            letter == "*" or sizes.setdefault(letter, size) == size for letter, size in known
        )
        if not fits:
            raise ValueError(_misfit(name, batch, part, shape, sizes))
        if "m" in sizes and "n" in sizes:
            sizes["k"] = min(sizes["m"], sizes["n"])
        if "n" in sizes:
            sizes["h"] = max(0, sizes["n"] - 1)
    for order in _ORDERS.get(name, "").replace("q", side).split():
        in_order = [sizes[each] for each in order if each in sizes]
        if in_order != sorted(in_order, reverse=True):
            raise ValueError(f"expected sizes {' >= '.join(order)} of {name}, got {in_order}")


def _misfit(
    name: str, batch: str, part: str, shape: Sequence[int], sizes: Mapping[str, int]
) -> str:
    """Return a message about an array that has another shape than `batch` and `part` name."""
    wanted = (str(sizes.get(letter, letter)) for letter in batch + part)
    found = shape_text(shape, "x")
    expected = "x".join(wanted) or "()"
    return f"expected an array of shape {expected} in a call of {name}, got {found or '()'}"
