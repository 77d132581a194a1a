"""Exchanges that the native loop repeats without Python, while register values stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..abi.arrays import Bytes, Words
from ..commands import Command


@dataclass(frozen=True, slots=True)
class CachedExchange:
    """The commands of an exchange, and the register values for which they are valid.

    - `commands`: each with the words of its bindings;
    - `sources`, `results`: the bindings, as (command, position), that are set for each run;
    - `sizes`: the dynamic sizes of the result;
    - `size_check`: whether all devices must exchange sizes again when one has new sizes: 0 for no;
      1 if their signatures then differ; 2 if they report it (`RESIZED`);
    - `is_pollable`: whether started commands advance when they are started again (`protocol.py`);
    - `kept`: memory that the commands use.
    """

    numbers: Sequence[int]
    result_bytes: int
    commands: Sequence[tuple[Command, list[int]]]
    sources: Sequence[tuple[int, int]]
    results: Sequence[tuple[int, int]]
    sizes: Sequence[int]
    size_check: int
    is_pollable: bool
    kept: Sequence[Bytes]


class LoadedExchange:
    """A cached exchange as words, which the native loop reads (`machine_state.py`).

    `address` is that of its head.
    """

    def __init__(self, exchange: CachedExchange) -> None:
        self.exchange = exchange
        bindings = [np.array(words, np.int64) for _, words in exchange.commands]
        constants = [np.array([*each.constants, 0], np.int64) for each, _ in exchange.commands]
        words = [
            *(len(exchange.numbers), exchange.result_bytes, len(exchange.commands)),
            *(len(exchange.sources), len(exchange.results), len(exchange.sizes)),
            *(exchange.size_check, int(exchange.is_pollable), *exchange.numbers, *exchange.sizes),
        ]
        for (each, _), own, numbers in zip(exchange.commands, bindings, constants, strict=True):
            words += (each.function.address, own.ctypes.data, numbers.ctypes.data, 1)
        for command, position in (*exchange.sources, *exchange.results):
            words.append(bindings[command].ctypes.data + 8 * position)
        head = np.array(words, np.int64)
        self.address = int(head.ctypes.data)
        self._words: Sequence[Words] = (head, *bindings, *constants)
