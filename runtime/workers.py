"""The workers of a device: its own thread, and others beside it that share its kernels."""

from __future__ import annotations

from collections.abc import Sequence

from .crew import Call, Crew


class Team:
    """The workers of a device. Its own thread, which is number 0, calls the others."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._others = Crew(workers - 1, "mesh-opt-worker")

    def start(self, calls: Sequence[Call], kept: object) -> None:
        """Let the other threads run native calls, one each, which use what is `kept`.

        Nobody waits for them. Those that are not done with the last ones yet get no others.
        """
        if self._others.wait(0):
            self._others.post(calls, kept)

    def close(self) -> None:
        """End the other threads, after what they run."""
        self._others.close()
