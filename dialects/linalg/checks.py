"""Verifiers of structured ops and of their destinations. They raise VerifyException."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, ShapedType, TensorType
from xdsl.ir import Block, Operation, Region
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type
from .structured_view import StructuredView, given_maps, structured_view

OTHER_BODY = (
    "has a body that its name does not imply: write 'linalg.generic' for another computation"
)


def verify_structured(operation: Operation, input_count: int) -> None:
    """Check the rules that all structured ops share, with MLIR's error messages.

    Raises VerifyException.
    """
    verify_destinations(operation, input_count)
    maps = given_maps(operation)
    if maps is not None and len(maps) != len(operation.operands):
        raise VerifyException(
            f"expected the number of indexing_map ({len(maps)}) to be equal to the number of "
            f"input/output operands ({len(operation.operands)})"
        )
    view = structured_view(operation)
    if view is None:
        raise VerifyException("has no loops, indexing maps and body that fit its operands")
    _verify_maps(view)
    _verify_shapes(view)
    verify_body(operation, view.body, len(view.outputs))


def verify_destinations(
    operation: Operation, input_count: int, output_count: int | None = None
) -> None:
    """Check that each output tensor has a result of its type, and tensors and memrefs do not mix.

    The outputs follow the inputs. All remaining operands are outputs unless `output_count` is
    given.
    """
    operands = operation.operands
    end = len(operands) if output_count is None else input_count + output_count
    for index, output in enumerate(operands[input_count:end], start=input_count):
        if not isinstance(output.type, TensorType | MemRefType):
            raise VerifyException(
                f"operand #{index} must be a ranked tensor or memref, but got '{output.type}'"
            )
    tensors = [operand for operand in operands if isinstance(operand.type, TensorType)]
    if tensors and any(isinstance(operand.type, MemRefType) for operand in operands):
        raise VerifyException("expected to have pure tensor or buffer semantics")
    outputs = [operand for operand in operands[input_count:end] if operand in tensors]
    if len(operation.results) != len(outputs):
        raise VerifyException(
            f"expected the number of tensor results ({len(operation.results)}) to be equal to "
            f"the number of output tensors ({len(outputs)})"
        )
    for index, (output, result) in enumerate(
        zip(outputs, operation.results, strict=True), start=input_count
    ):
        if output.type != result.type:
            raise VerifyException(
                f"expected type of operand #{index} ('{output.type}') to match type of "
                f"corresponding result ('{result.type}')"
            )


def _verify_maps(view: StructuredView) -> None:
    loops = len(view.iterators)
    operands = (*view.inputs, *view.outputs)
    for index, (operand, indexing_map) in enumerate(zip(operands, view.maps, strict=True)):
        if indexing_map.num_symbols:
            raise VerifyException(f"unexpected symbols in indexing_map #{index}")
        if indexing_map.num_dims != loops:
            raise VerifyException(
                f"expected indexing_map #{index} to have {loops} dim(s) to match the number "
                "of loops"
            )
        operand_type = operand.type
        rank = len(operand_type.get_shape()) if isinstance(operand_type, ShapedType) else 0
        if rank != len(indexing_map.results):
            raise VerifyException(
                f"expected operand #{index} rank ({rank}) to match the result rank of "
                f"indexing_map ({len(indexing_map.results)})"
            )


def _verify_shapes(view: StructuredView) -> None:
    """Check that operands determine the size of every loop and contain every element accessed."""
    sizes: list[int | None] = [None] * len(view.iterators)
    named: set[int] = set()
    shapes = [
        (index, indexing_map, operand.type.get_shape())
        for index, (operand, indexing_map) in enumerate(
            zip((*view.inputs, *view.outputs), view.maps, strict=True)
        )
        if isinstance(operand.type, ShapedType)
    ]
    for index, indexing_map, shape in shapes:
        for dimension, (result, size) in enumerate(zip(indexing_map.results, shape, strict=True)):
            if not isinstance(result, AffineDimExpr):
                continue
            loop = result.position
            named.add(loop)
            if size < 0:
                continue
            known = sizes[loop]
            if known is None:
                sizes[loop] = size
            elif known != size:
                raise VerifyException(
                    f"inferred input/output operand #{index} has shape's dimension "
                    f"#{dimension} to be {known}, but found {size}"
                )
    if len(named) < len(sizes):
        missing = next(loop for loop in range(len(sizes)) if loop not in named)
        raise VerifyException(
            f"invalid indexing maps are non-invertible: no operand has a dimension of loop "
            f"d{missing} alone"
        )
    for index, indexing_map, shape in shapes:
        for dimension, (result, size) in enumerate(zip(indexing_map.results, shape, strict=True)):
            if not isinstance(result, AffineDimExpr):
                _verify_window(indexing_map, index, dimension, result, size, sizes)


def _verify_window(
    indexing_map: AffineMap,
    index: int,
    dimension: int,
    result: AffineExpr,
    size: int,
    sizes: Sequence[int | None],
) -> None:
    loops = {each.position for each in result.dfs() if isinstance(each, AffineDimExpr)}
    if size <= 0 or any(not sizes[loop] for loop in loops):
        return
    first = result.eval([0] * len(sizes), [])
    last = result.eval([(each or 1) - 1 for each in sizes], [])
    if min(first, last) < 0:
        raise VerifyException(
            f"unexpected result less than 0 at expression #{dimension} in {indexing_map}"
        )
    if max(first, last) >= size:
        raise VerifyException(
            f"inferred input/output operand #{index} has shape's dimension #{dimension} to be "
            f"greater than or equal to {max(first, last) + 1}, but found {size}"
        )


def verify_body(operation: Operation, body: Block, output_count: int) -> None:
    """Check that the body takes one element per operand and yields one value per output."""
    operands = operation.operands
    if len(body.args) != len(operands):
        raise VerifyException(
            "expected as many non-induction variable region arguments as the number of "
            f"input/output operands ({len(operands)}), but found {len(body.args)}"
        )
    for index, (operand, argument) in enumerate(zip(operands, body.args, strict=True)):
        wanted = element_type(operand.type)
        if argument.type != wanted:
            raise VerifyException(
                f"expected type of bb argument #{index} ('{argument.type}') to match element or "
                f"self type of the corresponding operand ('{wanted}')"
            )
    terminator = body.last_op
    if terminator is None or terminator.name != "linalg.yield":
        raise VerifyException("expected its body to end in 'linalg.yield'")
    yielded = terminator.operands
    if len(yielded) != output_count:
        raise VerifyException(
            f"expected number of yield values ({len(yielded)}) to match the number of inits / "
            f"outs operands of the enclosing LinalgOp ({output_count})"
        )
    for index, (value, output) in enumerate(
        zip(yielded, operands[len(operands) - output_count :], strict=True)
    ):
        wanted = element_type(output.type)
        if value.type != wanted:
            raise VerifyException(
                f"type of yield operand {index + 1} ('{value.type}') doesn't match the element "
                f"type of the enclosing {operation.name} op ('{wanted}')"
            )


def only_block(region: Region) -> Block:
    """Return the single block of a body. Raises VerifyException unless there is exactly one."""
    blocks = list(region.blocks)
    if len(blocks) != 1:
        raise VerifyException(f"expected a body of one block, but found {len(blocks)}")
    return blocks[0]
