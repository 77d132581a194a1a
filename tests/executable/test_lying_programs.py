"""Random programs whose types, sizes and indices lie: native code and the interpreter agree.

Each program runs natively, with and without guards, and in the interpreter. What the one refuses
the other does, with the same message at the same place; else results are equal. Programs run in
processes of their own, so that one that ends its process is known.

`python tests/helpers/lying_worker.py N 1` repeats program N.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from breadth import breadth

HELPERS = Path(__file__).parents[1] / "helpers"
COUNT = breadth(24, 1000)
FINE = ("run", "refused", "no program")


def verdicts(first: int, count: int) -> Iterator[tuple[int, str, str]]:
    """The number of each program, the verdict on it, and what is to be said about it."""
    end = first + count
    while first < end:
        command = [sys.executable, str(HELPERS / "lying_worker.py"), str(first), str(end - first)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            said = json.loads(line)
            if "verdict" in said:
                yield first, said["verdict"], said["message"]
                first += 1
        if first < end:
            yield first, f"ended the process with {done.returncode}", done.stderr[-2000:]
            first += 1


def test_programs_that_lie() -> None:
    found = list(verdicts(0, COUNT))
    wrong = [
        f"{number}: {verdict}: {text}" for number, verdict, text in found if verdict not in FINE
    ]
    assert not wrong, "\n".join(wrong)
    run = sum(verdict == "run" for _, verdict, _ in found)
    refused = sum(verdict == "refused" for _, verdict, _ in found)
    assert min(run, refused) >= COUNT // 5, f"{run} run and {refused} are refused of {COUNT}"
