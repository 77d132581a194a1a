"""Where in the user's module PyTorch and torch-mlir stopped."""

from __future__ import annotations

from mesh_opt.frontends.torch_export import tracing


def test_the_line_is_the_users() -> None:
    own = tracing.__file__
    library = '"/usr/lib/python3/site-packages/torch/nn/modules/pooling.py":1343:0'
    caller = f'"{own}":7:0'
    user = '"/home/me/model.py":12:0'
    line = tracing.user_line(f"loc(callsite({library} at callsite({user} at {caller})))")
    assert line == "/home/me/model.py:12"
    assert tracing.user_line(f"loc(callsite({library} at {caller}))") == ""
    assert tracing.user_line("loc(unknown)") == ""
    trace = 'File "<eval_with_key>.5", line 9, in forward\nFile "a.py", line 5, in forward'
    assert tracing.user_line(f'{trace}\nFile "b.py", line 7, in forward') == "a.py:5"
