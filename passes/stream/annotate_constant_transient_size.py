"""Add the size of transient storage to the reflection of functions where it is constant.

    util.func public @f(...) attributes {iree.reflection = {iree.abi.transients.size = @f$size}}

also gets `iree.abi.transients.size.constant = 256 : index` if `@f$size` returns 256 for all inputs.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation

from ...ir.attribute_access import constant_integer, symbol_name
from ...ir.host_programs import FUNCTIONS, RETURNS
from ..manager.module_pass import module_pass

REFLECTION = "iree.reflection"
SIZE = "iree.abi.transients.size"


@module_pass("iree-stream-annotate-constant-transient-size")
def annotate_constant_transient_size(module: ModuleOp) -> None:
    """Annotate functions with the size of their transient storage where it is constant."""
    functions = {symbol_name(each): each for each in module.body.block.ops}
    for function in tuple(functions.values()):
        reflection = function.attributes.get(REFLECTION)
        if function.name not in FUNCTIONS or not isinstance(reflection, DictionaryAttr):
            continue
        query = reflection.data.get(SIZE)
        if isinstance(query, SymbolRefAttr):
            size = _constant_result(functions.get(query.root_reference.data))
            if size is not None:
                number = IntegerAttr.from_index_int_value(size)
                function.attributes[REFLECTION] = DictionaryAttr(
                    {**reflection.data, f"{SIZE}.constant": number}
                )


def _constant_result(function: Operation | None) -> int | None:
    """Return the constant that a function of one block returns, or `None`."""
    blocks = function.regions[0].blocks if function is not None and function.regions else ()
    if len(blocks) != 1 or (last := blocks[0].last_op) is None:
        return None
    if last.name not in RETURNS or len(last.operands) != 1:
        return None
    return constant_integer(last.operands[0])
