"""Random programs whose types, sizes and indices may lie."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import lying_control as control
import lying_loops as loops
import lying_tensors as tensors
import lying_tosa as tosa
import numpy as np
from lying_writer import LyingWriter

Operation = Callable[[LyingWriter], None]

OPERATIONS: list[Operation] = [
    control.branch, control.call, tensors.cast, tensors.collapse, tensors.concat, loops.contract,
    loops.convolution, loops.convolution_2d, tensors.dimension, tensors.elementwise,
    tensors.expand, tensors.extract, tensors.extract_slice, tensors.gather, loops.gather_in_body,
    tensors.generate, loops.generic, loops.generic, loops.generic, tensors.insert,
    tensors.insert_slice, control.loop, loops.mapped, loops.matmul, control.memory, loops.named,
    loops.pack, loops.packed_product, tensors.pad, loops.rearrange, loops.reduce, tensors.reshape,
    loops.softmax, tensors.splat, tosa.tosa_binary, tosa.tosa_binary, tosa.tosa_concat,
    tosa.tosa_gather, tosa.tosa_matmul, tosa.tosa_movement, tosa.tosa_movement, tosa.tosa_numbers,
    tosa.tosa_reduce, tosa.tosa_scatter, tosa.tosa_select, tosa.tosa_unary, tensors.unary,
    loops.unpack, control.until, loops.windows_in_body,
]  # fmt: skip
"""What a program is made of; what needs more tries stands there more often."""


def program(number: int) -> tuple[str, list[np.ndarray]]:
    """A program, the same one for a number, and its inputs."""
    random = Random(number)
    writer = LyingWriter(random, random.choice([0.0, 0.05, 0.1, 0.2]))
    for _ in range(random.randint(1, 6)):
        random.choice(OPERATIONS)(writer)
    if not writer.pool:
        writer.pick()
    return writer.program(), writer.inputs
