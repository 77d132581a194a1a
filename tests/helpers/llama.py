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


_PRODUCT = "%m = arith.mulf %a0, %a1 : f32; %r = arith.addf %out, %m : f32"

Typed = tuple[str, str]
"""The name of a value, and its type."""


class _Decoder:
    """Writes the operations of layers, each with its own destination tensor."""

    def __init__(self, batch: int, tokens: int, width: int, heads: int, hidden: int) -> None:
        self.lines: list[str] = []
        self._count = 0
        self._width, self._hidden = width, hidden
        self._head_sizes = (batch, tokens, heads, width // heads)
        self.type = f"tensor<{batch}x{tokens}x{width}xf32>"
        self._hidden_type = f"tensor<{batch}x{tokens}x{hidden}xf32>"
        self._row_type = f"tensor<{batch}x{tokens}xf32>"
        self._head_type = f"tensor<{batch}x{tokens}x{heads}x{width // heads}xf32>"
        self._score_type = f"tensor<{batch}x{heads}x{tokens}x{tokens}xf32>"
        self._top_type = f"tensor<{batch}x{heads}x{tokens}xf32>"
        self.arguments = [f"%x: {self.type}"]

    def layer(self, x: str, number: int) -> str:
        """Write a layer: attention and a gated MLP, each of normalised rows, added to its input."""
        normed = self._norm(x, self._argument(f"g1_{number}", f"tensor<{self._width}xf32>"))
        x = self._add(x, self._attention(normed, number))
        normed = self._norm(x, self._argument(f"g2_{number}", f"tensor<{self._width}xf32>"))
        return self._add(x, self._gated(normed, number))

    def _argument(self, name: str, kind: str) -> Typed:
        self.arguments.append(f"%{name}: {kind}")
        return f"%{name}", kind

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _generic(self, maps: str, kinds: str, inputs: list[Typed], result: str, body: str) -> str:
        """Write a `linalg.generic` whose `body` computes `%r` from `%a0`, `%a1`, ... and `%out`."""
        empty, filled, value = self._name(), self._name(), self._name()
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

    def _product(self, x: Typed, weight: Typed, result: str) -> str:
        return self._generic("#x, #w, #y", "pppr", [x, weight], result, _PRODUCT)

    def _norm(self, x: str, gain: Typed) -> str:
        body = "%m = arith.mulf %a0, %a0 : f32; %r = arith.addf %out, %m : f32"
        squares = self._generic("#bth, #bt", "ppr", [(x, self.type)], self._row_type, body)
        inputs = [(x, self.type), (squares, self._row_type), gain]
        body = (
            "%i = math.rsqrt %a1 : f32; %m = arith.mulf %a0, %i : f32;"
            " %r = arith.mulf %m, %a2 : f32"
        )
        return self._generic("#bth, #bt, #h, #bth", "ppp", inputs, self.type, body)

    def _split_heads(self, x: str) -> str:
        value, shape = self._name(), ", ".join(map(str, self._head_sizes))
        self.lines.append(
            f"  {value} = tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape [{shape}]"
            f" : {self.type} into {self._head_type}"
        )
        return value

    def _join_heads(self, x: str) -> str:
        value, types = self._name(), f"{self._head_type} into {self.type}"
        self.lines.append(f"  {value} = tensor.collapse_shape {x} [[0], [1], [2, 3]] : {types}")
        return value

    def _add(self, one: str, other: str) -> str:
        value = self._name()
        self.lines.append(f"  {value} = arith.addf {one}, {other} : {self.type}")
        return value

    def _attention(self, x: str, layer: int) -> str:
        square = f"tensor<{self._width}x{self._width}xf32>"
        q, k, v = (
            self._split_heads(
                self._product((x, self.type), self._argument(f"w{name}{layer}", square), self.type)
            )
            for name in "qkv"
        )
        heads = [(each, self._head_type) for each in (q, k)]
        scores = self._generic("#q, #k, #s", "ppppr", heads, self._score_type, _PRODUCT)
        weights = (self._softmax(scores), self._score_type)
        inputs = [weights, (v, self._head_type)]
        mixed = self._generic("#sv, #v, #o", "ppppr", inputs, self._head_type, _PRODUCT)
        joined = (self._join_heads(mixed), self.type)
        return self._product(joined, self._argument(f"wo{layer}", square), self.type)

    def _softmax(self, x: str) -> str:
        scores, tops = self._score_type, self._top_type
        top = self._generic(
            "#e4, #r4", "pppr", [(x, scores)], tops, "%r = arith.maximumf %out, %a0 : f32"
        )
        powers = self._generic(
            "#e4, #r4, #e4",
            "pppp",
            [(x, scores), (top, tops)],
            scores,
            "%d = arith.subf %a0, %a1 : f32; %r = math.exp %d : f32",
        )
        total = self._generic(
            "#e4, #r4", "pppr", [(powers, scores)], tops, "%r = arith.addf %out, %a0 : f32"
        )
        return self._generic(
            "#e4, #r4, #e4",
            "pppp",
            [(powers, scores), (total, tops)],
            scores,
            "%r = arith.divf %a0, %a1 : f32",
        )

    def _gated(self, x: str, layer: int) -> str:
        up = f"tensor<{self._width}x{self._hidden}xf32>"
        down = f"tensor<{self._hidden}x{self._width}xf32>"
        wide, given = self._hidden_type, (x, self.type)
        gate = self._product(given, self._argument(f"w1_{layer}", up), wide)
        value = self._product(given, self._argument(f"w3_{layer}", up), wide)
        body = (
            "%n = arith.negf %a0 : f32; %e = math.exp %n : f32; %d = arith.addf %one, %e : f32;"
            " %g = arith.divf %a0, %d : f32; %r = arith.mulf %g, %a1 : f32"
        )
        inputs = [(gate, wide), (value, wide)]
        mixed = self._generic("#bth, #bth, #bth", "ppp", inputs, wide, body)
        return self._product((mixed, wide), self._argument(f"w2_{layer}", down), self.type)


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
    decoder = _Decoder(batch, tokens, width, heads, hidden)
    x = "%x"
    for number in range(layers):
        x = decoder.layer(x, number)
    return "\n".join(
        [
            _MAPS,
            f"func.func @main({', '.join(decoder.arguments)}) -> {decoder.type} {{",
            "  %zero = arith.constant 0.0 : f32",
            "  %one = arith.constant 1.0 : f32",
            *decoder.lines,
            f"  return {x} : {decoder.type}",
            "}",
            "",
        ]
    )
