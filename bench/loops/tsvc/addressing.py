# SPDX-License-Identifier: Apache-2.0
"""Packing, rerolling, indirect addresses."""

from .loop import loop

loop(
    "s351",
    """
    for i in range(LEN // 5):
        a[5 * i] = a[5 * i] + T.float32(2) * b[5 * i]
        a[5 * i + 1] = a[5 * i + 1] + T.float32(2) * b[5 * i + 1]
        a[5 * i + 2] = a[5 * i + 2] + T.float32(2) * b[5 * i + 2]
        a[5 * i + 3] = a[5 * i + 3] + T.float32(2) * b[5 * i + 3]
        a[5 * i + 4] = a[5 * i + 4] + T.float32(2) * b[5 * i + 4]
""",
)
loop(
    "s1351",
    """
    for i in range(LEN):
        a[i] = b[i] + c[i]
""",
)
loop(
    "s352",
    """
    s = T.float32(0)
    for i in range(LEN // 5):
        s += (
            a[5 * i] * b[5 * i] + a[5 * i + 1] * b[5 * i + 1] + a[5 * i + 2] * b[5 * i + 2]
            + a[5 * i + 3] * b[5 * i + 3] + a[5 * i + 4] * b[5 * i + 4]
        )
    c[0] = s
""",
)
loop(
    "s353",
    """
    for i in range(LEN):
        a[i] = a[i] + T.float32(2) * b[ip[i]]
""",
    "a[LEN] b[LEN] int32:ip[LEN]",
)
loop(
    "s431",
    """
    for i in range(LEN):
        a[i] = a[i] + b[i]
""",
)
loop(
    "s441",
    """
    for i in range(LEN):
        if d[i] < T.float32(0.3):
            a[i] = a[i] + b[i] * c[i]
        elif d[i] < T.float32(0.6):
            a[i] = a[i] + b[i] * b[i]
        else:
            a[i] = a[i] + c[i] * c[i]
""",
)
loop(
    "s443",
    """
    for i in range(LEN):
        if d[i] <= T.float32(0.5):
            a[i] = a[i] + b[i] * c[i]
        else:
            a[i] = a[i] + b[i] * b[i]
""",
)
loop(
    "s451",
    """
    for i in range(LEN):
        a[i] = T.sqrt(b[i]) + T.sqrt(c[i])
""",
)
loop(
    "s452",
    """
    for i in range(LEN):
        a[i] = b[i] + c[i] * T.float32(i + 1)
""",
)
loop(
    "s453",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += T.float32(2)
        a[i] = s * b[i]
""",
)
loop(
    "s471",
    """
    for i in range(LEN):
        e[i] = b[i] + d[i] * d[i]
        b[i] = c[i] + d[i] * e[i]
""",
)
loop(
    "s4112",
    """
    for i in range(LEN):
        a[i] = a[i] + b[ip[i]] * T.float32(2)
""",
    "a[LEN] b[LEN] int32:ip[LEN]",
)
loop(
    "s4113",
    """
    for i in range(LEN):
        a[ip[i]] = b[ip[i]] + c[i]
""",
    "a[LEN] b[LEN] c[LEN] int32:ip[LEN]",
)
loop(
    "s4114",
    """
    for i in range(LEN):
        a[i] = b[i] + c[LEN - 1 - ip[i]] * d[i]
""",
    "a[LEN] b[LEN] c[LEN] d[LEN] int32:ip[LEN]",
)
loop(
    "s4115",
    """
    s = T.float32(0)
    for i in range(LEN):
        s += a[i] * b[ip[i]]
    c[0] = s
""",
    "a[LEN] b[LEN] c[LEN] int32:ip[LEN]",
)
loop(
    "s421",
    """
    for i in range(LEN - 1):
        a[i] = a[i + 1] + b[i]
""",
)
loop(
    "s424",
    """
    for i in range(LEN - 1):
        c[i + 1] = c[i] * T.float32(0.5) + b[i]
""",
)
