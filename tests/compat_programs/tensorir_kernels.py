import numpy as np
import tvm
from tvm.script import tir as T


@T.prim_func
def from_one(
    A: T.Buffer((100,), "float16"),
    B: T.Buffer((100,), "float16"),
):
    for i_ in range(1, 100):
        with T.block("block"):
            i = T.axis.remap("S", [i_,])
            B[i] = A[i] + 1


@T.prim_func
def prefix_sum(
    A: T.Buffer((100,), "float16"),
    B: T.Buffer((100,), "float16"),
):
    B[0] = 0
    for i_ in range(99):
        with T.block("block"):
            i = T.axis.remap("R", [i_,])
            B[i+1] = B[i] + A[i+1]


@T.prim_func
def in_place(
    A: T.Buffer((100,), "float16"),
    B: T.Buffer((100,), "float16"),
):
    for i_ in range(100):
        with T.block("block"):
            i = T.axis.remap("S", [i_,])
            B[i] = B[i] + A[i]


@T.prim_func
def branches(A: T.Buffer((100,100), "float16")):
    for i in range(100):
        if i % 2 == 0:
            for j in range(100):
                with T.block("block1"):
                    A[i, j] = 1
        else:
            for j in range(100):
                with T.block("block2"):
                    A[i, j] = 2


a = np.arange(100).astype("float16") / 64
expected = {
    "from_one": np.r_[0, a[1:] + 1],
    "prefix_sum": np.r_[0, np.add.accumulate(a[1:], dtype="float16")],
    "in_place": a,
}
for func in (from_one, prefix_sum, in_place):
    name = func.attrs["global_symbol"]
    sch = tvm.tir.Schedule(func)
    loop, = sch.get_loops(sch.get_block("block"))
    sch.split(loop, factors=[None, 4])
    A, B = tvm.nd.array(a), tvm.nd.array(np.zeros(100, "float16"))
    tvm.build(sch.mod, target="llvm")(A, B)
    tvm.testing.assert_allclose(B.numpy(), expected[name], rtol=1e-2)
    print(name, "runs")
#> from_one runs
#> prefix_sum runs
#> in_place runs

sch = tvm.tir.Schedule(branches)
sch.parallel(sch.get_loops(sch.get_block("block1"))[0])
A = tvm.nd.array(np.zeros((100, 100), "float16"))
tvm.build(sch.mod, target="llvm")(A)
print(A.numpy()[:2, 0])
#> [1. 2.]
