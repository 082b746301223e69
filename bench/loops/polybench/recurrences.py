# SPDX-License-Identifier: Apache-2.0
"""Paths in graphs, sequences, filters: each element from those before it."""

from .kernel import kernel

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
