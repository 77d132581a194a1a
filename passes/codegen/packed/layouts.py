"""Find the layouts of a kernel's tensors: resolved ones from their encodings, or the target's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from ....dialects.hal.affinities import solver_of
from ....dialects.hal.targets import ExecutableTargetAttr
from ....dialects.iree_encoding.attributes import EncodingAttr
from ....dialects.iree_encoding.interfaces import (
    ContractionEncoding,
    ConvolutionEncoding,
    EncodingError,
    EncodingSolverInterface,
    LayoutInterface,
    Tensor,
    TensorEncoding,
    tensor_encoding,
)
from ....dialects.iree_encoding.layouts import (
    IdentityResolverAttr,
    PaddingAttr,
    SpecializationResolverAttr,
    UnsupportedResolverAttr,
)
from ....dialects.iree_gpu import GpuEncodingResolverAttr, GpuPaddingResolverAttr
from ....dialects.iree_tensor_ext import DispatchTensor
from ....dialects.stream.affinity import affinity_of
from ....ir.diagnostics import Note, OperationError, remark, remarks_wanted
from ....ir.host_programs import host_operations
from ....ir.index_lists import known_sizes
from ....ir.structural_hash import AttributeNumbers
from ....ir.symbols import defined_name
from ....tiling.contractions import RESULT, Role
from ....tiling.packed_layouts import IDENTITY, PackedLayout
from ....tiling.storage_sizes import static_tiles
from ...stream.analysis.affinity_targets import AffinityTargets
from ...stream.analysis.encoding_resolution import CATEGORY
from ...stream.kernels.exports import entry_points

TARGET = "hal.executable.target"
"""Attribute of a function: the target that it is compiled for."""


TEST_RESOLVERS: dict[str, EncodingSolverInterface] = {
    "none": IdentityResolverAttr(),
    "gpu_data_tiling": GpuEncodingResolverAttr.new([NoneAttr()]),
    "gpu_padding": GpuPaddingResolverAttr.new([NoneAttr(), NoneAttr()]),
}
"""Solvers for functions that name no target, by their names in options of passes."""


def solver_of_flags(name: str) -> EncodingSolverInterface:
    """Return the solver of that name for the GPU that a flag names."""
    return TEST_RESOLVERS[name].configured(DictionaryAttr({}))


def executable_solvers(
    context: Context, module: ModuleOp
) -> dict[str, tuple[EncodingSolverInterface, ...]]:
    """Return the encoding solvers of each dispatched executable: those of its devices."""
    analysis = AffinityTargets(context, module, AttributeNumbers())
    solvers: dict[str, tuple[EncodingSolverInterface, ...]] = {}
    for operation in host_operations(module):
        for entry in entry_points(operation):
            name = entry.root_reference.data
            affinity = affinity_of(operation)
            if name in solvers or affinity is None:
                continue
            targets = analysis.targets(affinity, operation)
            solvers[name] = tuple(dict.fromkeys(target.solver for target in targets))
    return solvers


def target_solver(
    function: Operation, default: EncodingSolverInterface
) -> tuple[EncodingSolverInterface, ...]:
    """Return the solver of the target that a function names.

    Without such a target return `default`; if its solver has no tiles, that of row-major layouts.
    """
    target = function.attributes.get(TARGET)
    if not isinstance(target, ExecutableTargetAttr):
        is_row_major = isinstance(default, IdentityResolverAttr)
        values = (value for operation in function.walk() for value in operation.results)
        if (
            is_row_major
            and remarks_wanted()
            and any(tensor_encoding(value.type) for value in values)
        ):
            name = defined_name(function)
            remark(
                CATEGORY,
                function,
                f"@{name} does not name a target: its tensors are stored in row-major order",
            )
        return (default,)
    solver = solver_of(target)
    without_tiles = isinstance(solver, UnsupportedResolverAttr | SpecializationResolverAttr)
    return (IdentityResolverAttr() if without_tiles else solver,)


def bound_solvers(executable: Operation) -> tuple[EncodingSolverInterface, ...]:
    """Return the solvers named by the encodings of what an executable's kernels write.

    This is for executables that nothing dispatches. In IREE of 2024, a resolved encoding names its
    solver, and results have the layout of the device that runs the kernel. Newer resolved layouts
    do not say which solver made them.
    """
    found: dict[EncodingSolverInterface, None] = {}
    for operation in executable.walk():
        for result in operation.results:
            bound = result.type
            if not isinstance(bound, DispatchTensor) or bound.access.data == "readonly":
                continue
            encoding = tensor_encoding(bound.bound_type)
            targets = encoding.targets if isinstance(encoding, EncodingAttr) else NoneAttr()
            for solver in targets if isinstance(targets, ArrayAttr) else ():
                if isinstance(solver, EncodingSolverInterface):
                    found[solver] = None
    return tuple(found)


class KernelLayouts:
    """The layouts of the tensor types of one kernel.

    A function that names its target itself (`has_own_target`) is lowered as IREE lowers it: it
    queries the tile sizes that microkernels choose at run time, and may use the target's own
    instructions. In other functions these tile sizes are constants, the ones for which the host
    allocates storage.
    """

    def __init__(
        self, solvers: tuple[EncodingSolverInterface, ...], *, has_own_target: bool = False
    ) -> None:
        self.solvers = solvers
        self.queried_types: dict[PackedLayout, Attribute] = {}
        """Layouts whose tile sizes are queried, each with a tensor type to query for."""
        self.has_own_target = has_own_target
        self._layouts: dict[Attribute, PackedLayout] = {}

    def lowering_solver(self) -> EncodingSolverInterface | None:
        """Return the target's solver if it lowers operations itself, else `None`."""
        if len(self.solvers) != 1:
            return None
        (solver,) = self.solvers
        own = type(solver).materialize is not EncodingSolverInterface.materialize
        return solver if own else None

    def named_solver(self) -> EncodingSolverInterface | None:
        """Return the solver of the target that the function names, or `None`."""
        return self.solvers[0] if self.has_own_target and len(self.solvers) == 1 else None

    def layout(self, type_: Attribute, operation: Operation) -> PackedLayout:
        """Return how tensors of a type are packed.

        Raises OperationError if the layout is open and the target is not known, or if there is
        none.
        """
        encoding = tensor_encoding(type_)
        if encoding is None:
            return IDENTITY
        if type_ not in self._layouts:
            layout = self._find(cast(Tensor, type_), encoding, operation)
            self._layouts[type_] = self._resolved(layout, encoding, type_)
        return self._layouts[type_]

    def padded_type(self, tensor: Tensor, operation: Operation) -> Tensor | None:
        """Return the type of a padded tensor in memory, with the padding as elements.

        Return `None` in functions that name no target, for tensors without padding, and for
        padding of dynamic sizes. Raises OperationError if the target cannot choose the padding.
        """
        solver, encoding = self.named_solver(), tensor_encoding(tensor)
        if solver is None or encoding is None:
            return None
        layouts: Sequence[LayoutInterface] = encoding.layouts()
        if isinstance(encoding, PaddingAttr) and encoding.is_open:
            try:
                layouts = (solver.serialized(tensor),)
            except EncodingError as error:
                raise OperationError(
                    operation, f"has a tensor without a layout: {error}"
                ) from error
        if len(layouts) != 1 or not isinstance(layouts[0], PaddingAttr):
            return None
        padding, shape = known_sizes(layouts[0].padding), tensor.get_shape()
        if len(padding) != len(shape):
            return None
        pairs = [(size, room or 0) for size, room in zip(shape, padding, strict=True)]
        if any(size == DYNAMIC_INDEX and room for size, room in pairs):
            return None
        return TensorType(tensor.element_type, [size + room for size, room in pairs])

    def _resolved(
        self, layout: PackedLayout, encoding: TensorEncoding, type_: Attribute
    ) -> PackedLayout:
        if layout.is_identity:
            return IDENTITY
        if self.has_own_target and layout.has_dynamic_tiles:
            operand = _operand_of(encoding)
            if operand is not None:
                layout = replace(layout, queried_operand=operand)
                self.queried_types.setdefault(layout, type_)
                return layout
        return static_tiles(layout)

    def _find(self, tensor: Tensor, encoding: TensorEncoding, operation: Operation) -> PackedLayout:
        layouts: Sequence[LayoutInterface] = encoding.layouts()
        if encoding.is_open:
            layouts = self.solvers
            if not layouts:
                raise OperationError(
                    operation,
                    f"has a tensor without a resolved layout, {tensor}, in a kernel that no "
                    "device runs",
                    [
                        Note(
                            "data-tile makes kernels for devices; a function may also name its "
                            f"target itself, as '{TARGET}'"
                        )
                    ],
                )
        try:
            stored = {(one.packed_layout(tensor), one.storage_formula(tensor)) for one in layouts}
        except EncodingError as error:
            raise OperationError(
                operation, f"has a tensor without a layout, {tensor}: {error}"
            ) from error
        # If the targets disagree, the layout is row-major everywhere.
        return next(iter(stored))[0] if len(stored) == 1 else IDENTITY


def _operand_of(encoding: TensorEncoding) -> int | None:
    """Return which operand of its contraction a tensor is; `None` if it belongs to none."""
    if not isinstance(encoding, ContractionEncoding):
        return None
    operand = encoding.contraction_operand()
    return None if operand is None else operand.index


def summed_dimensions(type_: Attribute) -> tuple[int, ...] | None:
    """Return the dimensions of a tensor that a contraction adds up; `None` if not known."""
    encoding = tensor_encoding(type_)
    if isinstance(encoding, ConvolutionEncoding):
        convolution = encoding.convolution_operand()
        if convolution is not None and convolution.index == RESULT:
            return ()
    if not isinstance(encoding, ContractionEncoding):
        return None
    operand = encoding.product_operand()
    roles = None if operand is None else operand.roles()
    if operand is None or roles is None:
        return None
    if operand.index == len(operand.maps) - 1:
        return ()
    return tuple(_positions(operand.tensor_map, roles))


def _positions(map_: tuple[int | None, ...], roles: dict[int, Role]) -> Iterator[int]:
    for position, loop in enumerate(map_):
        if loop is None or roles.get(loop) in (Role.K, Role.BLOCK):
            yield position
