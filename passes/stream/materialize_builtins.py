"""Fill with 64-bit patterns by kernels, since devices fill with at most 32 bits by themselves.

    %0 = stream.async.splat %pattern : i64 -> !stream.resource<*>{%size}

becomes a dispatch of `@__builtin_splat_i64`, and a fill becomes one of `@__builtin_fill_i64` on its
range. Their executables are inserted at the start of the module. A constant pattern that repeats a
half of itself is narrowed instead.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, DivUIOp
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.stream.affinity import own_affinity
from ...dialects.stream.async_ops import AsyncDispatchOp
from ...dialects.stream.copy_patterns import narrow_fill
from ...ir.attribute_access import symbol_name
from ...ir.host_programs import host_operations
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, replace_by
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from ...ir.text.parser import parse_module
from ...ir.text.source import Source

SPLAT, FILL = "stream.async.splat", "stream.async.fill"
PATTERN_BYTES = 8

_ARGUMENTS = {
    "splat": "%value: i64, %count: index, %binding: !stream.binding",
    "fill": "%binding: !stream.binding, %value: i64, %count: index",
}
"""The arguments of each kernel, in the order in which dispatches pass them."""

_KERNEL = """
stream.executable private @__builtin_{name}_i64 {{
  stream.executable.export public @__builtin_{name}_i64 workgroups(%count: index) -> (index, index, index) {{
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%count)
    stream.return %x, %y, %z : index, index, index
  }}
  builtin.module {{
    func.func @__builtin_{name}_i64({arguments}) {{
      %c0 = arith.constant 0 : index
      %n = iree_tensor_ext.dispatch.workload.ordinal %count, 0 : index
      %out = stream.binding.subspan %binding[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi64>>{{%n}}
      %empty = tensor.empty(%n) : tensor<?xi64>
      %filled = linalg.fill ins(%value : i64) outs(%empty : tensor<?xi64>) -> tensor<?xi64>
      iree_tensor_ext.dispatch.tensor.store %filled, %out, offsets = [0], sizes = [%n], strides = [1]
        : tensor<?xi64> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi64>>{{%n}}
      return
    }}
  }}
}}
"""  # noqa: E501


class MaterializeBuiltinsPass(ModulePass):
    """Replace splats and fills with 64-bit patterns by dispatches."""

    name = "iree-stream-materialize-builtins"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        used: dict[str, None] = {}
        for operation in tuple(host_operations(op)):
            if operation.name not in (SPLAT, FILL):
                continue
            (value,) = values(operation, "value")
            if value.type != i64:
                continue
            if not narrow_fill(operation, builder_before(operation)):
                used[_dispatch(operation)] = None
        _add_kernels(ctx, op, sorted(used))


def _dispatch(operation: Operation) -> str:
    """Replace an operation by a dispatch of a builtin kernel; return the kernel's short name."""
    name = operation.name.rpartition(".")[2]
    symbol = f"__builtin_{name}_i64"
    affinity = own_affinity(operation)
    target = () if name == "splat" else values(operation, "target")
    columns = [
        [values(operation, f"target_{part}")[0]] if target else []
        for part in ("size", "offset", "end", "length")
    ]
    length = columns[-1][0] if target else values(operation, "result_size")[0]
    count = _count(operation, length)
    dispatch = AsyncDispatchOp.build(
        operands=[
            [count],
            [*target, values(operation, "value")[0], count],
            *columns,
            values(operation, "target_size" if target else "result_size"),
        ],
        result_types=[operation.result_types],
        properties={
            "entry_points": ArrayAttr([SymbolRefAttr(symbol, [symbol])]),
            "tied_operands": tied_operands([0 if target else UNTIED]),
            **({} if affinity is None else {"affinity": affinity}),
        },
    )
    replace_by(operation, dispatch)
    return name


def _count(operation: Operation, length: SSAValue) -> SSAValue:
    """Emit the number of patterns in a length."""
    builder = builder_before(operation)
    width = builder.insert(ConstantOp.from_int_and_width(PATTERN_BYTES, INDEX))
    return builder.insert(DivUIOp(length, width.result)).result


def _add_kernels(context: Context, module: ModuleOp, names: list[str]) -> None:
    """Insert executables at the start of the module unless it has them already."""
    existing = {symbol_name(operation) for operation in module.body.block.ops}
    first = module.body.block.first_op
    for name in names:
        if f"__builtin_{name}_i64" in existing or first is None:
            continue
        text = _KERNEL.format(name=name, arguments=_ARGUMENTS[name])
        parsed = parse_module(context, Source(text, f"<__builtin_{name}_i64>"))
        for operation in tuple(parsed.body.block.ops):
            operation.detach()
            module.body.block.insert_op_before(operation, first)
