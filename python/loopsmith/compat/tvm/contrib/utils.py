# SPDX-License-Identifier: Apache-2.0
"""``tvm.contrib.utils``: temporary folders."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ...missing import other_names

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A folder that goes with the object."""

    def __init__(self) -> None:
        self.temp_dir = tempfile.mkdtemp()

    def __enter__(self) -> TempDirectory:
        """Return the folder, which is removed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self.remove()

    def relpath(self, name: str) -> str:
        """Return the path of a file in it."""
        return str(Path(self.temp_dir) / name)

    def listdir(self) -> list[str]:
        """Return the names of its files."""
        return [path.name for path in Path(self.temp_dir).iterdir()]

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.temp_dir, ignore_errors=True)

    def __del__(self) -> None:
        """Delete it."""
        self.remove()


def tempdir() -> TempDirectory:
    """Return a new folder."""
    return TempDirectory()


__getattr__ = other_names("tvm.contrib.utils")
