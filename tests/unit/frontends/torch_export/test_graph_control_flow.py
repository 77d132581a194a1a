"""What torch-mlir's importer refuses, without PyTorch."""

from __future__ import annotations

from types import SimpleNamespace

from mesh_opt.frontends.torch_export.graph_control_flow import refused_control_flow


class Operator:
    """Stands for torch's HigherOrderOperator."""


def sym_ite() -> None:
    """Stands for a function of PyTorch that computes with sizes."""


def sym_max() -> None:
    """Stands for one that the importer supports."""


def test_functions_of_sizes_are_named() -> None:
    nodes = [
        SimpleNamespace(op="call_function", target=each, meta={"stack_trace": "there"})
        for each in (sym_ite, sym_max)
    ]
    torch = SimpleNamespace(_ops=SimpleNamespace(HigherOrderOperator=Operator))
    importer = SimpleNamespace(SYMBOLIC_TORCH_OPS={sym_max})
    module = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    found = refused_control_flow(torch, importer, module)
    assert found == {"sym_ite of dynamic sizes": "there"}
