# SPDX-License-Identifier: Apache-2.0
"""A loop of the suite: its name, its body as a script, its arrays."""

from __future__ import annotations

from polybench import Kernel

LOOPS: dict[str, Kernel] = {}
VECTORS = "a[LEN] b[LEN] c[LEN] d[LEN] e[LEN]"
MATRICES = "aa[L2,L2] bb[L2,L2] cc[L2,L2]"
SIZES = {"LEN": 16000, "HALF": 8000, "L2": 256}


def loop(name: str, body: str, arrays: str = VECTORS) -> None:
    """Add a loop over vectors of float32, or over other arrays."""
    lines = body.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join("    " + line[indent:] for line in lines)
    LOOPS[name] = Kernel(name, arrays, text, SIZES, "float32")
