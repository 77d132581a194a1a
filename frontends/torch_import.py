"""From an exported PyTorch program to MLIR: what torch-mlir is told, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_program(torch: Any, fx: Any, exported: Any, output: str, name: str) -> str:
    """The text of an exported program in the dialects of `output`, its function under `name`.

    Raises ValueError where torch-mlir has no conversion of an operation, with its name.
    """
    ir, dialect = import_module("torch_mlir.ir"), import_module("torch_mlir.dialects.torch")
    failure = import_module("torch_mlir.compiler_utils").TorchMlirCompilerError
    said: list[str] = []

    def hear(diagnostic: Any) -> bool:
        said.append(str(diagnostic.message))
        return True

    context = ir.Context()
    dialect.register_dialect(context)
    handler = context.attach_diagnostic_handler(hear)
    try:
        found = fx.export_and_import(
            exported,
            output_type=output,
            func_name=name,
            fx_importer=fx.FxImporter(context=context),
            decomposition_table={**fx.get_decomposition_table(), **_decompositions(torch)},
        )
    except failure as problem:
        refused = refused_operations(said)
        if not refused:
            raise
        raise ValueError(
            f"torch-mlir has no conversion of {', '.join(refused)} to {output}: write the module"
            " without, or compile an ExportedProgram whose run_decompositions replaced it"
        ) from problem
    finally:
        handler.detach()
    return found.operation.get_asm()


_OPERATOR = re.compile(r'"torch\.operator".*?name = "torch\.([\w.]+)"', re.DOTALL)
_OPERATION = re.compile(r"failed to legalize operation 'torch\.([\w.]+)'")


def refused_operations(messages: list[str]) -> list[str]:
    """The operations that messages of torch-mlir are about, each once."""
    names = [
        name
        for message in messages
        for name in _OPERATOR.findall(message) or _OPERATION.findall(message)
    ]
    return list(dict.fromkeys(names))


def _decompositions(torch: Any) -> Mapping[Any, Callable[..., Any]]:
    """What neither PyTorch nor torch-mlir takes apart, as operations that torch-mlir has."""
    aten = torch.ops.aten

    def sort(x: Any, *, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
        # Our sorts are stable, whether they have to be or not.
        del stable
        return aten.sort.default(x, dim, descending)

    def histc(x: Any, bins: int = 100, least: float = 0, most: float = 0) -> Any:
        x = x.reshape(-1)
        low: Any = least
        high: Any = most
        if least == most:
            low, high = x.amin(), x.amax()
            apart = (low == high).to(x.dtype)
            low, high = low - apart, high + apart
        places = torch.clamp(torch.floor((x - low) * bins / (high - low)), 0, bins - 1)
        inside = (x >= low) & (x <= high)
        hits = (places[:, None] == torch.arange(bins)) & inside[:, None]
        return hits.to(x.dtype).sum(0)

    return {aten.sort.stable: sort, aten.histc.default: histc}
