"""Contractions in every form mean the same after each stage of `data-tile`, and are tiled.

An einsum over letters stands for a `linalg.generic`; two devices of different targets work on
each program. All numbers are small integers, so every sum is exact whatever its order.
"""

from __future__ import annotations

import pytest
from breadth import sampled
from tiled_programs import HERE, check


def tensor(letters: str, sizes: dict[str, int | str], element: str) -> str:
    return f"tensor<{''.join(f'{sizes[letter]}x' for letter in letters)}{element}>"


def einsum(equation: str, sizes: dict[str, int | str], element: str = "f32") -> str:
    """A program that computes an einsum on both devices, the second of the first's doubled."""
    left, right, result = equation.replace("->", ",").split(",")
    loops = sorted(set(left + right), key=(result + left + right).index)
    kinds = ", ".join('"parallel"' if one in result else '"reduction"' for one in loops)
    maps = ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(one)})>" for one in (left, right, result)
    )
    types = [tensor(one, sizes, element) for one in (left, right, result)]
    wide = "i32" if element.startswith("i") else "f32"
    types[2] = tensor(result, sizes, wide)
    widen = {"i8": "arith.extsi", "bf16": "arith.extf", "f16": "arith.extf"}.get(element)
    kind = "i" if wide == "i32" else "f"
    zero = "0" if wide == "i32" else "0.0"
    factors = ["%l", "%r"]
    body: list[str] = []
    if widen is not None:
        body = [f"%w{x} = {widen} %{x} : {element} to {wide}" for x in "lr"]
        factors = ["%wl", "%wr"]
    body += [
        f"%p = arith.mul{kind} {factors[0]}, {factors[1]} : {wide}",
        f"%s = arith.add{kind} %o, %p : {wide}",
        f"linalg.yield %s : {wide}",
    ]
    dynamic: list[str] = []
    places: list[str] = []
    for letter in result:
        if sizes[letter] != "?":
            continue
        name, letters = ("%x", left) if letter in left else ("%y", right)
        at = f"%c_{letter}"
        dynamic += [
            f"{at} = arith.constant {letters.index(letter)} : index",
            f"%d_{letter} = tensor.dim {name}, {at} : {types[0 if name == '%x' else 1]}",
        ]
        places.append(f"%d_{letter}")
    lines = [
        *dynamic,
        f"%z = arith.constant {zero} : {wide}",
        f"%e = tensor.empty({', '.join(places)}) : {types[2]}",
        f"%f = linalg.fill ins(%z : {wide}) outs(%e : {types[2]}) -> {types[2]}",
    ]
    for name, x, y in (("%one", "%x", "%y"), ("%two", "%mx", "%my")):
        if x == "%mx":
            for source, moved, type_ in (("%x", x, types[0]), ("%y", y, types[1])):
                dims = dims_of(source, type_, lines)
                lines.append(
                    f"{moved} = flow.tensor.transfer {source} : {type_}{dims} "
                    "to #hal.device.affinity<@b>"
                )
        lines.append(
            f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({x}, {y} : {types[0]}, {types[1]}) outs(%f : {types[2]}) {{\n"
            f"^bb0(%l: {element}, %r: {element}, %o: {wide}):\n"
            + "\n".join(body)
            + f"\n}} -> {types[2]}"
        )
    text = "\n".join(lines)
    return (
        f"func.func @main(%x: {types[0]} {HERE}, %y: {types[1]} {HERE}) -> "
        f"({types[2]} {HERE}, {types[2]} {{iree.abi.affinity = #hal.device.affinity<@b>}}) {{\n"
        f"{text}\nreturn %one, %two : {types[2]}, {types[2]}\n}}"
    )


def dims_of(name: str, type_: str, lines: list[str]) -> str:
    """The sizes of the dynamic dimensions of a value, as a transfer lists them."""
    dims: list[str] = []
    shape = type_.removeprefix("tensor<").split("x")[:-1]
    for index, size in enumerate(shape):
        if size == "?":
            dims.append(f"{name}_d{index}")
            lines.append(f"{name}_i{index} = arith.constant {index} : index")
            lines.append(f"{name}_d{index} = tensor.dim {name}, {name}_i{index} : {type_}")
    return f"{{{', '.join(dims)}}}" if dims else ""


SIZES: dict[str, int | str] = {
    "a": 2, "b": 3, "c": 17, "d": 5, "e": 20, "f": 1, "g": 4, "m": 18, "n": 33, "k": 9, "x": "?",
    "y": "?", "z": "?",
}  # fmt: skip

EQUATIONS = [
    "mk,kn->mn",
    "km,nk->nm",
    "bcd,de->bce",  # a matrix for each of a batch of rows
    "bcde,dea->bca",  # two sums
    "bcde,eda->acb",  # permuted sums, permuted result
    "bcgd,begd->bgce",  # attention: q k^T
    "bgce,begd->bcgd",  # attention: scores v
    "abmk,abkn->abmn",
    "bamk,nkab->mabn",
    "abk,kcm->acbm",  # several rows, several columns
    "ak,bkn->abn",  # a batch on one side only
    "mk,k->m",
    "k,kn->n",
    "abk,k->ab",
    "abk,bk->ab",
    "fk,kn->fn",
    "mk,kf->mf",
    "fk,kf->f",
    "mkab,abkn->nm",
    "kabm,nbak->mn",
    "gdk,akb->gdab",  # all short
    "xk,kn->xn",
    "xyk,kn->xyn",
    "mxy,yxn->mn",
    "axk,bkx->ab",
    "xcyd,zcdn->cxyzn",
    "xbyk,xbzk->xbyz",
]


@pytest.mark.parametrize("equation", sampled(EQUATIONS, 3))
def test_einsum(equation: str) -> None:
    products = 0 if equation in {"fk,kf->f"} else 2
    check(einsum(equation, SIZES), products)


NARROW = [
    (equation, element)
    for equation in ("mk,kn->mn", "bcde,eda->acb", "bcgd,begd->bgce")
    for element in ("i8", "bf16", "f16", "i32")
]


@pytest.mark.parametrize(("equation", "element"), sampled(NARROW, 3))
def test_narrow_elements(equation: str, element: str) -> None:
    check(einsum(equation, SIZES, element))


@pytest.mark.parametrize("equation", ["xk,kn->xn", "mxy,yxn->mn", "xyk,kn->xyn"])
def test_nothing_to_add_up_or_no_rows(equation: str) -> None:
    check(einsum(equation, SIZES), dynamic=0)
