"""Random programs whose tensors are encoded: many element types, sizes and devices.

A program is a chain of contractions, with other operations on their results in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from encoded_chains import TARGETS, WIDE, Array, EncodedProgram, Tensor
from encoded_steps import CONTRACTIONS, STEPS, in_function
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute


def encoded_program(seed: int) -> tuple[str, list[Array], Array]:
    """The text of a program with a function @main, what to give it, and what it returns."""
    generator = np.random.default_rng((seed, 20))
    chain = EncodedProgram(generator)
    devices = [TARGETS[chain.number(0, len(TARGETS))] for _ in range(chain.number(1, 5))]
    element = list(WIDE)[chain.number(0, len(WIDE))]
    value = chain.argument((chain.size(), chain.size()), element, 0)
    for _ in range(chain.number(1, 4)):
        value = chain.move(value, chain.number(0, len(devices)))
        total = _contraction(chain, value)
        for _ in range(chain.number(0, 3)):
            step = STEPS[chain.number(0, len(STEPS))]
            inside = chain.number(0, 5) == 0
            total = in_function(chain, total, step) if inside else step(chain, total)
        value = chain.clamp(total)
    value = chain.move(value, chain.number(0, len(devices)))
    text = _text(chain, value, devices)
    _, module = parse(text)
    functions = (op for op in module.walk() if isinstance(op, FuncOp))
    (function,) = (op for op in functions if op.sym_name.data == "main")
    types = function.function_type
    given = zip(chain.arguments, types.inputs, strict=True)
    inputs = [argument.numbers.astype(_dtype(type_)) for argument, type_ in given]
    return text, inputs, value.numbers.astype(_dtype(types.outputs.data[0]))


def _contraction(chain: EncodedProgram, value: Tensor) -> Tensor:
    """A product, or a sum of two of the same left side."""
    kind = chain.number(0, 6)
    if kind < len(CONTRACTIONS):
        return CONTRACTIONS[kind](chain, value, WIDE[value.element])
    total = chain.product(value, chain.size())
    if chain.number(0, 3) == 0:
        other = chain.product(value, total.numbers.shape[1])
        if (other.open[1] is None) == (total.open[1] is None):
            total = chain.add(total, other)
    return total


def _dtype(type_: Attribute) -> np.dtype[np.generic]:
    return np.dtype(dtype_of(type_))


def _text(chain: EncodedProgram, result: Tensor, devices: Sequence[str]) -> str:
    definitions = [
        f'util.global private @d{i} = #hal.device.target<"local", {{ordinal = {i} : index}}, '
        f"[{target}]> : !hal.device"
        for i, target in enumerate(devices)
    ]
    place = "{{iree.abi.affinity = #hal.device.affinity<@d{}>}}"
    arguments = ", ".join(f"{a.name}: {a.type} {place.format(a.device)}" for a in chain.arguments)
    body = "\n  ".join([*chain.lines, f"return {result.name} : {result.type}"])
    head = f"func.func @main({arguments}) -> ({result.type} {place.format(result.device)})"
    return "\n".join([*definitions, *chain.globals, *chain.functions, f"{head} {{\n  {body}\n}}"])
