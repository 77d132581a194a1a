"""Print a program as a Graphviz graph: a node for each op, an edge for each use of a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ...ir.attribute_access import operation_name
from ...ir.diagnostics import write_pass_output
from ...ir.regions import inner_blocks
from ...ir.text.print_style import PrintStyle
from ...ir.text.printer import ModulePrinter


@dataclass(frozen=True)
class ViewOpGraphPass(ModulePass):
    """Print the program on standard error as a graph in the language of Graphviz (dot)."""

    name = "view-op-graph"

    max_label_len: int = 20
    """The maximum number of characters shown of a type or an attribute."""

    print_attrs: bool = True
    """Whether to show attributes."""

    print_control_flow_edges: bool = False
    """Whether to draw an edge from each operation to the next one, and to its successor blocks."""

    print_data_flow_edges: bool = True
    """Whether to draw an edge for each use of a value."""

    print_result_types: bool = True
    """Whether to show the types of results."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        write_pass_output(_Graph(self).text(op))


class _Graph:
    def __init__(self, options: ViewOpGraphPass) -> None:
        self._options = options
        self._printer = ModulePrinter(PrintStyle(aliases=False))
        self._nodes: dict[Operation | SSAValue | Block, str] = {}
        self._lines: list[str] = []

    def text(self, module: ModuleOp) -> str:
        """Return the whole graph."""
        self._operation(module, 1)
        edges = [f"  {edge}" for operation in module.walk() for edge in self._edges(operation)]
        return "\n".join(["digraph G {", "  compound = true;", *self._lines, *edges, "}", ""])

    def _node(self, key: Operation | SSAValue | Block) -> str:
        return self._nodes.setdefault(key, f"v{len(self._nodes)}")

    def _operation(self, operation: Operation, depth: int) -> None:
        indent = "  " * depth
        label = self._label(operation)
        if not operation.regions:
            hue = sum(operation_name(operation).encode()) % 100 / 100
            self._lines.append(
                f'{indent}{self._node(operation)} [label = "{label}", shape = box, style = filled,'
                f' fillcolor = "{hue} 0.3 0.95"];'
            )
            return
        self._lines.append(f"{indent}subgraph cluster_{self._node(operation)} {{")
        inner = indent + "  "
        self._lines.append(f'{inner}label = "{label}";')
        # Edges can only lead to nodes, so every cluster gets one.
        self._lines.append(f'{inner}{self._node(operation)} [label = " ", shape = plain];')
        for block in inner_blocks(operation):
            self._block(block, depth + 1)
        self._lines.append(f"{indent}}}")

    def _block(self, block: Block, depth: int) -> None:
        indent = "  " * depth
        self._lines.append(f"{indent}subgraph cluster_{self._node(block)} {{")
        self._lines.append(f'{indent}  label = "";')
        self._lines.append(f'{indent}  {self._node(block)} [label = " ", shape = plain];')
        for argument in block.args:
            label = self._value(argument)
            self._lines.append(
                f'{indent}  {self._node(argument)} [label = "{label}", shape = ellipse];'
            )
        for operation in block.ops:
            self._operation(operation, depth + 1)
        self._lines.append(f"{indent}}}")

    def _label(self, operation: Operation) -> str:
        lines = [operation_name(operation)]
        if self._options.print_attrs:
            attributes = {**operation.properties, **operation.attributes}
            attributes.pop("op_name__", None)  # the name of an operation that is not registered
            lines += [f"{name}: {self._short(attributes[name])}" for name in sorted(attributes)]
        lines += [self._value(result) for result in operation.results]
        return "".join(f"{_escaped(line)}\\l" for line in lines)

    def _value(self, value: SSAValue) -> str:
        name = self._printer.value_text(value)
        shows = self._options.print_result_types
        return f"{name}: {self._short(value.type)}" if shows else name

    def _short(self, attribute: object) -> str:
        text = str(attribute)
        most = self._options.max_label_len
        return text if len(text) <= most else f"{text[:most]}..."

    def _edges(self, operation: Operation) -> Iterator[str]:
        end = f" [lhead = cluster_{self._node(operation)}]" if operation.regions else ""
        if self._options.print_data_flow_edges:
            for operand in operation.operands:
                source = operand.op if isinstance(operand, OpResult) else operand
                yield f"{self._node(source)} -> {self._node(operation)}{end};"
        if self._options.print_control_flow_edges:
            following = [] if operation.next_op is None else [operation.next_op]
            for target in (*following, *operation.successors):
                yield f"{self._node(operation)} -> {self._node(target)} [style = dashed];"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
