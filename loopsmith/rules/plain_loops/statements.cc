// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/statements.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::plain_loops {
namespace {

constexpr std::int64_t page_bytes = 4096;
/// What a size is taken for that is known at run time only.
constexpr double guessed_size = 1000;
/// A division, a root or a function, in additions.
constexpr double slow_operation = 8;

bool is_slow(const Ref& node) {
  const auto* call = node.as<Call>();
  if (call) return call->op != op("if_then_else") && call->op != op("likely");
  return node.is<Div>() || node.is<FloorDiv>() || node.is<Mod>() || node.is<FloorMod>();
}

bool is_arithmetic(const Ref& node) {
  return node.is<Add>() || node.is<Sub>() || node.is<Mul>() || node.is<Min>() || node.is<Max>() ||
         node.is<Select>() || node.is<Call>() || is_slow(node);
}

/// What is added to an index when `variable` grows by 1; nullopt where that is not one number.
std::optional<std::int64_t> coefficient(const Expr& index, const Ptr<Var>& variable) {
  if (index.is<Var>()) return index.same_as(variable) ? 1 : 0;
  if (index.is<IntImm>()) return 0;
  if (const auto* sum = index.as<Add>()) {
    const auto a = coefficient(sum->a, variable), b = coefficient(sum->b, variable);
    if (a && b) return *a + *b;
    return {};
  }
  if (const auto* difference = index.as<Sub>()) {
    const auto a = coefficient(difference->a, variable), b = coefficient(difference->b, variable);
    if (a && b) return *a - *b;
    return {};
  }
  if (const auto* cast = index.as<Cast>()) return coefficient(cast->value, variable);
  if (const auto* product = index.as<Mul>()) {
    const std::int64_t *left = as_int(product->a), *right = as_int(product->b);
    if (left || right) {
      const auto inner = coefficient(left ? product->b : product->a, variable);
      if (inner) return *inner * (left ? *left : *right);
      return {};
    }
  }
  if (uses_variable(index, variable)) return {};
  return 0;
}

/// The stores of a tree, with what stands around each.
class Collector {
 public:
  std::vector<Statement> found;

  void visit(const Stmt& stmt) {
    deep_call([&] {
      if (const auto* loop = stmt.as<For>()) {
        loops_.push_back(loop);
        visit(loop->body);
        loops_.pop_back();
      } else if (const auto* sequence = stmt.as<SeqStmt>()) {
        for (const Stmt& each : sequence->seq) visit(each);
      } else if (const auto* branch = stmt.as<IfThenElse>()) {
        if (const Stmt update = selected_update(*branch)) return visit(update);
        around_.emplace_back(branch->condition);
        ++conditions_;
        visit(branch->then_case);
        if (branch->else_case) visit(branch->else_case);
        --conditions_;
        around_.pop_back();
      } else if (const auto* let = stmt.as<LetStmt>()) {
        around_.emplace_back(let->value);
        visit(let->body);
        around_.pop_back();
      } else if (const auto* store = stmt.as<BufferStore>()) {
        add(*store);
      } else {
        for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
          if (role == Role::binds) return;
          if (const Stmt inner = Stmt::from(child)) visit(inner);
        });
      }
    });
  }

 private:
  void add(const BufferStore& store) {
    Statement statement{.store = Ptr<BufferStore>(&store),
                        .loops = loops_,
                        .references = {{store.buffer, store.indices, true}},
                        .is_accumulation = accumulation_of(store).has_value(),
                        .is_conditional = conditions_ > 0};
    const auto read = [&](const Expr& value, bool counts) {
      pre_order_visit(value, [&](const Ref& node) {
        if (counts && is_arithmetic(node))
          statement.operations += is_slow(node) ? slow_operation : 1;
        const auto* load = node.as<BufferLoad>();
        if (load) add_load(statement, *load);
        return !load;  // What an index does is done by addresses.
      });
    };
    read(store.value, true);
    for (const Expr& each : around_) read(each, true);
    found.push_back(std::move(statement));
  }

  static void add_load(Statement& statement, const BufferLoad& load) {
    const auto is_it = [&](const Reference& other) {
      return other.buffer.same_as(load.buffer) && are_same_indices(other.indices, load.indices) &&
             !other.is_store;
    };
    if (std::ranges::any_of(statement.references, is_it)) return;
    statement.references.push_back({load.buffer, load.indices, false});
  }

  std::vector<const For*> loops_;
  std::vector<Expr> around_;  // Conditions and named values that the next statements are inside of.
  int conditions_ = 0;
};

/// The value of an expression of sizes and loops, about.
double estimate(const Expr& expr, const std::unordered_map<const Object*, double>& middle) {
  if (const std::int64_t* number = as_int(expr)) return static_cast<double>(*number);
  if (expr.is<Var>()) {
    const auto found = middle.find(expr.get());
    return found == middle.end() ? guessed_size : found->second;
  }
  if (const auto* n = expr.as<Add>()) return estimate(n->a, middle) + estimate(n->b, middle);
  if (const auto* n = expr.as<Sub>()) return estimate(n->a, middle) - estimate(n->b, middle);
  if (const auto* n = expr.as<Mul>()) return estimate(n->a, middle) * estimate(n->b, middle);
  if (const auto* n = expr.as<Min>())
    return std::min(estimate(n->a, middle), estimate(n->b, middle));
  if (const auto* n = expr.as<Max>())
    return std::max(estimate(n->a, middle), estimate(n->b, middle));
  if (const auto* n = expr.as<Cast>()) return estimate(n->value, middle);
  if (const auto* n = expr.as<FloorDiv>())
    return estimate(n->a, middle) / std::max(estimate(n->b, middle), 1.0);
  return guessed_size;
}

}  // namespace

std::vector<Statement> statements_in(const Stmt& root) {
  Collector collector;
  collector.visit(root);
  return std::move(collector.found);
}

Motion motion_of(const Reference& reference, const For& loop) {
  const Buffer& buffer = *reference.buffer;
  const std::int64_t element = std::max<std::int64_t>(buffer.dtype.bytes(), 1);
  const std::int64_t* step = as_int(loop.step);
  std::int64_t elements = 0, weight = 1;
  bool is_known = true, moves = false;
  for (std::size_t d = buffer.shape.size(); d-- > 0;) {
    const auto factor = coefficient(reference.indices[d], loop.loop_var);
    if (!factor) return {Motion::Kind::irregular, page_bytes};
    if (!buffer.strides.empty()) {
      const std::int64_t* stride = as_int(buffer.strides[d]);
      is_known = is_known && (stride || *factor == 0);
      weight = stride ? *stride : 1;
    }
    moves = moves || *factor != 0;
    is_known = is_known && (weight != 0 || *factor == 0);
    elements += *factor * weight;
    const std::int64_t* extent = as_int(buffer.shape[d]);
    weight = extent ? weight * *extent : 0;  // 0: unknown from here on.
  }
  if (!moves) return {};
  if (!is_known || !step) return {Motion::Kind::strided, page_bytes};
  const std::int64_t distance = elements * *step;
  if (distance == 0) return {};
  return {std::abs(distance) == 1 ? Motion::Kind::contiguous : Motion::Kind::strided,
          std::abs(distance) * element};
}

double trip_count(const For& loop, const std::vector<const For*>& around) {
  std::unordered_map<const Object*, double> middle;
  for (const For* each : around) {
    const double first = estimate(each->min, middle);
    const double step = estimate(each->step, middle);
    middle[each->loop_var.get()] = first + step * estimate(each->extent, middle) / 2;
  }
  return std::max(estimate(loop.extent, middle), 0.0);
}

double trip_count(const std::vector<const For*>& nest) {
  double count = 1;
  std::vector<const For*> around;
  for (const For* loop : nest) {
    count *= trip_count(*loop, around);
    around.push_back(loop);
  }
  return count;
}

}  // namespace loopsmith::plain_loops
