// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/unroll_loops.h"

#include <tuple>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/pragmas.h"

namespace loopsmith {
namespace {

/// More statements than this make code that no processor's caches hold.
constexpr std::int64_t max_statements = 1 << 16;

/// How many statements do something.
std::int64_t count_statements(const Stmt& stmt) {
  std::int64_t count = 0;
  pre_order_visit(stmt, [&](const Ref& ref) {
    count += ref.is<BufferStore>() || ref.is<Evaluate>();
    return !is_expr(*ref.get());
  });
  return count;
}

/// True when `body` defines a variable or a buffer, so that each copy needs its own.
bool has_definitions(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    found = found || ref.is<For>() || ref.is<LetStmt>() || ref.is<Allocate>() ||
            ref.is<AllocateConst>() || ref.is<DeclBuffer>() || ref.is<Let>();
    return !found;
  });
  return found;
}

/// Puts values in the place of a loop variable, and works out what is constant then, or what a
/// clamp leaves as it is: `min(i * 4 + 3, 99)` where i is below 25.
class Instances {
 public:
  Instances(const Ptr<Var>& loop_var, Analyzer& analyzer)
      : loop_var_(loop_var), analyzer_(analyzer) {
    fold_constants<Add, Sub, Mul, FloorDiv, FloorMod, Div, Mod, LT, LE, GT, GE, EQ, NE, And, Or,
                   Not, Cast>();
    rewrite_.on<Min>([this](const Min& node) { return without_idle_clamp(node, true); });
    rewrite_.on<Max>([this](const Max& node) { return without_idle_clamp(node, false); });
    rewrite_.on<IfThenElse>([this](const IfThenElse& node) -> Stmt {
      const Ptr<IfThenElse> result = rewrite_.children(node);
      const std::int64_t* known = as_int(result->condition);
      if (!known) return result;
      if (*known) return result->then_case;
      return result->else_case ? result->else_case : no_op();
    });
  }

  Stmt operator()(const Stmt& body, const Expr& value) {
    rewrite_.replace_variable(loop_var_, value);
    rewrite_.forget();
    return rewrite_(body);
  }

 private:
  template <class... T>
  void fold_constants() {
    const auto set = [this]<class Node>(const Node*) {
      rewrite_.on<Node>([this](const Node& node) -> Expr {
        const Ptr<Node> result = rewrite_.children(node);
        if (result.get() == &node) return result;
        const Expr folded = fold(result);
        return folded.defined() ? folded : Expr(result);
      });
    };
    (set(static_cast<const T*>(nullptr)), ...);
  }

  template <class Clamp>
  Expr without_idle_clamp(const Clamp& node, bool is_min) {
    const Ptr<Clamp> result = rewrite_.children(node);
    if (result.get() == &node) return result;
    const Expr folded = fold(result);
    if (folded.defined()) return folded;
    const std::int64_t* bound = as_int(result->b);
    if (!bound) return result;
    const ConstIntBound range = analyzer_.const_int_bound(result->a);
    const bool is_idle = is_min ? range.max_value <= *bound : range.min_value >= *bound;
    return is_idle ? result->a : Expr(result);
  }

  Rewriter rewrite_;
  Ptr<Var> loop_var_;
  Analyzer& analyzer_;
};

/// The loop, for the code generator to unroll.
Stmt left_to_code_generator(const For& loop) {
  For copy = loop;
  copy.kind = ForKind::serial;
  copy.annotations = copy.annotations.with(unroll_later, int_imm(i32, 1));
  return make(std::move(copy));
}

/// One copy of `body` for each iteration of `loop`.
Stmt copies(const For& loop, const Stmt& body, std::int64_t extent, Analyzer& analyzer) {
  std::vector<Stmt> result;
  Expr value = loop.min;
  const bool renews = has_definitions(body);
  Instances instance(loop.loop_var, analyzer);
  for (std::int64_t t = 0; t < extent; ++t) {
    result.push_back(instance(renews ? clone_with(body, {}) : body, value));
    value = value + loop.step;
  }
  return seq(std::move(result));
}

}  // namespace

Ptr<PrimFunc> unroll_loops(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  // Of the pragmas around the current place.
  std::int64_t max_step = 0;
  bool is_explicit = true;
  Analyzer analyzer;  // Of the loops around the current place.

  rewrite.on<AttrStmt>([&](const AttrStmt& attr) -> Stmt {
    const bool is_limit = attr.attr_key == "pragma_auto_unroll_max_step";
    if (!is_limit && attr.attr_key != "pragma_unroll_explicit") return rewrite.children(attr);
    const std::int64_t* given = as_int(attr.value);
    const std::int64_t value = given ? *given : 0;
    const auto outer = std::pair(max_step, is_explicit);
    if (is_limit) {
      max_step = value;
    } else {
      is_explicit = value != 0;
    }
    rewrite.forget();
    const Stmt body = rewrite(attr.body);
    rewrite.forget();
    std::tie(max_step, is_explicit) = outer;
    return body;
  });

  rewrite.on<For>([&](const For& loop) -> Stmt {
    const bool asked = loop.kind == ForKind::unrolled;
    const bool may = loop.kind == ForKind::serial && max_step > 0;
    const std::int64_t *min = as_int(loop.min), *extent = as_int(loop.extent);
    if (min && extent && *extent > 0 && is_const_int(loop.step, 1)) {
      analyzer.update(loop.loop_var, {*min, *min + (*extent - 1)}, /*override=*/true);
    }
    if (asked && (!is_explicit || !extent)) return left_to_code_generator(*rewrite.children(loop));
    if (!asked && !may) return rewrite.children(loop);

    // Inner loops first: each is expanded once, not once per copy of this body.
    const Ptr<For> inner = rewrite.children(loop);
    if (!extent) return inner;
    // Copies have no loop that `break` and `continue` could leave.
    if (leaves_loop(inner->body)) return asked ? left_to_code_generator(*inner) : Stmt(inner);

    const std::int64_t size = count_statements(inner->body);
    if (!asked &&
        (contains<For>(inner->body) || contains<While>(inner->body) || size * *extent > max_step))
      return inner;
    if (!is_explicit) return left_to_code_generator(*inner);
    require(size == 0 || *extent <= max_statements / size, ErrorKind::lower, "unroll_is_bounded",
            hint("split the loop, unroll the inner one"), loop.span,
            "unroll: {} copies of the {} statements of loop {} are more than {} statements",
            *extent, size, loop.loop_var->name, max_statements);
    return copies(*inner, inner->body, *extent, analyzer);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
