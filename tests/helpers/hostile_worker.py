"""Loads and runs saved programs that lie under the right checksums, and prints what came of each.

`python hostile_worker.py PROGRAM FIRST COUNT FOLDER` prints a line before each and a verdict behind
it, so that who reads it knows which one has ended the process.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import mesh_opt
import numpy as np
from mesh_opt.saved_programs import InputError, SavedFileError
from saved_files import altered, mutate, slots

SECONDS, MEMORY = 120, 6 << 30


class Compiled(Exception):
    """The program would be compiled again."""


def refuse(text: str) -> NoReturn:
    raise Compiled(text)


def places(header: Any) -> list[tuple[Any, Any]]:
    """Where something may be changed that is no code: neither which machine code is which, nor
    constants, nor the numbers with which host code computes."""
    code = [header["objects"], header["runtime"], header["arrays"]]
    for entry in (each for function in header["functions"] for each in function["entries"]):
        code += [entry["kernels"], entry["globals"], *(each[3] for each in entry["functions"])]
    kept = {id(each) for each in code}
    inside = {id(place) for row in code for place, _ in slots(row)} | kept
    return [
        (place, key)
        for place, key in slots(header)
        if place is not header and id(place) not in inside and id(place[key]) not in kept
    ]


def run(path: Path) -> str:
    """Load a program and run it twice; returns what came of it."""
    program = mesh_opt.load(path, remark=refuse)
    try:
        for name in list(program.functions):
            function = program[name]
            shapes = [
                tuple(4 if size < 0 else size for size in each.shape or ())
                for each in function.types.arguments
            ]
            inputs = [
                np.ones(shape, kind.dtype)
                for shape, kind in zip(shapes, function.types.arguments, strict=True)
            ]
            for _ in range(2):
                function.run(inputs)
    finally:
        program.close()
    return "run"


def outcome(path: Path) -> tuple[str, str]:
    """A verdict on a file, and what is to be said about it."""
    try:
        return run(path), ""
    except (SavedFileError, InputError, Compiled, MemoryError) as problem:
        return "refused", str(problem)
    except mesh_opt.ExecutionError as problem:
        return "refused", str(problem)
    except Exception as problem:
        return "fault", f"{type(problem).__name__}: {problem}"


def main(path: Path, first: int, count: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    for number in range(first, first + count):
        source = random.Random(number)
        change = ""

        def alter(header: Any, source: random.Random = source) -> None:
            nonlocal change
            place, key = source.choice(places(header))
            before = str(place)[:200]
            mutate(place, key, source)
            change = f"{key!r} of {before}"

        target = altered(path, folder / "x.meshprog", alter)
        print(json.dumps({"number": number, "change": change}), flush=True)
        # Ends the process, also where native code does not return.
        signal.alarm(SECONDS)
        verdict, message = outcome(target)
        signal.alarm(0)
        print(json.dumps({"verdict": verdict, "message": message}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
