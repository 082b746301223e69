// SPDX-License-Identifier: Apache-2.0
// Walks over the IR with functions of Python.
#include <algorithm>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// Calls for nodes alone: buffers and types that are used are no part of the tree.
void pre_order(const Ref& root, const nb::callable& visit) {
  pre_order_visit(root, [&](const Ref& node) {
    const nb::object answer = visit(to_python(node));
    return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
  });
}

void post_order(const Ref& root, const nb::callable& visit) {
  post_order_visit(root, [&](const Ref& node) { visit(to_python(node)); });
}

Ref substituted(const Ref& root, const nb::dict& values) {
  Substitution known;
  for (const auto& [key, value] : values) {
    const auto variable = Ptr<Var>::from(node_of(key));
    const Expr expr = to_expr(value);
    require(variable.defined() && expr.defined(), ErrorKind::type_mismatch,
            "values_are_of_variables", hint("pass a dict from variables to expressions"), {},
            "substitute: values are given of something else than variables");
    known[variable] = expr;
  }
  if (const Expr expr = Expr::from(root); expr.defined()) return substitute(expr, known);
  if (const Stmt stmt = Stmt::from(root); stmt.defined()) return substitute(stmt, known);
  const auto func = Ptr<PrimFunc>::from(root);
  require(func.defined(), ErrorKind::type_mismatch, "node_has_uses",
          hint("pass an expression, a statement or a function"), {},
          "substitute: a {} has no uses of variables", node_info(*root.get()).name);
  return with_body(func, substitute(func->body, known));
}

/// Replaces statements and expressions by what functions of Python say.
class Transformer {
 public:
  Transformer(const nb::object& before, const nb::object& after, const nb::object& only)
      : before_(before), after_(after), only_(only) {
    add(Nodes{});
  }
  Stmt operator()(const Stmt& stmt) { return rewrite_(stmt); }
  Expr operator()(const Expr& expr) { return rewrite_(expr); }

 private:
  template <class... T>
  void add(NodeList<T...>) {
    (add_kind<T>(), ...);
  }
  template <class T>
  void add_kind() {
    if constexpr (IsExprNode<T> || IsStmtNode<T>) {
      const std::string name(type_name<T>());
      if (!only_.is_none() && !nb::cast<bool>(only_.attr("__contains__")(name))) return;
      rewrite_.on<T>([this](const T& node) { return replaced(node); });
    }
  }
  template <class T>
  auto replaced(const T& node) {
    using Result = std::conditional_t<IsExprNode<T>, Expr, Stmt>;
    if (const Result before = asked<Result>(before_, Ref(&node)); before.defined()) return before;
    const Result inside = rewrite_.children(node);
    const Result after = asked<Result>(after_, inside);
    return after.defined() ? after : inside;
  }
  template <class Result>
  Result asked(const nb::object& function, const Ref& node) {
    if (function.is_none()) return Result();
    const nb::object answer = function(to_python(node));
    if (answer.is_none()) return Result();
    Result result;
    if constexpr (std::is_same_v<Result, Expr>) {
      result = to_expr(answer);
    } else {
      result = Stmt::from(node_of(answer));
    }
    require(result.defined(), ErrorKind::type_mismatch, "replacement_fits",
            hint("return None to leave it"), {}, "rewrite: a {} cannot take the place of a {}",
            nb::cast<std::string>(nb::str(nb::handle(answer.type()).attr("__name__"))),
            node_info(*node.get()).name);
    return result;
  }

  nb::object before_, after_, only_;
  Rewriter rewrite_;
};

Ref transformed(const Ref& root, const nb::object& before, const nb::object& after,
                const nb::object& only) {
  Transformer transform(before, after, only);
  if (const Expr expr = Expr::from(root); expr.defined()) return transform(expr);
  if (const Stmt stmt = Stmt::from(root); stmt.defined()) return transform(stmt);
  const auto func = Ptr<PrimFunc>::from(root);
  require(func.defined(), ErrorKind::type_mismatch, "node_has_parts",
          hint("pass an expression, a statement or a function"), {},
          "rewrite: a {} is none of those", node_info(*root.get()).name);
  return with_body(func, transform(func->body));
}

}  // namespace

void bind_ir_walk(nb::module_& m) {
  m.def("pre_order_visit", pre_order, nb::arg("node"), nb::arg("visit"),
        nb::sig("def pre_order_visit(node: Node, visit: typing.Callable[[typing.Any], typing.Any])"
                " -> None"),
        "Call `visit` for each distinct node in a tree, parents first; where it gives False, what "
        "is inside is left out.");
  m.def("post_order_visit", post_order, nb::arg("node"), nb::arg("visit"),
        nb::sig("def post_order_visit(node: Node, visit: typing.Callable[[typing.Any], "
                "typing.Any]) -> None"),
        "Call `visit` for each distinct node in a tree, children first.");
  m.def("substitute", substituted, nb::arg("node"), nb::arg("values"),
        nb::sig("def substitute(node: Node, values: dict[Var, ExprLike]) -> typing.Any"),
        "Return a tree with each use of some variables replaced.");
  m.def("rewrite", transformed, nb::arg("node"), nb::arg("before") = nb::none(),
        nb::arg("after") = nb::none(), nb::arg("only") = nb::none(),
        nb::sig("def rewrite(node: Node, before: typing.Callable[[typing.Any], typing.Any] | "
                "None = None, after: typing.Callable[[typing.Any], typing.Any] | None = None, "
                "only: collections.abc.Container[str] | None = None) -> typing.Any"),
        "Return a tree in which functions replaced statements and expressions: `before` instead of "
        "looking inside, `after` once that is done; None leaves a node. `only` names their types.");
  m.def(
      "clone", [](const Ptr<PrimFunc>& func) { return clone(func); }, nb::arg("func"),
      "Return a copy of a function that shares no variable and no buffer with it.");
}

}  // namespace loopsmith::python
