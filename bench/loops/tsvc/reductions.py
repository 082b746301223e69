# SPDX-License-Identifier: Apache-2.0
"""Reductions, and idioms of vectors."""

from .loop import MATRICES, loop

# ---- Reductions ----

loop(
    "s311",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i]
    b[0] = s
""",
)
loop(
    "s312",
    """
    p = T.float32(1)
    for i in range(LEN):
        p *= a[i] * T.float32(0.001) + T.float32(1)
    b[0] = p
""",
)
loop(
    "s313",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i] * b[i]
    c[0] = s
""",
)
loop(
    "s314",
    """
    x = a[0] * 1.0
    for i in range(LEN):
        x = T.max(x, a[i])
    b[0] = x
""",
)
loop(
    "s315",
    """
    x = a[0] * 1.0
    index = T.int32(0)
    for i in range(LEN):
        if a[i] > x:
            x = a[i]
            index = i
    b[0] = x
    c[0] = T.float32(index)
""",
)
loop(
    "s316",
    """
    x = a[0] * 1.0
    for i in range(1, LEN):
        x = T.min(x, a[i])
    b[0] = x
""",
)
loop(
    "s317",
    """
    q = T.float32(1)
    for i in range(HALF):
        q *= T.float32(0.99999)
    b[0] = q
""",
)
loop(
    "s318",
    """
    k = T.int32(0)
    index = T.int32(0)
    most = T.abs(a[0])
    for i in range(1, HALF):
        k += 2
        if T.abs(a[k]) > most:
            index = i
            most = T.abs(a[k])
    b[0] = most
    c[0] = T.float32(index)
""",
)
loop(
    "s319",
    """
    s = T.float32(0)
    for i in range(LEN):
        a[i] = c[i] + d[i]
        s += a[i]
        b[i] = c[i] + e[i]
        s += b[i]
    c[0] = s
""",
)
loop(
    "s3110",
    """
    x = aa[0, 0] * 1.0
    for i in range(L2):
        for j in range(L2):
            x = T.max(x, aa[i, j])
    bb[0, 0] = x
""",
    MATRICES,
)
loop(
    "s3111",
    """
    s = T.float32(0)
    for i in range(LEN):
        if a[i] > T.float32(0.5):
            s += a[i]
    b[0] = s
""",
)
loop(
    "s3112",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i]
        b[i] = s
""",
)
loop(
    "s3113",
    """
    x = T.float32(0)
    for i in range(LEN):
        x = T.max(x, T.abs(a[i]))
    b[0] = x
""",
)
loop(
    "s31111",
    """
    s = T.float32(0)
    for k in range(8):
        for i in range(4):
            s += a[4 * k + i]
    b[0] = s
""",
)

# ---- Idioms of vectors ----

loop(
    "va",
    """
    for i in range(LEN):
        a[i] = b[i]
""",
)
loop(
    "vag",
    """
    for i in range(LEN):
        a[i] = b[ip[i]]
""",
    "a[LEN] b[LEN] int32:ip[LEN]",
)
loop(
    "vas",
    """
    for i in range(LEN):
        a[ip[i]] = b[i]
""",
    "a[LEN] b[LEN] int32:ip[LEN]",
)
loop(
    "vif",
    """
    for i in range(LEN):
        if b[i] > T.float32(0.5):
            a[i] = b[i]
""",
)
loop(
    "vpv",
    """
    for i in range(LEN):
        a[i] = a[i] + b[i]
""",
)
loop(
    "vtv",
    """
    for i in range(LEN):
        a[i] = a[i] * b[i]
""",
)
loop(
    "vpvtv",
    """
    for i in range(LEN):
        a[i] = a[i] + b[i] * c[i]
""",
)
loop(
    "vpvts",
    """
    for i in range(LEN):
        a[i] = a[i] + b[i] * T.float32(1.5)
""",
)
loop(
    "vpvpv",
    """
    for i in range(LEN):
        a[i] = a[i] + b[i] + c[i]
""",
)
loop(
    "vtvtv",
    """
    for i in range(LEN):
        a[i] = a[i] * b[i] * c[i]
""",
)
loop(
    "vsumr",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i]
    b[0] = s
""",
)
loop(
    "vdotr",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i] * b[i]
    c[0] = s
""",
)
loop(
    "vbor",
    """
    for i in range(L2):
        x = (
            a[i] * b[i] * c[i] + a[i] * b[i] * d[i] + a[i] * b[i] * e[i] + a[i] * c[i] * d[i]
            + a[i] * c[i] * e[i] + a[i] * d[i] * e[i] + b[i] * c[i] * d[i] + b[i] * d[i] * e[i]
        )
        aa[0, i] = x
""",
    "a[LEN] b[LEN] c[LEN] d[LEN] e[LEN] aa[L2,L2]",
)
