# SPDX-License-Identifier: Apache-2.0
"""Runners that hold what has to be given back."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

Own = TypeVar("Own", bound="ClosedAtExit")


class ClosedAtExit:
    """A runner that is closed at the end of its ``with`` block."""

    def close(self) -> None:
        """Give back what it holds."""
        raise NotImplementedError(f"{type(self).__name__} has no method close")

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
