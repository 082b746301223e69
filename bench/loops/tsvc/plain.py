# SPDX-License-Identifier: Apache-2.0
"""Plain loops, induction variables, temporaries."""

from .loop import MATRICES, loop

# ---- Plain loops ----

loop(
    "s000",
    """
    for i in range(LEN):
        a[i] = b[i] + 1.0
""",
)
loop(
    "s111",
    """
    for i in range(1, LEN, 2):
        a[i] = a[i - 1] + b[i]
""",
)
loop(
    "s1111",
    """
    for i in range(HALF):
        a[2 * i] = c[i] * b[i] + d[i] * b[i] + c[i] * c[i] + d[i] * b[i] + d[i] * c[i]
""",
)
loop(
    "s112",
    """
    for i in range(LEN - 1):
        a[LEN - 1 - i] = a[LEN - 2 - i] + b[LEN - 2 - i]
""",
)
loop(
    "s1112",
    """
    for i in range(LEN):
        a[LEN - 1 - i] = b[LEN - 1 - i] + 1.0
""",
)
loop(
    "s113",
    """
    for i in range(1, LEN):
        a[i] = a[0] + b[i]
""",
)
loop(
    "s1113",
    """
    for i in range(LEN):
        a[i] = a[HALF] + b[i]
""",
)
loop(
    "s114",
    """
    for i in range(L2):
        for j in range(i):
            aa[i, j] = aa[j, i] + bb[i, j]
""",
    MATRICES,
)
loop(
    "s115",
    """
    for j in range(L2):
        for i in range(j + 1, L2):
            a[i] = a[i] - aa[j, i] * a[j] * T.float32(0.001)
""",
    "a[LEN] aa[L2,L2]",
)
loop(
    "s1115",
    """
    for i in range(L2):
        for j in range(L2):
            aa[i, j] = aa[i, j] * cc[j, i] + bb[i, j]
""",
    MATRICES,
)
loop(
    "s116",
    """
    for i in range(LEN // 5 - 1):
        a[5 * i] = a[5 * i + 1] * a[5 * i]
        a[5 * i + 1] = a[5 * i + 2] * a[5 * i + 1]
        a[5 * i + 2] = a[5 * i + 3] * a[5 * i + 2]
        a[5 * i + 3] = a[5 * i + 4] * a[5 * i + 3]
        a[5 * i + 4] = a[5 * i + 5] * a[5 * i + 4]
""",
)
loop(
    "s118",
    """
    for i in range(1, L2):
        for j in range(i):
            a[i] = a[i] + bb[j, i] * a[i - j - 1] * T.float32(0.001)
""",
    "a[LEN] bb[L2,L2]",
)
loop(
    "s119",
    """
    for i in range(1, L2):
        for j in range(1, L2):
            aa[i, j] = aa[i - 1, j - 1] + bb[i, j]
""",
    MATRICES,
)
loop(
    "s1119",
    """
    for i in range(1, L2):
        for j in range(L2):
            aa[i, j] = aa[i - 1, j] + bb[i, j]
""",
    MATRICES,
)

# ---- Induction variables, temporaries, order of statements ----

loop(
    "s121",
    """
    for i in range(LEN - 1):
        a[i] = a[i + 1] + b[i]
""",
)
loop(
    "s122",
    """
    for i in range(LEN - 1):
        a[i] = a[i] + b[LEN - 1 - i]
""",
)
loop(
    "s126",
    """
    for i in range(L2):
        for j in range(1, L2):
            bb[j, i] = bb[j - 1, i] + a[i * L2 + j - i] * cc[j, i]
""",
    "a[L2*L2] bb[L2,L2] cc[L2,L2]",
)
loop(
    "s127",
    """
    for i in range(HALF):
        a[2 * i] = b[i] + c[i] * d[i]
        a[2 * i + 1] = b[i] + d[i] * e[i]
""",
)
loop(
    "s128",
    """
    for i in range(HALF):
        a[i] = b[2 * i] - d[i]
        b[2 * i] = a[i] + c[2 * i]
""",
)
loop(
    "s131",
    """
    for i in range(LEN - 1):
        a[i] = a[i + 1] + b[i]
""",
)
loop(
    "s132",
    """
    for i in range(1, L2):
        aa[0, i] = aa[1, i - 1] + b[i] * c[1]
""",
    "aa[L2,L2] b[LEN] c[LEN]",
)
loop(
    "s151",
    """
    for i in range(LEN - 1):
        a[i] = a[i + 1] + b[i]
""",
)
loop(
    "s152",
    """
    for i in range(LEN):
        b[i] = d[i] * e[i]
        a[i] = a[i] + b[i] * c[i]
""",
)
loop(
    "s161",
    """
    for i in range(LEN - 1):
        if b[i] < T.float32(0.5):
            c[i + 1] = a[i] + d[i] * d[i]
        else:
            a[i] = c[i] + d[i] * e[i]
""",
)
loop(
    "s1161",
    """
    for i in range(LEN - 1):
        if c[i] < T.float32(0.5):
            b[i] = a[i] + d[i] * d[i]
        else:
            a[i] = c[i] + d[i] * e[i]
""",
)
loop(
    "s162",
    """
    for i in range(LEN - 1):
        a[i] = a[i + 1] + b[i] * c[i]
""",
)
loop(
    "s171",
    """
    for i in range(HALF):
        a[i * 2] = a[i * 2] + b[i]
""",
)
loop(
    "s173",
    """
    for i in range(HALF):
        a[i + HALF] = a[i] + b[i]
""",
)
loop(
    "s175",
    """
    for i in range(0, LEN - 2, 2):
        a[i] = a[i + 2] + b[i]
""",
)
loop(
    "s176",
    """
    for j in range(100):
        for i in range(1000):
            a[i] = a[i] + b[i + 1000 - j - 1] * c[j]
""",
)
