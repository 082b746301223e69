# SPDX-License-Identifier: Apache-2.0
"""Paint the picture that the demo blurs: mountains under an evening sky, from noise."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

ROWS, COLUMNS = 480, 720


def noise(rows: int, columns: int, cell: int, random: np.random.Generator) -> np.ndarray:
    """Return smooth noise in [0, 1), of shape (rows, columns), with features of `cell` pixels."""
    grid = random.random((rows // cell + 2, columns // cell + 2))
    y, x = np.arange(rows) / cell, np.arange(columns) / cell
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = (t * t * (3 - 2 * t) for t in ((y - y0)[:, None], (x - x0)[None, :]))
    top = grid[y0][:, x0] * (1 - fx) + grid[y0][:, x0 + 1] * fx
    bottom = grid[y0 + 1][:, x0] * (1 - fx) + grid[y0 + 1][:, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


def fractal(rows: int, columns: int, cell: int, random: np.random.Generator) -> np.ndarray:
    """Return the sum of noise at ever finer cells, in [0, 1)."""
    total, weight, sum_of_weights = np.zeros((rows, columns)), 1.0, 0.0
    while cell >= 2:
        total += weight * noise(rows, columns, cell, random)
        sum_of_weights += weight
        cell, weight = cell // 2, weight * 0.55
    return total / sum_of_weights


def landscape() -> np.ndarray:
    """Return the picture: uint8, of shape (ROWS, COLUMNS, 3)."""
    random = np.random.default_rng(20)
    height = np.linspace(0, 1, ROWS)[:, None, None]
    sky = np.array([70, 105, 160]) * (1 - height) + np.array([250, 190, 130]) * height
    clouds = np.clip(fractal(ROWS, COLUMNS, 160, random) - 0.5, 0, 1)[:, :, None] * 2.2
    picture = sky * (1 - clouds * 0.5) + 255 * clouds * 0.5
    sun = np.hypot(np.arange(ROWS)[:, None] - 190, np.arange(COLUMNS)[None, :] - 520)[:, :, None]
    picture += np.exp(-((sun / 40) ** 2)) * np.array([120, 110, 70])
    rows = np.arange(ROWS)[:, None]
    for layer in range(4):
        ridge = fractal(1, COLUMNS, 180 - 30 * layer, random)[0]
        top = 210 + 62 * layer - 150 * (ridge - 0.35) * (1 - 0.12 * layer)
        stone = fractal(ROWS, COLUMNS, 24, random)[:, :, None]
        near = (layer + 1) / 4
        colour = np.array([120, 125, 150]) * (1 - near) + np.array([35, 60, 40]) * near
        picture = np.where((rows > top)[:, :, None], colour * (0.55 + 0.9 * stone), picture)
    return np.clip(picture, 0, 255).astype("uint8")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("landscape.png")
    Image.fromarray(landscape()).save(target, optimize=True)
