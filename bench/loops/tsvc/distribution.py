# SPDX-License-Identifier: Apache-2.0
"""Statements that are better apart, or in another order; scalars."""

from .loop import MATRICES, loop

# ---- Statements that are better apart, or in another order ----

loop(
    "s211",
    """
    for i in range(1, LEN - 1):
        a[i] = b[i - 1] + c[i] * d[i]
        b[i] = b[i + 1] - e[i] * d[i]
""",
)
loop(
    "s212",
    """
    for i in range(LEN - 1):
        a[i] = a[i] * c[i]
        b[i] = b[i] + a[i + 1] * d[i]
""",
)
loop(
    "s1213",
    """
    for i in range(1, LEN - 1):
        a[i] = b[i - 1] + c[i]
        b[i] = a[i + 1] * d[i]
""",
)
loop(
    "s221",
    """
    for i in range(1, LEN):
        a[i] = a[i] + c[i] * d[i]
        b[i] = b[i - 1] + a[i] + d[i]
""",
)
loop(
    "s1221",
    """
    for i in range(4, LEN):
        b[i] = b[i - 4] + a[i]
""",
)
loop(
    "s222",
    """
    for i in range(1, LEN):
        a[i] = a[i] + b[i] * c[i]
        e[i] = e[i - 1] * e[i - 1]
        a[i] = a[i] - b[i] * c[i]
""",
)
loop(
    "s231",
    """
    for i in range(L2):
        for j in range(1, L2):
            aa[j, i] = aa[j - 1, i] + bb[j, i]
""",
    MATRICES,
)
loop(
    "s232",
    """
    for j in range(1, L2):
        for i in range(1, j + 1):
            aa[j, i] = aa[j, i - 1] * aa[j, i - 1] * T.float32(0.5) + bb[j, i] * T.float32(0.25)
""",
    MATRICES,
)
loop(
    "s1232",
    """
    for j in range(L2):
        for i in range(j, L2):
            aa[i, j] = bb[i, j] + cc[i, j]
""",
    MATRICES,
)
loop(
    "s233",
    """
    for i in range(1, L2):
        for j in range(1, L2):
            aa[j, i] = aa[j - 1, i] + cc[j, i]
        for j2 in range(1, L2):
            bb[j2, i] = bb[j2, i - 1] + cc[j2, i]
""",
    MATRICES,
)
loop(
    "s2233",
    """
    for i in range(1, L2):
        for j in range(1, L2):
            aa[j, i] = aa[j - 1, i] + cc[j, i]
        for j2 in range(1, L2):
            bb[i, j2] = bb[i - 1, j2] + cc[i, j2]
""",
    MATRICES,
)
loop(
    "s235",
    """
    for i in range(L2):
        a[i] = a[i] + b[i] * c[i]
        for j in range(1, L2):
            aa[j, i] = aa[j - 1, i] + bb[j, i] * a[i]
""",
    "a[LEN] b[LEN] c[LEN] aa[L2,L2] bb[L2,L2]",
)
loop(
    "s241",
    """
    for i in range(LEN - 1):
        a[i] = b[i] * c[i] * d[i]
        b[i] = a[i] * a[i + 1] * d[i]
""",
)
loop(
    "s242",
    """
    for i in range(1, LEN):
        a[i] = a[i - 1] * T.float32(0.5) + T.float32(0.25) + b[i] + c[i] + d[i]
""",
)
loop(
    "s243",
    """
    for i in range(LEN - 1):
        a[i] = b[i] + c[i] * d[i]
        b[i] = a[i] + d[i] * e[i]
        a[i] = b[i] + a[i + 1] * d[i]
""",
)
loop(
    "s244",
    """
    for i in range(LEN - 1):
        a[i] = b[i] + c[i] * d[i]
        b[i] = c[i] + b[i]
        a[i + 1] = b[i] + a[i + 1] * d[i]
""",
)
loop(
    "s1244",
    """
    for i in range(LEN - 1):
        a[i] = b[i] + c[i] * c[i] + b[i] * b[i] + c[i]
        d[i] = a[i] + a[i + 1]
""",
)
loop(
    "s2244",
    """
    for i in range(LEN - 1):
        a[i + 1] = b[i] + e[i]
        a[i] = b[i] + c[i]
""",
)

# ---- Scalars ----

loop(
    "s251",
    """
    for i in range(LEN):
        s = b[i] + c[i] * d[i]
        a[i] = s * s
""",
)
loop(
    "s1251",
    """
    for i in range(LEN):
        s = b[i] + c[i]
        b[i] = a[i] + d[i]
        a[i] = s * e[i]
""",
)
loop(
    "s252",
    """
    t = T.float32(0)
    for i in range(LEN):
        s = b[i] * c[i]
        a[i] = s + t
        t = s
""",
)
loop(
    "s253",
    """
    for i in range(LEN):
        if a[i] > b[i]:
            s = a[i] - b[i] * d[i]
            c[i] = c[i] + s
            a[i] = s
""",
)
loop(
    "s254",
    """
    x = b[LEN - 1] * 1.0
    for i in range(LEN):
        a[i] = (b[i] + x) * T.float32(0.5)
        x = b[i]
""",
)
loop(
    "s255",
    """
    x = b[LEN - 1] * 1.0
    y = b[LEN - 2] * 1.0
    for i in range(LEN):
        a[i] = (b[i] + x + y) * T.float32(0.333)
        y = x
        x = b[i]
""",
)
loop(
    "s256",
    """
    for i in range(L2):
        for j in range(1, L2):
            a[j] = T.float32(1) - a[j - 1]
            aa[j, i] = a[j] + bb[j, i] * d[j]
""",
    "a[LEN] d[LEN] aa[L2,L2] bb[L2,L2]",
)
loop(
    "s258",
    """
    s = T.float32(0)
    for i in range(L2):
        if a[i] > T.float32(0.5):
            s = d[i] * d[i]
        b[i] = s * c[i] + d[i]
        e[i] = (s + T.float32(1)) * aa[0, i]
""",
    "a[LEN] b[LEN] c[LEN] d[LEN] e[LEN] aa[L2,L2]",
)
loop(
    "s261",
    """
    for i in range(1, LEN):
        t = a[i] + b[i]
        a[i] = t + c[i - 1]
        t2 = c[i] * d[i]
        c[i] = t2
""",
)
