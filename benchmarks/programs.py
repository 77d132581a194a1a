"""Generate programs of any size for measurements, as text."""

from __future__ import annotations


def arithmetic(operations: int) -> str:
    """Return a function of additions and multiplications of small tensors."""
    lines = ["func.func @f(%v0: tensor<4x8xf32>) -> tensor<4x8xf32> {"]
    for i in range(1, operations):
        name = "addf" if i % 2 else "mulf"
        lines.append(f"  %v{i} = arith.{name} %v{i - 1}, %v{max(i - 7, 0)} : tensor<4x8xf32>")
    lines.append(f"  return %v{operations - 1} : tensor<4x8xf32>\n}}")
    return "\n".join(lines)


def structured(operations: int) -> str:
    """Return a function of matrix products, each followed by an elementwise `linalg.generic`."""
    square = "tensor<8x8xf32>"
    lines = [
        "#id = affine_map<(i, j) -> (i, j)>",
        f"func.func @f(%g0: {square}) -> {square} {{",
    ]
    count = 1
    last = "%g0"
    while count < operations:
        i = count
        lines.append(
            f"  %e{i} = tensor.empty() : {square}\n"
            f"  %z{i} = arith.constant 0.0 : f32\n"
            f"  %f{i} = linalg.fill ins(%z{i} : f32) outs(%e{i} : {square}) -> {square}\n"
            f"  %m{i} = linalg.matmul ins({last}, %g0 : {square}, {square})"
            f" outs(%f{i} : {square}) -> {square}\n"
            f"  %g{i} = linalg.generic {{indexing_maps = [#id, #id, #id],"
            f' iterator_types = ["parallel", "parallel"]}}'
            f" ins(%m{i}, {last} : {square}, {square}) outs(%e{i} : {square}) {{\n"
            "  ^bb0(%a: f32, %b: f32, %c: f32):\n"
            "    %s = arith.addf %a, %b : f32\n"
            "    %t = arith.mulf %s, %b : f32\n"
            "    linalg.yield %t : f32\n"
            f"  }} -> {square}"
        )
        last = f"%g{i}"
        count += 8
    lines.append(f"  return {last} : {square}\n}}")
    return "\n".join(lines)


def mlp_chain(operations: int, grid: str) -> str:
    """Return layers `x + tanh(x w1) w2` of eight operations each, with `x` and `w1` annotated.

    The batch is split along axis 0 of a two-dimensional grid, the hidden dimension along axis 1.
    """
    lines = [
        f"shard.grid @g(shape = {grid})",
        "func.func @f(%x: tensor<64x64xf32>, %w1: tensor<64x128xf32>, %w2: tensor<128x64xf32>) "
        "-> tensor<64x64xf32> {",
        "%rows = shard.sharding @g split_axes = [[0]] : !shard.sharding",
        "%columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding",
        "%p0 = shard.shard %x to %rows : tensor<64x64xf32>",
        "%v1 = shard.shard %w1 to %columns : tensor<64x128xf32>",
        "%zero = arith.constant 0.0 : f32",
    ]
    narrow, wide = "tensor<64x64xf32>", "tensor<64x128xf32>"
    layers = operations // 8
    for i in range(layers):
        lines += [
            f"%e{i} = tensor.empty() : {wide}",
            f"%f{i} = linalg.fill ins(%zero : f32) outs(%e{i} : {wide}) -> {wide}",
            f"%h{i} = linalg.matmul ins(%p{i}, %v1 : {narrow}, tensor<64x128xf32>) "
            f"outs(%f{i} : {wide}) -> {wide}",
            f"%a{i} = math.tanh %h{i} : {wide}",
            f"%d{i} = tensor.empty() : {narrow}",
            f"%g{i} = linalg.fill ins(%zero : f32) outs(%d{i} : {narrow}) -> {narrow}",
            f"%o{i} = linalg.matmul ins(%a{i}, %w2 : {wide}, tensor<128x64xf32>) "
            f"outs(%g{i} : {narrow}) -> {narrow}",
            f"%p{i + 1} = arith.addf %o{i}, %p{i} : {narrow}",
        ]
    return "\n".join([*lines, f"return %p{layers} : {narrow}", "}", ""])
