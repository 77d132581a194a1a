"""What stands between the contractions of random encoded programs: each step is of one matrix.

All of them are in the wide type of a sum, and keep its numbers small enough to be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from encoded_chains import EncodedProgram, Tensor, is_float

Step = Callable[[EncodedProgram, Tensor], Tensor]

ROWS, COLUMNS, BOTH = "(i)", "(j)", "(i, j)"


def _generic(
    chain: EncodedProgram,
    inputs: Sequence[tuple[Tensor, str]],
    result: Tensor,
    body: str,
    reduced: str = "",
) -> Tensor:
    """A loop over (i, j) with a body that computes `%r`; `reduced` names a loop to add up."""
    maps = [map_ for _, map_ in inputs]
    own = {"": BOTH, "i": COLUMNS, "j": ROWS}[reduced]
    affine = ", ".join(f"affine_map<(i, j) -> {map_}>" for map_ in [*maps, own])
    kinds = ", ".join(f'"{"reduction" if loop == reduced else "parallel"}"' for loop in "ij")
    names = ", ".join(value.name for value, _ in inputs)
    types = ", ".join(value.type for value, _ in inputs)
    arguments = ", ".join(f"%x{i}: {value.element}" for i, (value, _) in enumerate(inputs))
    start = f"{result.name}e"
    chain.lines.append(f"{start} = tensor.empty({', '.join(result.sizes)}) : {result.type}")
    if reduced:
        zero = "0.0" if is_float(result.element) else "0"
        start = f"{result.name}f"
        chain.lines += [
            f"{result.name}z = arith.constant {zero} : {result.element}",
            f"{start} = linalg.fill ins({result.name}z : {result.element}) "
            f"outs({result.name}e : {result.type}) -> {result.type}",
        ]
    chain.lines += [
        f"{result.name} = linalg.generic {{indexing_maps = [{affine}], "
        f"iterator_types = [{kinds}]}} ins({names} : {types}) outs({start} : {result.type}) {{",
        f"^bb0({arguments}, %o: {result.element}):",
        body,
        f"linalg.yield %r : {result.element}",
        f"}} -> {result.type}",
    ]
    return result


def _add(element: str) -> str:
    return "arith.addf" if is_float(element) else "arith.addi"


def biased(chain: EncodedProgram, value: Tensor) -> Tensor:
    """A row or a column added to all others."""
    place = chain.number(0, 2)
    make = chain.argument if chain.number(0, 2) else chain.weight
    vector = make((value.numbers.shape[place],), value.element, value.device)
    numbers = value.numbers + (vector.numbers[:, None] if place == 0 else vector.numbers[None])
    result = replace(value, name=f"%{chain.fresh('b')}", numbers=numbers)
    body = f"%r = {_add(value.element)} %x0, %x1 : {value.element}"
    return _generic(chain, [(value, BOTH), (vector, (ROWS, COLUMNS)[place])], result, body)


def with_sums(chain: EncodedProgram, value: Tensor) -> Tensor:
    """The sum of each row or column added to its elements."""
    axis = chain.number(0, 2)
    left = 1 - axis
    sums = Tensor(
        f"%{chain.fresh('r')}",
        value.numbers.sum(axis=axis),
        value.element,
        value.device,
        (value.open[left],),
    )
    add = f"%r = {_add(value.element)}"
    _generic(chain, [(value, BOTH)], sums, f"{add} %x0, %o : {value.element}", "ij"[axis])
    numbers = value.numbers + np.expand_dims(sums.numbers, axis)
    result = replace(value, name=f"%{chain.fresh('q')}", numbers=numbers)
    body = f"{add} %x0, %x1 : {value.element}"
    return _generic(chain, [(value, BOTH), (sums, (COLUMNS, ROWS)[axis])], result, body)


def turned(chain: EncodedProgram, value: Tensor) -> Tensor:
    """The matrix transposed."""
    name = f"%{chain.fresh('t')}"
    result = replace(value, name=name, numbers=value.numbers.T, open=value.open[::-1])
    chain.lines += [
        f"{name}e = tensor.empty({', '.join(result.sizes)}) : {result.type}",
        f"{name} = linalg.transpose ins({value.name} : {value.type}) "
        f"outs({name}e : {result.type}) permutation = [1, 0]",
    ]
    return result


def started(chain: EncodedProgram, value: Tensor) -> Tensor:
    """Its sum with a matrix of one number."""
    number = chain.number(-2, 3)
    name = f"%{chain.fresh('o')}"
    literal = f"{number}.0" if is_float(value.element) else str(number)
    made = replace(value, name=f"{name}f", numbers=np.full_like(value.numbers, number))
    chain.lines += [
        f"{name}c = arith.constant {literal} : {value.element}",
        f"{name}e = tensor.empty({', '.join(value.sizes)}) : {value.type}",
        f"{made.name} = linalg.fill ins({name}c : {value.element}) "
        f"outs({name}e : {value.type}) -> {value.type}",
    ]
    return chain.add(value, made)


def stored(chain: EncodedProgram, value: Tensor) -> Tensor:
    """The matrix, by way of a global, on whatever device it is read."""
    if value.sizes:
        return value
    name = chain.fresh("m")
    zero = "0.0" if is_float(value.element) else "0"
    start = f"dense<{zero if value.numbers.size else ''}>"
    chain.globals.append(f"util.global private mutable @{name} = {start} : {value.type}")
    chain.lines += [
        f"util.global.store {value.name}, @{name} : {value.type}",
        f"%{name}l = util.global.load @{name} : {value.type}",
    ]
    return replace(value, name=f"%{name}l")


def halves(chain: EncodedProgram, value: Tensor, element: str) -> Tensor:
    """The sum over a batch of two products of a factor, each with a matrix of its own."""
    inner = value.numbers.shape[1]
    columns = chain.size()
    right = chain.argument((2, inner, columns), value.element, value.device)
    name = f"%{chain.fresh('h')}"
    left = replace(
        value, name=f"{name}l", numbers=np.stack([value.numbers] * 2), open=(None, *value.open)
    )
    numbers = left.numbers @ right.numbers
    outer = value.open[0], right.open[2]
    both = Tensor(f"{name}p", numbers, element, value.device, (right.open[0], *outer))
    result = Tensor(name, numbers.sum(axis=0), element, value.device, outer)
    zero = "0.0" if is_float(element) else "0"
    lines = [
        f"{name}z = arith.constant {zero} : {element}",
        f"{name}le = tensor.empty({', '.join(left.sizes)}) : {left.type}",
        f"{left.name} = linalg.broadcast ins({value.name} : {value.type}) "
        f"outs({name}le : {left.type}) dimensions = [0]",
    ]
    for tensor in (both, result):
        lines += [
            f"{tensor.name}e = tensor.empty({', '.join(tensor.sizes)}) : {tensor.type}",
            f"{tensor.name}f = linalg.fill ins({name}z : {element}) "
            f"outs({tensor.name}e : {tensor.type}) -> {tensor.type}",
        ]
    chain.lines += [
        *lines,
        f"{both.name} = linalg.batch_matmul ins({left.name}, {right.name} : {left.type}, "
        f"{right.type}) outs({both.name}f : {both.type}) -> {both.type}",
        f"{name} = linalg.reduce ins({both.name} : {both.type}) outs({name}f : {result.type}) "
        f"dimensions = [0]",
        f"(%x: {element}, %y: {element}) {{",
        f"%s = {_add(element)} %x, %y : {element}",
        f"linalg.yield %s : {element}",
        "}",
    ]
    return result


def with_vector(chain: EncodedProgram, value: Tensor, element: str) -> Tensor:
    """The product with a vector, as the columns of a matrix of some width."""
    columns = chain.size()
    vector = chain.argument((value.numbers.shape[1],), value.element, value.device)
    name = f"%{chain.fresh('v')}"
    numbers = value.numbers @ vector.numbers
    product = Tensor(f"{name}p", numbers, element, value.device, value.open[:1])
    zero = "0.0" if is_float(element) else "0"
    chain.lines += [
        f"{name}z = arith.constant {zero} : {element}",
        f"{name}pe = tensor.empty({', '.join(product.sizes)}) : {product.type}",
        f"{name}pf = linalg.fill ins({name}z : {element}) outs({name}pe : {product.type}) "
        f"-> {product.type}",
        f"{product.name} = linalg.matvec ins({value.name}, {vector.name} : {value.type}, "
        f"{vector.type}) outs({name}pf : {product.type}) -> {product.type}",
    ]
    wide = np.repeat(numbers[:, None], columns, axis=1)
    result = Tensor(name, wide, element, value.device, (value.open[0], None))
    chain.lines += [
        f"{name}e = tensor.empty({', '.join(result.sizes)}) : {result.type}",
        f"{name} = linalg.broadcast ins({product.name} : {product.type}) "
        f"outs({name}e : {result.type}) dimensions = [1]",
    ]
    return result


def in_function(chain: EncodedProgram, value: Tensor, step: Step) -> Tensor:
    """A step in a function of its own, which other programs may call as well."""
    name = chain.fresh("f")
    before, chain.lines = chain.lines, []
    count = len(chain.arguments)
    given = replace(value, name="%given")
    names = [f"%given{place}" for place, size in enumerate(value.open) if size is not None]
    sizes = iter(names)
    given = replace(given, open=tuple(None if one is None else next(sizes) for one in value.open))
    result = step(chain, given)
    inner, chain.lines = chain.lines, before
    passed = chain.arguments[count:]
    head = [
        line
        for place, size in enumerate(given.open)
        if size is not None
        for line in (
            f"{size}c = arith.constant {place} : index",
            f"{size} = tensor.dim %given, {size}c : {given.type}",
        )
    ]
    place = f"{{iree.abi.affinity = #hal.device.affinity<@d{value.device}>}}"
    operands = [given, *passed]
    arguments = ", ".join(f"{one.name}: {one.type} {place}" for one in operands)
    body = "\n  ".join([*head, *inner, f"return {result.name} : {result.type}"])
    types = ", ".join(one.type for one in operands)
    chain.functions.append(
        f"func.func @{name}({arguments}) -> ({result.type} {place}) {{\n  {body}\n}}"
    )
    for one in passed:
        chain.lines += [
            line
            for at, size in enumerate(one.open)
            if size is not None
            for line in (
                f"{size}c = arith.constant {at} : index",
                f"{size} = tensor.dim {one.name}, {size}c : {one.type}",
            )
        ]
    names = ", ".join([value.name, *(one.name for one in passed)])
    chain.lines.append(f"%{name}r = call @{name}({names}) : ({types}) -> {result.type}")
    outer = {inner: outer for inner, outer in zip(given.open, value.open, strict=True) if inner}
    known = tuple(outer.get(size, size) if size else None for size in result.open)
    return replace(result, name=f"%{name}r", open=known)


STEPS: tuple[Step, ...] = (biased, with_sums, turned, started, stored)
CONTRACTIONS = (halves, with_vector)
