// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/testing/programs.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <random>

#include "loopsmith/ir/operators.h"

namespace loopsmith::testing {
namespace {

/// A loop to be, outermost first in a nest.
struct Loop {
  Ptr<Var> var;
  Expr min, extent;
  ForKind kind = ForKind::serial;
  bool reduces = false;
};

/// An axis of a block with the value that its loops give it.
struct Axis {
  Ptr<IterVar> axis;
  Expr value;
};

/// What a stage writes and how.
struct Stage {
  Ptr<Buffer> output;
  std::vector<Expr> extents;  ///< Of the spatial axes, then of the reduction axis if there is one.
  int spatial = 2;
  /// The element at the axes; of a reduction, what is combined.
  std::function<Expr(const std::vector<Expr>&)> value;
  bool is_max = false;
  bool has_if = false;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  Program run();

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool flip(int percent) { return pick(100) < percent; }
  Expr size(const char* name, std::int64_t& value);
  Ptr<Buffer> parameter(const char* name, std::vector<Expr> shape, std::vector<std::int64_t> sizes);

  Stage stage(const Ptr<Buffer>& input, const Ptr<Buffer>& output);
  Stmt nest(const Stage& stage, const Expr& first_row, const Expr& rows);
  Stmt leaf(const Stage& stage, const std::vector<Axis>& axes, const Expr& predicate);
  Stmt wrap(std::vector<Loop> loops, Stmt body);
  Expr split(const Expr& extent, const std::string& name, bool reduces, bool may_vectorize,
             std::vector<Loop>& loops, Expr& predicate);

  std::mt19937_64 random_;
  DataType index_ = i32;
  Expr n_, m_;
  std::int64_t n_value_ = 0, m_value_ = 0;
  Ptr<Buffer> a_, w_;
  Program program_;
  std::vector<Ptr<Var>> params_;
  std::vector<Ptr<Buffer>> buffers_;
};

Expr Generator::size(const char* name, std::int64_t& value) {
  value = 1 + pick(flip(15) ? 20 : 7);
  return flip(50) ? Expr(size_var(name, index_)) : int_imm(index_, value);
}

Ptr<Buffer> Generator::parameter(const char* name, std::vector<Expr> shape,
                                 std::vector<std::int64_t> sizes) {
  TestArgument argument{.shape = sizes};
  std::int64_t count = 1;
  for (const std::int64_t extent : sizes) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) argument.elements.push_back(pick(7) - 3);
  program_.arguments.push_back(std::move(argument));
  params_.push_back(var(name, handle_type));
  buffers_.push_back(decl_buffer(std::move(shape), f32, name));
  return buffers_.back();
}

/// A stage that reads `input`, of which column and row are n x m.
Stage Generator::stage(const Ptr<Buffer>& input, const Ptr<Buffer>& output) {
  Stage result{.output = output, .extents = {n_, m_}};
  const auto in = [=](const Expr& i, const Expr& j) { return load(input, {i, j}); };
  const Ptr<Buffer> a = a_, w = w_;
  const Expr m = m_, one = int_imm(index_, 1), zero = int_imm(index_, 0);
  switch (pick(7)) {
    case 0:
      result.value = [=](const auto& x) { return in(x[0], x[1]) + load(a, {x[0], x[1]}); };
      break;
    case 1:
      result.value = [=](const auto& x) {
        return if_then_else(one <= x[1] && x[1] < m - one,
                            in(x[0], x[1] - one) + in(x[0], x[1] + one), in(x[0], x[1]));
      };
      break;
    case 2:
      result.value = [=](const auto& x) {
        return in(x[0], max(x[1] - one, zero)) - in(x[0], min(x[1] + one, m - one));
      };
      break;
    case 3:
      result.value = [=](const auto& x) { return in(x[0], m - one - x[1]); };
      result.has_if = true;
      break;
    case 4:  // A sum or the largest over a row, for each element of the row.
    case 5:
      result.extents.push_back(m_);
      result.is_max = flip(50);
      result.value = [=](const auto& x) { return in(x[0], x[2]); };
      break;
    default:
      result.extents.push_back(m_);
      result.value = [=](const auto& x) { return in(x[0], x[2]) * load(w, {x[2], x[1]}); };
  }
  return result;
}

Stmt Generator::leaf(const Stage& stage, const std::vector<Axis>& axes, const Expr& predicate) {
  std::vector<Expr> at;
  Block block{.name_hint = stage.output->name};
  BlockRealize realize{.predicate = predicate};
  for (const Axis& axis : axes) {
    at.push_back(axis.axis->var);
    block.iter_vars.push_back(axis.axis);
    realize.iter_values.push_back(axis.value);
  }
  const std::vector<Expr> element(at.begin(), at.begin() + stage.spatial);
  const Expr value = stage.value(at);
  block.writes = {point_region(stage.output, element)};
  if (at.size() > element.size()) {
    const Expr old = load(stage.output, element);
    block.init = store(stage.output, float_imm(f32, stage.is_max ? -1000 : 0), element);
    block.body = store(stage.output, stage.is_max ? max(old, value) : old + value, element);
  } else if (stage.has_if) {
    block.body =
        make(IfThenElse{.condition = load(a_, element) > float_imm(f32, 0),
                        .then_case = store(stage.output, value, element),
                        .else_case = store(stage.output, value * float_imm(f32, 2), element)});
  } else {
    block.body = store(stage.output, value, element);
  }
  realize.block = make(std::move(block));
  return make(std::move(realize));
}

Stmt Generator::wrap(std::vector<Loop> loops, Stmt body) {
  for (std::size_t i = loops.size(); i-- > 0;) {
    body = for_loop(loops[i].var, loops[i].min, loops[i].extent, body, loops[i].kind);
  }
  return body;
}

/// The value of an axis of `extent`, by one loop or two.
Expr Generator::split(const Expr& extent, const std::string& name, bool reduces, bool may_vectorize,
                      std::vector<Loop>& loops, Expr& predicate) {
  const Expr zero = int_imm(index_, 0);
  if (flip(40)) {
    loops.push_back({var(name, index_), zero, extent, ForKind::serial, reduces});
    const bool is_constant = as_int(extent);
    if (may_vectorize && flip(25) && (is_constant || flip(30))) {
      loops.back().kind = ForKind::vectorized;
    }
    return loops.back().var;
  }
  static constexpr int factors[] = {1, 2, 3, 4, 8, 16};
  const Expr factor = int_imm(index_, factors[pick(6)]);
  const Ptr<Var> outer = var(name + "o", index_), inner = var(name + "i", index_);
  loops.push_back({outer, zero, ceildiv(extent, factor), ForKind::serial, reduces});
  loops.push_back({inner, zero, factor, ForKind::serial, reduces});
  if (flip(30)) loops.back().kind = ForKind::unrolled;
  if (may_vectorize && flip(60)) loops.back().kind = ForKind::vectorized;
  const Expr value = outer * factor + inner;
  const Expr rest = floormod(extent, factor);
  if (!is_const_int(rest, 0)) predicate = predicate && value < extent;
  return value;
}

/// The loops of a stage over `rows` rows from `first_row` on.
Stmt Generator::nest(const Stage& stage, const Expr& first_row, const Expr& rows) {
  std::vector<Loop> loops;
  std::vector<Axis> axes;
  Expr predicate = true;
  const bool row_is_all = is_const_int(first_row, 0);
  for (std::size_t d = 0; d < stage.extents.size(); ++d) {
    const bool reduces = static_cast<int>(d) >= stage.spatial;
    const std::string name = d == 0 ? "i" : d == 1 ? "j" : "k";
    const Expr extent = d == 0 ? rows : stage.extents[d];
    Expr value = split(extent, name, reduces, d > 0, loops, predicate);
    if (d == 0 && !row_is_all) {
      value = first_row + value;
      predicate = predicate && value < stage.extents[0];
      predicate = int_imm(index_, 0) <= value && predicate;
    }
    Ptr<IterVar> axis =
        make(IterVar{.dom = range(int_imm(index_, 0), stage.extents[d]),
                     .var = var(fmt::format("v{}", name), index_),
                     .iter_type = reduces ? IterType::comm_reduce : IterType::data_par});
    axes.push_back({axis, value});
  }
  // Vectors stay inside; the rest may stand in any order that keeps a sum's init before it.
  std::stable_partition(loops.begin(), loops.end(),
                        [](const Loop& l) { return l.kind != ForKind::vectorized; });
  const auto plain = std::find_if(loops.begin(), loops.end(),
                                  [](const Loop& l) { return l.kind == ForKind::vectorized; });
  if (flip(50)) std::shuffle(loops.begin(), plain, random_);
  if (row_is_all && flip(30) && !loops[0].reduces && loops[0].kind == ForKind::serial) {
    loops[0].kind = ForKind::parallel;
  }
  return wrap(loops, leaf(stage, axes, predicate));
}

Program Generator::run() {
  index_ = flip(70) ? i32 : i64;
  n_ = size("n", n_value_);
  m_ = size("m", m_value_);
  a_ = parameter("A", {n_, m_}, {n_value_, m_value_});
  w_ = parameter("W", {m_, m_}, {m_value_, m_value_});
  const Ptr<Buffer> output = parameter("C", {n_, m_}, {n_value_, m_value_});

  const int count = 1 + pick(3);
  std::vector<Stage> stages;
  std::vector<Ptr<Buffer>> temporaries;
  Ptr<Buffer> input = a_;
  for (int s = 0; s < count; ++s) {
    Ptr<Buffer> target = output;
    if (s + 1 < count) {
      target = decl_buffer({n_, m_}, f32, fmt::format("T{}", s));
      temporaries.push_back(target);
    }
    stages.push_back(stage(input, target));
    input = target;
  }

  const Expr zero = int_imm(index_, 0);
  std::vector<Stmt> statements;
  if (count > 1 && flip(50)) {
    // All stages tile by tile: every one reads rows of its own only.
    const Expr rows = int_imm(index_, 1 + pick(4));
    const Ptr<Var> tile = var("tile", index_);
    std::vector<Stmt> inner;
    for (const Stage& each : stages) {
      inner.push_back(nest(each, tile * rows + zero, rows));
    }
    statements.push_back(for_loop(tile, zero, ceildiv(n_, rows), seq(inner),
                                  flip(40) ? ForKind::parallel : ForKind::serial));
  } else {
    for (const Stage& each : stages) statements.push_back(nest(each, zero, each.extents[0]));
  }

  Ptr<Block> root =
      make(Block{.name_hint = "root", .alloc_buffers = temporaries, .body = seq(statements)});
  program_.func = make(PrimFunc{
      .params = params_, .buffer_map = buffers_, .body = make(BlockRealize{.block = root})});
  return std::move(program_);
}

}  // namespace

Program random_program(std::uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace loopsmith::testing
