import numpy as np
import tvm
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm import te


@I.ir_module
class Program:
    @T.prim_func
    def main(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        X = T.match_buffer(x, (8,), dtype="float32")
        Y = T.match_buffer(y, (8,), dtype="float32")
        for i in range(8):
            with T.block("Y"):
                vi = T.axis.spatial(8, i)
                Y[vi] = X[vi] + 1.0


sch = tvm.tir.Schedule(Program)
(loop,) = sch.get_loops(sch.get_block("Y"))
first, second, third = sch.split(loop, factors=[2, 2, 2])
sch.reorder(first, third, second)
print(sch.mod.script())
#> for i_0, i_2, i_1 in T.grid(2, 2, 2):
sch.trace.show()
#> sch.reorder(

module = tvm.build(sch.mod, target="llvm")
source, result = tvm.nd.array(np.arange(8).astype("float32")), tvm.nd.empty((8,))
module(source, result)
print(result.numpy()[:3])
#> [1. 2. 3.]

X = te.placeholder((8,), dtype="float32", name="X")
Y = te.compute((8,), lambda *i: X(*i) + 1.0, name="Y")
from_te = IRModule({"main": te.create_prim_func([X, Y])})
tvm.ir.assert_structural_equal(from_te["main"], Program["main"])
