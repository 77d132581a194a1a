"""Random programs whose collectives may run while kernels do."""

from __future__ import annotations

from random import Random

import numpy as np

TYPE = "tensor<6x6xf64>"

COLLECTIVES = (
    "shard.all_reduce {} on @g grid_axes = {axes} reduction = max : {t} -> {t}",
    "shard.all_reduce {} on @g grid_axes = {axes} : {t} -> {t}",
    "shard.shift {} on @g grid_axes = {axes} shift_axis = {axis} offset = 1 rotate : {t} -> {t}",
    "shard.all_to_all {} on @g grid_axes = {axes} split_axis = 0 concat_axis = 0 : {t} -> {t}",
    "shard.broadcast {} on @g grid_axes = {axes} root = {root} : ({t}) -> {t}",
    "shard.update_halo {} on @g split_axes = [[{axis}], []] halo_sizes = [1, 2] : {t}",
)

GATHER = "shard.all_gather {} on @g grid_axes = [{axis}] gather_axis = 1 : {t} -> tensor<6x{n}xf64>"


class Writer:
    """A random program of one function, on three values of one type."""

    def __init__(self, seed: int, grid: tuple[int, ...]) -> None:
        self.random = Random(seed)
        self.grid = grid
        self.count = 0
        self.lines: list[str] = []

    def text(self) -> str:
        """The program."""
        self.lines = [
            f"shard.grid @g(shape = {'x'.join(map(str, self.grid))})",
            f"func.func @main(%a: {TYPE}, %b: {TYPE}, %n: index) -> ({TYPE}, {TYPE}) {{",
            f"%z = arith.constant dense<0.0> : {TYPE}",
            "%c0 = arith.constant 0 : index",
            "%c1 = arith.constant 1 : index",
            # On devices apart from each other, arguments are not.
            "%p = shard.process_linear_index on @g : index",
            "%i = arith.index_cast %p : index to i64",
            "%f = arith.sitofp %i : i64 to f64",
            f"%s = tensor.splat %f : {TYPE}",
            f"%v = arith.addf %a, %s : {TYPE}",
        ]
        found = self.block(["%a", "%b", "%v"], 8)
        self.lines.append(
            f"%l = scf.for %k = %c0 to %n step %c1 iter_args(%x = {found[-1]}) -> ({TYPE}) {{"
        )
        inner = self.block([*found[-3:], "%x"], 6)
        self.lines += [f"scf.yield {self.bounded(inner[-1])} : {TYPE}", "}"]
        last = self.block([*found[-2:], "%l"], 4)[-1]
        axes = [*range(len(self.grid))]
        first, second = (
            self.new(COLLECTIVES[1].format(value, axes=axes, t=TYPE)) for value in (last, "%l")
        )
        return "\n".join([*self.lines, f"func.return {first}, {second} : {TYPE}, {TYPE}", "}"])

    def block(self, values: list[str], length: int) -> list[str]:
        for _ in range(length):
            values.append(self.step(values))
        return values

    def new(self, code: str) -> str:
        self.count += 1
        self.lines.append(f"%{self.count} = {code}")
        return f"%{self.count}"

    def bounded(self, value: str) -> str:
        """Small integers remain such."""
        lower = self.new(f"arith.minimumf {value}, %b : {TYPE}")
        return self.new(f"arith.maximumf {lower}, %z : {TYPE}")

    def step(self, values: list[str]) -> str:
        pick = lambda: self.random.choice(values[-4:])  # noqa: E731
        axis = self.random.randrange(len(self.grid))
        choice = self.random.random()
        if choice < 0.1:
            n = 6 * self.grid[axis]
            gathered = self.new(GATHER.format(pick(), axis=axis, n=n, t=TYPE))
            return self.new(
                f"tensor.extract_slice {gathered}[0, {n - 6}] [6, 6] [1, 1]"
                f" : tensor<6x{n}xf64> to {TYPE}"
            )
        if choice < 0.45:
            axes = [axis]
            root = [self.random.randrange(self.grid[axis])]
            text = self.random.choice(COLLECTIVES)
            return self.new(text.format(pick(), axes=axes, axis=axis, root=root, t=TYPE))
        if choice < 0.6:
            operands = f"ins({pick()}, {pick()} : {TYPE}, {TYPE}) outs(%z : {TYPE})"
            return self.bounded(self.new(f"linalg.matmul {operands} -> {TYPE}"))
        operation = self.random.choice(("addf", "subf", "maximumf"))
        return self.new(f"arith.{operation} {pick()}, {pick()} : {TYPE}")


def inputs() -> list[np.ndarray | int]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 9, (6, 6)).astype(np.float64) for _ in range(2)] + [3]
