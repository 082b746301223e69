# SPDX-License-Identifier: Apache-2.0
"""The workloads as C, as people write it: loops with OpenMP, and a compiler's best options."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloads import EPSILON, GELU, result_size

THREADS = int(os.environ["OMP_NUM_THREADS"])
COMPILER = os.environ["BENCH_CC"]
OPTIONS = ["-O3", "-march=native", "-ffast-math", "-fno-math-errno", "-shared", "-fPIC"]
PARALLEL = "#pragma omp parallel for"


def version() -> str:
    """Return which compiler, and what it is told."""
    said = subprocess.run([COMPILER, "--version"], check=True, capture_output=True, text=True)
    return f"{said.stdout.splitlines()[0]}, {' '.join(OPTIONS[:3])}"


def compiled(source: str, arrays: Any, **sizes: Any) -> Any:
    """Compile a function `f` of the arrays, and return a call of it."""
    folder = Path(tempfile.mkdtemp())
    defined = [f"-D{name.upper()}={value}" for name, value in sizes.items()]
    threads = ["-fopenmp"] if THREADS > 1 else []
    library = folder / "f.so"
    text = "#include <math.h>\n#include <stddef.h>\n" + source
    try:
        subprocess.run(
            [COMPILER, *OPTIONS, *threads, *defined, "-x", "c", "-", "-o", library, "-lm"],
            input=text, check=True, capture_output=True, text=True,
        )  # fmt: skip
        function = ctypes.CDLL(str(library)).f
    except subprocess.CalledProcessError as error:
        raise RuntimeError(error.stderr.strip().splitlines()[-1]) from None
    finally:
        shutil.rmtree(folder)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(*pointers)


def program(source: str) -> Callable[..., Any]:
    """Return a program whose sizes are macros."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        return compiled(source.replace("PARALLEL", PARALLEL), arrays, **sizes)

    return prepare


PRODUCT = """
void f(const float *restrict a, const float *restrict b, float *restrict c) {
  PARALLEL
  for (ptrdiff_t i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) c[i * N + j] = 0;
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) c[i * N + j] += a[i * K + k] * b[(size_t)k * N + j];
  }
}
"""
CONVOLUTION = """
void f(const float *restrict a, const float *restrict w, float *restrict out) {
  PARALLEL
  for (int o = 0; o < O; ++o) {
    float *c = out + (size_t)o * SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; ++i) c[i] = 0;
    for (int r = 0; r < C / GROUPS; ++r)
      for (int y = 0; y < F; ++y)
        for (int x = 0; x < F; ++x) {
          const float weight = w[((o * (C / GROUPS) + r) * F + y) * F + x];
          const float *s = a + (size_t)(o / (O / GROUPS) * (C / GROUPS) + r) * H * H;
          for (int i = 0; i < SIDE; ++i) {
            const int row = i * STRIDE + y - PAD;
            if (row < 0 || row >= H) continue;
            const int first = PAD > x ? (PAD - x + STRIDE - 1) / STRIDE : 0;
            const int fitting = (H - 1 + PAD - x) / STRIDE + 1;
            const int last = fitting < SIDE ? fitting : SIDE;
            for (int j = first; j < last; ++j)
              c[i * SIDE + j] += weight * s[row * H + j * STRIDE + x - PAD];
          }
        }
  }
}
"""
SOFTMAX = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < ROWS; ++i) {
    const float *x = a + i * COLUMNS;
    float *y = out + i * COLUMNS, top = x[0], total = 0;
    for (int j = 0; j < COLUMNS; ++j) top = x[j] > top ? x[j] : top;
    for (int j = 0; j < COLUMNS; ++j) total += y[j] = expf(x[j] - top);
    for (int j = 0; j < COLUMNS; ++j) y[j] /= total;
  }
}
"""
LAYER_NORM = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < ROWS; ++i) {
    const float *x = a + i * COLUMNS;
    float *y = out + i * COLUMNS, total = 0, squares = 0;
    for (int j = 0; j < COLUMNS; ++j) total += x[j];
    const float mean = total / COLUMNS;
    for (int j = 0; j < COLUMNS; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const float scale = 1 / sqrtf(squares / COLUMNS + (float)EPSILON);
    for (int j = 0; j < COLUMNS; ++j) y[j] = (x[j] - mean) * scale;
  }
}
"""
GELU_SOURCE = """
void f(const float *restrict a, const float *restrict b, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) {
      const float x = a[i * COLUMNS + j] + b[j];
      out[i * COLUMNS + j] = 0.5f * x * (1 + tanhf((float)ROOT * (x + 0.044715f * x * x * x)));
    }
}
"""
ADD = """
void f(const float *restrict a, const float *restrict b, float *restrict c) {
  PARALLEL
  for (ptrdiff_t i = 0; i < N; ++i) c[i] = a[i] + b[i];
}
"""
ROW_SUMS = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < ROWS; ++i) {
    float total = 0;
    for (int j = 0; j < COLUMNS; ++j) total += a[i * COLUMNS + j];
    out[i] = total;
  }
}
"""
COLUMN_SUMS = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t block = 0; block < COLUMNS; block += 512) {
    const ptrdiff_t end = block + 512 < COLUMNS ? block + 512 : COLUMNS;
    for (ptrdiff_t j = block; j < end; ++j) out[j] = 0;
    for (ptrdiff_t i = 0; i < ROWS; ++i)
      for (ptrdiff_t j = block; j < end; ++j) out[j] += a[i * COLUMNS + j];
  }
}
"""
TRANSPOSE = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t jj = 0; jj < COLUMNS; jj += 16)
    for (ptrdiff_t ii = 0; ii < ROWS; ii += 16)
      for (ptrdiff_t j = jj; j < COLUMNS && j < jj + 16; ++j)
        for (ptrdiff_t i = ii; i < ROWS && i < ii + 16; ++i) out[j * ROWS + i] = a[i * COLUMNS + j];
}
"""
JACOBI = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < N; ++i) {
    const float *x = a + (i + 1) * (N + 2) + 1;
    for (int j = 0; j < N; ++j)
      out[i * N + j] = 0.2f * (x[j] + x[j - 1] + x[j + 1] + x[j - N - 2] + x[j + N + 2]);
  }
}
"""
HEAT = """
enum { S = N + 2 };
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      const float *x = a + ((i + 1) * S + j + 1) * S + 1;
      for (int k = 0; k < N; ++k)
        out[(i * N + j) * N + k] = (1 / 7.0f) * (x[k] + x[k - 1] + x[k + 1] + x[k - S] + x[k + S] +
                                                 x[k - S * S] + x[k + S * S]);
    }
}
"""
BLUR = """
void f(const float *restrict a, float *restrict out) {
  PARALLEL
  for (ptrdiff_t i = 0; i < N; ++i) {
    const float *x = a + i * (N + 2);
    float row[N + 2];
    for (int j = 0; j < N + 2; ++j)
      row[j] = (x[j] + x[j + N + 2] + x[j + 2 * (N + 2)]) * (1 / 3.0f);
    for (int j = 0; j < N; ++j) out[i * N + j] = (row[j] + row[j + 1] + row[j + 2]) * (1 / 3.0f);
  }
}
"""
PREFIX_SUM = """
void f(const float *restrict a, float *restrict out) {
  float total = 0;
  for (int i = 0; i < N; ++i) out[i] = total += a[i];
}
"""


def product(*arrays: Any, layout: str = "nn", batch: int = 0, **sizes: int) -> Any:
    """Return plain products alone."""
    return program(PRODUCT)(*arrays, **sizes) if layout == "nn" and not batch else None


def convolution(
    *arrays: Any, c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> Any:
    """Convolution of one image, channels before rows."""
    side = result_size(h, f, stride, pad)
    return program(CONVOLUTION)(
        *arrays, c=c, o=o, h=h, f=f, stride=stride, pad=pad, groups=groups, side=side
    )


PROGRAMS = {
    "product": product,
    "convolution": convolution,
    "softmax": program(SOFTMAX),
    "layer norm": lambda *arrays, **sizes: program(LAYER_NORM)(*arrays, **sizes, epsilon=EPSILON),
    "gelu": lambda *arrays, **sizes: program(GELU_SOURCE)(*arrays, **sizes, root=GELU),
    "add": program(ADD),
    "row sums": program(ROW_SUMS),
    "column sums": program(COLUMN_SUMS),
    "transpose": program(TRANSPOSE),
    "jacobi": program(JACOBI),
    "heat": program(HEAT),
    "blur": program(BLUR),
    "prefix sum": program(PREFIX_SUM),
}
