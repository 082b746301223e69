// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/vectorize_loops.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/rewrite_branch.h"
#include "loopsmith/transform/widen.h"

namespace loopsmith {
namespace {

/// As many registers as one statement may fill before its loop is cut up.
constexpr int max_vectors = 8;
/// Of them, those that one vector of the program may fill.
constexpr int max_vectors_of_one = 4;

/// The bits of the widest element that `body` stores.
int element_bits(const Stmt& body) {
  int bits = 8;
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      bits = std::max<int>(bits, store->buffer->dtype.bits);
    }
    return !is_expr(*ref.get());
  });
  return bits;
}

Stmt widen_or_serial(const For& loop, int lanes, Analyzer& known) {
  if (leaves_loop(loop.body)) return serial_loop(loop, loop.body);
  if (lanes == 1) return substitute(loop.body, {{loop.loop_var, loop.min}});
  const Stmt wide = widen(loop, lanes, known);
  return wide ? wide : serial_loop(loop, loop.body);
}

/// `lanes` iterations of `loop` from iteration `first` on, under `condition` of the loop variable.
For piece(const For& loop, const Expr& first, int lanes) {
  For result = loop;
  result.min = loop.min + first * loop.step;
  result.extent = int_imm(loop.loop_var->dtype, lanes);
  return result;
}

/// All of a loop, in vectors whose lanes are powers of two. A longer vector of another number is
/// taken apart by the back end in one way where it is stored and in another where it is loaded, so
/// that it cannot stay in registers.
Stmt widen_in_parts(const For& loop, int lanes, int max_lanes, Analyzer& known) {
  if (leaves_loop(loop.body)) return serial_loop(loop, loop.body);
  std::vector<Stmt> parts;
  for (int done = 0; done < lanes;) {
    const auto left = static_cast<unsigned>(std::min(lanes - done, max_lanes));
    const int width = static_cast<int>(std::bit_floor(left));
    For part = piece(loop, int_imm(loop.loop_var->dtype, done), width);
    if (done > 0) {
      part.loop_var = make(Var(*loop.loop_var));
      part.body = clone_with(loop.body, {{loop.loop_var, part.loop_var}});
    }
    Stmt wide =
        width == 1 ? substitute(part.body, {{part.loop_var, part.min}}) : widen(part, width, known);
    if (!wide) return serial_loop(loop, loop.body);
    parts.push_back(std::move(wide));
    done += width;
  }
  return seq(std::move(parts));
}

/// The value of a loop from which on a condition no longer holds, `i + a < n`; null for conditions
/// of another form.
Expr end_of(const Expr& condition, const For& loop, Analyzer& known) {
  const DataType type = loop.loop_var->dtype;
  const auto asked = arith::comparison_of(condition);
  if (!asked || asked->is_equality || asked->left.dtype() != type) return {};
  Expr end = Analyzer().simplify(asked->right - asked->left + loop.loop_var +
                                 int_imm(type, asked->is_strict ? 0 : 1));
  const bool is_value = !uses_variable(end, loop.loop_var) && is_timeless(end);
  // Data, which may be any value of its type, is no bound of a loop: these are taken to be indices.
  return is_value && !known.may_overflow(end + end) ? end : Expr();
}

/// The loop without iterations that a condition of its body leaves out at its end, `i + a < n`: a
/// mask of no lanes is slow where memory ends.
For without_idle_end(const For& loop, Analyzer& known) {
  const auto* branch = loop.body.as<IfThenElse>();
  if (!branch || branch->else_case || !is_const_int(loop.step, 1)) return loop;
  const DataType type = loop.loop_var->dtype;
  Expr extent = loop.extent;
  std::vector<Expr> others;
  for (const Expr& condition : arith::conjuncts(branch->condition)) {
    const Expr end = end_of(condition, loop, known);
    if (end.defined()) {
      extent = min(extent, end - loop.min);
    } else {
      others.push_back(condition);
    }
  }
  For shorter = loop;
  shorter.extent = Analyzer().simplify(max(extent, int_imm(type, 0)));
  shorter.body = guarded(conjunction(others), branch->then_case);
  return extent.same_as(loop.extent) ? loop : shorter;
}

/// The iterations of a loop before and after one where a branch of its body is decided otherwise,
/// so that neither has masks for it; empty where there is no such branch.
std::vector<For> cut_at_branch(const For& loop, Analyzer& known) {
  if (!is_const_int(loop.step, 1) || leaves_loop(loop.body)) return {};
  Ptr<IfThenElse> branch;
  Expr end;
  bool is_first = true;  // Whether it is the first part for which the condition holds.
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* found = branch ? nullptr : ref.as<IfThenElse>();
    for (const bool holds : {true, false}) {
      if (!found || end.defined()) continue;
      const Expr condition = holds ? found->condition : known.simplify(!found->condition);
      end = end_of(condition, loop, known);
      if (!end.defined()) continue;
      branch = Ptr<IfThenElse>(found);
      is_first = holds;
    }
    const bool binds = ref.is<For>() || ref.is<LetStmt>();
    return !branch && !binds && !is_expr(*ref.get());
  });
  if (!branch) return {};
  const Expr last = loop.min + loop.extent;
  const Expr cut = known.simplify(max(min(end, last), loop.min));
  const auto part = [&](const Expr& from, const Expr& to, bool holds) {
    Rewriter decide;
    decide.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
      if (&node != branch.get()) return decide.children(node);
      if (holds) return node.then_case;
      return node.else_case ? node.else_case : no_op();
    });
    For piece = loop;
    piece.loop_var = make(Var(*loop.loop_var));
    piece.min = from;
    piece.extent = known.simplify(to - from);
    piece.body = clone_with(decide(loop.body), {{loop.loop_var, piece.loop_var}});
    return piece;
  };
  return {part(loop.min, cut, is_first), part(cut, last, !is_first)};
}

/// How often a loop is cut where branches change: each cut makes two of what is left.
constexpr int max_cuts = 2;

/// Full vectors in a serial loop, then the rest.
Stmt strip_mine(const For& whole, int lanes, Analyzer& known, int cuts_left = max_cuts) {
  const For loop = without_idle_end(whole, known);
  const std::vector<For> parts = cuts_left > 0 ? cut_at_branch(loop, known) : std::vector<For>();
  if (!parts.empty()) {
    return seq({strip_mine(parts[0], lanes, known, cuts_left - 1),
                strip_mine(parts[1], lanes, known, cuts_left - 1)});
  }
  const DataType type = loop.loop_var->dtype;
  const Expr width = int_imm(type, lanes);
  Expr full = floordiv(loop.extent, width);
  // An extent below zero, as guards inside leave it, is none.
  if (!Analyzer().can_prove(loop.extent >= int_imm(type, 0))) full = max(full, int_imm(type, 0));
  const Ptr<Var> chunk = var(loop.loop_var->name + "_vector", type);
  const Stmt main = for_loop(chunk, int_imm(type, 0), full,
                             widen_or_serial(piece(loop, chunk * width, lanes), lanes, known));

  const std::int64_t* extent = as_int(loop.extent);
  if (extent && *extent % lanes == 0) return main;
  For rest = piece(loop, full * width, extent ? static_cast<int>(*extent % lanes) : lanes);
  rest.loop_var = make(Var(*loop.loop_var));
  rest.body = clone_with(loop.body, {{loop.loop_var, rest.loop_var}});
  if (extent) return seq({main, widen_or_serial(rest, static_cast<int>(*extent % lanes), known)});

  // Which iteration this is, for a loop that need not start at 0 nor go up by 1.
  const std::int64_t* step = as_int(loop.step);
  const Expr end = loop.min + loop.extent * loop.step;
  if (!step) {
    rest.extent = loop.extent - full * width;
    return seq({main, serial_loop(rest, rest.body)});
  }
  rest.body = guarded(*step > 0 ? rest.loop_var < end : end < rest.loop_var, rest.body);
  return seq({main, widen_or_serial(rest, lanes, known)});
}

}  // namespace

Ptr<PrimFunc> vectorize_loops(const Ptr<PrimFunc>& func, int vector_bits) {
  Analyzer known;
  for (const Ptr<Var>& scalar : arith::data_parameters(*func)) known.mark_data(scalar);
  Rewriter rewrite;
  rewrite.on<IfThenElse>(
      [&](const IfThenElse& node) { return rewrite_branch(rewrite, known, node); });
  rewrite.on<For>([&](const For& node) -> Stmt {
    // Inner loops first: where vectorized loops are nested, the inner one becomes the vector.
    const Stmt inside = rewrite_loop(rewrite, known, node);
    const auto* loop = inside.as<For>();
    if (loop->kind != ForKind::vectorized) return inside;
    const std::int64_t* extent = as_int(loop->extent);
    if (extent && *extent <= 0) return no_op();
    const int bits = element_bits(loop->body);
    if (extent && *extent * bits <= max_vectors * vector_bits) {
      const auto lanes = static_cast<int>(*extent);
      return lanes * bits <= vector_bits
                 ? widen_or_serial(*loop, lanes, known)
                 : widen_in_parts(*loop, lanes, max_vectors_of_one * vector_bits / bits, known);
    }
    return strip_mine(*loop, std::max(vector_bits / bits, 2), known);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
