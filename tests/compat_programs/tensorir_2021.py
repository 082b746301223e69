import tvm
from tvm.script import ty


@tvm.script.tir
def matmul(x: ty.handle, y: ty.handle, z: ty.handle) -> None:
    X = tir.match_buffer(x, [128, 128], "float32")
    Y = tir.match_buffer(y, [128, 128], "float32")
    Z = tir.match_buffer(z, [128, 128], "float32")
    # ⬇️ name of the block is "Z"
    with tir.block([128, 128, tir.reduce_axis(0, 128)], "Z") as [i, j, k]:
        with tir.init():
            Z[i, j] = tir.float32(0)
        Z[i, j] = Z[i, j] + (X[i, k] * Y[k, j])


"""Print TensorIR in python syntax"""
print(tvm.script.asscript(matmul))
#> with T.block("Z"):
#> i, j, k = T.axis.remap("SSR", [i0, i1, i2])

sch = tvm.tir.create_schedule(matmul)
ax0, ax1, ax2 = sch.get_loops(sch.get_block("Z"))
a, b, c, d = sch.split(ax0, factors=[None, 2, 4, 8], names=["a", "b", "c", "d"])
print(tvm.script.asscript(sch.func))
#> for a, b, c, d, i1, i2 in T.grid(2, 2, 4, 8, 128, 128):

sch.fuse(a, b)
print(tvm.script.asscript(sch.func))
print(ax1)
