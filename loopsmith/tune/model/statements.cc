// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/statements.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <unordered_set>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/tune/model/index_value.h"

namespace loopsmith::tune {
namespace {

constexpr std::string_view last_pass = "flatten_buffers";
constexpr std::int64_t max_samples = 48;
constexpr std::size_t max_statements = 4096;

Ptr<PrimFunc> flattened(Ptr<PrimFunc> func, const LowerOptions& options) {
  for (const Pass& pass : lowering_passes()) {
    func = pass.run(func, options);
    if (pass.name == last_pass) break;
  }
  return func;
}

bool is_simple_operation(const Ref& ref) {
  return ref.is<Add>() || ref.is<Sub>() || ref.is<Mul>() || ref.is<Min>() || ref.is<Max>() ||
         ref.is<Select>() || ref.is<Cast>();
}

Operations operations_of(const Expr& value) {
  Operations found;
  double sums = 0;
  double products = 0;
  pre_order_visit(value, [&](const Ref& ref) {
    if (ref.is<BufferLoad>()) return false;
    if (ref.is<Add>() || ref.is<Sub>()) ++sums;
    if (ref.is<Mul>()) ++products;
    if (is_simple_operation(ref)) ++found.simple;
    if (ref.is<Div>()) ++found.divisions;
    if (const auto* call = ref.as<Call>()) {
      const bool is_root = call->op == op("sqrt") || call->op == op("rsqrt");
      const bool is_choice = call->op == op("if_then_else");
      (is_root ? found.divisions : is_choice ? found.simple : found.functions) += 1;
    }
    return true;
  });
  found.simple -= std::min(sums, products);
  return found;
}

/// Walks a flat function and takes note of each store.
class Collector {
 public:
  explicit Collector(const PrimFunc& func) {
    for (const Ptr<Buffer>& buffer : func.buffer_map) {
      if (buffer) parameters_.insert(buffer->data.get());
    }
  }

  void visit(const Stmt& stmt) {
    if (!stmt.defined() || found_.size() >= max_statements) return;
    if (const auto* loop = stmt.as<For>()) return visit_loop(*loop);
    if (const auto* store = stmt.as<BufferStore>()) return visit_store(*store);
    if (const auto* evaluated = stmt.as<Evaluate>()) return visit_call(evaluated->value);
    if (const auto* branch = stmt.as<IfThenElse>()) {
      conditions_.push_back(branch->condition);
      visit(branch->then_case);
      visit(branch->else_case);
      conditions_.pop_back();
      return;
    }
    if (const auto* let = stmt.as<LetStmt>()) {
      assignment_.names.emplace_back(let->var.get(), let->value);
      visit(let->body);
      assignment_.names.pop_back();
      return;
    }
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      if (is_stmt(*child.get())) visit(Stmt::from(child));
    });
  }

  std::vector<Statement> found() && { return std::move(found_); }

 private:
  void visit_loop(const For& loop) {
    const double extent = static_cast<double>(
        std::max<std::int64_t>(value_of(loop.extent, assignment_).value_or(assignment_.size), 1));
    const std::int64_t first = value_of(loop.min, assignment_).value_or(0);
    const bool is_alone = value_of(parallel_condition(loop), assignment_) == 0;
    const ForKind kind = is_alone ? ForKind::serial : loop.kind;
    loops_.push_back({loop.loop_var.get(), kind, extent});
    firsts_.push_back(first);
    // Bounds further inside are those of an iteration in the middle.
    assignment_.numbers.emplace_back(loop.loop_var.get(),
                                     first + static_cast<std::int64_t>(extent / 2));
    visit(loop.body);
    assignment_.numbers.pop_back();
    firsts_.pop_back();
    loops_.pop_back();
  }

  void visit_store(const BufferStore& store) {
    Statement statement{loops_, {}, operations_of(store.value), store.value.dtype().bytes()};
    for (const Expr& condition : conditions_) {
      const bool is_innermost = !loops_.empty() && moves(condition, loops_.back().variable);
      statement.operations.conditions += is_innermost ? 1 : 0;
      statement.guarded = std::max(statement.guarded, loops_deciding(condition));
    }
    add_access(statement, store.buffer, store.indices, true, false);
    const auto add_loads = [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        const bool is_same = load->buffer.get() == store.buffer.get() &&
                             are_same_indices(load->indices, store.indices);
        if (is_same) statement.accesses.front().is_accumulator = true;
        add_access(statement, load->buffer, load->indices, false, is_same);
        if (load->buffer.get() == store.buffer.get() && !is_same) {
          statement.accesses.back().carried =
              loops_carrying(store.indices.back(), load->indices.back());
        }
      }
      return true;
    };
    pre_order_visit(store.value, add_loads);
    found_.push_back(std::move(statement));
  }

  /// Of an intrinsic: it counts as some operations on what the model does not see.
  void visit_call(const Expr& value) {
    if (!value.is<Call>()) return;
    Statement statement{loops_, {}, {}, 4};
    statement.operations.simple = 4;
    found_.push_back(std::move(statement));
  }

  /// How many loops there are up to the innermost one that a condition depends on.
  std::size_t loops_deciding(const Expr& condition) const {
    std::size_t depth = loops_.size();
    while (depth > 0 &&
           (loops_[depth - 1].extent <= 1 || !moves(condition, loops_[depth - 1].variable))) {
      --depth;
    }
    return depth;
  }

  static bool moves(const Expr& expr, const Object* variable) {
    bool is_used = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      is_used = is_used || ref.get() == variable;
      return !is_used;
    });
    return is_used;
  }

  void add_access(Statement& statement, const Ptr<Buffer>& buffer, const std::vector<Expr>& indices,
                  bool is_store, bool is_accumulator) {
    Access access;
    access.buffer = buffer->data.get();
    access.is_store = is_store;
    access.is_parameter = parameters_.contains(buffer->data.get());
    access.is_accumulator = is_accumulator;
    access.bytes = std::max(buffer->dtype.bytes(), 1);
    access.buffer_bytes = access.bytes;
    for (const Expr& extent : buffer->shape) {
      access.buffer_bytes *=
          static_cast<double>(std::max<std::int64_t>(value_of(extent, assignment_).value_or(1), 1));
    }
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      access.motions.push_back(motion_of(indices.back(), i));
    }
    statement.accesses.push_back(std::move(access));
  }

  /// Which loops load by one index what their iteration before has stored by the other: the first
  /// iteration of loops inside, what was stored in the same or in the last of them.
  std::vector<bool> loops_carrying(const Expr& stored, const Expr& loaded) {
    std::vector<bool> carrying(loops_.size());
    Assignment before = assignment_;
    for (std::size_t i = 0; i < loops_.size(); ++i) before.numbers[i].second = firsts_[i];
    Assignment last = before;
    for (std::size_t loop = loops_.size(); loop-- > 0;) {
      Assignment next = before;
      ++next.numbers[loop].second;
      const auto value = value_of(loaded, next);
      carrying[loop] = value && loops_[loop].extent > 1 &&
                       (value == value_of(stored, before) || value == value_of(stored, last));
      last.numbers[loop].second += static_cast<std::int64_t>(loops_[loop].extent) - 1;
    }
    return carrying;
  }

  /// How an index moves with a loop, from its values in some iterations.
  Motion motion_of(const Expr& index, std::size_t loop) {
    if (!moves(index, loops_[loop].variable)) return {};
    const auto extent = static_cast<std::int64_t>(loops_[loop].extent);
    const auto value_at = [&](std::int64_t iteration) {
      Assignment here = assignment_;
      here.numbers[loop].second = firsts_[loop] + iteration;
      return value_of(index, here);
    };
    const auto first = value_at(0);
    const auto second = value_at(1);
    if (!first || !second) return {0, static_cast<double>(extent), false, false};
    const std::int64_t stride = *second - *first;
    const auto last = value_at(extent - 1);
    const auto middle = value_at(extent / 2);
    if (last && middle && *last - *first == stride * (extent - 1) &&
        *middle - *first == stride * (extent / 2)) {
      return {stride, stride == 0 ? 1.0 : static_cast<double>(extent), true};
    }
    return sampled(value_at, extent, stride);
  }

  /// The motion of an index that is not linear: that of a fused loop, say.
  template <class ValueAt>
  static Motion sampled(const ValueAt& value_at, std::int64_t extent, std::int64_t stride) {
    const std::int64_t count = std::min(extent, max_samples);
    std::set<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      // Half of the samples are neighbours, the others are spread over the loop.
      const std::int64_t iteration = i < count / 2 ? i : i * (extent - 1) / (count - 1);
      const auto value = value_at(iteration);
      if (!value) return {0, static_cast<double>(extent), false, false};
      values.insert(*value);
    }
    const double share = static_cast<double>(values.size()) / static_cast<double>(count);
    return {stride, std::max(share * static_cast<double>(extent), 1.0), true, false};
  }

  std::unordered_set<const Object*> parameters_;
  std::vector<NestLoop> loops_;
  std::vector<std::int64_t> firsts_;
  std::vector<Expr> conditions_;
  Assignment assignment_;
  std::vector<Statement> found_;
};

}  // namespace

std::vector<Statement> statements_of(const Ptr<PrimFunc>& func, const LowerOptions& options) {
  const Ptr<PrimFunc> flat = flattened(func, options);
  Collector collector(*flat);
  collector.visit(flat->body);
  return std::move(collector).found();
}

}  // namespace loopsmith::tune
