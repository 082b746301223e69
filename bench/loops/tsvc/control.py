# SPDX-License-Identifier: Apache-2.0
"""Conditions, crossings, wrap-around, recurrences."""

from .loop import MATRICES, loop

# ---- Conditions ----

loop(
    "s271",
    """
    for i in range(LEN):
        if b[i] > T.float32(0.5):
            a[i] = a[i] + b[i] * c[i]
""",
)
loop(
    "s272",
    """
    for i in range(LEN):
        if e[i] >= T.float32(0.5):
            a[i] = a[i] + c[i] * d[i]
            b[i] = b[i] + c[i] * c[i]
""",
)
loop(
    "s273",
    """
    for i in range(LEN):
        a[i] = a[i] + d[i] * e[i]
        if a[i] < T.float32(0.75):
            b[i] = b[i] + d[i] * e[i]
        c[i] = c[i] + a[i] * d[i]
""",
)
loop(
    "s274",
    """
    for i in range(LEN):
        a[i] = c[i] + e[i] * d[i]
        if a[i] > T.float32(0.75):
            b[i] = a[i] + b[i]
        else:
            a[i] = d[i] * e[i]
""",
)
loop(
    "s275",
    """
    for i in range(L2):
        if aa[0, i] > T.float32(0.5):
            for j in range(1, L2):
                aa[j, i] = aa[j - 1, i] + bb[j, i] * cc[j, i]
""",
    MATRICES,
)
loop(
    "s2275",
    """
    for i in range(L2):
        for j in range(L2):
            aa[j, i] = aa[j, i] + bb[j, i] * cc[j, i]
        a[i] = b[i] + c[i] * d[i]
""",
    "a[LEN] b[LEN] c[LEN] d[LEN] " + MATRICES,
)
loop(
    "s276",
    """
    for i in range(LEN):
        if i + 1 < HALF:
            a[i] = a[i] + b[i] * c[i]
        else:
            a[i] = a[i] + b[i] * d[i]
""",
)
loop(
    "s277",
    """
    for i in range(LEN - 1):
        if a[i] < T.float32(0.5):
            if b[i] < T.float32(0.5):
                a[i] = a[i] + c[i] * d[i]
            b[i + 1] = c[i] + d[i] * e[i]
""",
)
loop(
    "s278",
    """
    for i in range(LEN):
        if a[i] > T.float32(0.5):
            c[i] = -c[i] + d[i] * e[i]
        else:
            b[i] = -b[i] + d[i] * e[i]
        a[i] = b[i] + c[i] * d[i]
""",
)
loop(
    "s279",
    """
    for i in range(LEN):
        if a[i] > T.float32(0.5):
            c[i] = -c[i] + e[i] * e[i]
        else:
            b[i] = -b[i] + d[i] * d[i]
            if b[i] > a[i]:
                c[i] = c[i] + d[i] * e[i]
        a[i] = b[i] + c[i] * d[i]
""",
)
loop(
    "s1279",
    """
    for i in range(LEN):
        if a[i] < T.float32(0.5):
            if b[i] > a[i]:
                c[i] = c[i] + d[i] * e[i]
""",
)
loop(
    "s2710",
    """
    for i in range(LEN):
        if a[i] > b[i]:
            a[i] = a[i] + b[i] * d[i]
            c[i] = c[i] + d[i] * d[i]
        else:
            b[i] = a[i] + e[i] * e[i]
            c[i] = a[i] + d[i] * d[i]
""",
)
loop(
    "s2711",
    """
    for i in range(LEN):
        if b[i] != T.float32(0):
            a[i] = a[i] + b[i] * c[i]
""",
)
loop(
    "s2712",
    """
    for i in range(LEN):
        if a[i] > b[i]:
            a[i] = a[i] + b[i] * c[i]
""",
)

# ---- Crossings, wrap-around, recurrences ----

loop(
    "s281",
    """
    for i in range(LEN):
        x = a[LEN - i - 1] + b[i] * c[i]
        a[i] = x - T.float32(1)
        b[i] = x
""",
)
loop(
    "s1281",
    """
    for i in range(LEN):
        x = b[i] * c[i] + a[i] * d[i] + e[i]
        a[i] = x - T.float32(1)
        b[i] = x
""",
)
loop(
    "s291",
    """
    for i in range(LEN):
        a[i] = (b[i] + b[(i + LEN - 1) % LEN]) * T.float32(0.5)
""",
)
loop(
    "s293",
    """
    for i in range(LEN):
        a[i] = a[0] * 1.0
""",
)
loop(
    "s2101",
    """
    for i in range(L2):
        aa[i, i] = aa[i, i] + bb[i, i] * cc[i, i]
""",
    MATRICES,
)
loop(
    "s2102",
    """
    for i in range(L2):
        for j in range(L2):
            aa[j, i] = 0.0
        aa[i, i] = 1.0
""",
    MATRICES,
)
loop(
    "s2111",
    """
    for j in range(1, L2):
        for i in range(1, L2):
            aa[j, i] = (aa[j, i - 1] + aa[j - 1, i]) / T.float32(1.9)
""",
    MATRICES,
)

# ---- Recurrences ----

loop(
    "s321",
    """
    for i in range(1, LEN):
        a[i] = a[i] + a[i - 1] * b[i] * T.float32(0.5)
""",
)
loop(
    "s322",
    """
    for i in range(2, LEN):
        a[i] = a[i] + a[i - 1] * b[i] * T.float32(0.4) + a[i - 2] * c[i] * T.float32(0.4)
""",
)
loop(
    "s323",
    """
    for i in range(1, LEN):
        a[i] = b[i - 1] + c[i] * d[i]
        b[i] = a[i] + c[i] * e[i]
""",
)
loop(
    "s331",
    """
    j = T.int32(0)
    for i in range(LEN):
        if a[i] < T.float32(0.5):
            j = i
    b[0] = T.float32(j)
""",
)
