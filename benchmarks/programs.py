"""Programs of any size for measurements, as text."""

from __future__ import annotations


def arithmetic(operations: int) -> str:
    """A function of additions and multiplications of small tensors."""
    lines = ["func.func @f(%v0: tensor<4x8xf32>) -> tensor<4x8xf32> {"]
    for i in range(1, operations):
        name = "addf" if i % 2 else "mulf"
        lines.append(f"  %v{i} = arith.{name} %v{i - 1}, %v{max(i - 7, 0)} : tensor<4x8xf32>")
    lines.append(f"  return %v{operations - 1} : tensor<4x8xf32>\n}}")
    return "\n".join(lines)


def structured(operations: int) -> str:
    """A function of matrix products, each followed by an elementwise operation with a body."""
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
