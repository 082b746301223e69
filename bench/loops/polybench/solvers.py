# SPDX-License-Identifier: Apache-2.0
"""Factorizations of matrices, and solvers of linear systems."""

from .kernel import kernel

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
