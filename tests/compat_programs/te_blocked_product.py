import numpy as np
import tvm
import tvm.testing
from tvm import te

size, tile = 128, 32
P = te.placeholder((size, size), name="P")
Q = te.placeholder((size, size), name="Q")
r = te.reduce_axis((0, size), "r")
panels = te.compute(
    (size // tile, size, tile), lambda p, row, col: Q[row, p * tile + col], name="panels"
)
R = te.compute(
    (size, size),
    lambda y, x: te.sum(P[y, r] * panels[x // tile, r, tvm.tir.indexmod(x, tile)], axis=r),
    name="R",
)
s = te.create_schedule(R.op)
RL = s.cache_write(R, "global")
yo, xo, yi, xi = s[R].tile(R.op.axis[0], R.op.axis[1], tile, tile)
s[RL].compute_at(s[R], xo)
yc, xc = s[RL].op.axis
ro, ri = s[RL].split(s[RL].op.reduce_axis[0], factor=4)
s[RL].reorder(ro, yc, ri, xc)
s[RL].vectorize(xc)
s[RL].unroll(ri)
s[R].parallel(yo)
s[panels].vectorize(s[panels].op.axis[2])
s[panels].parallel(s[panels].op.axis[0])
print(tvm.lower(s, [P, Q, R], simple_mode=True))

dev = tvm.device("llvm", 0)
p = tvm.nd.array(np.random.rand(size, size).astype("float32"), dev)
q = tvm.nd.array(np.random.rand(size, size).astype("float32"), dev)
out = tvm.nd.array(np.zeros((size, size), "float32"), dev)
multiply = tvm.build(s, [P, Q, R], target="llvm", name="multiply")
multiply(p, q, out)
tvm.testing.assert_allclose(out.numpy(), p.numpy() @ q.numpy(), rtol=1e-4)
seconds = multiply.time_evaluator(multiply.entry_name, dev, number=2)(p, q, out).mean
print("measured", seconds > 0)
#> measured True
