// SPDX-License-Identifier: Apache-2.0
// What is printed reads back as what it was.
#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Reads what `node` prints, and compares.
void round_trip(const Ref& node) {
  const std::string text = script(node);
  try {
    const Ref again = parse(text);
    const auto difference = first_difference(node, again);
    EXPECT_FALSE(difference.has_value()) << text << "\n" << (difference ? difference->text() : "");
    EXPECT_EQ(script(again), text);
  } catch (const UserError& error) {
    FAIL() << error.what() << "\n" << text;
  }
}

/// A function of nothing but `body`.
void round_trip_body(const Stmt& body, std::vector<Ptr<Var>> params = {},
                     std::vector<Ptr<Buffer>> buffers = {}) {
  for (const Ptr<Buffer>& buffer : buffers) {
    params.insert(params.begin(), var(buffer->name + "_handle", handle_type));
  }
  std::reverse(buffers.begin(), buffers.end());
  buffers.resize(params.size());
  round_trip(make(PrimFunc{.params = params,
                           .buffer_map = buffers,
                           .attrs = {{"global_symbol", string_imm("main")}},
                           .body = body}));
}

/// A function that evaluates `value`, of x (int32), y (int64), f (float32) and A.
struct Values {
  Ptr<Var> x = var("x"), y = var("y", i64), c = var("c", boolean), f = var("f", f32),
           h = var("h", f16);
  Ptr<Buffer> A = decl_buffer({64}, f32, "A");

  void check(const Expr& value) {
    round_trip_body(make(Evaluate{.value = value}), {x, y, c, f, h}, {A});
  }
};

TEST(script_round_trip, constants) {
  Values v;
  for (const Expr& value :
       {Expr(7), Expr(-7), Expr(true), int_imm(i64, -1), int_imm(u64, -1),
        int_imm(i64, std::numeric_limits<std::int64_t>::min()), int_imm(i8, -128),
        float_imm(f32, 0), float_imm(f32, 0.1), float_imm(f64, 0.1), float_imm(f16, 0.1),
        float_imm(bf16, 3.14), float_imm(f32, -0.0), float_imm(f32, 1e20), float_imm(f64, 1.0 / 3),
        infinity(f32), float_imm(f32, -HUGE_VAL), float_imm(f8e4m3, 0.5)}) {
    v.check(value);
  }
}

TEST(script_round_trip, operators) {
  Values v;
  const Expr x = v.x, y = v.y, c = v.c, f = v.f;
  for (const Expr& value :
       {(x + 1) * x - floordiv(x, 3), floormod(x - (x - 2), 5), ((x << 2) & (x | 3)) ^ x,
        truncmod(x, 7), truncdiv(x, 7), f / f + f * 2, min(x, 3) + max(x, x + 1), !(x < 3),
        x < 3 && (c || x >= 4), (x < 3) == (x > 4), cast(i64, x) + y, -f, ~x, y + 1, abs(x),
        ceildiv(x, 4)}) {
    v.check(value);
  }
}

TEST(script_round_trip, nodes_that_operators_would_fold) {
  Values v;
  const Expr x = v.x;
  const auto b = var("b");
  for (const Expr& value : std::vector<Expr>{
           make(Add{.a = 1, .b = 2}), make(Mul{.a = x, .b = 1}), make(FloorDiv{.a = x, .b = 0}),
           make(And{.a = true, .b = x < 1}), make(Min{.a = x, .b = x}), make(Div{.a = x, .b = 2}),
           call(i32, op("if_then_else"), {true, x, 2}), make(Not{.a = true}),
           make(Cast{.value = 3}, i8), make(Cast{.value = x}, i32),
           make(Let{.value = x + 1, .var = b, .body = b * b})}) {
    v.check(value);
  }
}

TEST(script_round_trip, calls_and_vectors) {
  Values v;
  const Expr x = v.x, f = v.f;
  for (const Expr& value : std::vector<Expr>{
           call(op("exp"), {f}),
           call(op("pow"), {f, f}),
           call(op("isnan"), {f}),
           call(u32, op("tvm_warp_activemask"), {}),
           reinterpret(f32, x),
           select(x < 1, x, 2),
           if_then_else(x < 1, f, f * 2),
           likely(x < 1),
           call(i32, op("call_extern"), {string_imm("puts"), x, 1, string_imm("\xFF\"\n")}),
           call(op("tvm_storage_sync"), {string_imm("shared")}),
           call(op("tvm_access_ptr"), {call(f32, op("type_annotation"), {}), v.A->data, 0, 64, 3}),
           call(op("address_of"), {load(v.A, {x})}),
           broadcast(x, 4) + broadcast(x, 4),
           make(Ramp{.base = x, .stride = 2, .lanes = 4}),
           make(Shuffle{.vectors = {broadcast(x, 2)}, .indices = {0}}),
           !(broadcast(x, 4) < broadcast(x, 4)),
           make(Select{.condition = broadcast(v.c, 4),
                       .true_value = broadcast(x, 4),
                       .false_value = broadcast(2, 4)}),
           load(v.A, {make(Ramp{.base = x * 4, .stride = 1, .lanes = 4})}),
           load(v.A, {make(Ramp{.base = x, .stride = 3, .lanes = 4})}),
           load(v.A, {make(Ramp{.base = x, .stride = -1, .lanes = 4})}),
           make(BufferLoad{.buffer = v.A, .indices = {x}, .predicate = x < 3}),
           call(op("ldexp"), {f, x}),
           call(op("fma"), {f, f, f})}) {
    v.check(value);
  }
}

Stmt mark(int value) {
  return make(Evaluate{.value = value});
}

TEST(script_round_trip, loops) {
  const auto n = var("n"), m = var("m"), i = var("i"), j = var("j"), k = var("k");
  const auto loop = [&](For parts) {
    parts.loop_var = i;
    parts.body = make(Evaluate{.value = i});
    round_trip_body(make(std::move(parts)), {n, m});
  };
  loop({.min = 0, .extent = 8});
  loop({.min = 1, .extent = 8});
  loop({.min = 1, .extent = n - 1});
  loop({.min = m, .extent = n});
  loop({.min = 0, .extent = 4, .step = 2});
  loop({.min = 0, .extent = ceildiv(n, 2), .step = 2});
  loop({.min = 0, .extent = n, .step = 2});
  loop({.min = 9, .extent = 3, .step = -3});
  loop({.min = n, .extent = n, .step = -1});
  loop({.min = 0, .extent = n, .step = m});
  loop({.min = 0, .extent = 0});
  loop({.min = 0, .extent = n, .kind = ForKind::parallel});
  loop({.min = 2, .extent = n, .step = 3, .kind = ForKind::unrolled});
  loop({.min = 0, .extent = 8, .kind = ForKind::vectorized});
  loop({.min = 0,
        .extent = 8,
        .annotations = {{"a", Expr(1)},
                        {"b", string_imm("x")},
                        {"c", make(List{.items = {Expr(true), float_imm(f32, 0.5)}})},
                        {"d", make(Dict{.items = {{"e", Expr(2)}}})}}});
  const auto thread = make(
      IterVar{.var = var("tx"), .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
  loop({.min = 0, .extent = 8, .kind = ForKind::thread_binding, .thread_binding = thread});
  const auto wide = var("w", i64);
  round_trip_body(for_loop(wide, int_imm(i64, 0), int_imm(i64, 9), mark(1)));
  round_trip_body(
      for_loop(i, 0, 4, for_loop(j, 0, 5, for_loop(k, 0, j, make(Evaluate{.value = i + k})))));
}

TEST(script_round_trip, control_flow) {
  const auto c = var("c", boolean), d = var("d", boolean);
  const Stmt other = make(IfThenElse{.condition = d, .then_case = mark(2), .else_case = mark(3)});
  round_trip_body(make(IfThenElse{.condition = c, .then_case = mark(1), .else_case = other}),
                  {c, d});
  round_trip_body(make(IfThenElse{.condition = Expr(true), .then_case = mark(1)}));
  const Stmt leave = make(IfThenElse{.condition = c, .then_case = make(Break{})});
  round_trip_body(
      make(While{.condition = c, .body = make(SeqStmt{.seq = {leave, make(Continue{})}})}), {c});
  round_trip(make(PrimFunc{.params = {c}, .ret_type = boolean, .body = make(Return{.value = c})}));
  round_trip_body(make(SeqStmt{.seq = {mark(0), mark(0)}}));
}

TEST(script_round_trip, definitions) {
  const auto x = var("x"), y = var("y");
  const auto p = pointer_var("p", f32, "shared");
  const auto B = make(Buffer{.data = p, .dtype = f32, .shape = {8}, .name = "B"});
  const auto let = [&](Stmt body) -> Stmt {
    return make(LetStmt{.value = 1, .var = x, .body = std::move(body)});
  };
  round_trip_body(let(make(Evaluate{.value = x + 0})));
  round_trip_body(make(SeqStmt{.seq = {let(make(Evaluate{.value = x})), mark(2)}}));
  const Stmt view = make(DeclBuffer{.buffer = B, .body = mark(1)});
  const auto allocate = [&](Expr extent, Stmt body) -> Stmt {
    return make(Allocate{
        .dtype = f32, .extents = {extent}, .condition = true, .buffer_var = p, .body = body});
  };
  round_trip_body(allocate(8, mark(1)));
  round_trip_body(allocate(16, view));
  round_trip_body(allocate(8, view));
  round_trip_body(make(SeqStmt{.seq = {allocate(8, view), mark(2)}}));
  round_trip_body(make(Allocate{.dtype = i8,
                                .extents = {y, 4},
                                .condition = y < 3,
                                .annotations = {{"k", Expr(1)}},
                                .buffer_var = pointer_var("q", i8, "shared"),
                                .body = mark(1)}),
                  {y});
  const Stmt claim =
      make(AssertStmt{.condition = y < 1, .message = string_imm("small"), .body = mark(1)});
  round_trip_body(claim, {y});
  round_trip_body(make(SeqStmt{.seq = {claim, mark(2)}}), {y});
  round_trip_body(make(AllocateConst{
      .dtype = f32,
      .extents = {2, 2},
      .data = {float_imm(f32, 1), float_imm(f32, -0.5), infinity(f32), float_imm(f32, 0)},
      .buffer_var = pointer_var("q", f32),
      .body = mark(1)}));
  const auto named = pointer_var("r", f32, "local");
  round_trip_body(make(LetStmt{.value = p, .var = named, .body = mark(3)}), {p});
}

TEST(script_round_trip, threads_and_attributes) {
  const auto thread = [](Ptr<Var> v, int extent, const char* tag = "threadIdx.x") {
    return make(IterVar{
        .dom = range(0, extent), .var = v, .iter_type = IterType::thread_index, .thread_tag = tag});
  };
  const auto launch = [&](Ptr<Var> v, Stmt body) -> Stmt {
    return make(AttrStmt{
        .node = thread(v, 32), .attr_key = "thread_extent", .value = 32, .body = std::move(body)});
  };
  const auto tx = var("tx"), ty = var("ty");
  round_trip_body(launch(tx, make(Evaluate{.value = tx * 2})));
  round_trip_body(launch(tx, launch(ty, mark(1))));
  round_trip_body(make(SeqStmt{.seq = {launch(tx, mark(1)), launch(tx, mark(2))}}));
  round_trip_body(make(AttrStmt{.node = thread(tx, 4, "vthread.x"),
                                .attr_key = "virtual_thread",
                                .value = 4,
                                .body = make(Evaluate{.value = tx})}));
  round_trip_body(make(AttrStmt{.node = string_imm("x"),
                                .attr_key = "pragma_auto_unroll_max_step",
                                .value = 16,
                                .body = mark(1)}));
  round_trip_body(make(AttrStmt{.attr_key = "a", .value = string_imm("b"), .body = mark(1)}));
}

TEST(script_round_trip, stores_and_prefetches) {
  const auto A = decl_buffer({64, 64}, f16, "A");
  const auto s = decl_buffer({}, f32, "s");
  const auto i = var("i");
  round_trip_body(store(A, float_imm(f16, 1), {i, 3}), {i}, {A});
  round_trip_body(store(A, broadcast(float_imm(f16, 1), 4),
                        {i, make(Ramp{.base = 0, .stride = 1, .lanes = 4})}),
                  {i}, {A});
  round_trip_body(
      make(BufferStore{
          .buffer = A, .value = float_imm(f16, 1), .indices = {i, i}, .predicate = i < 3}),
      {i}, {A});
  round_trip_body(store(s, load(s, {}) + 1, {}), {}, {s});
  round_trip_body(make(Prefetch{.buffer = A, .bounds = {range(0, 1), range(i, 8)}}), {i}, {A});
}

TEST(script_round_trip, buffers) {
  const auto n = var("n"), m = var("m", i64);
  const auto a = var("a", handle_type), b = var("b", handle_type);
  const auto base = [&] {
    return Buffer{
        .data = pointer_var("A", f32, "shared"), .dtype = f32, .shape = {n, 4}, .name = "A"};
  };
  std::vector<Buffer> all;
  all.push_back(base());
  all.push_back(base());
  all.back().strides = {var("s0"), 1};
  all.push_back(base());
  all.back().elem_offset = var("o");
  all.back().offset_factor = 16;
  all.push_back(base());
  all.back().offset_factor = 4;
  all.push_back(base());
  all.back().elem_offset = 0;
  all.push_back(base());
  all.back().data_alignment = 128;
  all.back().auto_broadcast = true;
  all.back().strides = {var("s0"), var("s1")};
  all.back().axis_separators = {1};
  all.push_back(base());
  all.back().shape = {m, int_imm(i64, 4)};
  for (const Buffer& buffer : all) {
    round_trip(make(PrimFunc{
        .params = {a, b}, .buffer_map = {make(Buffer(buffer)), nullptr}, .body = mark(1)}));
  }
  const auto A = decl_buffer({n, 4}, f32, "A");
  const auto B = make(Buffer{.data = A->data, .dtype = f32, .shape = {n * 4}, .name = "B"});
  round_trip(make(PrimFunc{.params = {a, b, var("x", f32)},
                           .buffer_map = {A, B, nullptr},
                           .ret_type = f32,
                           .body = make(Return{.value = load(A, {n - 1, 0})})}));
}

Ptr<IterVar> axis(const char* name, Expr extent, IterType type = IterType::data_par) {
  return make(IterVar{.dom = range(zero_of(extent.dtype()), extent),
                      .var = var(name, extent.dtype()),
                      .iter_type = type});
}

TEST(script_round_trip, blocks) {
  const auto A = decl_buffer({128}, f32, "A"), B = decl_buffer({128}, f32, "B");
  const auto buffer = decl_buffer({16}, f16, "buf", "local");
  const auto vi = axis("vi", 8), vk = axis("vk", 16, IterType::comm_reduce);
  const auto vs = axis("vs", 4, IterType::ordered), vo = axis("vo", 4, IterType::opaque);
  const auto vm = make(IterVar{.dom = range(1, 7), .var = var("vm")});
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
      make(Block{.iter_vars = {vi, vk, vs, vo, vm},
                 .reads = {window},
                 .writes = {point_region(B, {vi->var})},
                 .name_hint = "sum",
                 .alloc_buffers = {buffer},
                 .match_buffers = {make(MatchBufferRegion{.source = window, .buffer = view})},
                 .annotations = {{"k", make(List{.items = {Expr(1), Expr(true)}})}},
                 .init = store(B, float_imm(f32, 0), {vi->var}),
                 .body = store(B, load(view, {vk->var}), {vi->var})});
  const Stmt realize = make(
      BlockRealize{.iter_values = {i + 0, k, i * 2, k, 3}, .predicate = i < 7, .block = block});
  const auto root =
      make(Block{.name_hint = "root", .body = for_loop(i, 0, 8, for_loop(k, 0, 17, realize))});
  round_trip_body(make(BlockRealize{.block = root}), {}, {A, B});
  const auto opaque = make(Block{.reads = {whole_region(A)}, .name_hint = "o", .body = mark(1)});
  round_trip_body(make(BlockRealize{.block = opaque}), {}, {A});
  round_trip_body(make(
      Block{.iter_vars = {axis("v", 4, IterType::ordered)}, .name_hint = "b", .body = mark(1)}));
}

TEST(script_round_trip, modules) {
  const auto n = var("n");
  const auto callee = make(GlobalVar{.name_hint = "f"});
  const auto x = var("x", f32), y = var("y", f32);
  const auto f = make(PrimFunc{.params = {x},
                               .ret_type = f32,
                               .attrs = {{"k", Expr(1)}},
                               .body = make(Return{.value = x * x})});
  const auto g =
      make(PrimFunc{.params = {y},
                    .attrs = {{"global_symbol", string_imm("g")}},
                    .body = make(Evaluate{.value = call(f32, op("call_global"), {callee, y})})});
  round_trip(make(IRModule{.names = {callee, make(GlobalVar{.name_hint = "g"})},
                           .functions = {f, g},
                           .attrs = {{"version", Expr(1)}}}));
  round_trip(make(IRModule{.names = {callee, make(GlobalVar{.name_hint = "größe"})},
                           .functions = {f, with_attr(g, "global_symbol", string_imm("größe"))}}));
}

TEST(script_round_trip, names_of_functions_that_scripts_cannot_say) {
  const auto x = var("x", f32);
  const auto f = make(PrimFunc{.params = {x}, .ret_type = f32, .body = make(Return{.value = x})});
  IRModule module;
  std::vector<Stmt> calls;
  const char* names[] = {"for", "a-b", "a b", "a_b", "a\nb", "", "None", "1st", "T", "\""};
  for (const char* name : names) {
    module.names.push_back(make(GlobalVar{.name_hint = name}));
    module.functions.push_back(clone(f));
    const Expr value = call(f32, op("call_global"), {module.names.back(), float_imm(f32, 1)});
    calls.push_back(make(Evaluate{.value = value}));
  }
  module.functions.front() = with_attr(f, "global_symbol", string_imm("for"));
  module.names.push_back(make(GlobalVar{.name_hint = "main"}));
  module.functions.push_back(
      make(PrimFunc{.attrs = {{"global_symbol", string_imm("a-b")}}, .body = seq(calls)}));
  round_trip(make(std::move(module)));
  round_trip(with_attr(f, "global_symbol", string_imm("while")));
}

}  // namespace
}  // namespace loopsmith
