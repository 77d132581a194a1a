"""What torch-mlir says, read without it."""

from __future__ import annotations

from mesh_opt.frontends.torch_export import import_program


def test_refused_operations_are_those_of_the_user() -> None:
    messages = [
        "failed to legalize operation 'torch.operator' that was explicitly marked illegal: %2 ="
        ' "torch.operator"(%1) <{name = "torch.aten.mode"}> : (!torch.vtensor<[4],f32>) -> ()',
        "failed to legalize operation 'torch.aten.take' that was explicitly marked illegal",
        "failed to legalize operation 'torch.aten.take' that was explicitly marked illegal",
        "failed to legalize operation 'torch.constant.int': %0 = \"torch.constant.int\"()",
        "condition must be true",
    ]
    assert import_program.unsupported_operations(messages) == ["aten.mode", "aten.take"]
