// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/enumerate_test.h"

#include <stdexcept>

namespace loopsmith::testing {
namespace {

class Runner {
 public:
  explicit Runner(const std::map<const Object*, std::int64_t>& sizes) : values_(sizes) {}

  void run(const Stmt& stmt) {
    if (const auto* node = stmt.as<SeqStmt>()) {
      for (std::size_t i = 0; i < node->seq.size(); ++i) {
        steps_.push_back({nullptr, static_cast<std::int64_t>(i)});
        run(node->seq[i]);
        steps_.pop_back();
      }
    } else if (const auto* node = stmt.as<For>()) {
      const std::int64_t min = value(node->min), extent = value(node->extent),
                         step = value(node->step);
      for (std::int64_t t = 0; t < extent; ++t) {
        values_[node->loop_var.get()] = min + t * step;
        steps_.push_back({node->loop_var.get(), t});
        loops_.push_back(node->loop_var.get());
        run(node->body);
        loops_.pop_back();
        steps_.pop_back();
      }
    } else if (const auto* node = stmt.as<IfThenElse>()) {
      const bool holds = value(node->condition) != 0;
      steps_.push_back({nullptr, holds ? 0 : 1});
      if (holds || node->else_case) run(holds ? node->then_case : node->else_case);
      steps_.pop_back();
    } else if (const auto* node = stmt.as<BufferStore>()) {
      load_all(*node, node->value);
      record(*node, *node->buffer, node->indices, true);
    } else {
      throw std::logic_error("a statement that enumeration does not know");
    }
  }

  std::vector<RecordedAccess> take() { return std::move(accesses_); }

 private:
  void load_all(const BufferStore& store, const Expr& expr) {
    if (const auto* load = expr.as<BufferLoad>()) {
      record(store, *load->buffer, load->indices, false);
    } else if (const auto* add = expr.as<Add>()) {
      load_all(store, add->a);
      load_all(store, add->b);
    } else if (const auto* choice = expr.as<Call>(); choice && choice->op == op("if_then_else")) {
      load_all(store, choice->args[value(choice->args[0]) != 0 ? 1 : 2]);
    } else if (!expr.is<FloatImm>()) {
      throw std::logic_error("a value that enumeration does not know");
    }
  }

  void record(const BufferStore& store, const Buffer& buffer, const std::vector<Expr>& indices,
              bool writes) {
    RecordedAccess access{&store, &buffer, {}, writes, steps_, {}};
    for (const Expr& index : indices) access.element.push_back(value(index));
    for (const Object* loop : loops_) access.values.emplace_back(loop, values_[loop]);
    accesses_.push_back(std::move(access));
  }

  std::int64_t value(const Expr& expr) {
    if (const auto* constant = expr.as<IntImm>()) return constant->value;
    if (expr.is<Var>()) return values_.at(expr.get());
    const auto down = [](std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; };
    if (const auto* e = expr.as<Add>()) return value(e->a) + value(e->b);
    if (const auto* e = expr.as<Sub>()) return value(e->a) - value(e->b);
    if (const auto* e = expr.as<Mul>()) return value(e->a) * value(e->b);
    if (const auto* e = expr.as<FloorDiv>()) return down(value(e->a), value(e->b));
    if (const auto* e = expr.as<FloorMod>()) {
      return value(e->a) - value(e->b) * down(value(e->a), value(e->b));
    }
    if (const auto* e = expr.as<Min>()) return std::min(value(e->a), value(e->b));
    if (const auto* e = expr.as<Max>()) return std::max(value(e->a), value(e->b));
    if (const auto* e = expr.as<EQ>()) return value(e->a) == value(e->b);
    if (const auto* e = expr.as<NE>()) return value(e->a) != value(e->b);
    if (const auto* e = expr.as<LT>()) return value(e->a) < value(e->b);
    if (const auto* e = expr.as<LE>()) return value(e->a) <= value(e->b);
    if (const auto* e = expr.as<GE>()) return value(e->a) >= value(e->b);
    if (const auto* e = expr.as<GT>()) return value(e->a) > value(e->b);
    if (const auto* e = expr.as<And>()) return value(e->a) && value(e->b);
    if (const auto* e = expr.as<Or>()) return value(e->a) || value(e->b);
    if (const auto* e = expr.as<Not>()) return !value(e->a);
    throw std::logic_error("an expression that enumeration does not know");
  }

  std::map<const Object*, std::int64_t> values_;
  std::vector<Step> steps_;
  std::vector<const Object*> loops_;
  std::vector<RecordedAccess> accesses_;
};

}  // namespace

std::vector<RecordedAccess> enumerate(const Stmt& root,
                                      const std::map<const Object*, std::int64_t>& sizes) {
  Runner runner(sizes);
  runner.run(root);
  return runner.take();
}

}  // namespace loopsmith::testing
