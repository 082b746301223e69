# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, vectors and tensors."""

from .kernel import kernel

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
