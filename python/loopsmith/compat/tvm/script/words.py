# SPDX-License-Identifier: Apache-2.0
"""The names that scripts of 2021 had without an import."""

from __future__ import annotations

from typing import Any

from loopsmith.script import tir


def words_of_2021() -> dict[str, Any]:
    """Return what ``tir`` and ``ty`` mean in such a script, whatever the program imports."""
    return {"tir": tir, "ty": tir}
