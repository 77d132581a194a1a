"""Graph orders and reachability, for call graphs and other graphs, in time linear in the edges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

F = TypeVar("F", bound=Hashable)


def postorder(roots: Iterable[F], following: Callable[[F], Iterable[F]]) -> list[F]:
    """Return the nodes reachable from `roots`, each after its successors (except in cycles)."""
    order: list[F] = []
    seen: set[F] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(following(root)))]
        while stack:
            node, rest = stack[-1]
            unseen = next((each for each in rest if each not in seen), None)
            if unseen is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(unseen)
                stack.append((unseen, iter(following(unseen))))
    return order


def topological_order(needs: Mapping[F, Collection[F]], number: Callable[[F], int]) -> Iterator[F]:
    """Yield every node after the nodes that it needs; among ready nodes, the smallest number first.

    `number` must be distinct for each node. Nodes on a cycle are not yielded.
    """
    needed_by: dict[F, list[F]] = {node: [] for node in needs}
    for node, others in needs.items():
        for other in others:
            needed_by[other].append(node)
    missing = {node: len(others) for node, others in needs.items()}
    by_number = {number(node): node for node in needs}
    ready = [key for key, node in by_number.items() if not missing[node]]
    heapify(ready)
    while ready:
        node = by_number[heappop(ready)]
        yield node
        for other in needed_by[node]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, number(other))


class CallGraph(Generic[F]):
    """The functions that each function calls, and the reverse edges."""

    def __init__(self, callees: Mapping[F, Collection[F]]) -> None:
        self._callees = callees
        self._callers: dict[F, list[F]] = {function: [] for function in callees}
        for caller, called in callees.items():
            for callee in called:
                self._callers[callee].append(caller)

    def callees(self, function: F) -> Collection[F]:
        """Return the functions that a function calls, with repetitions."""
        return self._callees[function]

    def reached_from(self, functions: Iterable[F]) -> list[F]:
        """Return the given functions and all functions that they call directly or indirectly."""
        return _reached(functions, self._callees)

    def reaching(self, functions: Iterable[F]) -> list[F]:
        """Return the given functions and all functions that call them directly or indirectly."""
        return _reached(functions, self._callers)

    def callees_first(self) -> list[F]:
        """Return all functions, callees before callers, except for one call of each cycle.

        With a -> b -> c and c -> b this gives c, b, a.
        """
        return postorder(self._callees, self._callees.__getitem__)

    def recursive(self) -> set[F]:
        """Return the functions that call themselves directly or indirectly.

        Uses Kosaraju's algorithm for strongly connected components. Roots are taken callers first;
        a component consists of the functions that reach its root and are not in an earlier
        component.
        """
        found: set[F] = set()
        taken: set[F] = set()
        for root in reversed(self.callees_first()):
            component = _reached([root], self._callers, taken) if root not in taken else []
            taken.update(component)
            if len(component) > 1 or root in self._callees[root]:
                found.update(component)
        return found


def _reached(
    starts: Iterable[F], following: Mapping[F, Collection[F]], barred: Collection[F] = ()
) -> list[F]:
    found = dict.fromkeys(starts)
    pending = list(found)
    while pending:
        for each in following[pending.pop()]:
            if each not in found and each not in barred:
                found[each] = None
                pending.append(each)
    return list(found)
