import numpy as np
import tvm
from tvm import te

rows, columns = te.var("rows"), te.var("columns")
data = te.placeholder((rows, columns), name="data")
across = te.reduce_axis((0, columns), "across")
sums = te.compute((rows,), lambda i: te.sum(data[i, across], axis=across), name="sums")
s = te.create_schedule(sums.op)
_, inner = s[sums].split(sums.op.reduce_axis[0], factor=16)
s.rfactor(sums, inner)
array = np.random.uniform(size=(20, 50)).astype("float32")
result = tvm.nd.empty((20,))
tvm.build(s, [data, sums], "llvm")(tvm.nd.array(array), result)
tvm.testing.assert_allclose(result.numpy(), array.sum(1), rtol=1e-4)

state = te.placeholder((rows, columns))
first = te.compute((1, columns), lambda _, i: data[0, i])
later = te.compute((rows, columns), lambda t, i: tvm.te.max(state[t - 1, i], data[t, i]))
running = te.scan(first, later, state, inputs=[data])
s = te.create_schedule(running.op)
s[later].split(later.op.axis[1], factor=8)
result = tvm.nd.empty((20, 50))
tvm.build(s, [data, running], "llvm", name="running")(tvm.nd.array(array), result)
tvm.testing.assert_allclose(result.numpy(), np.maximum.accumulate(array, axis=0))


@tvm.register_func("test.compat.negate", override=True)
def negate(source, target):
    target[:] = -source


negated = te.extern(
    data.shape,
    [data],
    lambda ins, outs: tvm.tir.call_packed("test.compat.negate", ins[0], outs[0]),
    name="negated",
)
s = te.create_schedule(negated.op)
tvm.build(s, [data, negated], "llvm")(tvm.nd.array(array), result)
tvm.testing.assert_allclose(result.numpy(), -array)
print("as NumPy says")
#> as NumPy says
