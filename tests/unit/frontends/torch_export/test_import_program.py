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


def test_the_line_is_the_users() -> None:
    own = import_program.__file__
    library = '"/usr/lib/python3/site-packages/torch/nn/modules/pooling.py":1343:0'
    caller = f'"{own}":7:0'
    user = '"/home/me/model.py":12:0'
    line = import_program.user_line(f"loc(callsite({library} at callsite({user} at {caller})))")
    assert line == "/home/me/model.py:12"
    assert import_program.user_line(f"loc(callsite({library} at {caller}))") == ""
    assert import_program.user_line("loc(unknown)") == ""
    trace = 'File "<eval_with_key>.5", line 9, in forward\nFile "a.py", line 5, in forward'
    assert import_program.user_line(f'{trace}\nFile "b.py", line 7, in forward') == "a.py:5"
