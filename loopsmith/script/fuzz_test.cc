// SPDX-License-Identifier: Apache-2.0
// Random programs print and read back; texts that were damaged are read or refused.
#include <gtest/gtest.h>

#include <random>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

/// Makes functions of all statements and most expressions, well typed, otherwise without sense.
class RandomFunction {
 public:
  explicit RandomFunction(std::uint64_t seed) : random_(seed) {}

  Ptr<PrimFunc> run() {
    const auto n = var("n"), x = var("x", f32), wide = var("w", i64);
    variables_ = {n, x, wide};
    buffers_ = {decl_buffer({64, 64}, f32, "A"), decl_buffer({n}, i32, "B"),
                decl_buffer({16, n, 2}, f16, "A", "shared")};
    std::vector<Ptr<Var>> params;
    for (const Ptr<Buffer>& buffer : buffers_) params.push_back(var(buffer->name, handle_type));
    std::vector<Ptr<Buffer>> map = buffers_;
    for (const Ptr<Var>& scalar : {n, x, wide}) {
      params.push_back(scalar);
      map.emplace_back();
    }
    Attrs attrs{{"tir.noalias", Expr(true)}, {"k", random_attribute(2)}};
    if (flip(50)) attrs = attrs.with("global_symbol", string_imm("main"));
    return make(
        PrimFunc{.params = params, .buffer_map = map, .attrs = attrs, .body = statement(5)});
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool flip(int percent) { return pick(100) < percent; }
  const char* some_name() {
    constexpr const char* names[] = {"i", "j", "x", "y_1", "for", "A", "T", "v.0"};
    return names[pick(8)];
  }

  // ---- Expressions ----

  Expr leaf(DataType type) {
    std::vector<Expr> known;
    for (const Ptr<Var>& variable : variables_) {
      if (variable->dtype == type) known.emplace_back(variable);
    }
    if (!known.empty() && flip(70))
      return known[static_cast<std::size_t>(pick(static_cast<int>(known.size())))];
    if (type.is_bool()) return flip(50);
    if (type.is_float()) return float_imm(type, (pick(64) - 32) * 0.25);
    return int_imm(type, pick(100) - 20);
  }

  template <class T>
  Expr node(DataType type, int depth) {
    return make(T{.a = expr(type, depth), .b = expr(type, depth)});
  }

  Expr arithmetic(DataType type, int depth) {
    switch (pick(type.is_float() ? 9 : 17)) {
      case 0: return node<Add>(type, depth);
      case 1: return node<Sub>(type, depth);
      case 2: return node<Mul>(type, depth);
      case 3: return node<Min>(type, depth);
      case 4: return node<Max>(type, depth);
      case 5: return expr(type, depth) + expr(type, depth) * expr(type, depth);
      case 6: return node<Div>(type, depth);
      case 7: return -expr(type, depth);
      case 8: return load_of(type, depth);
      case 9: return node<FloorDiv>(type, depth);
      case 10: return node<FloorMod>(type, depth);
      case 11: return node<Mod>(type, depth);
      case 12: return expr(type, depth) & expr(type, depth);
      case 13: return expr(type, depth) | ~expr(type, depth);
      case 14: return expr(type, depth) ^ expr(type, depth);
      case 15: return expr(type, depth) << expr(type, depth);
      default: return expr(type, depth) >> expr(type, depth);
    }
  }

  Expr condition(int depth) {
    constexpr DataType types[] = {i32, f32, i64};
    const DataType type = types[pick(3)];
    switch (pick(9)) {
      case 0: return node<LT>(type, depth);
      case 1: return node<LE>(type, depth);
      case 2: return node<GT>(type, depth);
      case 3: return node<GE>(type, depth);
      case 4: return node<EQ>(type, depth);
      case 5: return node<NE>(type, depth);
      case 6: return node<And>(boolean, depth);
      case 7: return node<Or>(boolean, depth);
      default: return make(Not{.a = expr(boolean, depth)});
    }
  }

  Expr load_of(DataType type, int depth) {
    for (const Ptr<Buffer>& buffer : buffers_) {
      if (buffer->dtype == type && flip(60)) return load(buffer, indices(*buffer, depth));
    }
    return leaf(type);
  }

  std::vector<Expr> indices(const Buffer& buffer, int depth) {
    std::vector<Expr> result;
    for (std::size_t i = 0; i < buffer.shape.size(); ++i) result.push_back(expr(i32, depth));
    return result;
  }

  Expr other(DataType type, int depth) {
    switch (pick(8)) {
      case 0:
        return make(Select{.condition = expr(boolean, depth),
                           .true_value = expr(type, depth),
                           .false_value = expr(type, depth)});
      case 1:
        return call(type, op("if_then_else"),
                    {expr(boolean, depth), expr(type, depth), expr(type, depth)});
      case 2: return make(Cast{.value = expr(type == i32 ? f32 : i32, depth)}, type);
      case 3:
        return call(type, op("call_pure_extern"),
                    {string_imm("f"), expr(i32, depth), expr(f32, depth)});
      case 4: {
        const auto variable = var(some_name(), i32);
        const Expr value = expr(i32, depth);
        variables_.push_back(variable);
        const Expr body = expr(type, depth);
        variables_.pop_back();
        return make(Let{.value = value, .var = variable, .body = body});
      }
      case 5:
        if (type.is_float()) return call(op("exp"), {expr(type, depth)});
        return call(op("popcount"), {expr(type, depth)});
      case 6: return call(op("vector_reduce_add"), {vector(type, depth)});
      default:
        return type.is_float() ? call(op("pow"), {expr(type, depth), expr(type, depth)})
                               : leaf(type);
    }
  }

  /// Four lanes.
  Expr vector(DataType type, int depth) {
    if (type == i32 && flip(40)) {
      return make(Ramp{.base = expr(i32, depth), .stride = expr(i32, depth), .lanes = 4});
    }
    if (type == f32 && flip(40)) {
      return load(buffers_[0],
                  {expr(i32, depth),
                   make(Ramp{.base = expr(i32, depth), .stride = 1 + pick(3), .lanes = 4})});
    }
    if (flip(30)) {
      return make(Shuffle{.vectors = {broadcast(expr(type, depth), 2), expr(type, depth)},
                          .indices = {2, 0, 1, 2}});
    }
    return make(Broadcast{.value = expr(type, depth), .lanes = 4});
  }

  Expr expr(DataType type, int depth) {
    if (depth <= 0 || flip(25)) return leaf(type);
    if (type.is_bool()) return condition(depth - 1);
    return flip(70) ? arithmetic(type, depth - 1) : other(type, depth - 1);
  }

  Ref random_attribute(int depth) {
    switch (pick(depth > 0 ? 6 : 4)) {
      case 0: return Expr(pick(10));
      case 1: return Expr(flip(50));
      case 2: return string_imm("a\"b\n");
      case 3: return float_imm(f32, 0.5);
      case 4:
        return make(List{.items = {random_attribute(depth - 1), random_attribute(depth - 1)}});
      default: return make(Dict{.items = {{"key", random_attribute(depth - 1)}}});
    }
  }
  Attrs annotations() { return flip(20) ? Attrs{{"note", random_attribute(2)}} : Attrs(); }

  // ---- Statements ----

  Stmt store_somewhere(int depth) {
    const Ptr<Buffer>& buffer =
        buffers_[static_cast<std::size_t>(pick(static_cast<int>(buffers_.size())))];
    return make(BufferStore{.buffer = buffer,
                            .value = expr(buffer->dtype, depth),
                            .indices = indices(*buffer, depth),
                            .predicate = flip(10) ? expr(boolean, depth) : Expr()});
  }

  Stmt loop(int depth) {
    const DataType type = flip(80) ? i32 : i64;
    For node{.loop_var = var(some_name(), type),
             .min = flip(60) ? zero_of(type) : expr(type, 1),
             .extent = flip(50) ? int_imm(type, 1 + pick(9)) : expr(type, 2),
             .step = flip(70) ? int_imm(type, 1) : int_imm(type, pick(2) ? 3 : -2),
             .kind = static_cast<ForKind>(pick(4)),
             .annotations = annotations()};
    variables_.push_back(node.loop_var);
    node.body = statement(depth);
    variables_.pop_back();
    return make(std::move(node));
  }

  Stmt block(int depth) {
    std::vector<Ptr<IterVar>> axes;
    std::vector<Expr> values;
    const std::size_t outer = variables_.size();
    constexpr IterType types[] = {IterType::data_par, IterType::comm_reduce, IterType::ordered,
                                  IterType::opaque};
    const int count = pick(4);
    for (int i = 0; i < count; ++i) {
      values.push_back(expr(i32, 1));
      axes.push_back(make(IterVar{.dom = range(expr(i32, 1), 1 + pick(9)),
                                  .var = var(some_name()),
                                  .iter_type = types[pick(4)]}));
    }
    for (const auto& axis : axes) variables_.push_back(axis->var);
    Block node{.iter_vars = axes, .name_hint = some_name(), .annotations = annotations()};
    for (int i = pick(3); i > 0; --i) {
      node.reads.push_back(make(BufferRegion{
          .buffer = buffers_[0], .region = {range(expr(i32, 1), 1), range(expr(i32, 1), 4)}}));
    }
    node.writes.push_back(point_region(buffers_[1], {expr(i32, 1)}));
    const std::size_t buffers = buffers_.size();
    if (flip(30)) {
      node.alloc_buffers.push_back(decl_buffer({8}, f32, some_name(), "local"));
      buffers_.push_back(node.alloc_buffers[0]);
    }
    if (flip(30)) node.init = store_somewhere(1);
    node.body = statement(depth);
    buffers_.resize(buffers);
    variables_.resize(outer);
    return make(BlockRealize{.iter_values = values,
                             .predicate = flip(70) ? Expr(true) : expr(boolean, 1),
                             .block = make(std::move(node))});
  }

  Stmt definition(int depth) {
    switch (pick(6)) {
      case 0: {
        const auto variable = var(some_name(), flip(50) ? i32 : f32);
        const Expr value = expr(variable->dtype, 2);
        variables_.push_back(variable);
        Stmt body = statement(depth);
        variables_.pop_back();
        return make(LetStmt{.value = value, .var = variable, .body = body});
      }
      case 1: {
        const auto buffer = decl_buffer({8, 2}, f32, some_name(), flip(50) ? "shared" : "");
        buffers_.push_back(buffer);
        Stmt body = make(DeclBuffer{.buffer = buffer, .body = statement(depth)});
        buffers_.pop_back();
        return make(Allocate{.dtype = f32,
                             .extents = {flip(70) ? 8 : 16, 2},
                             .condition = true,
                             .annotations = annotations(),
                             .buffer_var = buffer->data,
                             .body = body});
      }
      case 2:
        return make(AssertStmt{.condition = make(LT{.a = variables_[0], .b = 3}),
                               .message = string_imm("why"),
                               .body = statement(depth)});
      case 3:
        return make(AttrStmt{.node = string_imm("n"),
                             .attr_key = "pragma_x",
                             .value = expr(i32, 1),
                             .body = statement(depth)});
      case 4: {
        const auto thread = make(IterVar{.dom = range(0, 4),
                                         .var = var(some_name()),
                                         .iter_type = IterType::thread_index,
                                         .thread_tag = "threadIdx.x"});
        variables_.push_back(thread->var);
        Stmt body = statement(depth);
        variables_.pop_back();
        return make(
            AttrStmt{.node = thread, .attr_key = "thread_extent", .value = 4, .body = body});
      }
      default:
        return make(AllocateConst{.dtype = i32,
                                  .extents = {2},
                                  .data = {1, -2},
                                  .buffer_var = pointer_var(some_name(), i32),
                                  .body = statement(depth)});
    }
  }

  Stmt statement(int depth) {
    if (depth <= 0) return store_somewhere(2);
    switch (pick(11)) {
      case 0:
      case 1: return loop(depth - 1);
      case 2: return block(depth - 1);
      case 3:
      case 4: return definition(depth - 1);
      case 5:
      case 6: {
        SeqStmt node;
        for (int i = 2 + pick(2); i > 0; --i) {
          Stmt next = statement(depth - 1);
          if (!next.is<SeqStmt>()) node.seq.push_back(std::move(next));
        }
        return node.seq.size() < 2 ? store_somewhere(1) : Stmt(make(std::move(node)));
      }
      case 7:
        return make(IfThenElse{.condition = expr(boolean, 2),
                               .then_case = statement(depth - 1),
                               .else_case = flip(50) ? statement(depth - 1) : Stmt()});
      case 8:
        return make(
            While{.condition = make(LT{.a = variables_[0], .b = 3}), .body = statement(depth - 1)});
      case 9: {
        const Stmt leaps[] = {make(Break{}), make(Continue{}), make(Return{}),
                              make(Evaluate{.value = expr(i32, 2)}),
                              make(Evaluate{.value = vector(f32, 1)})};
        return leaps[pick(5)];
      }
      default: return store_somewhere(3);
    }
  }

  std::mt19937_64 random_;
  std::vector<Ptr<Var>> variables_;
  std::vector<Ptr<Buffer>> buffers_;
};

TEST(script_fuzz, random_functions_read_back_from_their_text) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Ptr<PrimFunc> func = RandomFunction(seed).run();
    const std::string text = script(func);
    try {
      const Ref again = parse(text, {.name = "fuzz", .check_well_formed = false});
      const auto difference = first_difference(func, again);
      ASSERT_FALSE(difference.has_value()) << "seed " << seed << "\n"
                                           << text << "\n"
                                           << difference->text();
      ASSERT_EQ(script(again), text) << "seed " << seed;
    } catch (const UserError& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << text;
    }
  }
}

/// Damages a text at a few places, as a hurried editor would.
std::string damaged(std::string text, std::mt19937_64& random) {
  constexpr std::string_view pieces[] = {
      "(",     ")",          "[",
      "]",     "{",          "}",
      ":",     ",",          "\n",
      "    ",  "\"",         "'''",
      "\\",    "T.",         "if ",
      "for ",  "with ",      "=",
      "==",    "**",         "0x",
      "1e999", "\xFF",       "f\"{",
      "#",     "lambda x: ", "9223372036854775808",
      "None",  "*",          "T.block",
      "T.Let", "\t",         " as x",
      "-",
  };
  for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
    const std::size_t at = random() % (text.size() + 1);
    const std::size_t length = std::min<std::size_t>(random() % 12, text.size() - at);
    switch (random() % 4) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, pieces[random() % std::size(pieces)]); break;
      case 2: text.insert(random() % (text.size() + 1), text.substr(at, length * 4)); break;
      default: text.resize(std::max<std::size_t>(at, text.size() / 2)); break;
    }
  }
  return text;
}

TEST(script_fuzz, damaged_texts_are_read_or_refused) {
  std::mt19937_64 random(1);
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = script(RandomFunction(seed).run());
    for (int i = 0; i < 60; ++i) {
      const std::string wrong = damaged(text, random);
      try {
        parse(wrong, {.name = "fuzz"});
        ++read;
      } catch (const UserError& error) {
        ++refused;
        ASSERT_EQ(error.kind(), ErrorKind::script) << error.what();
        ASSERT_GE(error.span().line, 1U) << error.what() << "\n" << wrong;
      }
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace loopsmith
