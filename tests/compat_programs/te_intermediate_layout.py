import tvm

n = 10
m = 20

A = tvm.placeholder((n, m), name='A')
B = tvm.compute((n, m), lambda i, j: A[i][j], name='B')
C = tvm.compute((n, m), lambda i, j: B[i][j], name='C')

s = tvm.create_schedule([C.op])
print(tvm.lower(s, [A, C], simple_mode=True))

print("======================================\n")


i, j = s[B].op.axis
s[B].reorder(j, i)     # transpose
BB = s.cache_write(B, 'global')
s[B].compute_inline()

print(tvm.lower(s, [A, C], simple_mode=True))
