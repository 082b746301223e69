// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/profile_loops.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// Of expressions and statements that a run of a timed loop evaluates at least.
constexpr double min_evaluations = 8192;
/// What a symbolic extent counts as.
constexpr double typical_extent = 64;

/// How many nodes are evaluated when a statement runs once.
class EvaluationCount {
 public:
  double of(const Ref& node) {
    const auto known = counts_.find(node.get());
    if (known != counts_.end()) return known->second;
    const double count = deep_call([&] { return counted(node); });
    counts_.emplace(node.get(), count);
    return count;
  }

 private:
  double counted(const Ref& node) {
    double inside = 1;
    for_each_child(*node.get(), [&](const Ref& child, Role) {
      if (is_stmt(*child.get()) || is_expr(*child.get())) inside += of(child);
    });
    const auto* loop = node.as<For>();
    if (!loop) return inside;
    const std::int64_t* extent = as_int(loop->extent);
    return inside *
           (extent ? static_cast<double>(std::max<std::int64_t>(*extent, 0)) : typical_extent);
  }

  std::unordered_map<const Object*, double> counts_;
};

/// The statement inside of definitions and marks.
Stmt without_wrappers(Stmt stmt) {
  while (true) {
    if (const auto* let = stmt.as<LetStmt>()) {
      stmt = Stmt(let->body);
    } else if (const auto* allocate = stmt.as<Allocate>()) {
      stmt = Stmt(allocate->body);
    } else if (const auto* decl = stmt.as<DeclBuffer>()) {
      stmt = Stmt(decl->body);
    } else if (const auto* attribute = stmt.as<AttrStmt>()) {
      stmt = Stmt(attribute->body);
    } else {
      return stmt;
    }
  }
}

}  // namespace

Ptr<PrimFunc> profile_loops(const Ptr<PrimFunc>& func) {
  std::int32_t count = 0;
  EvaluationCount evaluations;
  std::unordered_set<const Object*> same_as_outer;
  const auto timed = [&](std::int32_t number, Stmt body) -> Stmt {
    return make(AttrStmt{.node = string_imm(func->name()),
                         .attr_key = std::string(profile_key),
                         .value = int_imm(i32, number),
                         .body = std::move(body)});
  };
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ref self(&loop);
    const bool is_timed = !same_as_outer.contains(&loop) && evaluations.of(self) >= min_evaluations;
    const std::int32_t number = is_timed ? ++count : 0;
    if (loop.kind != ForKind::parallel && (is_timed || same_as_outer.contains(&loop))) {
      same_as_outer.insert(without_wrappers(loop.body).get());
    }
    const Ptr<For> inner = rewrite.children(loop);
    return is_timed ? timed(number, inner) : Stmt(inner);
  });
  PrimFunc made = *func;
  made.body = timed(0, rewrite(func->body));
  return make(std::move(made));
}

}  // namespace loopsmith
