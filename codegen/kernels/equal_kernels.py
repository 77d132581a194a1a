"""Share equal kernels: the repeated layers of a model are written and compiled once.

A walk from the stored results collects everything that a kernel's text depends on: names,
attributes, types and regions of its operations, types of the values it reads, and contents of
constants. Two kernels whose walks are equal differ only in the values they are bound to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from .elements.kernel_text import Bound, Constant, IndexConstant, KernelText, SizeConstant
from .elements.static_values import constant_attribute
from .loop_nests import write_kernel
from .products.panels import PanelProduct, panel_product

IsFused = Callable[[SSAValue], bool]


@dataclass(frozen=True, slots=True)
class Kernels:
    """A kernel, and the kernels of a large product by panels, `None` for anything else."""

    text: KernelText
    product: PanelProduct | None


class EqualKernels:
    """The kernels of a program that have been written so far."""

    def __init__(self) -> None:
        self._written: dict[Hashable, tuple[Kernels, _Walk]] = {}

    def kernel(
        self, operation: Operation, results: Sequence[SSAValue], is_fused: IsFused
    ) -> Kernels:
        """Return the kernel that stores `results` of an operation, and of those joined with it.

        Raises OperationError as `write_kernel` does.
        """
        walk = _Walk(operation, results, is_fused)
        key = walk.key, tuple(walk.values[each] for each in results)
        found = self._written.get(key)
        if found is not None:
            return _Binding(found[1], walk).kernels(found[0], operation)
        text = write_kernel(operation, results, is_fused)
        written = Kernels(text, panel_product(operation, is_fused))
        self._written[key] = written, walk
        return written


class _Walk:
    """A walk from the operations whose results a kernel stores.

    - `key`: everything that the kernel's text depends on;
    - `values`, `operations`: what the walk visits; equal keys imply the same order.
    """

    def __init__(self, root: Operation, results: Sequence[SSAValue], is_fused: IsFused) -> None:
        self.operations: list[Operation] = []
        self.values: dict[SSAValue, int] = {}
        self._is_fused = is_fused
        stored = dict.fromkeys(each.owner for each in results)
        others = [each for each in stored if isinstance(each, Operation) and each is not root]
        key = [self._operation(root)]
        # The walk from the root has visited those that it reads.
        key += [self._operation(each) for each in others if each.results[0] not in self.values]
        self.key = tuple(key)

    def _operation(self, operation: Operation) -> Hashable:
        operands = tuple(map(self._operand, operation.operands))
        self.operations.append(operation)
        results = tuple(map(self._new, operation.results))
        blocks = tuple(self._block(block) for each in operation.regions for block in each.blocks)
        return (
            operation.name,
            tuple(sorted(operation.properties.items())),
            tuple(sorted(operation.attributes.items())),
            operands,
            results,
            tuple(map(self._is_fused, operation.results)),
            blocks,
        )

    def _block(self, block: Block) -> Hashable:
        return tuple(map(self._new, block.args)), tuple(map(self._operation, block.ops))

    def _operand(self, value: SSAValue) -> Hashable:
        number = self.values.get(value)
        if number is not None:
            return number
        owner = value.owner
        if isinstance(owner, Operation) and self._is_fused(value):
            described = self._operation(owner)
            return described, self.values[value]
        return self._new(value), constant_attribute(value)

    def _new(self, value: SSAValue) -> Hashable:
        self.values[value] = len(self.values)
        return value.type


class _Binding:
    """Maps the values and operations of one walk to those of another with the same key."""

    def __init__(self, old: _Walk, new: _Walk) -> None:
        self._values = dict(zip(old.values, new.values, strict=True))
        self._operations = dict(zip(old.operations, new.operations, strict=True))

    def kernels(self, kernels: Kernels, operation: Operation) -> Kernels:
        """Return the kernels of the old walk for the new one, whose root is `operation`."""
        product = kernels.product
        if product is not None:
            view = structured_view(operation)
            assert view is not None
            product = replace(
                product,
                contraction=replace(product.contraction, view=view),
                left=self._text(product.left),
                right=self._text(product.right),
                multiply=self._text(product.multiply),
            )
        return Kernels(self._text(kernels.text), product)

    def _text(self, text: KernelText) -> KernelText:
        return replace(
            text,
            reads=tuple(map(self._bound, text.reads)),
            writes=tuple(map(self._bound, text.writes)),
            constants=tuple(map(self._constant, text.constants)),
            failures=tuple(
                replace(each, operation=self._operations[each.operation]) for each in text.failures
            ),
        )

    def _bound(self, value: Bound) -> Bound:
        return self._values[value] if isinstance(value, SSAValue) else value

    def _constant(self, each: Constant) -> Constant:
        if isinstance(each, SizeConstant):
            return SizeConstant(self._bound(each.tensor), each.dimension)
        return IndexConstant(self._values[each.value]) if isinstance(each, IndexConstant) else each
