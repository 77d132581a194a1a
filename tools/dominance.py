"""Which blocks of a region run before which, by the algorithm of Cooper, Harvey and Kennedy.

"A Simple, Fast Dominance Algorithm", 2001. xDSL's `DominanceInfo` holds a set of blocks per
block, which a region of some thousands of blocks makes too big.
"""

from __future__ import annotations

from xdsl.ir import Block, Region


class Dominance:
    """The dominator tree of one region."""

    def __init__(self, region: Region) -> None:
        entry = region.first_block
        self._order: dict[Block, int] = {}
        self._spans: list[range] = []
        if entry is not None:
            postorder = _postorder(entry)
            postorder.reverse()
            self._order = {block: index for index, block in enumerate(postorder)}
            self._spans = _spans(self._immediate_dominators(postorder))

    def reaches(self, block: Block) -> bool:
        """Whether any path from the region's entry leads to a block."""
        return block in self._order

    def dominates(self, first: Block, second: Block) -> bool:
        """Whether every path to `second` leads through `first`; true of what no path reaches."""
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
            for successor in _successors(block):
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
    """For each node of a tree, the numbers of what is below it, with its own at their start.

    Nodes come after their parents; the first is the root.
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


def _successors(block: Block) -> tuple[Block, ...]:
    last = block.last_op
    return tuple(last.successors) if last is not None else ()


def _postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            stack.pop()
            order.append(block)
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return order


def _common_ancestor(parents: list[int], first: int, second: int) -> int:
    while first != second:
        while first > second:
            first = parents[first]
        while second > first:
            second = parents[second]
    return first
