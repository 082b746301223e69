// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/statements.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::plain_loops {
namespace {

constexpr std::int64_t page_bytes = 4096;
/// What a number of iterations is taken for that is in memory, as of rows of a sparse matrix.
constexpr double length_in_memory = 8;
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

/// The values of expressions of sizes and loops, about.
struct Estimates {
  double unknown_size;
  std::unordered_map<const Object*, double> known;  // Of loops: what is in the middle.

  double of(const Expr& expr) const {
    if (const std::int64_t* number = as_int(expr)) return static_cast<double>(*number);
    if (const auto found = known.find(expr.get()); found != known.end()) return found->second;
    if (const auto* n = expr.as<Add>()) return of(n->a) + of(n->b);
    if (const auto* n = expr.as<Sub>()) return of(n->a) - of(n->b);
    if (const auto* n = expr.as<Mul>()) return of(n->a) * of(n->b);
    if (const auto* n = expr.as<Min>()) return std::min(of(n->a), of(n->b));
    if (const auto* n = expr.as<Max>()) return std::max(of(n->a), of(n->b));
    if (const auto* n = expr.as<Cast>()) return of(n->value);
    if (const auto* n = expr.as<FloorDiv>()) return of(n->a) / std::max(of(n->b), 1.0);
    return unknown_size;
  }
};

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

double trip_count(const For& loop, const std::vector<const For*>& around, const Machine& machine) {
  Estimates estimates{machine.unknown_size};
  for (const For* each : around) {
    const double first = estimates.of(each->min), step = estimates.of(each->step);
    estimates.known[each->loop_var.get()] = first + step * estimates.of(each->extent) / 2;
  }
  if (reads_memory(loop.extent)) return length_in_memory;
  return std::max(estimates.of(loop.extent), 0.0);
}

double executions(const std::vector<const For*>& loops, std::vector<const For*> around,
                  const Machine& machine) {
  double count = 1;
  for (const For* each : loops) {
    count *= trip_count(*each, around, machine);
    around.push_back(each);
  }
  return count;
}

}  // namespace loopsmith::plain_loops
