// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_continue.h"

#include <optional>
#include <utility>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// What is left of statements without `continue`.
struct Straight {
  Stmt stmt;
  bool is_left = false;  ///< Nothing that follows runs: each way through it ends in a `continue`.
};

std::vector<Stmt> statements_of(const Stmt& stmt) {
  if (const auto* seq = stmt.as<SeqStmt>()) return seq->seq;
  return {stmt};
}

/// What runs once inside of a definition, memory or a check; nothing for other statements.
std::optional<Stmt> inside_of(const Stmt& stmt) {
  if (const auto* let = stmt.as<LetStmt>()) return let->body;
  if (const auto* attribute = stmt.as<AttrStmt>()) return attribute->body;
  if (const auto* allocate = stmt.as<Allocate>()) return allocate->body;
  if (const auto* constant = stmt.as<AllocateConst>()) return constant->body;
  if (const auto* decl = stmt.as<DeclBuffer>()) return decl->body;
  if (const auto* assertion = stmt.as<AssertStmt>()) return assertion->body;
  return {};
}

Straight straightened(std::vector<Stmt> statements);

Stmt followed_by(const Stmt& stmt, const std::vector<Stmt>& rest) {
  std::vector<Stmt> all = statements_of(stmt);
  all.insert(all.end(), rest.begin(), rest.end());
  return seq(std::move(all));
}

/// `branch`, one side of which may end in a `continue`, and what follows it.
Straight branch_before(const IfThenElse& branch, const std::vector<Stmt>& rest) {
  const Stmt otherwise = branch.else_case ? branch.else_case : no_op();
  const Straight first = straightened(statements_of(branch.then_case));
  const Straight second = straightened(statements_of(otherwise));
  require(first.is_left || second.is_left, ErrorKind::lower, "continue_ends_its_branch",
          hint("write what follows as a condition in place of the continue"), branch.span,
          "a continue of a loop over threads is reached in some ways through a branch, and not in "
          "others");
  IfThenElse copy = branch;
  copy.then_case = first.stmt;
  copy.else_case = second.stmt;
  if (first.is_left && second.is_left) return {make(std::move(copy)), true};
  Straight after =
      straightened(statements_of(followed_by(first.is_left ? second.stmt : first.stmt, rest)));
  (first.is_left ? copy.else_case : copy.then_case) = std::move(after.stmt);
  if (is_no_op(copy.else_case)) copy.else_case = nullptr;
  return {make(std::move(copy)), after.is_left};
}

Straight straightened(std::vector<Stmt> statements) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Stmt& stmt = statements[i];
    if (!leaves_loop(stmt)) continue;
    const std::vector<Stmt> rest(statements.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                 statements.end());
    Straight end;
    if (stmt.is<Continue>()) {
      end = {no_op(), true};
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      end = deep_call([&] { return branch_before(*branch, rest); });
    } else if (const auto body = inside_of(stmt)) {
      end = deep_call([&] { return straightened(statements_of(followed_by(*body, rest))); });
      end.stmt = with_body(stmt, std::move(end.stmt));
    } else {
      require(!stmt.is<Break>(), ErrorKind::lower, "threads_run_to_their_end",
              hint("write what follows as a condition in place of the break"), stmt.get()->span,
              "a break leaves a loop over threads, whose iterations run concurrently");
      check(stmt.is<SeqStmt>(), "lower_continue", "a statement of a kind that has none inside");
      end = straightened(statements_of(followed_by(stmt, rest)));
    }
    statements.resize(i);
    statements.push_back(std::move(end.stmt));
    return {seq(std::move(statements)), end.is_left};
  }
  return {statements.empty() ? no_op() : seq(std::move(statements)), false};
}

}  // namespace

Ptr<PrimFunc> lower_continue(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    if (loop.kind != ForKind::thread_binding || !leaves_loop(loop.body)) {
      return rewrite.children(loop);
    }
    For copy = loop;
    copy.body = rewrite(straightened(statements_of(loop.body)).stmt);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
