# SPDX-License-Identifier: Apache-2.0
"""The workloads by Loopsmith: by the default schedule, by hand where there is one, or tuned.

BENCH_SCHEDULE says which; a search has BENCH_SECONDS.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "cpu"))

import attention as online
import convolution as direct
import few_rows
import gemm
import images
import rows
import transpose as tiles
from tensors import tensors_of

import loopsmith as ls
from loopsmith import te, tir

THREADS = int(os.environ["OMP_NUM_THREADS"])


def version() -> str:
    """Return which Loopsmith."""
    return f"Loopsmith {ls.__version__}"


TENSORS = tensors_of(te)


# ---- By hand: the last steps of the tutorials of examples/cpu ----


def product_by_hand(
    m: int, n: int, k: int, layout: str = "nn", batch: int = 0
) -> tir.Schedule | None:
    """Packed tiles, or rows of B side by side where there are few of A."""
    cut = gemm.blocks()
    if layout != "nn" or batch or n < cut.width:
        return None
    if m == 1:
        return few_rows.in_rows_of_threads(few_rows.product(m, n, k))
    if m <= few_rows.lanes():
        return few_rows.along_rows_for_many(few_rows.product(m, n, k))
    panel = min(cut.columns, -(-n // cut.width) * cut.width)
    return gemm.on_all_cores(gemm.Size(m, n, k), cut._replace(columns=panel))


def convolution_by_hand(
    c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> tir.Schedule | None:
    """Tiles of pixels by channels, where the size stays."""
    if stride != 1 or groups != 1 or pad != f // 2 or f == 1:
        return None
    pixels, vectors = (2 * direct.PIXELS, 2) if h >= 2 * direct.PIXELS else (direct.PIXELS, 4)
    return direct.nchw_on_all(direct.conv_nchw(h, c, o, f), pixels, vectors)


def attention_by_hand(heads: int, s: int, d: int) -> tir.Schedule | None:
    """One nest, with blocks of 32 rows by 128 keys."""
    if s % 128:
        return None
    return online.on_all_threads(online.online(heads, s, d, 32, 128))


BY_HAND: dict[str, Callable[..., tir.Schedule | None]] = {
    "product": product_by_hand,
    "convolution": convolution_by_hand,
    "softmax": lambda **sizes: rows.on_all_threads(rows.softmax(**sizes)),
    "layer norm": lambda **sizes: rows.norm_in_vectors(rows.layer_norm(**sizes)),
    "transpose": lambda **sizes: tiles.down_two_lines(tiles.transpose(**sizes)),
    "attention": attention_by_hand,
    "blur": lambda n: images.nothing_kept(images.blur(n, n)),
}


def by_default(kind: str, **sizes: Any) -> ls.Module:
    """Build a workload with the default schedule."""
    return ls.build(te.create_prim_func(TENSORS[kind](**sizes)), num_threads=THREADS)


def by_hand(kind: str, **sizes: Any) -> ls.Module | None:
    """Build a workload with its schedule by hand; None where there is none."""
    schedule = BY_HAND[kind](**sizes) if kind in BY_HAND else None
    return None if schedule is None else ls.build(schedule, num_threads=THREADS)


def by_search(kind: str, **sizes: Any) -> ls.Module:
    """Search for a schedule, and build the best one that was found."""
    func = te.create_prim_func(TENSORS[kind](**sizes))
    seconds = float(os.environ["BENCH_SECONDS"])
    best = ls.tune(func, trials=1_000_000, seconds=seconds, num_threads=THREADS, progress=False)
    return best.build()


def program(kind: str, make: Callable[..., ls.Module | None]) -> Callable[..., Any]:
    """Return what compiles a workload, and returns a call of it."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        module = make(kind, **sizes)
        if module is None:
            return None
        # By hand, a convolution is one of one image.
        is_of_one_image = make is by_hand and kind == "convolution"
        used = [array[0] if is_of_one_image and array.shape[0] == 1 else array for array in arrays]
        return lambda: module(*used)

    return prepare


MADE = {"hand": by_hand, "search": by_search}.get(os.environ.get("BENCH_SCHEDULE", ""), by_default)
PROGRAMS = {kind: program(kind, MADE) for kind in TENSORS}
