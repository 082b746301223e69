from __future__ import absolute_import, print_function

import numpy as np
import tvm
from tvm.contrib import util

length = tvm.var("length")
left = tvm.placeholder((length,), name="left")
right = tvm.placeholder((length,), name="right")
total = tvm.compute(left.shape, lambda at: tvm.max(left[at], right[at]) + 1.0, name="total")

plan = tvm.create_schedule(total.op)
outer, inner = plan[total].split(total.op.axis[0], factor=32)
plan[total].parallel(outer)
plan[total].vectorize(inner)
kernel = tvm.build(plan, [left, right, total], "llvm", target_host="llvm", name="greater")

where = tvm.context("llvm", 0)
x = tvm.nd.array(np.random.uniform(size=100).astype(left.dtype), where)
y = tvm.nd.array(np.random.uniform(size=100).astype(right.dtype), where)
z = tvm.nd.array(np.zeros(100, dtype=total.dtype), where)
kernel(x, y, z)
tvm.testing.assert_allclose(z.asnumpy(), np.maximum(x.asnumpy(), y.asnumpy()) + 1)

folder = util.tempdir()
kernel.save(folder.relpath("greater.o"))
print(folder.listdir())
#> ['greater.o']
