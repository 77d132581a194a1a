"""The named structured ops of linalg as one table.

A row gives the loops of an op, the element of each operand that it reads at a point of the
iteration space, and the scalar computation there. The class, the verifier, the scalar body and the
sharding rule of the op are derived from its row. A peer test compares every row with MLIR 22.

Loops and subscripts are written as in einsum, with spaces between dimensions: `matmul` is `m k, k n
-> m n` over the loops `m n k`. The helpers of the table take loops only where they are not the
dimensions of the output, then the others in the order of the inputs. A subscript `oh+kh` is a
window: position `oh` times the stride plus kernel position `kh` times the dilation of that spatial
dimension. A loop that is not in the output's subscripts is a reduction. An empty subscript is a
scalar or a rank-0 operand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property

from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.str_enum import StrEnum


class IteratorType(StrEnum):
    """Whether the iterations of a loop are independent or combined into the outputs."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


class BodyKind(Enum):
    """The scalar computation of a named op at each point of the iteration space."""

    YIELD_INPUT = "yield_input"
    """Output = input; both have one element type."""
    CAST_INPUT = "cast_input"
    """Output = input, converted to the output's element type."""
    FUNCTION = "function"
    """Output = scalar function of the inputs; all have the output's element type."""
    MULTIPLY_ADD = "multiply_add"
    """Output += product of the two inputs, each converted to the output's element type."""
    ZERO_POINT_MULTIPLY_ADD = "zero_point_multiply_add"
    """Output += (a - a_zero_point) * (b - b_zero_point), each operand converted first."""
    POOL = "pool"
    """Output = scalar function of the output and the first input, converted first."""
    RANDOM = "random"
    """Output = pseudo-random number of a linear congruential generator (`fill_rng_2d`)."""


@dataclass(frozen=True)
class NamedOp:
    """One row of the table: the loops, the subscripts of the operands, and the scalar body."""

    name: str
    """The name of the op without the dialect."""
    loops: str | None
    """The names of the loops, outermost first; `None` if the loops are the output's dimensions."""
    subscripts: str
    """`input, input -> output`; `*` stands for all loops of an elementwise op."""
    body: BodyKind
    function: str = ""
    """The scalar function of the body, if any, by its name in `append_function` (`bodies.py`)."""
    windows: int = 0
    """The number of windows, which is the length of the attributes `strides` and `dilations`."""
    custom_maps: bool = False
    """Whether the op may have an explicit `indexing_maps`."""
    has_cast: bool = False
    """Whether a `cast` attribute chooses between signed and unsigned conversion."""
    unsigned: bool = False
    """Whether conversions are always unsigned."""

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The subscripts of the inputs, then those of the output."""
        inputs, output = self.subscripts.split("->")
        return (*(text.strip() for text in inputs.split(",")), output.strip())

    @property
    def input_count(self) -> int:
        return len(self.operands) - 1

    @cached_property
    def iterators(self) -> tuple[IteratorType, ...]:
        """The iterator types of an op with named loops."""
        output = self.operands[-1].split()
        return tuple(
            IteratorType.PARALLEL if loop in output else IteratorType.REDUCTION
            for loop in (self.loops or "").split()
        )

    def maps(
        self, rank: int, strides: tuple[int, ...] = (), dilations: tuple[int, ...] = ()
    ) -> tuple[AffineMap, ...]:
        """Return the indexing maps of the inputs, then the one of the output.

        `rank` is the rank of the output; only elementwise ops need it. `strides` and `dilations`
        have one number per window; empty means all 1.
        """
        return _maps(self, rank if self.loops is None else 0, strides, dilations)


@cache
def _maps(
    row: NamedOp, rank: int, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[AffineMap, ...]:
    if row.loops is None:
        empty = AffineMap(rank, 0, ())
        return tuple(AffineMap.identity(rank) if text else empty for text in row.operands)
    loops = {name: AffineExpr.dimension(i) for i, name in enumerate(row.loops.split())}
    strides = strides or (1,) * row.windows
    dilations = dilations or (1,) * row.windows

    def subscript(text: str) -> AffineMap:
        results: list[AffineExpr] = []
        window = 0
        for term in text.split():
            position, plus, kernel = term.partition("+")
            if not plus:
                results.append(loops[position])
            elif row.windows:
                results.append(
                    loops[position] * strides[window] + loops[kernel] * dilations[window]
                )
                window += 1
            else:
                results.append(loops[position] + loops[kernel])
        return AffineMap(len(loops), 0, tuple(results))

    return tuple(map(subscript, row.operands))


def _loops(subscripts: str) -> str:
    """Return the usual loops: the output's dimensions, then the others as the inputs name them."""
    inputs, output = subscripts.split("->")
    return " ".join(dict.fromkeys((*output.split(), *re.findall(r"\w+", inputs))))


def _contraction(name: str, subscripts: str, loops: str = "", *, custom: bool = False) -> NamedOp:
    body = BodyKind.MULTIPLY_ADD
    loops = loops or _loops(subscripts)
    return NamedOp(name, loops, subscripts, body, custom_maps=custom, has_cast=custom)


def _quantized(name: str, subscripts: str, loops: str = "", windows: int = 0) -> NamedOp:
    """Return the row of an op whose inputs are followed by their zero points."""
    inputs, output = subscripts.split(" -> ")
    loops, subscripts = loops or _loops(subscripts), f"{inputs}, , -> {output}"
    return NamedOp(name, loops, subscripts, BodyKind.ZERO_POINT_MULTIPLY_ADD, windows=windows)


def _convolution(name: str, subscripts: str, windows: int, loops: str = "") -> NamedOp:
    if name.endswith("_q"):
        return _quantized(name, subscripts, loops, windows)
    loops = loops or _loops(subscripts)
    return NamedOp(name, loops, subscripts, BodyKind.MULTIPLY_ADD, windows=windows)


def _pooling(name: str, subscripts: str, windows: int) -> NamedOp:
    function = name.split("_", 2)[2]
    return NamedOp(
        name,
        _loops(subscripts),
        subscripts,
        BodyKind.POOL,
        function={"sum": "add"}.get(function, function),
        windows=windows,
        unsigned=function.endswith("_unsigned"),
    )


def _elementwise(name: str, inputs: int) -> NamedOp:
    subscripts = ", ".join(["*"] * inputs) + " -> *"
    return NamedOp(name, None, subscripts, BodyKind.FUNCTION, function=name)


_FUNCTIONS = {
    1: "exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf",
    2: "add sub mul div div_unsigned max min powf",
    3: "select",
}
"""The elementwise ops by their number of inputs."""

_ROWS = (
    NamedOp("copy", None, "* -> *", BodyKind.CAST_INPUT, has_cast=True),
    NamedOp("fill", None, " -> *", BodyKind.YIELD_INPUT),
    NamedOp("fill_rng_2d", "m n", ", , -> m n", BodyKind.RANDOM),
    *(_elementwise(name, arity) for arity, names in _FUNCTIONS.items() for name in names.split()),
    # Contractions.
    _contraction("matmul", "m k, k n -> m n", custom=True),
    _contraction("batch_matmul", "b m k, b k n -> b m n", custom=True),
    _contraction("batch_reduce_matmul", "b m k, b k n -> m n", "b m n k", custom=True),
    _contraction("matvec", "m n, n -> m"),
    _contraction("vecmat", "m, m n -> n"),
    _contraction("batch_matvec", "b m k, b k -> b m"),
    _contraction("batch_vecmat", "b k, b k n -> b n"),
    _contraction("dot", "m, m -> "),
    _contraction("mmt4d", "m k m0 k0, n k n0 k0 -> m n m0 n0", "m n k m0 n0 k0"),
    _contraction("batch_mmt4d", "b m k m0 k0, b n k n0 k0 -> b m n m0 n0", "b m n k m0 n0 k0"),
    _quantized("quantized_matmul", "m k, k n -> m n"),
    _quantized("quantized_batch_matmul", "b m k, b k n -> b m n"),
    # Convolutions.
    _convolution("conv_1d", "ow+kw, kw -> ow", 0),
    _convolution("conv_2d", "oh+kh ow+kw, kh kw -> oh ow", 0),
    _convolution("conv_3d", "od+kd oh+kh ow+kw, kd kh kw -> od oh ow", 0),
    *(
        _convolution(f"conv_{name}", subscripts, int(name[0]))
        for names, subscripts in (
            ("1d_nwc_wcf", "n ow+kw c, kw c f -> n ow f"),
            ("1d_ncw_fcw", "n c ow+kw, f c kw -> n f ow"),
            ("2d_nhwc_hwcf 2d_nhwc_hwcf_q", "n oh+kh ow+kw c, kh kw c f -> n oh ow f"),
            ("2d_nhwc_fhwc 2d_nhwc_fhwc_q", "n oh+kh ow+kw c, f kh kw c -> n oh ow f"),
            ("2d_nchw_fchw 2d_nchw_fchw_q", "n c oh+kh ow+kw, f c kh kw -> n f oh ow"),
            ("2d_ngchw_fgchw", "n g c oh+kh ow+kw, f g c kh kw -> n g f oh ow"),
            ("2d_ngchw_gfchw 2d_ngchw_gfchw_q", "n g c oh+kh ow+kw, g f c kh kw -> n g f oh ow"),
            ("2d_nhwgc_gfhwc 2d_nhwgc_gfhwc_q", "n oh+kh ow+kw g c, g f kh kw c -> n oh ow g f"),
            (
                "3d_ndhwc_dhwcf 3d_ndhwc_dhwcf_q",
                "n od+kd oh+kh ow+kw c, kd kh kw c f -> n od oh ow f",
            ),
            ("3d_ncdhw_fcdhw", "n c od+kd oh+kh ow+kw, f c kd kh kw -> n f od oh ow"),
        )
        for name in names.split()
    ),
    *(
        _convolution(f"depthwise_conv_{name}", subscripts, int(name[0]), loops)
        for names, subscripts, loops in (
            ("1d_nwc_wc", "n ow+kw c, kw c -> n ow c", ""),
            ("1d_ncw_cw", "n c ow+kw, c kw -> n c ow", "n ow c kw"),
            ("1d_nwc_wcm", "n ow+kw c, kw c m -> n ow c m", ""),
            ("2d_nhwc_hwc 2d_nhwc_hwc_q", "n oh+kh ow+kw c, kh kw c -> n oh ow c", ""),
            ("2d_nchw_chw", "n c oh+kh ow+kw, c kh kw -> n c oh ow", "n oh ow c kh kw"),
            ("2d_nhwc_hwcm 2d_nhwc_hwcm_q", "n oh+kh ow+kw c, kh kw c m -> n oh ow c m", ""),
            (
                "3d_ndhwc_dhwc",
                "n od+kd oh+kh ow+kw c, kd kh kw c -> n od oh ow c",
                "n od oh ow kd kh kw c",
            ),
            (
                "3d_ncdhw_cdhw",
                "n c od+kd oh+kh ow+kw, c kd kh kw -> n c od oh ow",
                "n od oh ow kd kh kw c",
            ),
            (
                "3d_ndhwc_dhwcm",
                "n od+kd oh+kh ow+kw c, kd kh kw c m -> n od oh ow c m",
                "n od oh ow m kd kh kw c",
            ),
        )
        for name in names.split()
    ),
    # Pooling: only the shape of the second input, the window, is used.
    *(
        _pooling(f"pooling_{layout}_{function}", subscripts, windows)
        for layout, functions, subscripts, windows in (
            (
                "nhwc",
                "sum max max_unsigned min min_unsigned",
                "n oh+kh ow+kw c, kh kw -> n oh ow c",
                2,
            ),
            ("nchw", "sum max", "n c oh+kh ow+kw, kh kw -> n c oh ow", 2),
            ("nwc", "sum max max_unsigned min min_unsigned", "n ow+kw c, kw -> n ow c", 1),
            ("ncw", "sum max", "n c ow+kw, kw -> n c ow", 1),
            ("ndhwc", "sum max min", "n od+kd oh+kh ow+kw c, kd kh kw -> n od oh ow c", 3),
        )
        for function in functions.split()
    ),
)

NAMED_OPS: dict[str, NamedOp] = {f"linalg.{row.name}": row for row in _ROWS}
"""All named structured ops by full name."""

CONTRACT = NamedOp("contract", None, "*, * -> *", BodyKind.MULTIPLY_ADD, has_cast=True)
ELEMENTWISE = NamedOp("elementwise", None, "* -> *", BodyKind.FUNCTION)
DATA_MOVEMENT = NamedOp("data_movement", None, "* -> *", BodyKind.YIELD_INPUT)
"""The body of `linalg.broadcast` and `linalg.transpose`."""
