"""Generate Llama-like decoders of any number of layers, without annotations, as text."""

from __future__ import annotations

_MAPS = """#bth = affine_map<(b, t, h) -> (b, t, h)>
#bt = affine_map<(b, t, h) -> (b, t)>
#h = affine_map<(b, t, h) -> (h)>
#x = affine_map<(b, t, n, k) -> (b, t, k)>
#w = affine_map<(b, t, n, k) -> (k, n)>
#y = affine_map<(b, t, n, k) -> (b, t, n)>
#q = affine_map<(b, n, t, s, d) -> (b, t, n, d)>
#k = affine_map<(b, n, t, s, d) -> (b, s, n, d)>
#s = affine_map<(b, n, t, s, d) -> (b, n, t, s)>
#sv = affine_map<(b, t, n, d, s) -> (b, n, t, s)>
#v = affine_map<(b, t, n, d, s) -> (b, s, n, d)>
#o = affine_map<(b, t, n, d, s) -> (b, t, n, d)>
#e4 = affine_map<(b, n, t, s) -> (b, n, t, s)>
#r4 = affine_map<(b, n, t, s) -> (b, n, t)>
"""


class _Writer:
    """Writes operations, each with its own destination tensor."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def generic(
        self, maps: str, kinds: str, inputs: list[tuple[str, str]], result: str, body: str
    ) -> str:
        """Write a `linalg.generic` whose `body` computes `%r` from `%a0`, `%a1`, ... and `%out`."""
        empty, filled, value = self.name(), self.name(), self.name()
        iterators = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in kinds)
        names = ", ".join(name for name, _ in inputs)
        types = ", ".join(kind for _, kind in inputs)
        arguments = ", ".join(f"%a{index}: f32" for index in range(len(inputs)))
        self.lines += [
            f"  {empty} = tensor.empty() : {result}",
            f"  {filled} = linalg.fill ins(%zero : f32) outs({empty} : {result}) -> {result}",
            f"  {value} = linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{iterators}]}} ins({names} : {types}) outs({filled} : {result}) {{",
            f"  ^bb0({arguments}, %out: f32):",
            *(f"    {line}" for line in body.split("; ")),
            "    linalg.yield %r : f32",
            f"  }} -> {result}",
        ]
        return value


def llama(
    layers: int,
    *,
    batch: int = 8,
    tokens: int = 2048,
    width: int = 4096,
    heads: int = 32,
    hidden: int = 14336,
) -> str:
    """Return a decoder without embedding: norms, attention and a gated MLP per layer, in f32."""
    writer = _Writer()
    inner = width // heads
    x_type = f"tensor<{batch}x{tokens}x{width}xf32>"
    hidden_type = f"tensor<{batch}x{tokens}x{hidden}xf32>"
    row_type = f"tensor<{batch}x{tokens}xf32>"
    gain_type = f"tensor<{width}xf32>"
    head_type = f"tensor<{batch}x{tokens}x{heads}x{inner}xf32>"
    score_type = f"tensor<{batch}x{heads}x{tokens}x{tokens}xf32>"
    top_type = f"tensor<{batch}x{heads}x{tokens}xf32>"
    arguments = [f"%x: {x_type}"]

    def argument(name: str, kind: str) -> tuple[str, str]:
        arguments.append(f"%{name}: {kind}")
        return f"%{name}", kind

    def product(x: str, x_kind: str, weight: tuple[str, str], result: str) -> str:
        body = "%m = arith.mulf %a0, %a1 : f32; %r = arith.addf %out, %m : f32"
        return writer.generic("#x, #w, #y", "pppr", [(x, x_kind), weight], result, body)

    def norm(x: str, gain: tuple[str, str]) -> str:
        squares = writer.generic(
            "#bth, #bt",
            "ppr",
            [(x, x_type)],
            row_type,
            "%m = arith.mulf %a0, %a0 : f32; %r = arith.addf %out, %m : f32",
        )
        return writer.generic(
            "#bth, #bt, #h, #bth",
            "ppp",
            [(x, x_type), (squares, row_type), gain],
            x_type,
            "%i = math.rsqrt %a1 : f32; %m = arith.mulf %a0, %i : f32;"
            " %r = arith.mulf %m, %a2 : f32",
        )

    def reshape(x: str, before: str, after: str, sizes: list[int]) -> str:
        value = writer.name()
        if len(sizes) == 4:
            shape = ", ".join(map(str, sizes))
            writer.lines.append(
                f"  {value} = tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape [{shape}]"
                f" : {before} into {after}"
            )
        else:
            writer.lines.append(
                f"  {value} = tensor.collapse_shape {x} [[0], [1], [2, 3]] : {before} into {after}"
            )
        return value

    def add(one: str, other: str) -> str:
        value = writer.name()
        writer.lines.append(f"  {value} = arith.addf {one}, {other} : {x_type}")
        return value

    def attention(x: str, layer: int) -> str:
        square = f"tensor<{width}x{width}xf32>"
        sizes = [batch, tokens, heads, inner]
        q, k, v = (
            reshape(
                product(x, x_type, argument(f"w{name}{layer}", square), x_type),
                x_type,
                head_type,
                sizes,
            )
            for name in "qkv"
        )
        body = "%m = arith.mulf %a0, %a1 : f32; %r = arith.addf %out, %m : f32"
        scores = writer.generic(
            "#q, #k, #s", "ppppr", [(q, head_type), (k, head_type)], score_type, body
        )
        top = writer.generic(
            "#e4, #r4",
            "pppr",
            [(scores, score_type)],
            top_type,
            "%r = arith.maximumf %out, %a0 : f32",
        )
        powers = writer.generic(
            "#e4, #r4, #e4",
            "pppp",
            [(scores, score_type), (top, top_type)],
            score_type,
            "%d = arith.subf %a0, %a1 : f32; %r = math.exp %d : f32",
        )
        total = writer.generic(
            "#e4, #r4", "pppr", [(powers, score_type)], top_type, "%r = arith.addf %out, %a0 : f32"
        )
        weights = writer.generic(
            "#e4, #r4, #e4",
            "pppp",
            [(powers, score_type), (total, top_type)],
            score_type,
            "%r = arith.divf %a0, %a1 : f32",
        )
        mixed = writer.generic(
            "#sv, #v, #o", "ppppr", [(weights, score_type), (v, head_type)], head_type, body
        )
        joined = reshape(mixed, head_type, x_type, [batch, tokens, width])
        return product(joined, x_type, argument(f"wo{layer}", square), x_type)

    def gated(x: str, layer: int) -> str:
        up, down = f"tensor<{width}x{hidden}xf32>", f"tensor<{hidden}x{width}xf32>"
        gate = product(x, x_type, argument(f"w1_{layer}", up), hidden_type)
        value = product(x, x_type, argument(f"w3_{layer}", up), hidden_type)
        mixed = writer.generic(
            "#bth, #bth, #bth",
            "ppp",
            [(gate, hidden_type), (value, hidden_type)],
            hidden_type,
            "%n = arith.negf %a0 : f32; %e = math.exp %n : f32; %d = arith.addf %one, %e : f32;"
            " %g = arith.divf %a0, %d : f32; %r = arith.mulf %g, %a1 : f32",
        )
        return product(mixed, hidden_type, argument(f"w2_{layer}", down), x_type)

    x = "%x"
    for layer in range(layers):
        normed = norm(x, argument(f"g1_{layer}", gain_type))
        x = add(x, attention(normed, layer))
        x = add(x, gated(norm(x, argument(f"g2_{layer}", gain_type)), layer))
    return "\n".join(
        [
            _MAPS,
            f"func.func @main({', '.join(arguments)}) -> {x_type} {{",
            "  %zero = arith.constant 0.0 : f32",
            "  %one = arith.constant 1.0 : f32",
            *writer.lines,
            f"  return {x} : {x_type}",
            "}",
            "",
        ]
    )
