"""The message steps of all ranks of a collective, carried out together on byte arrays."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.runtime.abi.elements import I64
from mesh_opt.runtime.collectives import Collective, Group
from mesh_opt.runtime.messages.collective_steps import CollectiveStepBuilder
from mesh_opt.runtime.messages.step_interpreter import (
    CHECK,
    COPY,
    END,
    MEMORY,
    RECEIVE,
    RESULT_DATA,
    SCRATCH,
    SEND,
    SOURCE_DATA,
    WAIT,
)

HASH = 77
LENGTHS = {SEND: 5, RECEIVE: 5, WAIT: 1, CHECK: 4, COPY: 12}
"""The words of steps, with their opcodes."""


class Rank:
    """One rank with its memory by base, at its position in the steps."""

    def __init__(self, collective: Collective, operand: np.ndarray) -> None:
        steps = CollectiveStepBuilder(collective, (0, 8), 8).write(HASH)
        self.words, self.at = steps.words, 0
        self.memory = {
            SCRATCH: np.zeros(steps.scratch_bytes, np.uint8),
            SOURCE_DATA: operand.view(np.uint8).copy(),
            RESULT_DATA: np.zeros(8 * collective.result_shape[0], np.uint8),
            MEMORY: np.array([HASH]).view(np.uint8),
        }

    def bytes_at(self, base: int, offset: int, size: int) -> np.ndarray:
        return self.memory[base][offset : offset + size]

    def run(self) -> list[list[int]]:
        """Carry out steps until the rank waits or ends; return its messages."""
        messages: list[list[int]] = []
        while self.words[self.at] != END:
            opcode, *operands = self.words[self.at : self.at + LENGTHS[self.words[self.at]]]
            self.at += LENGTHS[opcode]
            if opcode == WAIT:
                break
            if opcode == COPY:
                to, offset, base, start, size, outer, _, _, inner, *_ = operands
                assert outer == inner == 1
                self.bytes_at(to, offset, size)[:] = self.bytes_at(base, start, size)
            elif opcode == CHECK:
                assert self.bytes_at(operands[0], operands[1], 8).view(np.int64) == operands[2]
            else:
                messages.append([opcode, *operands])
        return messages


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8])
def test_small_operands_are_told_apart_by_all(count: int) -> None:
    """Operands have different sizes, and travel with the headers of those between."""
    operands = [np.arange(10 * rank, 11 * rank + 1) for rank in range(count)]
    shapes = tuple(each.shape for each in operands)
    whole = np.concatenate(operands)
    ranks = [
        Rank(
            Collective(
                *("all_gather", Group(tuple(range(count)), rank)),
                *(operand.shape, I64, whole.shape, I64),
                shapes=shapes,
            ),
            operand,
        )
        for rank, operand in enumerate(operands)
    ]
    while any(rank.words[rank.at] != END for rank in ranks):
        sent: dict[tuple[int, int], np.ndarray] = {}
        rounds = [rank.run() for rank in ranks]
        for number, messages in enumerate(rounds):
            for opcode, base, offset, size, other in messages:
                if opcode == SEND:
                    sent[number, other] = ranks[number].bytes_at(base, offset, size).copy()
        for number, messages in enumerate(rounds):
            for opcode, base, offset, _, other in messages:
                if opcode == RECEIVE:
                    found = sent.pop((other, number))
                    ranks[number].bytes_at(base, offset, len(found))[:] = found
        assert not sent
    for rank in ranks:
        np.testing.assert_array_equal(rank.memory[RESULT_DATA].view(np.int64), whole)
