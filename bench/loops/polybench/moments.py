# SPDX-License-Identifier: Apache-2.0
"""Means, variances, correlations."""

from .kernel import kernel

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
