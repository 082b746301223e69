// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/changed_part.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/jumps.h"

namespace loopsmith {
namespace {

bool is_same(const Expr& a, const Expr& b) {
  return a.same_as(b) || (a.defined() && b.defined() && structural_equal(a, b));
}

std::vector<Stmt> statements_of(const Stmt& statement) {
  if (const auto* sequence = statement.as<SeqStmt>()) {
    return {sequence->seq.begin(), sequence->seq.end()};
  }
  return {statement};
}

bool loads_or_calls(const Expr& expr) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || ref.is<BufferLoad>() || ref.is<Call>();
    return !found;
  });
  return found;
}

/// Goes into a part as long as both versions have the same around what differs.
class Descent {
 public:
  Descent(const Stmt& before, const Stmt& after) : part_{before, after, true} {}

  std::optional<ChangedPart> run() {
    bool is_smaller = false;
    while (take_sequence() || take_loop() || take_condition()) is_smaller = true;
    if (!is_smaller || jump_out_of(part_.before) || jump_out_of(part_.after)) return {};
    return std::move(part_);
  }

 private:
  /// Takes away what stands before and after in both; true when that is something, and what differs
  /// has statements in both versions.
  bool take_sequence() {
    const std::vector<Stmt> old = statements_of(part_.before), now = statements_of(part_.after);
    const std::size_t least = std::min(old.size(), now.size());
    std::size_t first = 0, last = 0;
    while (first < least && old[first].same_as(now[first])) ++first;
    while (last < least - first && old.rbegin()[last].same_as(now.rbegin()[last])) ++last;
    if (first + last == 0 || first + last == least) return false;
    const auto middle = [&](const std::vector<Stmt>& all) {
      return seq({all.begin() + first, all.end() - last});
    };
    part_.before = middle(old);
    part_.after = middle(now);
    return true;
  }

  bool take_loop() {
    const auto *old = part_.before.as<For>(), *now = part_.after.as<For>();
    if (!old || !now || !old->loop_var.same_as(now->loop_var)) return false;
    const bool is_same_loop = is_same(old->min, now->min) && is_same(old->extent, now->extent) &&
                              is_same(old->step, now->step) && !loads_or_calls(old->min) &&
                              !loads_or_calls(old->extent) && is_const_int(old->step, 1);
    if (!is_same_loop) return false;
    part_.is_repeated = true;
    learn(old->loop_var >= old->min);
    learn(old->loop_var < old->min + old->extent);
    part_.before = Stmt(old->body);
    part_.after = Stmt(now->body);
    return true;
  }

  bool take_condition() {
    const auto *old = part_.before.as<IfThenElse>(), *now = part_.after.as<IfThenElse>();
    if (!old || !now || old->else_case || now->else_case) return false;
    if (!is_same(old->condition, now->condition) || loads_or_calls(old->condition)) return false;
    learn(old->condition);
    part_.before = Stmt(old->then_case);
    part_.after = Stmt(now->then_case);
    return true;
  }

  void learn(const Expr& condition) {
    part_.known = is_const_int(part_.known, 1) ? condition : part_.known && condition;
  }

  ChangedPart part_;
};

/// Adds the memory that a program accesses, but for what it does inside of some statements.
void add_memory(const Stmt& program, const std::vector<Stmt>& inside,
                std::unordered_set<const Object*>& memory) {
  pre_order_visit(program, [&](const Ref& ref) {
    const bool is_inside =
        std::ranges::any_of(inside, [&](const Stmt& each) { return ref.same_as(each); });
    if (const auto* buffer = ref.as<Buffer>()) memory.insert(buffer->data.get());
    if (ref.is<Var>()) memory.insert(ref.get());
    return !is_inside;
  });
}

}  // namespace

std::optional<ChangedPart> changed_part(const Stmt& before, const Stmt& after) {
  if (!before.defined() || !after.defined()) return {};
  return Descent(before, after).run();
}

std::vector<Ptr<Buffer>> used_in_part_alone(std::span<const Ptr<Buffer>> buffers,
                                            const ChangedPart& part, const Stmt& before,
                                            const Stmt& after) {
  std::unordered_set<const Object*> outside;
  add_memory(before, part.is_repeated ? std::vector<Stmt>{} : statements_of(part.before), outside);
  add_memory(after, statements_of(part.after), outside);
  std::vector<Ptr<Buffer>> alone;
  for (const Ptr<Buffer>& buffer : buffers) {
    if (!outside.contains(buffer->data.get())) alone.push_back(buffer);
  }
  return alone;
}

}  // namespace loopsmith
