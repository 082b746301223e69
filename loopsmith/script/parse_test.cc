// SPDX-License-Identifier: Apache-2.0
// Programs as people write them.
#include "loopsmith/script/parse.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// The function's lines below its signature, as they print.
std::string body_of(std::string_view text, const ParseOptions& options = {}) {
  const std::string printed = script(parse(text, options), {.header = false});
  const std::size_t begin = printed.find("):\n") + 3;
  std::string body;
  for (std::size_t i = begin; i < printed.size();) {
    std::size_t end = printed.find('\n', i);
    end = end == std::string::npos ? printed.size() : end;
    body += printed.substr(i + 4, end - i - 4) + "\n";
    i = end + 1;
  }
  return body;
}

TEST(script_parse, a_loop_that_starts_at_one) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(
    A: T.Buffer((100,), "float16"),
    B: T.Buffer((100,), "float16"),
):
    for i_ in range(1, 100):
        with T.block("block"):
            i = T.axis.remap("S", [i_,])
            B[i] = A[i] + 1
)"),
            R"(# with T.block("root"):
for i_ in range(1, 100):
    with T.block("block"):
        i = T.axis.spatial((1, 100), i_)
        T.reads(A[i])
        T.writes(B[i])
        B[i] = A[i] + T.float16(1)
)");
}

TEST(script_parse, a_prefix_sum_that_reads_what_it_wrote) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    B[0] = 0
    for i_ in range(99):
        with T.block("block"):
            i = T.axis.remap("R", [i_,])
            B[i+1] = B[i] + A[i+1]
)"),
            R"(# with T.block("root"):
B[0] = T.float16(0)
for i_ in range(99):
    with T.block("block"):
        i = T.axis.reduce(99, i_)
        T.reads(B[i], A[i + 1])
        T.writes(B[i + 1])
        B[i + 1] = B[i] + A[i + 1]
)");
}

TEST(script_parse, branches_around_blocks) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((100,100), "float16")):
    for i in range(100):
        if i % 2 == 0:
            for j in range(100):
                with T.block("block1"):
                    A[i, j] = 1
        else:
            for j in range(100):
                with T.block("block2"):
                    A[i, j] = 2
)"),
            R"(# with T.block("root"):
for i in range(100):
    if i % 2 == 0:
        for j in range(100):
            with T.block("block1"):
                T.reads()
                T.writes(A[i, j])
                A[i, j] = T.float16(1)
    else:
        for j in range(100):
            with T.block("block2"):
                T.reads()
                T.writes(A[i, j])
                A[i, j] = T.float16(2)
)");
}

TEST(script_parse, loops_of_all_kinds_and_steps) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32, m: T.int64):
    for i in range(n, 64, 4):
        A[i] = i
    for i in range(63, -1, -1):
        A[i] += 1
    for i in T.parallel(0, n, annotations={"k": 1}):
        for j in T.vectorized(4):
            A[i * 4 + j] *= 2
    for i in T.serial(m):
        A[i] = T.cast(i, "int32")
    for i, j in T.grid(8, (1, 8)):
        A[i * 8 + j] = 0
    for t in T.thread_binding(0, 64, "threadIdx.x"):
        A[t] -= 1
)"),
            R"(for i in range(n, 64, 4):
    A[i] = i
for i in range(63, -1, -1):
    A[i] = A[i] + 1
for i in T.parallel(n, annotations={"k": 1}):
    for j in T.vectorized(4):
        A[i * 4 + j] = A[i * 4 + j] * 2
for i in range(m):
    A[i] = T.Cast("int32", i)
for i in range(8):
    for j in range(1, 8):
        A[i * 8 + j] = 0
for t in T.thread_binding(64, thread="threadIdx.x"):
    A[t] = A[t] - 1
)");
}

TEST(script_parse, a_variable_that_is_assigned_once_is_a_let) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(64):
        x = A[i] * 2
        y: T.float32 = 1
        A[i] = x + y
)"),
            R"(for i in range(64):
    x: T.float32 = A[i] * T.float32(2)
    y: T.float32 = T.float32(1)
    A[i] = x + y
)");
}

TEST(script_parse, a_variable_that_is_assigned_again_is_memory) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(64):
        s = 0.0
        for j in range(64):
            s += A[i, j]
        B[i] = s
)"),
            R"(for i in T.parallel(64):
    s = T.decl_buffer((), scope="local")
    s[()] = T.float32(0)
    for j in range(64):
        s[()] = s[()] + A[i, j]
    B[i] = s[()]
)");
}

TEST(script_parse, a_variable_of_both_branches_belongs_to_the_suite_around_them) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(64):
        if i < n:
            x = 1
        elif i == n:
            x = 2
        else:
            x = 3
        A[i] = x
)"),
            R"(for i in range(64):
    x = T.decl_buffer((), "int32", scope="local")
    if i < n:
        x[()] = 1
    elif i == n:
        x[()] = 2
    else:
        x[()] = 3
    A[i] = x[()]
)");
}

TEST(script_parse, names_of_suites_beside_each_other_are_apart) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32")):
    for i in range(64):
        x = A[i]
        A[i] = x * x
    for i in range(64):
        x = A[i]
        A[i] = x + x
)"),
            R"(for i in range(64):
    x: T.int32 = A[i]
    A[i] = x * x
for i in range(64):
    x: T.int32 = A[i]
    A[i] = x + x
)");
}

TEST(script_parse, a_parameter_that_is_assigned_is_copied) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    while n > 0:
        n = n - 1
        if A[n] == 0:
            continue
        if A[n] < 0:
            break
        A[n] = n
)"),
            R"(n_1 = T.decl_buffer((), "int32", scope="local")
n_1[()] = n
while n_1[()] > 0:
    n_1[()] = n_1[()] - 1
    if A[n_1[()]] == 0:
        continue
    if A[n_1[()]] < 0:
        break
    A[n_1[()]] = n_1[()]
)");
}

TEST(script_parse, values_are_swapped) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32")):
    A[0], A[1] = A[1], A[0]
)"),
            R"(t: T.int32 = A[1]
t_1: T.int32 = A[0]
A[0] = t
A[1] = t_1
)");
}

TEST(script_parse, an_early_return_and_a_helper) {
  const auto module = parse_module(R"(
@I.ir_module
class Module:
    I.module_attrs({"version": 2})

    @T.prim_func(private=True)
    def clamp(x: T.float32) -> T.float32:
        if x < 0:
            return 0
        return x

    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for i in range(64):
            A[i] = cls.clamp(A[i]) + Module.clamp(1.0) + clamp(A[0])
)");
  ASSERT_EQ(module->functions.size(), 2U);
  EXPECT_EQ(module->attrs.get_int("version", 0), 2);
  const std::string text = script(module);
  EXPECT_NE(text.find("A[i] = cls.clamp(A[i]) + cls.clamp(T.float32(1)) + cls.clamp(A[0])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("        if x < T.float32(0):\n            return T.float32(0)\n"),
            std::string::npos)
      << text;
}

TEST(script_parse, sizes_that_are_not_known) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n, "m"), "float32"), b: T.handle, C: T.Buffer((8,), "int32")):
    k = T.int64()
    B = T.match_buffer(b, [m, k], strides=["s0", 1])
    for i, j in T.grid(n, m):
        B[j, C[i % 8]] = A[i, j]
)"),
            R"(m = T.int32()
A = T.match_buffer(A_handle, (n, m))
k = T.int64()
s0 = T.int32()
B = T.match_buffer(b, (m, k), strides=(s0, 1))
for i, j in T.grid(n, m):
    B[j, C[i % 8]] = A[i, j]
)");
}

TEST(script_parse, what_is_known_is_decided_when_it_is_read) {
  const NameTable names{{"wide", ScriptValue::truth(true)}, {"k", ScriptValue::integer(4)}};
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((k * 4,), "float32")):
    if wide and k > 2:
        size = T.meta_var(k // 2)
    else:
        size = T.meta_var(k)
    for i in range(size):
        A[i] = (1.0 if wide else 2.0) if i < 3 else -k
)",
                    {.resolver = const_cast<NameTable*>(&names)}),
            R"(for i in range(2):
    A[i] = T.if_then_else(i < 3, T.float32(1), T.float32(-4))
)");
}

TEST(script_parse, comparisons_chain_as_in_python) {
  EXPECT_EQ(body_of(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(64):
        if 0 <= i - n < 8 and not i == 3:
            A[i] = min(i, n) + max(i, 3, 5) + abs(n)
)"),
            R"(for i in range(64):
    if 0 <= i - n and i - n < 8 and not i == 3:
        A[i] = T.min(i, n) + T.max(T.max(i, 3), 5) + T.Select(n >= 0, n, 0 - n)
)");
}

TEST(script_parse, macros_are_inlined) {
  EXPECT_EQ(body_of(R"(
@T.macro
def assign(i, *, where):
    where[i] = i * 2

@T.macro(hygienic=False)
def add(x):
    A[x] = A[x] + n

@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(8):
        assign(i, where=A)
        add(i + 1)
)"),
            R"(for i in range(8):
    A[i] = i * 2
    A[i + 1] = A[i + 1] + n
)");
}

TEST(script_parse, the_syntax_of_2021) {
  const auto expected = parse(R"(
@T.prim_func
def matmul(x: T.handle, y: T.handle, z: T.handle) -> None:
    X = T.match_buffer(x, [128, 128], "float32")
    Y = T.match_buffer(y, [128, 128], "float32")
    Z = T.match_buffer(z, [128, 128], "float32")
    for i0, i1, i2 in T.grid(128, 128, 128):
        with T.block("Z"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                Z[i, j] = T.float32(0)
            Z[i, j] = Z[i, j] + (X[i, k] * Y[k, j])
)");
  const auto old = parse(R"(
@tvm.script.tir
def matmul(x: ty.handle, y: ty.handle, z: ty.handle) -> None:
    X = tir.match_buffer(x, [128, 128], "float32")
    Y = tir.match_buffer(y, [128, 128], "float32")
    Z = tir.match_buffer(z, [128, 128], "float32")
    with tir.block([128, 128, tir.reduce_axis(0, 128)], "Z") as [i, j, k]:
        with tir.init():
            Z[i, j] = tir.float32(0)
        Z[i, j] = Z[i, j] + (X[i, k] * Y[k, j])
)");
  const auto difference = first_difference(expected, old);
  EXPECT_FALSE(difference.has_value()) << (difference ? difference->text() : "");
  EXPECT_EQ(body_of(R"(
@tvm.script.tir
def f(a: ty.handle) -> None:
    A = tir.match_buffer(a, (16,), "int32")
    for i, j in tir.grid(4, 4):
        with tir.block([16], "B") as [v]:
            tir.bind(v, i * 4 + j)
            tir.writes([A[v:v+1]])
            A[v] = v
)"),
            R"(# with T.block("root"):
for i, j in T.grid(4, 4):
    with T.block("B"):
        v = T.axis.spatial(16, i * 4 + j)
        T.reads()
        T.writes(A[v])
        A[v] = v
)");
}

TEST(script_parse, spans_are_those_of_the_text) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(64):
        A[i] = A[i] * 2 + 1
)",
                                   {.name = "spans.py", .line = 10});
  const auto* loop = func->body.as<For>();
  EXPECT_EQ(source_name(loop->span.source), "spans.py");
  EXPECT_EQ(loop->span.line, 12U);
  EXPECT_EQ(loop->span.column, 5U);
  EXPECT_EQ(loop->span.length, 18U);
  const auto* stored = loop->body.as<BufferStore>();
  EXPECT_EQ(stored->span.line, 13U);
  const auto* sum = stored->value.as<Add>();
  EXPECT_EQ(sum->span.column, 16U);
  EXPECT_EQ(sum->span.length, 12U);
  EXPECT_EQ(sum->a.span().column, 16U);
  EXPECT_EQ(sum->a.span().length, 8U);
}

TEST(script_parse, texts_numbers_and_layouts_of_python) {
  EXPECT_EQ(body_of("@T.prim_func\r\n"
                    "def main(A: T.Buffer((64,), 'int32'), # the output\r\n"
                    "         ):\r\n"
                    "\t'''A text\r\n  of two lines.'''\r\n"
                    "\tif True: A[0x1F] = 1_000; A[0b11] = \\\r\n  0o17\r\n"
                    "\n"
                    "\tT.evaluate(T.call_extern('int32', r'\\x' 'y\\x41\\n', 1e3, .5,))"),
            "A[31] = 1000\n"
            "A[3] = 15\n"
            "T.call_extern(\"int32\", \"\\\\xyA\\n\", T.float32(1000), T.float32(0.5))\n");
}

}  // namespace
}  // namespace loopsmith
