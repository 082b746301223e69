# SPDX-License-Identifier: Apache-2.0
"""The kernels that PolyBench is known for, written anew as scripts of plain loops.

Each entry has the arrays, in the order of the parameters, and the loops. Sizes are names; those of
`SIZES` are for timing, tests take small ones.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import numpy.typing as npt

import loopsmith as ls

Array = npt.NDArray[np.generic]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A program of plain loops over arrays of numbers."""

    name: str
    arrays: str  # Like "A[N,M] B[M]"; a type before a name: "int32:T[N,N]".
    body: str
    sizes: dict[str, int]
    dtype: str = "float64"

    def shapes(self, sizes: dict[str, int] | None = None) -> list[tuple[str, str, tuple[int, ...]]]:
        """Return the name, type and shape of each parameter."""
        known = {**self.sizes, **(sizes or {})}
        found = []
        for each in re.findall(r"(?:(\w+):)?(\w+)\[([^\]]*)\]", self.arrays):
            shape = tuple(int(eval(extent, {}, known)) for extent in each[2].split(","))
            found.append((each[1], each[0] or self.dtype, shape))
        return found

    def source(self, sizes: dict[str, int] | None = None, noalias: bool = False) -> str:
        """Return the script for these sizes."""
        known = {**self.sizes, **(sizes or {})}
        parameters = ", ".join(
            f'{name}: T.Buffer({shape}, "{dtype}")' for name, dtype, shape in self.shapes(sizes)
        )
        body = self.body.strip("\n")
        for name, value in known.items():
            body = re.sub(rf"\b{name}\b", str(value), body)
        head = f"@T.prim_func\ndef {self.name}({parameters}):\n"
        attributes = '    T.func_attr({"tir.noalias": True})\n' if noalias else ""
        return head + attributes + body

    def func(self, sizes: dict[str, int] | None = None, noalias: bool = False) -> ls.tir.PrimFunc:
        """Return the function for these sizes."""
        return ls.from_source(self.source(sizes, noalias))

    def arguments(self, sizes: dict[str, int] | None = None) -> list[Array]:
        """Return arrays of random numbers: matrices with a heavy diagonal, indices below 4."""
        generator = np.random.default_rng(0)
        made: list[Array] = []
        for _, dtype, shape in self.shapes(sizes):
            if np.issubdtype(np.dtype(dtype), np.integer):
                made.append(generator.integers(0, 4, shape).astype(dtype))
                continue
            values = generator.random(shape)
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values + shape[0] * np.eye(shape[0])
                values = (values + values.T) / 2
            made.append(values.astype(dtype))
        return made


KERNELS: dict[str, Kernel] = {}


def kernel(name: str, arrays: str, sizes: str, body: str, dtype: str = "float64") -> None:
    """Add a kernel; `sizes` is like "N=100 M=200"."""
    known = {key: int(value) for key, value in (each.split("=") for each in sizes.split())}
    KERNELS[name] = Kernel(name, arrays, body, known, dtype)


# ---- Products ----

kernel(
    "gemm",
    "C[NI,NJ] A[NI,NK] B[NK,NJ]",
    "NI=400 NJ=440 NK=480",
    """
    for i in range(NI):
        for j in range(NJ):
            C[i, j] = C[i, j] * 1.2
        for k in range(NK):
            for j in range(NJ):
                C[i, j] = C[i, j] + 1.5 * A[i, k] * B[k, j]
""",
)

kernel(
    "mm2",
    "D[NI,NL] tmp[NI,NJ] A[NI,NK] B[NK,NJ] C[NJ,NL]",
    "NI=320 NJ=360 NK=400 NL=440",
    """
    for i in range(NI):
        for j in range(NJ):
            tmp[i, j] = 0.0
            for k in range(NK):
                tmp[i, j] = tmp[i, j] + 1.5 * A[i, k] * B[k, j]
    for i2 in range(NI):
        for j2 in range(NL):
            D[i2, j2] = D[i2, j2] * 1.2
            for k2 in range(NJ):
                D[i2, j2] = D[i2, j2] + tmp[i2, k2] * C[k2, j2]
""",
)

kernel(
    "mm3",
    "E[NI,NJ] A[NI,NK] B[NK,NJ] F[NJ,NL] C[NJ,NM] D[NM,NL] G[NI,NL]",
    "NI=300 NJ=320 NK=340 NL=360 NM=380",
    """
    for i in range(NI):
        for j in range(NJ):
            E[i, j] = 0.0
            for k in range(NK):
                E[i, j] = E[i, j] + A[i, k] * B[k, j]
    for i2 in range(NJ):
        for j2 in range(NL):
            F[i2, j2] = 0.0
            for k2 in range(NM):
                F[i2, j2] = F[i2, j2] + C[i2, k2] * D[k2, j2]
    for i3 in range(NI):
        for j3 in range(NL):
            G[i3, j3] = 0.0
            for k3 in range(NJ):
                G[i3, j3] = G[i3, j3] + E[i3, k3] * F[k3, j3]
""",
)

kernel(
    "atax",
    "A[M,N] x[N] y[N] tmp[M]",
    "M=1900 N=2100",
    """
    for i in range(N):
        y[i] = 0.0
    for i2 in range(M):
        tmp[i2] = 0.0
        for j in range(N):
            tmp[i2] = tmp[i2] + A[i2, j] * x[j]
        for j2 in range(N):
            y[j2] = y[j2] + A[i2, j2] * tmp[i2]
""",
)

kernel(
    "bicg",
    "A[N,M] s[M] q[N] p[M] r[N]",
    "N=2100 M=1900",
    """
    for i in range(M):
        s[i] = 0.0
    for i2 in range(N):
        q[i2] = 0.0
        for j in range(M):
            s[j] = s[j] + r[i2] * A[i2, j]
            q[i2] = q[i2] + A[i2, j] * p[j]
""",
)

kernel(
    "mvt",
    "x1[N] x2[N] y1[N] y2[N] A[N,N]",
    "N=2000",
    """
    for i in range(N):
        for j in range(N):
            x1[i] = x1[i] + A[i, j] * y1[j]
    for i2 in range(N):
        for j2 in range(N):
            x2[i2] = x2[i2] + A[j2, i2] * y2[j2]
""",
)

kernel(
    "gemver",
    "A[N,N] u1[N] v1[N] u2[N] v2[N] w[N] x[N] y[N] z[N]",
    "N=2000",
    """
    for i in range(N):
        for j in range(N):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i2 in range(N):
        for j2 in range(N):
            x[i2] = x[i2] + 1.2 * A[j2, i2] * y[j2]
    for i3 in range(N):
        x[i3] = x[i3] + z[i3]
    for i4 in range(N):
        for j4 in range(N):
            w[i4] = w[i4] + 1.5 * A[i4, j4] * x[j4]
""",
)

kernel(
    "gesummv",
    "A[N,N] B[N,N] tmp[N] x[N] y[N]",
    "N=1400",
    """
    for i in range(N):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(N):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = 1.5 * tmp[i] + 1.2 * y[i]
""",
)

kernel(
    "symm",
    "C[M,N] A[M,M] B[M,N]",
    "M=400 N=480",
    """
    for i in range(M):
        for j in range(N):
            temp2 = T.float64(0)
            for k in range(i):
                C[k, j] = C[k, j] + 1.5 * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = 1.2 * C[i, j] + 1.5 * B[i, j] * A[i, i] + 1.5 * temp2
""",
)

kernel(
    "syrk",
    "C[N,N] A[N,M]",
    "M=400 N=480",
    """
    for i in range(N):
        for j in range(i + 1):
            C[i, j] = C[i, j] * 1.2
        for k in range(M):
            for j2 in range(i + 1):
                C[i, j2] = C[i, j2] + 1.5 * A[i, k] * A[j2, k]
""",
)

kernel(
    "syr2k",
    "C[N,N] A[N,M] B[N,M]",
    "M=400 N=480",
    """
    for i in range(N):
        for j in range(i + 1):
            C[i, j] = C[i, j] * 1.2
        for k in range(M):
            for j2 in range(i + 1):
                C[i, j2] = C[i, j2] + A[j2, k] * 1.5 * B[i, k] + B[j2, k] * 1.5 * A[i, k]
""",
)

kernel(
    "trmm",
    "A[M,M] B[M,N]",
    "M=400 N=480",
    """
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] = B[i, j] + A[k, i] * B[k, j]
            B[i, j] = 1.5 * B[i, j]
""",
)

kernel(
    "doitgen",
    "A[NR,NQ,NP] C4[NP,NP] sum[NP]",
    "NR=100 NQ=80 NP=120",
    """
    for r in range(NR):
        for q in range(NQ):
            for p in range(NP):
                sum[p] = 0.0
                for s in range(NP):
                    sum[p] = sum[p] + A[r, q, s] * C4[s, p]
            for p2 in range(NP):
                A[r, q, p2] = sum[p2]
""",
)

# ---- Statistics ----

kernel(
    "covariance",
    "data[N,M] cov[M,M] mean[M]",
    "N=480 M=400",
    """
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] = mean[j] + data[i, j]
        mean[j] = mean[j] / T.float64(N)
    for i2 in range(N):
        for j2 in range(M):
            data[i2, j2] = data[i2, j2] - mean[j2]
    for i3 in range(M):
        for j3 in range(i3, M):
            cov[i3, j3] = 0.0
            for k in range(N):
                cov[i3, j3] = cov[i3, j3] + data[k, i3] * data[k, j3]
            cov[i3, j3] = cov[i3, j3] / (T.float64(N) - 1.0)
            cov[j3, i3] = cov[i3, j3]
""",
)

kernel(
    "correlation",
    "data[N,M] corr[M,M] mean[M] stddev[M]",
    "N=480 M=400",
    """
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] = mean[j] + data[i, j]
        mean[j] = mean[j] / T.float64(N)
    for j2 in range(M):
        stddev[j2] = 0.0
        for i2 in range(N):
            stddev[j2] = stddev[j2] + (data[i2, j2] - mean[j2]) * (data[i2, j2] - mean[j2])
        stddev[j2] = T.sqrt(stddev[j2] / T.float64(N))
        stddev[j2] = T.Select(stddev[j2] <= 0.1, T.float64(1), stddev[j2])
    for i3 in range(N):
        for j3 in range(M):
            data[i3, j3] = data[i3, j3] - mean[j3]
            data[i3, j3] = data[i3, j3] / (T.sqrt(T.float64(N)) * stddev[j3])
    for i4 in range(M - 1):
        corr[i4, i4] = 1.0
        for j4 in range(i4 + 1, M):
            corr[i4, j4] = 0.0
            for k in range(N):
                corr[i4, j4] = corr[i4, j4] + data[k, i4] * data[k, j4]
            corr[j4, i4] = corr[i4, j4]
    corr[M - 1, M - 1] = 1.0
""",
)

# ---- Factorizations and solvers ----

kernel(
    "cholesky",
    "A[N,N]",
    "N=480",
    """
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] = A[i, j] - A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k2 in range(i):
            A[i, i] = A[i, i] - A[i, k2] * A[i, k2]
        A[i, i] = T.sqrt(A[i, i])
""",
)

kernel(
    "lu",
    "A[N,N]",
    "N=480",
    """
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j2 in range(i, N):
            for k2 in range(i):
                A[i, j2] = A[i, j2] - A[i, k2] * A[k2, j2]
""",
)

kernel(
    "ludcmp",
    "A[N,N] b[N] x[N] y[N]",
    "N=480",
    """
    for i in range(N):
        for j in range(i):
            w = A[i, j] * 1.0
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j2 in range(i, N):
            w2 = A[i, j2] * 1.0
            for k2 in range(i):
                w2 -= A[i, k2] * A[k2, j2]
            A[i, j2] = w2
    for i3 in range(N):
        w3 = b[i3] * 1.0
        for j3 in range(i3):
            w3 -= A[i3, j3] * y[j3]
        y[i3] = w3
    for i4 in range(N):
        w4 = y[N - 1 - i4] * 1.0
        for j4 in range(N - i4, N):
            w4 -= A[N - 1 - i4, j4] * x[j4]
        x[N - 1 - i4] = w4 / A[N - 1 - i4, N - 1 - i4]
""",
)

kernel(
    "trisolv",
    "L[N,N] x[N] b[N]",
    "N=2000",
    """
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
""",
)

kernel(
    "durbin",
    "r[N] y[N] z[N]",
    "N=2000",
    """
    y[0] = -r[0]
    beta = T.float64(1)
    alpha = -r[0]
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        total = T.float64(0)
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i2 in range(k):
            z[i2] = y[i2] + alpha * y[k - i2 - 1]
        for i3 in range(k):
            y[i3] = z[i3]
        y[k] = alpha
""",
)

kernel(
    "gramschmidt",
    "A[M,N] R[N,N] Q[M,N]",
    "N=400 M=480",
    """
    for k in range(N):
        nrm = T.float64(0)
        for i in range(M):
            nrm += A[i, k] * A[i, k]
        R[k, k] = T.sqrt(nrm)
        for i2 in range(M):
            Q[i2, k] = A[i2, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = 0.0
            for i3 in range(M):
                R[k, j] = R[k, j] + Q[i3, k] * A[i3, j]
            for i4 in range(M):
                A[i4, j] = A[i4, j] - Q[i4, k] * R[k, j]
""",
)

# ---- Paths, sequences, filters ----

kernel(
    "floyd_warshall",
    "int32:paths[N,N]",
    "N=480",
    """
    for k in range(N):
        for i in range(N):
            for j in range(N):
                paths[i, j] = T.min(paths[i, j], paths[i, k] + paths[k, j])
""",
)

kernel(
    "nussinov",
    "int32:seq[N] int32:table[N,N]",
    "N=480",
    """
    for i0 in range(N):
        for j in range(N - i0, N):
            if j - 1 >= 0:
                table[N - 1 - i0, j] = T.max(table[N - 1 - i0, j], table[N - 1 - i0, j - 1])
            if N - i0 < N:
                table[N - 1 - i0, j] = T.max(table[N - 1 - i0, j], table[N - i0, j])
            if j - 1 >= 0:
                if N - i0 < N:
                    if N - 1 - i0 < j - 1:
                        table[N - 1 - i0, j] = T.max(
                            table[N - 1 - i0, j],
                            table[N - i0, j - 1]
                            + T.if_then_else(seq[N - 1 - i0] + seq[j] == 3, 1, 0),
                        )
                    else:
                        table[N - 1 - i0, j] = T.max(table[N - 1 - i0, j], table[N - i0, j - 1])
            for k in range(N - i0, j):
                table[N - 1 - i0, j] = T.max(
                    table[N - 1 - i0, j], table[N - 1 - i0, k] + table[k + 1, j]
                )
""",
)

kernel(
    "deriche",
    "float32:image[W,H] float32:out[W,H] float32:y1[W,H] float32:y2[W,H]",
    "W=800 H=600",
    """
    for i in range(W):
        ym1 = T.float32(0)
        ym2 = T.float32(0)
        xm1 = T.float32(0)
        for j in range(H):
            y1[i, j] = (
                T.float32(0.2) * image[i, j]
                + T.float32(0.1) * xm1
                + T.float32(0.7) * ym1
                - T.float32(0.1) * ym2
            )
            xm1 = image[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i2 in range(W):
        yp1 = T.float32(0)
        yp2 = T.float32(0)
        xp1 = T.float32(0)
        xp2 = T.float32(0)
        for j2 in range(H):
            y2[i2, H - 1 - j2] = (
                T.float32(0.2) * xp1
                + T.float32(0.1) * xp2
                + T.float32(0.7) * yp1
                - T.float32(0.1) * yp2
            )
            xp2 = xp1
            xp1 = image[i2, H - 1 - j2]
            yp2 = yp1
            yp1 = y2[i2, H - 1 - j2]
    for i3 in range(W):
        for j3 in range(H):
            out[i3, j3] = T.float32(0.9) * (y1[i3, j3] + y2[i3, j3])
    for j4 in range(H):
        tm1 = T.float32(0)
        vm1 = T.float32(0)
        vm2 = T.float32(0)
        for i4 in range(W):
            y1[i4, j4] = (
                T.float32(0.2) * out[i4, j4]
                + T.float32(0.1) * tm1
                + T.float32(0.7) * vm1
                - T.float32(0.1) * vm2
            )
            tm1 = out[i4, j4]
            vm2 = vm1
            vm1 = y1[i4, j4]
    for j5 in range(H):
        tp1 = T.float32(0)
        tp2 = T.float32(0)
        vp1 = T.float32(0)
        vp2 = T.float32(0)
        for i5 in range(W):
            y2[W - 1 - i5, j5] = (
                T.float32(0.2) * tp1
                + T.float32(0.1) * tp2
                + T.float32(0.7) * vp1
                - T.float32(0.1) * vp2
            )
            tp2 = tp1
            tp1 = out[W - 1 - i5, j5]
            vp2 = vp1
            vp1 = y2[W - 1 - i5, j5]
    for i6 in range(W):
        for j6 in range(H):
            out[i6, j6] = T.float32(0.9) * (y1[i6, j6] + y2[i6, j6])
""",
)

# ---- Stencils ----

kernel(
    "adi",
    "u[N,N] v[N,N] p[N,N] q[N,N]",
    "N=400 TSTEPS=6",
    """
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, N - 1):
                p[i, j] = 0.4 / (1.8 - 0.4 * p[i, j - 1])
                q[i, j] = (
                    (0.3 * u[j, i - 1] + 0.4 * u[j, i] + 0.3 * u[j, i + 1] + 0.4 * q[i, j - 1])
                    / (1.8 - 0.4 * p[i, j - 1])
                )
            v[N - 1, i] = 1.0
            for j2 in range(1, N - 1):
                v[N - 1 - j2, i] = p[i, N - 1 - j2] * v[N - j2, i] + q[i, N - 1 - j2]
        for i2 in range(1, N - 1):
            u[i2, 0] = 1.0
            p[i2, 0] = 0.0
            q[i2, 0] = u[i2, 0]
            for j3 in range(1, N - 1):
                p[i2, j3] = 0.4 / (1.8 - 0.4 * p[i2, j3 - 1])
                q[i2, j3] = (
                    (
                        0.3 * v[i2 - 1, j3]
                        + 0.4 * v[i2, j3]
                        + 0.3 * v[i2
                        + 1, j3]
                        + 0.4 * q[i2, j3 - 1]
                    )
                    / (1.8 - 0.4 * p[i2, j3 - 1])
                )
            u[i2, N - 1] = 1.0
            for j4 in range(1, N - 1):
                u[i2, N - 1 - j4] = p[i2, N - 1 - j4] * u[i2, N - j4] + q[i2, N - 1 - j4]
""",
)

kernel(
    "fdtd_2d",
    "ex[NX,NY] ey[NX,NY] hz[NX,NY] fict[TMAX]",
    "NX=500 NY=600 TMAX=16",
    """
    for t in range(TMAX):
        for j in range(NY):
            ey[0, j] = fict[t]
        for i in range(1, NX):
            for j2 in range(NY):
                ey[i, j2] = ey[i, j2] - 0.5 * (hz[i, j2] - hz[i - 1, j2])
        for i2 in range(NX):
            for j3 in range(1, NY):
                ex[i2, j3] = ex[i2, j3] - 0.5 * (hz[i2, j3] - hz[i2, j3 - 1])
        for i3 in range(NX - 1):
            for j4 in range(NY - 1):
                hz[i3, j4] = hz[i3, j4] - 0.7 * (
                    ex[i3, j4 + 1] - ex[i3, j4] + ey[i3 + 1, j4] - ey[i3, j4]
                )
""",
)

kernel(
    "heat_3d",
    "A[N,N,N] B[N,N,N]",
    "N=80 TSTEPS=8",
    """
    for t in range(TSTEPS):
        for i, j, k in T.grid(N - 2, N - 2, N - 2):
            B[i + 1, j + 1, k + 1] = (
                0.125 * (A[i + 2, j + 1, k + 1] - 2.0 * A[i + 1, j + 1, k + 1] + A[i, j + 1, k + 1])
                + 0.125 * (
                    A[i + 1, j + 2, k + 1]
                    - 2.0 * A[i + 1, j + 1, k + 1]
                    + A[i + 1, j, k + 1]
                )
                + 0.125 * (
                    A[i + 1, j + 1, k + 2]
                    - 2.0 * A[i + 1, j + 1, k + 1]
                    + A[i + 1, j + 1, k]
                )
                + A[i + 1, j + 1, k + 1]
            )
        for i2, j2, k2 in T.grid(N - 2, N - 2, N - 2):
            A[i2 + 1, j2 + 1, k2 + 1] = (
                0.125 * (
                    B[i2 + 2, j2 + 1, k2 + 1]
                    - 2.0 * B[i2 + 1, j2 + 1, k2 + 1]
                    + B[i2, j2 + 1, k2 + 1]
                )
                + 0.125 * (
                    B[i2 + 1, j2 + 2, k2 + 1]
                    - 2.0 * B[i2 + 1, j2 + 1, k2 + 1]
                    + B[i2 + 1, j2, k2 + 1]
                )
                + 0.125 * (
                    B[i2 + 1, j2 + 1, k2 + 2]
                    - 2.0 * B[i2 + 1, j2 + 1, k2 + 1]
                    + B[i2 + 1, j2 + 1, k2]
                )
                + B[i2 + 1, j2 + 1, k2 + 1]
            )
""",
)

kernel(
    "jacobi_1d",
    "A[N] B[N]",
    "N=40000 TSTEPS=50",
    """
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i2 in range(1, N - 1):
            A[i2] = 0.33333 * (B[i2 - 1] + B[i2] + B[i2 + 1])
""",
)

kernel(
    "jacobi_2d",
    "A[N,N] B[N,N]",
    "N=500 TSTEPS=20",
    """
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i2 in range(1, N - 1):
            for j2 in range(1, N - 1):
                A[i2, j2] = 0.2 * (
                    B[i2, j2] + B[i2, j2 - 1] + B[i2, j2 + 1] + B[i2 + 1, j2] + B[i2 - 1, j2]
                )
""",
)

kernel(
    "seidel_2d",
    "A[N,N]",
    "N=400 TSTEPS=6",
    """
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0
""",
)
