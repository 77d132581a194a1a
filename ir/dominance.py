"""Dominance between the blocks of a region."""

from __future__ import annotations

from xdsl.ir import Block, Region

from .regions import reachable_blocks, successors


class Dominance:
    """The dominator tree of one region."""

    def __init__(self, region: Region) -> None:
        order = reachable_blocks(region)
        self._order = {block: index for index, block in enumerate(order)}
        self._spans = _spans(self._immediate_dominators(order)) if order else []

    def reaches(self, block: Block) -> bool:
        """Return whether a block is reachable from the region's entry."""
        return block in self._order

    def dominates(self, first: Block, second: Block) -> bool:
        """Return whether `first` dominates `second`; true if `second` is unreachable."""
        target = self._order.get(second)
        if target is None:
            return True
        wanted = self._order.get(first)
        if wanted is None:
            return False
        return self._spans[target].start in self._spans[wanted]

    def _immediate_dominators(self, blocks: list[Block]) -> list[int]:
        predecessors: list[list[int]] = [[] for _ in blocks]
        for index, block in enumerate(blocks):
            for successor in successors(block):
                predecessors[self._order[successor]].append(index)
        unknown = -1
        parents = [unknown] * len(blocks)
        parents[0] = 0
        changed = True
        while changed:
            changed = False
            for index in range(1, len(blocks)):
                known = [p for p in predecessors[index] if parents[p] != unknown]
                parent = known[0]
                for other in known[1:]:
                    parent = _common_ancestor(parents, parent, other)
                if parents[index] != parent:
                    parents[index] = parent
                    changed = True
        return parents


def _spans(parents: list[int]) -> list[range]:
    """Return the preorder number range of each node's subtree; a node's own number is its start.

    `parents` lists the parent of each node. Parents come before their children; node 0 is the root.
    """
    sizes = [1] * len(parents)
    for node in range(len(parents) - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    starts = [0] * len(parents)
    free = [1] * len(parents)
    for node in range(1, len(parents)):
        parent = parents[node]
        starts[node] = free[parent]
        free[parent] += sizes[node]
        free[node] = starts[node] + 1
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _common_ancestor(parents: list[int], first: int, second: int) -> int:
    while first != second:
        while first > second:
            first = parents[first]
        while second > first:
            second = parents[second]
    return first
