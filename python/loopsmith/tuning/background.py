# SPDX-License-Identifier: Apache-2.0
"""Modules that are served at once, and become quicker when a search has found how."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._core import Module, PrimFunc, Target
from .results.result import Tuned
from .tuner import tune

SECONDS = 300.0
PATIENCE = 200


class BackgroundModule:
    """A module that is replaced by a quicker one, once a search has found it.

    It is called, and has attributes, as the module that it stands for. A thread searches; calls do
    not wait for it. The search measures beside what else the machine does: candidates and the
    default schedule in turns, so that both meet the same.

    Parameters
    ----------
    module
        What is called until then.
    search
        Finds a schedule.
    """

    def __init__(self, module: Module, search: Callable[[], Tuned]) -> None:
        self._module = module
        self._found: Tuned | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(search,), daemon=True)
        self._thread.start()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module as it is now."""
        return self._module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @property
    def is_tuned(self) -> bool:
        """Whether the search has ended and its winner is what is called."""
        return not self._thread.is_alive() and self._found is not None and self._found.is_quicker

    def wait(self, timeout: float | None = None) -> Tuned | None:
        """Wait for the search; return what it found, None while it goes on.

        Parameters
        ----------
        timeout
            Seconds; None: for as long as it takes.

        Raises
        ------
        UserError
            The search failed; calls go on with the default schedule.
        """
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return self._found

    def _run(self, search: Callable[[], Tuned]) -> None:
        try:
            found = search()
            if found.is_quicker:
                self._module = found.build()
            self._found = found
        except BaseException as error:  # Told by `wait`: a thread cannot raise it elsewhere.
            self._error = error


def search_of(
    func: PrimFunc, target: Target, records: Any, options: dict[str, Any]
) -> Callable[[], Tuned]:
    """Return the search that runs in the background: some minutes, or until nothing gets better."""

    def search() -> Tuned:
        found = tune(
            func, target, records=records, seconds=SECONDS, patience=PATIENCE, progress=False,
            **options,
        )  # fmt: skip
        assert isinstance(found, Tuned)
        return found

    return search
