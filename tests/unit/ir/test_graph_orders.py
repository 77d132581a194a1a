"""Orders and reachability of calls."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.ir.graph_orders import CallGraph

Calls = dict[int, list[int]]


@st.composite
def calls(draw: st.DrawFn) -> Calls:
    functions = range(draw(st.integers(0, 7)))
    edge = st.sampled_from(functions) if functions else st.nothing()
    return {function: draw(st.lists(edge, max_size=4)) for function in functions}


def transitive(graph: Calls) -> set[tuple[int, int]]:
    """Warshall's closure: who calls whom, directly or through others."""
    closure = {(a, b) for a, called in graph.items() for b in called}
    for middle, a, b in product(graph, repeat=3):
        if (a, middle) in closure and (middle, b) in closure:
            closure.add((a, b))
    return closure


@given(calls())
def test_reachability(graph: Calls) -> None:
    closure = transitive(graph)
    calls_of = CallGraph(graph)
    assert calls_of.recursive() == {a for a in graph if (a, a) in closure}
    for start in graph:
        assert set(calls_of.reached_from([start])) == {start} | {
            b for a, b in closure if a == start
        }
        assert set(calls_of.reaching([start])) == {start} | {a for a, b in closure if b == start}


@given(calls())
def test_callees_come_first(graph: Calls) -> None:
    closure = transitive(graph)
    order = CallGraph(graph).callees_first()
    assert sorted(order) == sorted(graph)
    for caller, called in graph.items():
        for callee in called:
            if (callee, caller) not in closure:
                assert order.index(callee) < order.index(caller)


@pytest.mark.parametrize("length", [20_000])
def test_long_chains(length: int) -> None:
    graph = CallGraph({i: [i + 1] if i + 1 < length else [] for i in range(length)})
    assert graph.callees_first() == list(range(length))[::-1]
    assert not graph.recursive()
