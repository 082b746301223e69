# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Direct convolutions
#
# A convolution is a product whose rows overlap. Nothing has to be copied into a matrix for it: a
# tile of the result stays in registers while channels and window run, whatever the layout of the
# image. What differs is which axis lies in memory, and so goes into vectors.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from typing import Any

import numpy as np
from step_by_step import PROCESSOR, Tutorial, as_written, lanes, numbers

from loopsmith import te, tir

# Four vectors for each: 28 sums where there are 32 registers, 12 where there are 16.
PIXELS = 7 if PROCESSOR.has_features("+avx512f") else 3


def conv_nhwc(size: int, inputs: int, outputs: int, window: int, stride: int) -> tir.PrimFunc:
    """One image, channels last, padded by half a window."""
    pad, result = window // 2, -(-size // stride)
    x = te.placeholder((size, size, inputs), name="X")
    w = te.placeholder((window, window, inputs, outputs), name="W")
    wide = (result - 1) * stride + window
    padded = te.compute(
        (wide, wide, inputs),
        lambda i, j, c: te.if_then_else(
            te.all(i >= pad, i < size + pad, j >= pad, j < size + pad), x[i - pad, j - pad, c], 0.0
        ),
        name="padded",
    )
    ry, rx = te.reduce_axis((0, window), "ry"), te.reduce_axis((0, window), "rx")
    rc = te.reduce_axis((0, inputs), "rc")
    y = te.compute(
        (result, result, outputs),
        lambda i, j, o: te.sum(
            padded[i * stride + ry, j * stride + rx, rc] * w[ry, rx, rc, o], axis=[ry, rx, rc]
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def by_numpy(x: Any, w: Any, stride: int) -> Any:
    """The same, as a sum of products of matrices, one for each place of the window."""
    window = w.shape[0]
    pad, result = window // 2, -(-x.shape[0] // stride)
    wide = np.pad(x, ((pad, window), (pad, window), (0, 0)))
    y = np.zeros((result, result, w.shape[3]), x.dtype)
    for i in range(window):
        for j in range(window):
            part = wide[i : i + result * stride : stride, j : j + result * stride : stride]
            y += part @ w[i, j]
    return y


# %% [markdown]
# ## Channels last
# ### 1. As it is written (122 ms at 56 x 56, 64 to 64 channels, 3 x 3)


# %% [markdown]
# ### 2. A tile in registers (2.2 ms; by default the same, NumPy 2.7)
# Seven pixels of a row by four vectors of channels: each vector of weights serves seven pixels,
# each element of the image 64 channels. The sums have a place of their own; where tiles are not
# whole, `pad_axes` repeats the last pixel or channel, so that the loops over channels and window
# have no condition.


# %%
def nhwc_tile(func: tir.PrimFunc, pixels: int = PIXELS, vectors: int = 4) -> tir.Schedule:
    sch = tir.Schedule(func)
    sums = sch.get_block("Y")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [1, pixels, vectors * lanes(), 1, 1, 1])
    row, column, output = sch.get_loops(write)
    column, pixel = sch.split(column, [None, pixels])
    output, vector, lane = sch.split(output, [None, vectors, lanes()])
    sch.reorder(row, output, column, pixel, vector, lane)
    sch.compute_at(sums, column, preserve_unit_loops=True)
    *_, pixel, output, ry, rx, rc = sch.get_loops(sums)
    vector, lane = sch.split(output, [None, lanes()])
    sch.reorder(ry, rx, rc, pixel, vector, lane)
    zeros = sch.decompose_reduction(sums, ry)
    for block in (zeros, sums, write):
        pixel, vector, lane = sch.get_loops(block)[-3:]
        sch.unroll(pixel)
        sch.unroll(vector)
        sch.vectorize(lane)
    return sch


# %% [markdown]
# ### 3. Padding where it is read (2.2 ms)
# Three rows of the padded image are made for a row of the result, and are in the first cache when
# they are read. That costs two rows more than it has to, and saves an image in memory.


# %%
def nhwc_padding(func: tir.PrimFunc) -> tir.Schedule:
    sch = nhwc_tile(func)
    row = sch.get_loops(sch.get_output_blocks("root")[0])[0]
    sch.compute_at("padded", row)
    sch.vectorize(sch.split(sch.fuse(*sch.get_loops("padded")[-2:]), [None, lanes()])[1])
    return sch


# %% [markdown]
# ### 4. On all threads
# Rows are independent, their three padded rows are their own.


# %%
def nhwc_on_all(func: tir.PrimFunc) -> tir.Schedule:
    sch = nhwc_padding(func)
    sch.parallel(sch.get_loops("Y_local")[0])
    return sch


# %% [markdown]
# ### Every second pixel
# The same steps serve a stride of two: what is between two pixels of the result in memory does not
# matter to a tile that takes one element of the image for a vector of channels. (1.1 ms at 56 x 56
# x 64 to 128; by default the same, NumPy 1.4)


# %% [markdown]
# ## Channels first (2.3 ms; by default 2.7, NumPy 5.0)
# Pixels of a row are neighbours, and weights of one channel of the result are. Vectors of pixels
# would end with their row: 56 are three and a half vectors. Channels of the result are as good,
# once the weights are copied into the order in which the channels last are read; the image is read
# an element at a time anyway, and a tile of sums is transposed when it is stored, once for all of
# its window and channels.


# %%
def conv_nchw(size: int, inputs: int, outputs: int, window: int) -> tir.PrimFunc:
    """One image, channels first, padded by half a window."""
    pad = window // 2
    x = te.placeholder((inputs, size, size), name="X")
    w = te.placeholder((outputs, inputs, window, window), name="W")
    wide = size + window - 1
    padded = te.compute(
        (inputs, wide, wide),
        lambda c, i, j: te.if_then_else(
            te.all(i >= pad, i < size + pad, j >= pad, j < size + pad), x[c, i - pad, j - pad], 0.0
        ),
        name="padded",
    )
    ry, rx = te.reduce_axis((0, window), "ry"), te.reduce_axis((0, window), "rx")
    rc = te.reduce_axis((0, inputs), "rc")
    y = te.compute(
        (outputs, size, size),
        lambda o, i, j: te.sum(padded[rc, i + ry, j + rx] * w[o, rc, ry, rx], axis=[rc, ry, rx]),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def nchw_by_numpy(x: Any, w: Any) -> Any:
    return by_numpy(x.transpose(1, 2, 0), w.transpose(2, 3, 1, 0), 1).transpose(2, 0, 1)


def nchw_tile(func: tir.PrimFunc, pixels: int = 2 * PIXELS, vectors: int = 2) -> tir.Schedule:
    sch = tir.Schedule(func)
    sums = sch.get_block("Y")
    width = vectors * lanes()
    write = sch.cache_write(sums, 0, "local")
    sch.transform_layout(sums, 0, lambda o, i, j: (i, j, o))
    sch.pad_axes(sums, [width, 1, pixels, 1, 1, 1])
    weights = sch.reindex_cache_read(
        sums, "W", "global", lambda o, i, j, c, ry, rx: (o // width, c, ry, rx, o % width)
    )
    output, row, column = sch.get_loops(write)
    output, vector, lane = sch.split(output, [None, vectors, lanes()])
    column, pixel = sch.split(column, [None, pixels])
    sch.reorder(row, output, column, vector, lane, pixel)
    sch.compute_at(sums, column, preserve_unit_loops=True)
    *_, channel, row, pixel, rc, ry, rx = sch.get_loops(sums)
    vector, lane = sch.split(channel, [None, lanes()])
    sch.reorder(row, rc, ry, rx, pixel, vector, lane)
    zeros = sch.decompose_reduction(sums, rc)
    for block in (zeros, sums):
        pixel, vector, lane = sch.get_loops(block)[-3:]
        sch.unroll(pixel)
        sch.unroll(vector)
        sch.vectorize(lane)
    vector, lane, pixel = sch.get_loops(write)[-3:]
    sch.unroll(vector)
    sch.vectorize(lane)
    sch.vectorize(pixel)
    channel, *steps = sch.get_loops(weights)
    channel, lane = sch.split(channel, [None, lanes()])
    step, inner = sch.split(sch.fuse(*steps), [None, lanes()])
    sch.reorder(channel, step, inner, lane)
    sch.vectorize(inner)
    sch.vectorize(lane)
    return sch


def nchw_on_all(func: tir.PrimFunc, pixels: int = 2 * PIXELS, vectors: int = 2) -> tir.Schedule:
    sch = nchw_tile(func, pixels, vectors)
    sch.parallel(sch.get_loops("Y_local")[0])
    return sch


# %% [markdown]
# ## Blocked channels (2.0 ms; by default the same, NumPy 5.0)
# Where a network is one convolution after the other, channels may lie in blocks of a vector between
# them: then all loads and stores are whole vectors, and weights are in the order in which they are
# read. Nothing is copied.


# %%
def conv_blocked(size: int, inputs: int, outputs: int, window: int) -> tir.PrimFunc:
    """The sizes of channels are numbers of blocks; the image is padded already."""
    block, wide = lanes(), size + window - 1
    x = te.placeholder((inputs, wide, wide, block), name="X")
    w = te.placeholder((outputs, inputs, window, window, block, block), name="W")
    ry, rx = te.reduce_axis((0, window), "ry"), te.reduce_axis((0, window), "rx")
    rb, rc = te.reduce_axis((0, inputs), "rb"), te.reduce_axis((0, block), "rc")
    y = te.compute(
        (outputs, size, size, block),
        lambda b, i, j, o: te.sum(
            x[rb, i + ry, j + rx, rc] * w[b, rb, ry, rx, rc, o], axis=[rb, ry, rx, rc]
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def blocked_by_numpy(x: Any, w: Any) -> Any:
    (outputs, _, window, *_, block), wide = w.shape, x.shape[1]
    size = wide - window + 1
    y = np.zeros((outputs, size, size, block), x.dtype)
    for i in range(window):
        for j in range(window):
            part = x[:, i : i + size, j : j + size]
            y += np.einsum("byxc,obcd->oyxd", part, w[:, :, i, j], optimize=True)
    return y


def blocked_tile(func: tir.PrimFunc, pixels: int = 2 * PIXELS, blocks: int = 2) -> tir.Schedule:
    sch = tir.Schedule(func)
    sums = sch.get_block("Y")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [blocks, 1, pixels, 1, 1, 1, 1, 1])
    output, row, column, lane = sch.get_loops(write)
    output, vector = sch.split(output, [None, blocks])
    column, pixel = sch.split(column, [None, pixels])
    sch.reorder(row, output, column, pixel, vector, lane)
    sch.compute_at(sums, column, preserve_unit_loops=True)
    vector, row, pixel, lane, rb, ry, rx, rc = sch.get_loops(sums)[-8:]
    sch.reorder(row, rb, ry, rx, rc, pixel, vector, lane)
    zeros = sch.decompose_reduction(sums, rb)
    for block in (zeros, sums, write):
        pixel, vector, lane = sch.get_loops(block)[-3:]
        sch.unroll(pixel)
        sch.unroll(vector)
        sch.vectorize(lane)
    sch.parallel(sch.get_loops(write)[0])
    return sch


# %% [markdown]
# ## Depthwise (0.14 ms at 112 x 112 x 32; by default 0.15, NumPy 3.0)
# Each channel has a window of its own: nine products for an element, and no reuse but between
# neighbours. With channels last, vectors are channels. A tile of seven pixels keeps their sums and
# nine vectors of weights in registers, since window and pixels are unrolled. Strips of seven rows
# make nine rows of the padded image, which stay in the second cache; two of nine are made again for
# the next strip.


# %%
def depthwise(size: int, channels: int, window: int) -> tir.PrimFunc:
    pad, wide = window // 2, size + window - 1
    x = te.placeholder((size, size, channels), name="X")
    w = te.placeholder((window, window, channels), name="W")
    padded = te.compute(
        (wide, wide, channels),
        lambda i, j, c: te.if_then_else(
            te.all(i >= pad, i < size + pad, j >= pad, j < size + pad), x[i - pad, j - pad, c], 0.0
        ),
        name="padded",
    )
    ry, rx = te.reduce_axis((0, window), "ry"), te.reduce_axis((0, window), "rx")
    y = te.compute(
        (size, size, channels),
        lambda i, j, c: te.sum(padded[i + ry, j + rx, c] * w[ry, rx, c], axis=[ry, rx]),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def depthwise_by_numpy(x: Any, w: Any) -> Any:
    size, window = x.shape[0], w.shape[0]
    pad = window // 2
    wide = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    places = [(i, j) for i in range(window) for j in range(window)]
    return sum(wide[i : i + size, j : j + size] * w[i, j] for i, j in places)


def depthwise_tile(func: tir.PrimFunc, pixels: int = 7, rows: int = 7) -> tir.Schedule:
    sch = tir.Schedule(func)
    sums = sch.get_block("Y")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [1, pixels, lanes(), 1, 1])
    row, column, channel = sch.get_loops(write)
    strip, row = sch.split(row, [None, rows])
    column, pixel = sch.split(column, [None, pixels])
    channel, lane = sch.split(channel, [None, lanes()])
    sch.reorder(row, channel, column, pixel, lane)
    sch.compute_at(sums, column, preserve_unit_loops=True)
    sch.compute_at("padded", strip)
    row, pixel, lane, ry, rx = sch.get_loops(sums)[-5:]
    sch.reorder(row, ry, rx, pixel, lane)
    zeros = sch.decompose_reduction(sums, ry)
    for loop in (ry, rx):
        sch.unroll(loop)
    for block in (zeros, sums, write):
        pixel, lane = sch.get_loops(block)[-2:]
        sch.unroll(pixel)
        sch.vectorize(lane)
    sch.vectorize(sch.split(sch.fuse(*sch.get_loops("padded")[-2:]), [None, lanes()])[1])
    sch.parallel(strip)
    return sch


# %%
def images(size: int, inputs: int, outputs: int, window: int) -> list[Any]:
    return [numbers(size, size, inputs), numbers(window, window, inputs, outputs, seed=1)]


def images_by_channel(size: int, inputs: int, outputs: int, window: int) -> list[Any]:
    return [numbers(inputs, size, size), numbers(outputs, inputs, window, window, seed=1)]


TUTORIALS = [
    Tutorial(
        "convolution, channels last",
        lambda *sizes: conv_nhwc(*sizes, 1),
        [as_written, nhwc_tile, nhwc_padding, nhwc_on_all],
        images,
        lambda x, w: by_numpy(x, w, 1),
        sizes=(56, 64, 64, 3),
        small_sizes=[(8, 3, 32, 3), (5, 4, 7, 3)],
    ),
    Tutorial(
        "convolution, channels last, stride 2",
        lambda *sizes: conv_nhwc(*sizes, 2),
        [nhwc_tile, nhwc_on_all],
        images,
        lambda x, w: by_numpy(x, w, 2),
        sizes=(56, 64, 128, 3),
        small_sizes=[(8, 3, 32, 3), (5, 4, 7, 3)],
    ),
    Tutorial(
        "convolution, channels first",
        conv_nchw,
        [as_written, nchw_tile, nchw_on_all],
        images_by_channel,
        nchw_by_numpy,
        sizes=(56, 64, 64, 3),
        small_sizes=[(8, 3, 32, 3), (5, 4, 7, 3)],
    ),
    Tutorial(
        "convolution, blocked channels",
        conv_blocked,
        [as_written, blocked_tile],
        lambda size, inputs, outputs, window: [
            numbers(inputs, size + window - 1, size + window - 1, lanes()),
            numbers(outputs, inputs, window, window, lanes(), lanes(), seed=1),
        ],
        blocked_by_numpy,
        sizes=(56, 4, 4, 3),
        small_sizes=[(8, 1, 2, 3), (5, 2, 3, 3)],
    ),
    Tutorial(
        "depthwise convolution",
        depthwise,
        [as_written, depthwise_tile],
        lambda size, channels, window: [
            numbers(size, size, channels),
            numbers(window, window, channels, seed=1),
        ],
        depthwise_by_numpy,
        sizes=(112, 32, 3),
        small_sizes=[(8, 32, 3), (5, 7, 3)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
