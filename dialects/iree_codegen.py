"""The `iree_codegen` dialect: what kernels ask their target for when they run."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, prop_def, traits_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation


@irdl_op_definition
class QueryTileSizesOp(SyntaxOperation):
    """The tiles that microkernels want an encoded tensor in, one size for each dimension."""

    name = "iree_codegen.query_tile_sizes"

    tensor_type = prop_def(TensorType)
    sizes = var_result_def(IndexType)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " attr-dict type($tensor_type) -> type($sizes)"

    def verify_(self) -> None:
        tensor_type = self.tensor_type
        if len(self.sizes) != tensor_type.get_num_dims():
            raise VerifyException(
                f"has {len(self.sizes)} results, but {tensor_type} has "
                f"{tensor_type.get_num_dims()} dimensions"
            )


IreeCodegen = Dialect("iree_codegen", [QueryTileSizesOp], [])
