// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_printer.h"

#include <gtest/gtest.h>

#include <limits>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"

namespace loopsmith {
namespace {

Ptr<IterVar> axis(const char* name, int extent, IterType type = IterType::data_par) {
  return make(IterVar{.dom = range(0, extent), .var = var(name), .iter_type = type});
}

Stmt mark(int value) {
  return make(Evaluate{.value = value});
}

/// `node` without the declarations before it.
std::string text(const Ref& node) {
  return to_string(node);
}

// ---- Expressions ----

TEST(script_printer, parenthesises_only_where_python_binds_otherwise) {
  const Expr a = var("a"), b = var("b"), c = var("c");
  EXPECT_EQ(text((a + b) * c), "(a + b) * c");
  EXPECT_EQ(text(a + b * c), "a + b * c");
  EXPECT_EQ(text(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(text(a - b - c), "a - b - c");
  EXPECT_EQ(text(floordiv(a, b) * c), "a // b * c");
  EXPECT_EQ(text(a * floormod(b, c)), "a * (b % c)");
  EXPECT_EQ(text((a < b) == (b < c)), "(a < b) == (b < c)");
  EXPECT_EQ(text(a < b && (b < c || a == c)), "a < b and (b < c or a == c)");
  EXPECT_EQ(text(!(a < b) && !(b < c && c < a)), "not a < b and not (b < c and c < a)");
  EXPECT_EQ(text(((a & b) | c) ^ (a << (b + c))), "(a & b | c) ^ a << b + c");
  EXPECT_EQ(text(a - -3), "a - -3");
  EXPECT_EQ(text(-a), "0 - a");
}

TEST(script_printer, constants_but_int32_are_typed) {
  EXPECT_EQ(text(Expr(7)), "7");
  EXPECT_EQ(text(Expr(true)), "T.bool(True)");
  EXPECT_EQ(text(int_imm(i64, -1)), "T.int64(-1)");
  EXPECT_EQ(text(int_imm(u64, -1)), "T.uint64(18446744073709551615)");
  EXPECT_EQ(text(float_imm(f32, 0)), "T.float32(0)");
  EXPECT_EQ(text(float_imm(f32, 0.1)), "T.float32(0.1)");
  EXPECT_EQ(text(float_imm(f64, 0.1)), "T.float64(0.1)");
  EXPECT_EQ(text(float_imm(f16, 0.1)), "T.float16(0.1)");
  EXPECT_EQ(text(float_imm(bf16, 3.14)), "T.bfloat16(3.14)");
  EXPECT_EQ(text(float_imm(f32, -0.0)), "T.float32(-0.0)");
  EXPECT_EQ(text(float_imm(f32, 1e20)), "T.float32(1e+20)");
  EXPECT_EQ(text(float_imm(f32, 1200)), "T.float32(1200)");
  EXPECT_EQ(text(float_imm(f64, 1.0 / 3)), "T.float64(0.3333333333333333)");
  EXPECT_EQ(text(infinity(f32)), "T.float32(\"inf\")");
  EXPECT_EQ(text(float_imm(f32, -std::numeric_limits<double>::infinity())), "T.float32(\"-inf\")");
  EXPECT_EQ(text(float_imm(f32, std::numeric_limits<double>::quiet_NaN())), "T.float32(\"nan\")");
}

TEST(script_printer, what_an_operator_would_fold_is_written_as_a_node) {
  const Expr x = var("x");
  EXPECT_EQ(text(make(Add{.a = 1, .b = 2})), "T.Add(1, 2)");
  EXPECT_EQ(text(make(Mul{.a = x, .b = 1})), "T.Mul(x, 1)");
  EXPECT_EQ(text(make(FloorDiv{.a = x, .b = 0})), "T.FloorDiv(x, 0)");
  EXPECT_EQ(text(make(And{.a = true, .b = x < 1})), "T.And(T.bool(True), x < 1)");
  EXPECT_EQ(text(make(Min{.a = x, .b = x})), "T.Min(x, x)");
  EXPECT_EQ(text(make(Div{.a = x, .b = 2})), "T.Div(x, 2)");
  EXPECT_EQ(text(make(Mod{.a = x, .b = 2})), "T.truncmod(x, 2)");
  EXPECT_EQ(text(call(i32, op("if_then_else"), {true, x, 2})),
            "T.call_intrin(\"int32\", \"tir.if_then_else\", T.bool(True), x, 2)");
}

TEST(script_printer, functions_and_nodes) {
  const Expr x = var("x"), f = var("f", f32);
  EXPECT_EQ(text(min(x, 3)), "T.min(x, 3)");
  EXPECT_EQ(text(cast(i8, x)), "T.Cast(\"int8\", x)");
  EXPECT_EQ(text(select(x < 1, x, 2)), "T.Select(x < 1, x, 2)");
  EXPECT_EQ(text(if_then_else(x < 1, x, 2)), "T.if_then_else(x < 1, x, 2)");
  EXPECT_EQ(text(call(op("exp"), {f})), "T.exp(f)");
  EXPECT_EQ(text(call(op("isnan"), {f})), "T.isnan(f)");
  EXPECT_EQ(text(call(u32, op("tvm_warp_activemask"), {})),
            "T.call_intrin(\"uint32\", \"tir.tvm_warp_activemask\")");
  EXPECT_EQ(text(reinterpret(f32, x)), "T.reinterpret(\"float32\", x)");
  EXPECT_EQ(text(call(i32, op("call_extern"), {string_imm("puts"), x})),
            "T.call_extern(\"int32\", \"puts\", x)");
  EXPECT_EQ(text(make(Ramp{.base = x, .stride = 2, .lanes = 4})), "T.Ramp(x, 2, 4)");
  EXPECT_EQ(text(broadcast(x, 4)), "T.Broadcast(x, 4)");
  EXPECT_EQ(text(make(Shuffle{.vectors = {broadcast(x, 2)}, .indices = {0}})),
            "T.Shuffle([T.Broadcast(x, 2)], [0])");
  EXPECT_EQ(text(floordiv(broadcast(x, 2), broadcast(f, 1).dtype().is_float() ? 3 : 2)),
            "T.Broadcast(x, 2) // T.Broadcast(3, 2)");
  const auto v = var("v");
  EXPECT_EQ(text(make(Let{.value = x, .var = v, .body = v * v})), "T.Let(v * v, where={v: x})");
  const auto function = make(GlobalVar{.name_hint = "f"});
  EXPECT_EQ(text(call(i32, op("call_global"), {function, x})), "cls.f(x)");
}

TEST(script_printer, texts_are_escaped_as_in_python) {
  EXPECT_EQ(text(string_imm("a\"b\\c\n\t\x01")), R"("a\"b\\c\n\t\x01")");
  EXPECT_EQ(text(string_imm("gr\xC3\xBC\xC3\x9F")), "\"gr\xC3\xBC\xC3\x9F\"");
  EXPECT_EQ(text(string_imm("\xFF\xC3")), R"("\udcff\udcc3")");
}

TEST(script_printer, vectors_of_indices_are_slices) {
  const auto A = decl_buffer({64}, f32, "A");
  const Expr i = var("i");
  const auto at = [&](Expr base, int stride, int lanes) {
    return text(load(A, {make(Ramp{.base = base, .stride = stride, .lanes = lanes})}));
  };
  EXPECT_EQ(at(i * 4, 1, 4), "A[i * 4:i * 4 + 4]");
  EXPECT_EQ(at(0, 1, 4), "A[0:4]");
  EXPECT_EQ(at(2, 3, 4), "A[2:14:3]");
  EXPECT_EQ(at(i, -1, 4), "A[T.Ramp(i, -1, 4)]");
  EXPECT_EQ(text(load(decl_buffer({}, f32, "s"), {})), "s[()]");
  EXPECT_EQ(text(make(BufferLoad{.buffer = A, .indices = {i}, .predicate = i < 3})),
            "A.vload([i], predicate=i < 3)");
}

TEST(script_printer, names_are_legal_and_unique) {
  const Expr a = var("x.y"), b = var("x_y"), c = var("for"), d = var(""), e = var("1a"),
             t = var("T"), u = var("x_y_1"), v = var("x_y");
  EXPECT_EQ(text(a + b + c + d + e + t + u + v),
            "x_y + x_y_1 + for_1 + v + _1a + T_1 + x_y_1_1 + x_y_2");
  EXPECT_EQ(text(var("größe") + var("gr\xF6\xDFsse")), "größe + gr__sse");  // UTF-8; Latin-1.
}

TEST(script_printer, declares_free_variables_and_buffers_first) {
  const auto n = size_var("n", i64);
  const auto A = decl_buffer({128, n}, f32, "A");
  const auto B = decl_buffer({128, 128}, f16, "B", "shared");
  const Expr i = var("i");
  EXPECT_EQ(script(i + 1), "i = T.int32()\ni + 1");
  EXPECT_EQ(script(store(A, cast(f32, load(B, {i, i})), {i, i})),
            "i = T.int32()\n"
            "n = T.int64(is_size_var=True)\n"
            "A = T.Buffer((128, n))\n"
            "B = T.Buffer((128, 128), \"float16\", scope=\"shared\")\n"
            "A[i, i] = T.Cast(\"float32\", B[i, i])");
  EXPECT_EQ(script(pointer_var("p", f32)), "p = T.handle(\"float32\", \"global\")");
  EXPECT_EQ(script(A), "n = T.int64(is_size_var=True)\nA = T.Buffer((128, n))");
  EXPECT_EQ(script(nullptr), "None");
}

// ---- Statements ----

TEST(script_printer, loops_by_kind_bounds_and_step) {
  const auto i = var("i");
  const Expr n = var("n"), m = var("m");
  const auto loop = [&](For parts) {
    parts.loop_var = i;
    parts.body = mark(1);
    const std::string whole = text(make(std::move(parts)));
    return whole.substr(0, whole.find('\n'));
  };
  EXPECT_EQ(loop({.min = 0, .extent = 8}), "for i in range(8):");
  EXPECT_EQ(loop({.min = 1, .extent = 8}), "for i in range(1, 9):");
  EXPECT_EQ(loop({.min = 1, .extent = n - 1}), "for i in range(1, n):");
  EXPECT_EQ(loop({.min = m, .extent = n}), "for i in range(m, m + n):");
  EXPECT_EQ(loop({.min = 0, .extent = 4, .step = 2}), "for i in range(0, 8, 2):");
  EXPECT_EQ(loop({.min = 0, .extent = ceildiv(n, 2), .step = 2}), "for i in range(0, n, 2):");
  EXPECT_EQ(loop({.min = 0, .extent = n, .step = 2}), "for i in range(0, T.Add(0, 2 * n), 2):");
  EXPECT_EQ(loop({.min = 9, .extent = 3, .step = -3}), "for i in range(9, 0, -3):");
  EXPECT_EQ(loop({.min = 0, .extent = n, .kind = ForKind::parallel}), "for i in T.parallel(n):");
  EXPECT_EQ(loop({.min = 2, .extent = n, .step = 3, .kind = ForKind::unrolled}),
            "for i in T.unroll(2, 2 + 3 * n, step=3):");
  EXPECT_EQ(loop({.min = 0, .extent = 8, .kind = ForKind::vectorized}),
            "for i in T.vectorized(8):");
  EXPECT_EQ(loop({.min = 0, .extent = 8, .annotations = {{"a", Expr(1)}, {"b", string_imm("x")}}}),
            "for i in T.serial(8, annotations={\"a\": 1, \"b\": \"x\"}):");
  const auto thread = make(
      IterVar{.var = var("tx"), .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
  EXPECT_EQ(
      loop({.min = 0, .extent = 8, .kind = ForKind::thread_binding, .thread_binding = thread}),
      "for i in T.thread_binding(8, thread=\"threadIdx.x\"):");
}

TEST(script_printer, joins_plain_loops_into_a_grid_as_far_as_they_are_independent) {
  const auto i = var("i"), j = var("j"), k = var("k"), l = var("l");
  EXPECT_EQ(
      text(for_loop(i, 0, 4, for_loop(j, 0, 5, for_loop(k, 0, j, for_loop(l, 1, 3, mark(1)))))),
      "for i, j in T.grid(4, 5):\n"
      "    for k in range(j):\n"
      "        for l in range(1, 4):\n"
      "            T.evaluate(1)");
}

TEST(script_printer, control_flow) {
  const Expr c = var("c", boolean), d = var("d", boolean);
  const Stmt other = make(IfThenElse{.condition = d, .then_case = mark(2), .else_case = mark(3)});
  EXPECT_EQ(text(make(IfThenElse{.condition = c, .then_case = mark(1), .else_case = other})),
            "if c:\n"
            "    T.evaluate(1)\n"
            "elif d:\n"
            "    T.evaluate(2)\n"
            "else:\n"
            "    T.evaluate(3)");
  const Stmt leave = make(IfThenElse{.condition = c, .then_case = make(Break{})});
  EXPECT_EQ(
      text(make(While{.condition = c, .body = make(SeqStmt{.seq = {leave, make(Continue{})}})})),
      "while c:\n"
      "    if c:\n"
      "        break\n"
      "    continue");
  EXPECT_EQ(text(make(Return{.value = c})), "return c");
  EXPECT_EQ(text(make(Return{})), "return");
}

TEST(script_printer, a_definition_is_one_line_at_the_end_of_a_scope_and_a_with_before) {
  const auto x = var("x");
  const auto p = pointer_var("p", f32, "shared");
  const auto B = make(Buffer{.data = p, .dtype = f32, .shape = {8}, .name = "B"});
  const Stmt let = make(LetStmt{.value = 1, .var = x, .body = make(Evaluate{.value = x + 0})});
  EXPECT_EQ(text(let), "x: T.int32 = 1\nT.evaluate(x)");
  EXPECT_EQ(text(make(SeqStmt{.seq = {let, mark(2)}})),
            "with T.LetStmt(1) as x:\n"
            "    T.evaluate(x)\n"
            "T.evaluate(2)");

  const Stmt view = make(DeclBuffer{.buffer = B, .body = mark(1)});
  const auto allocate = [&](Expr extent, Stmt body) -> Stmt {
    return make(Allocate{
        .dtype = f32, .extents = {extent}, .condition = true, .buffer_var = p, .body = body});
  };
  EXPECT_EQ(text(allocate(8, mark(1))),
            "p = T.allocate([8], \"float32\", \"shared\")\nT.evaluate(1)");
  EXPECT_EQ(text(allocate(16, view)),
            "p = T.allocate([16], \"float32\", \"shared\")\n"
            "B = T.decl_buffer((8,), data=p, scope=\"shared\")\n"
            "T.evaluate(1)");
  EXPECT_EQ(text(allocate(8, view)), "B = T.decl_buffer((8,), scope=\"shared\")\nT.evaluate(1)");
  EXPECT_EQ(text(make(SeqStmt{.seq = {allocate(8, view), mark(2)}})),
            "with T.decl_buffer((8,), scope=\"shared\") as B:\n"
            "    T.evaluate(1)\n"
            "T.evaluate(2)");

  const Stmt claim =
      make(AssertStmt{.condition = x < 1, .message = string_imm("small"), .body = mark(1)});
  EXPECT_EQ(text(claim), "assert x < 1, \"small\"\nT.evaluate(1)");
  EXPECT_EQ(text(make(SeqStmt{.seq = {claim, mark(2)}})),
            "with T.Assert(x < 1, \"small\"):\n"
            "    T.evaluate(1)\n"
            "T.evaluate(2)");
  EXPECT_EQ(text(make(AllocateConst{.dtype = i8,
                                    .extents = {2, 1},
                                    .data = {int_imm(i8, 1), int_imm(i8, -2)},
                                    .buffer_var = p,
                                    .body = mark(1)})),
            "p = T.allocate_const([1, -2], \"int8\", [2, 1])\nT.evaluate(1)");
}

TEST(script_printer, threads_and_attributes) {
  const auto thread = [](Ptr<Var> v, int extent) {
    return make(IterVar{.dom = range(0, extent),
                        .var = v,
                        .iter_type = IterType::thread_index,
                        .thread_tag = "threadIdx.x"});
  };
  const auto launch = [&](Ptr<Var> v, Stmt body) -> Stmt {
    return make(AttrStmt{
        .node = thread(v, 32), .attr_key = "thread_extent", .value = 32, .body = std::move(body)});
  };
  const auto tx = var("tx");
  EXPECT_EQ(text(launch(tx, make(Evaluate{.value = tx * 2}))),
            "tx = T.launch_thread(\"threadIdx.x\", 32)\nT.evaluate(tx * 2)");
  EXPECT_EQ(script(make(SeqStmt{.seq = {launch(tx, mark(1)), launch(tx, mark(2))}})),
            "tx = T.env_thread(\"threadIdx.x\")\n"
            "with T.launch_thread(tx, 32):\n"
            "    T.evaluate(1)\n"
            "T.launch_thread(tx, 32)\n"
            "T.evaluate(2)");
  EXPECT_EQ(text(make(AttrStmt{.node = string_imm("x"),
                               .attr_key = "pragma_auto_unroll_max_step",
                               .value = 16,
                               .body = mark(1)})),
            "T.attr(\"x\", \"pragma_auto_unroll_max_step\", 16)\nT.evaluate(1)");
}

TEST(script_printer, a_block_with_all_its_parts) {
  const auto A = decl_buffer({128}, f32, "A"), B = decl_buffer({128}, f32, "B");
  const auto buffer = decl_buffer({16}, f16, "buf", "local");
  const auto vi = axis("vi", 8), vk = axis("vk", 16, IterType::comm_reduce);
  const auto window = make(BufferRegion{.buffer = A, .region = {range(vi->var * 16, 16)}});
  const auto view = make(Buffer{.data = pointer_var("A0", f32),
                                .dtype = f32,
                                .shape = {16},
                                .strides = {var("s")},
                                .elem_offset = var("A0_elem_offset"),
                                .name = "A0",
                                .offset_factor = 1});
  const auto i = var("i"), k = var("k");
  const auto block =
      make(Block{.iter_vars = {vi, vk},
                 .reads = {window},
                 .writes = {point_region(B, {vi->var})},
                 .name_hint = "sum",
                 .alloc_buffers = {buffer},
                 .match_buffers = {make(MatchBufferRegion{.source = window, .buffer = view})},
                 .annotations = {{"k", make(List{.items = {Expr(1), Expr(true)}})}},
                 .init = store(B, float_imm(f32, 0), {vi->var}),
                 .body = store(B, load(view, {vk->var}), {vi->var})});
  const Stmt realize =
      make(BlockRealize{.iter_values = {i + 0, k}, .predicate = i < 7, .block = block});
  EXPECT_EQ(text(for_loop(i, 0, 8, for_loop(k, 0, 17, realize))),
            "for i, k in T.grid(8, 17):\n"
            "    with T.block(\"sum\"):\n"
            "        vi = T.axis.spatial(8, i)\n"
            "        vk = T.axis.reduce(16, k)\n"
            "        T.where(i < 7)\n"
            "        T.reads(A[vi * 16:vi * 16 + 16])\n"
            "        T.writes(B[vi])\n"
            "        T.block_attr({\"k\": [1, True]})\n"
            "        buf = T.alloc_buffer((16,), \"float16\", scope=\"local\")\n"
            "        s = T.int32()\n"
            "        A0_elem_offset = T.int32()\n"
            "        A0 = T.match_buffer(A[vi * 16:vi * 16 + 16], (16,), strides=(s,), "
            "elem_offset=A0_elem_offset)\n"
            "        with T.init():\n"
            "            B[vi] = T.float32(0)\n"
            "        B[vi] = A0[vk]");
  EXPECT_EQ(
      text(make(Block{
          .iter_vars = {axis("v", 4, IterType::ordered)}, .name_hint = "b", .body = mark(1)})),
      "with T.block(\"b\", no_realize=True):\n"
      "    v = T.axis.scan(4)\n"
      "    T.reads()\n"
      "    T.writes()\n"
      "    T.evaluate(1)");
}

// ---- Functions ----

/// C[i, j] = sum over k of A[i, k] * B[k, j], 128 each.
Ptr<PrimFunc> matmul() {
  const auto A = decl_buffer({128, 128}, f32, "A");
  const auto B = decl_buffer({128, 128}, f32, "B");
  const auto C = decl_buffer({128, 128}, f32, "C");
  const auto vi = axis("vi", 128), vj = axis("vj", 128);
  const auto vk = axis("vk", 128, IterType::comm_reduce);
  const auto i = var("i"), j = var("j"), k = var("k");
  const Expr c = load(C, {vi->var, vj->var});
  const auto block = make(
      Block{.iter_vars = {vi, vj, vk},
            .reads = {point_region(A, {vi->var, vk->var}), point_region(B, {vk->var, vj->var})},
            .writes = {point_region(C, {vi->var, vj->var})},
            .name_hint = "C",
            .init = store(C, float_imm(f32, 0), {vi->var, vj->var}),
            .body = store(C, c + load(A, {vi->var, vk->var}) * load(B, {vk->var, vj->var}),
                          {vi->var, vj->var})});
  const Stmt realize = make(BlockRealize{.iter_values = {i, j, k}, .block = block});
  const Stmt loops = for_loop(i, 0, 128, for_loop(j, 0, 128, for_loop(k, 0, 128, realize)));
  const auto root = make(Block{.name_hint = "root", .body = loops});
  return make(
      PrimFunc{.params = {var("A_handle", handle_type), var("B_handle", handle_type),
                          var("C_handle", handle_type)},
               .buffer_map = {A, B, C},
               .attrs = {{"global_symbol", string_imm("main")}, {"tir.noalias", Expr(true)}},
               .body = make(BlockRealize{.block = root})});
}

TEST(script_printer, a_function_with_the_root_block_that_the_parser_adds) {
  EXPECT_EQ(script(matmul()), R"(# from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    T.func_attr({"tir.noalias": True})
    # with T.block("root"):
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])");
}

Ptr<PrimFunc> symbolic() {
  const auto n = var("n");
  const auto A = decl_buffer({n, 4}, f32, "A");
  const auto B = make(Buffer{.data = A->data, .dtype = f32, .shape = {n * 4}, .name = "B"});
  const auto a = var("a", handle_type), b = var("b", handle_type), x = var("x", f32);
  return make(PrimFunc{.params = {a, b, x},
                       .buffer_map = {A, B, nullptr},
                       .ret_type = f32,
                       .body = make(Return{.value = x + load(A, {n - 1, 0})})});
}

TEST(script_printer, a_function_with_symbolic_sizes_and_a_shared_pointer) {
  EXPECT_EQ(script(symbolic()), R"(# from loopsmith.script import tir as T

@T.prim_func(private=True)
def main(a: T.handle, b: T.handle, x: T.float32) -> T.float32:
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n * 4,), data=A.data)
    return x + A[n - 1, 0])");
}

TEST(script_printer, a_module_sorted_by_name_with_main_last) {
  const auto module = make(
      IRModule{.names = {make(GlobalVar{.name_hint = "main"}), make(GlobalVar{.name_hint = "f"})},
               .functions = {symbolic(), symbolic()},
               .attrs = {{"version", Expr(1)}}});
  EXPECT_EQ(script(module), R"(# from loopsmith.script import ir as I
# from loopsmith.script import tir as T

@I.ir_module
class Module:
    I.module_attrs({"version": 1})

    @T.prim_func(private=True)
    def f(a: T.handle, b: T.handle, x: T.float32) -> T.float32:
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (n * 4,), data=A.data)
        return x + A[n - 1, 0]

    @T.prim_func(private=True)
    def main(a: T.handle, b: T.handle, x: T.float32) -> T.float32:
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (n * 4,), data=A.data)
        return x + A[n - 1, 0])");
}

// ---- Options ----

TEST(script_printer, underlines_annotates_numbers_and_shows_what_is_near) {
  const auto A = decl_buffer({64}, f32, "A");
  const auto i = var("i");
  const Expr sum = load(A, {i}) + float_imm(f32, 1);
  std::vector<Stmt> lines;
  for (int k = 0; k < 9; ++k) lines.push_back(mark(k));
  lines.push_back(store(A, sum, {i}));
  const Stmt loop = for_loop(i, 0, 8, make(SeqStmt{.seq = lines}));
  EXPECT_EQ(script(loop, {.declare = false,
                          .line_numbers = true,
                          .underline = {sum, loop},
                          .annotate = {{loop, "here"}},
                          .context_lines = 1}),
            " 1 for i in range(8):  # here\n"
            "   ^^^^^^^^^^^^^^^^^^\n"
            " 2     T.evaluate(0)\n"
            "...\n"
            "10     T.evaluate(8)\n"
            "11     A[i] = A[i] + T.float32(1)\n"
            "              ^^^^^^^^^^^^^^^^^^^");
}

TEST(script_printer, spans_are_comments) {
  const SpanScope scope(Span{source_id("printer_test.py"), 14});
  const auto i = var("i");
  EXPECT_EQ(script(for_loop(i, 0, 8, mark(1)), {.spans = true}),
            "for i in range(8):  # printer_test.py:14\n"
            "    T.evaluate(1)  # printer_test.py:14");
}

TEST(script_printer, a_message_is_cut_and_a_script_too_long_is_refused) {
  Expr e = var("x");
  for (int i = 0; i < 60; ++i) e = e * e;
  EXPECT_EQ(to_string(e, 20), "x * x * (x * x) * (x...");
  EXPECT_LT(fmt::format("{}", e).size(), 210U);
  try {
    script(e, {.max_bytes = 1000});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), "script_fits_limit");
    EXPECT_EQ(error.problem(), "script: the text is longer than 1000 bytes");
  }
}

TEST(script_printer, errors_embed_the_first_line) {
  const auto i = var("i");
  const Stmt loop = for_loop(i, 0, 8, mark(1));
  EXPECT_EQ(fmt::format("{} and {} and {}", loop, i, Expr(i + 1)),
            "for i in range(8) and i and i + 1");
}

}  // namespace
}  // namespace loopsmith
