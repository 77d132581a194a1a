"""Programs of one `linalg.generic` that sizes and maps are tried with."""

from __future__ import annotations

import re

import numpy as np

IDENTITY = "(i) -> (i)"


def counted(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def loops(maps: str, kinds: str, ins: str, out: str, body: str = "") -> str:
    """A `linalg.generic` of `%a` into `%o`; the body adds, or is given, and yields `%s`."""
    texts = ", ".join(f"affine_map<{each}>" for each in maps.split("; "))
    names = ", ".join(f'"{kind}"' for kind in kinds.split())
    element = re.split(r"[\d?]x", ins)[-1].removesuffix(">")
    body = body or "%s = arith.addf %x, %y : f32"
    return f"""
  %r = linalg.generic {{indexing_maps = [{texts}], iterator_types = [{names}]}}
      ins(%a : {ins}) outs(%o : {out}) {{
    ^bb0(%x: {element}, %y: f32):
      {body}
      linalg.yield %s : f32
  }} -> {out}
  return %r : {out}"""


def main(arguments: str, result: str, body: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{{body}\n}}"
