# SPDX-License-Identifier: Apache-2.0
"""Loops of the kinds that tests of vectorizing compilers ask about, written anew as scripts.

The names are those under which the kinds are known (Callahan, Dongarra and Levine, "Vectorizing
compilers: a test suite and results", 1988, and its later extensions).
"""

from __future__ import annotations

from polybench import Kernel

LOOPS: dict[str, Kernel] = {}
VECTORS = "a[LEN] b[LEN] c[LEN] d[LEN] e[LEN]"
MATRICES = "aa[L2,L2] bb[L2,L2] cc[L2,L2]"
SIZES = {"LEN": 16000, "HALF": 8000, "L2": 256}


def loop(name: str, body: str, arrays: str = VECTORS) -> None:
    """Add a loop over vectors of float32, or over other arrays."""
    lines = body.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join("    " + line[indent:] for line in lines)
    LOOPS[name] = Kernel(name, arrays, text, SIZES, "float32")


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

# ---- Packing, rerolling, indirect addresses ----

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
