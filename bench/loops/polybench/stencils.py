# SPDX-License-Identifier: Apache-2.0
"""Stencils in space and time."""

from .kernel import kernel

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
