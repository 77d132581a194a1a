"""Random programs over rows: values read more than once, later, transposed, in loops."""

from __future__ import annotations

from random import Random

WHOLE, ROWS = "tensor<17x17xf32>", "tensor<17xf32>"
WHOLE_MAP, ROWS_MAP = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
TRANSPOSED_MAP, COLUMNS_MAP = "affine_map<(i, j) -> (j, i)>", "affine_map<(i, j) -> (j)>"
REDUCTIONS = ("arith.addf", "arith.maximumf", "arith.minimumf")
OPERATIONS = (*REDUCTIONS, "arith.subf")


class RowProgram:
    """A function of three matrices, two of which may be the same."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0
        self._lines: list[str] = []
        self.wholes = ["%a", "%b", "%c"]
        self.rows: list[str] = []

    def text(self) -> str:
        """The module."""
        for _ in range(self._random.randint(4, 14)):
            self._step()
        if self._random.random() < 0.5:
            self._loop()
            for _ in range(self._random.randint(1, 4)):
                self._step()
        # Arguments, and one value twice, may be among the results.
        results = [self._random.choice(self.wholes) for _ in range(self._random.randint(1, 2))]
        results.append(self.wholes[-1])
        types = ", ".join([WHOLE] * len(results))
        body = "\n  ".join(self._lines)
        return f"""func.func @main(%a: {WHOLE}, %b: {WHOLE}, %c: {WHOLE}) -> ({types}) {{
  %zero = arith.constant 0.0 : f32
  {body}
  return {", ".join(results)} : {types}
}}
"""

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _step(self) -> None:
        kinds = [self._pointwise, self._pointwise, self._reduce, self._transpose, self._product]
        if self.rows:
            kinds += [self._with_rows, self._with_rows]
        self._random.choice(kinds)()

    def _generic(self, inputs: list[tuple[str, str, str]], operation: str) -> str:
        empty, name = self._fresh(), self._fresh()
        maps = ", ".join([*(each[2] for each in inputs), WHOLE_MAP])
        arguments = ", ".join(f"%x{i}: f32" for i in range(len(inputs)))
        values, types = (", ".join(each[part] for each in inputs) for part in (0, 1))
        self._lines += [
            f"{empty} = tensor.empty() : {WHOLE}",
            f"{name} = linalg.generic {{indexing_maps = [{maps}],"
            ' iterator_types = ["parallel", "parallel"]}'
            f" ins({values} : {types}) outs({empty} : {WHOLE}) {{",
            f"^bb0({arguments}, %o: f32):",
            *([f"  %y = {operation} %x0, %x1 : f32"] if operation else []),
            f"  linalg.yield {'%y' if operation else '%x0'} : f32",
            f"}} -> {WHOLE}",
        ]
        self.wholes.append(name)
        return name

    def _pointwise(self) -> None:
        first, second = (self._random.choice(self.wholes) for _ in range(2))
        self._generic(
            [(first, WHOLE, WHOLE_MAP), (second, WHOLE, WHOLE_MAP)],
            self._random.choice(OPERATIONS),
        )

    def _transpose(self) -> None:
        """Reads one tensor twice: in place, and elsewhere."""
        value = self._random.choice(self.wholes)
        self._generic(
            [(value, WHOLE, WHOLE_MAP), (value, WHOLE, TRANSPOSED_MAP)],
            self._random.choice(OPERATIONS),
        )

    def _with_rows(self) -> None:
        rows = self._random.choice(self.rows)
        rows_map = self._random.choice((ROWS_MAP, ROWS_MAP, COLUMNS_MAP))
        if self._random.random() < 0.5:
            broadcast = self._generic([(rows, ROWS, rows_map)], "")
            read = (broadcast, WHOLE, WHOLE_MAP)
        else:
            read = (rows, ROWS, rows_map)
        value = self._random.choice(self.wholes)
        self._generic([(value, WHOLE, WHOLE_MAP), read], self._random.choice(OPERATIONS))

    def _filled(self, type_: str) -> str:
        empty, filled = self._fresh(), self._fresh()
        self._lines += [
            f"{empty} = tensor.empty() : {type_}",
            f"{filled} = linalg.fill ins(%zero : f32) outs({empty} : {type_}) -> {type_}",
        ]
        return filled

    def _reduce(self) -> None:
        filled, name = self._filled(ROWS), self._fresh()
        value, operation = self._random.choice(self.wholes), self._random.choice(REDUCTIONS)
        dimension = self._random.randint(0, 1)
        self._lines += [
            f"{name} = linalg.reduce ins({value} : {WHOLE}) outs({filled} : {ROWS})"
            f" dimensions = [{dimension}] (%x: f32, %o: f32) {{",
            f"  %y = {operation} %o, %x : f32",
            "  linalg.yield %y : f32",
            "}",
        ]
        self.rows.append(name)

    def _product(self) -> None:
        filled, name = self._filled(WHOLE), self._fresh()
        first, second = (self._random.choice(self.wholes) for _ in range(2))
        self._lines.append(
            f"{name} = linalg.matmul ins({first}, {second} : {WHOLE}, {WHOLE})"
            f" outs({filled} : {WHOLE}) -> {WHOLE}"
        )
        self.wholes.append(name)

    def _loop(self) -> None:
        start, bound, step = (self._fresh() for _ in range(3))
        name, index, carried = (self._fresh() for _ in range(3))
        first, outer = (self._random.choice(self.wholes) for _ in range(2))
        self._lines += [
            f"{start} = arith.constant 0 : index",
            f"{bound} = arith.constant 2 : index",
            f"{step} = arith.constant 1 : index",
            f"{name} = scf.for {index} = {start} to {bound} step {step}"
            f" iter_args({carried} = {first}) -> ({WHOLE}) {{",
        ]
        wholes, rows = list(self.wholes), list(self.rows)
        self.wholes = [carried, outer, carried]
        for _ in range(self._random.randint(1, 3)):
            self._step()
        self._lines += [f"scf.yield {self.wholes[-1]} : {WHOLE}", "}"]
        self.wholes, self.rows = [*wholes, name], rows
