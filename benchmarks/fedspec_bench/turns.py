"""Control of another library's training loop, so that it runs one round at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Turns:
    """Thread that runs a loop and pauses it between rounds.

    Attributes:
        loop: function that runs all rounds; it calls :meth:`between` after each of them.
    """

    def __init__(self, loop: Callable[[], object]) -> None:
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.error: BaseException | None = None

        def body() -> None:
            self.go.acquire()
            try:
                loop()
                self.error = RuntimeError("the loop ended")
            except BaseException as error:
                self.error = error
            self.done.release()

        threading.Thread(target=body, daemon=True).start()

    def between(self) -> None:
        """Pause until the next round is asked for; the loop calls this after each round."""
        self.done.release()
        self.go.acquire()

    def next(self) -> None:
        """Run one round.

        Raises:
            BaseException: the error that ended the loop.
        """
        self.go.release()
        self.done.acquire()
        if self.error:
            raise self.error
