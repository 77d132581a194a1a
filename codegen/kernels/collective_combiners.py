"""Write the kernels of reducing collectives, which combine operands in the order of processes."""

from __future__ import annotations

from functools import cache

from ...ir.combiners import combining_operation
from ...runtime.abi.elements import Element
from ...runtime.abi.native_code import Native
from ...sharding.sharding import ReductionKind
from ..cache import compile_kernels
from .code.ast_builder import AstBuilder, Term
from .elements.kernel_text import fetch, kernel_function
from .loop_nests import FLAT_CHUNK
from .loops.tiles import flat_loop

_COMPLEX = {ReductionKind.SUM: "addc", ReductionKind.PRODUCT: "mulc"}


def combiner(kind: ReductionKind, element: Element) -> str | None:
    """Return the primitive that combines two elements, `None` if there is none for the kind."""
    kind = ReductionKind.SUM if kind is ReductionKind.AVERAGE else kind
    if element.is_complex:
        return _COMPLEX.get(kind)
    elements = "f" if element.is_float else "u" if element.is_unsigned else "s"
    operation = combining_operation(kind, elements)
    return None if operation is None else operation.removeprefix("arith.")


def _converted(code: AstBuilder, source: Element, target: Element, term: Term) -> Term:
    """Convert an element to another type; real and imaginary parts are converted separately."""
    if source == target:
        return term
    if not target.is_complex:
        return code.call(_conversion(source, target), term)
    parts = [code.call(f"{part}_{source.register}", term) for part in ("re", "im")]
    halves = [_converted(code, source.part, target.part, part) for part in parts]
    return code.call(f"create_{target.register}", *halves)


def _conversion(source: Element, target: Element) -> str:
    """Return the primitive that converts a real element to another type."""
    match source.is_float, target.is_float:
        case True, True:
            name = "convertf"
        case True, False:
            name = "fptoui" if target.is_unsigned else "fptosi"
        case False, True:
            name = "uitofp" if source.is_unsigned else "sitofp"
        case _:
            name = "convertui" if source.is_unsigned else "converti"
    return f"{name}_{source.name}_{target.name}"


@cache
def reduction_kernel(
    kind: ReductionKind, source: Element, target: Element, participants: int
) -> Native:
    """Return the kernel `binding 0 = combine(bindings 1 ... participants)`.

    `constants[0]` is the number of elements. Sources are converted to the target type first. `f16`
    and `bf16` are combined in `f32` and rounded once. Raises ValueError if the elements have no
    such reduction.
    """
    name = combiner(kind, target)
    if name is None:
        raise ValueError(f"there is no reduction {kind} of {target.name}")
    code = AstBuilder()
    with flat_loop(code, "count", FLAT_CHUNK) as index:
        total = _combined(code, name, source, target, participants, index)
        if kind is ReductionKind.AVERAGE:
            total = _average(code, target, participants, total)
        code.run(f"store_{target.name}_0", "b0", index, code.rounded(total, target))
    bindings = [fetch(f"b{i}", "bindings", i) for i in range(participants + 1)]
    function = kernel_function([*bindings, fetch("count", "constants", 0), *code.body])
    return compile_kernels([function])[0]


def _combined(
    code: AstBuilder, name: str, source: Element, target: Element, participants: int, index: Term
) -> Term:
    register = target.register
    total: Term = 0
    for participant in range(participants):
        binding = participant + 1
        term = code.call(f"load_{source.name}_{binding}", f"b{binding}", index)
        term = _converted(code, source, target, term)
        total = term if participant == 0 else code.call(f"{name}_{register}", total, term)
    return total


def _average(code: AstBuilder, target: Element, participants: int, total: Term) -> Term:
    if target.is_complex:
        parts = [
            code.float_constant(part, target.part.register) for part in (float(participants), 0.0)
        ]
        count = code.call(f"create_{target.register}", *parts)
        return code.call(f"divc_{target.register}", total, count)
    if target.is_float:
        count = code.float_constant(float(participants), target.register)
        return code.call(f"divf_{target.register}", total, count)
    # The number of participants may not fit in a narrow type.
    convert, divide = ("convertui", "divui") if target.is_unsigned else ("converti", "divsi")
    wide = total if target.width == 64 else code.call(f"{convert}_{target.name}_i64", total)
    quotient = code.call(f"{divide}_i64", wide, participants)
    return quotient if target.width == 64 else code.call(f"converti_i64_{target.name}", quotient)
