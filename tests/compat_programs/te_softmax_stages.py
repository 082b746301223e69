import tvm
import topi
import numpy as np

dtype = "float32"
target = "llvm"
N = 1024

inp = tvm.placeholder((N, N), dtype=dtype, name="inp")

x = tvm.compute((N, N), lambda i, j: inp[i, j] + 1)

j = tvm.reduce_axis((0, N))
y = tvm.compute((N,), lambda i: tvm.sum(tvm.sin(x[i, j]), axis=[j]))

j = tvm.reduce_axis((0, N))
z = tvm.compute((N,), lambda i: tvm.sum(tvm.cos(x[i, j]), axis=[j]))

oup = tvm.compute((N,), lambda i: y[i] * z[i])

s = tvm.create_schedule([oup.op])
compute = tvm.build(s, [inp, oup], target, name="run")

a = np.random.rand(N, N).astype(dtype)
result = tvm.nd.empty((N,))
compute(tvm.nd.array(a), result)
tvm.testing.assert_allclose(
    result.asnumpy(), np.sin(a + 1).sum(1) * np.cos(a + 1).sum(1), rtol=1e-2, atol=1e-1
)

s[x].compute_at(s[oup], oup.op.axis[0])
try:
    print(tvm.lower(s, [inp, oup], simple_mode=True, name="run"))
except tvm.TVMError:
    print("refused")
#> refused
