// SPDX-License-Identifier: Apache-2.0
// How passes traverse: visiting, rewriting, substituting, renewing. All of it goes through
// deep_call, and shared nodes are done once.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/node_map.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {

/// Calls `visit` for each reference directly inside `node`, in order; null ones are left out.
/// `role` says whether the reference defines what it refers to.
void for_each_child(const Object& node, const std::function<void(const Ref&, Role)>& visit);

/// Each distinct node once, variables and literals each time, parents first; where `enter` gives
/// false, what is inside is left out. Buffers that are used (not defined) are visited, but not
/// entered.
void pre_order_visit(const Ref& root, const std::function<bool(const Ref&)>& enter);

/// The same, children first.
void post_order_visit(const Ref& root, const std::function<void(const Ref&)>& visit);

/// Rewrites a tree, one rule per node type; nodes without a rule keep their shape, and their
/// identity when nothing inside changed. A new node that has no span takes that of the node it
/// replaces. Expressions are entered only where a rule may apply.
///
/// The operation that makes a tensor is not entered from the expressions that read it.
///
/// A rule is called once for a node that occurs in many places, so its result may depend on the
/// node alone; a rule that reads its surroundings says `forget()` whenever they change.
///
/// Definitions stay as they are, but a buffer whose shape, strides or offset are rewritten is
/// replaced, at its definition and at each use. Rules on Var see uses only.
class Rewriter {
 public:
  /// `rule(const T&)` gives what takes the place of a T: an Expr for an expression, and so on.
  template <class T, class Rule>
  void on(Rule rule) {
    set_rule(kind_of<T>, [rule = std::move(rule)](const Object& node) -> Ref {
      return rule(static_cast<const T&>(node));
    });
  }
  /// Calls `rule` for each expression that stands in no other and in no buffer, literals left out,
  /// in place of the rules for its node and for what is inside: those `inside` applies.
  void on_outermost(std::function<Expr(const Expr&)> rule) {
    outermost_ = std::move(rule);
    enters_expressions_ = true;
  }
  /// Calls `rule` where a Var or a Buffer is defined; what it gives takes its place there and at
  /// each use. (For an IterVar, it is called with its Var.)
  void on_definition(std::function<Ref(const Ref&)> rule) {
    define_ = std::move(rule);
    enters_expressions_ = true;
  }

  Expr operator()(const Expr& expr) { return static_cast<Expr&&>(run(expr)); }
  Stmt operator()(const Stmt& stmt) { return static_cast<Stmt&&>(run(stmt)); }
  template <class T>
  Ptr<T> operator()(const Ptr<T>& node) {
    return static_cast<Ptr<T>&&>(run(node));
  }
  /// `node` with its children rewritten; `node` itself when none of them changed.
  template <class T>
  auto children(const T& node) {
    return static_cast<Ptr<T>&&>(children_of(node));
  }
  /// What the rules for nodes make of `expr`, without that for outermost expressions.
  Expr inside(const Expr& expr);
  /// What a function's body becomes, its parameters kept.
  Ptr<PrimFunc> body_of(const Ptr<PrimFunc>& func) { return with_body(func, (*this)(func->body)); }

  /// What a buffer has become, where this rewriter replaced it; itself elsewhere.
  Ptr<Buffer> buffer(const Ptr<Buffer>& buffer) const;
  /// From here on, uses of `from` mean `to`.
  void replace_buffer(const Ptr<Buffer>& from, const Ptr<Buffer>& to);
  void replace_variable(const Ptr<Var>& from, const Expr& to);

  /// Drops what is remembered of shared nodes.
  void forget() { done_.clear(); }
  /// From here on, rules are called for a statement in each of its places: what they make of it may
  /// define variables.
  void enter_statements_anew() { remembers_statements_ = false; }

 private:
  using Rule = std::function<Ref(const Object&)>;

  void set_rule(std::uint16_t kind, Rule rule);
  /// The rule of a kind; null where it has none.
  const Rule* rule_of(std::uint16_t kind) const {
    const std::size_t number = numbers_[kind];
    return number == 0 ? nullptr : &rules_[number - 1];
  }
  Ref run(const Ref& ref);
  Ref children_of(const Object& node);
  // Each gives true, and what takes the place in `fresh`, where something changed.
  bool renew(const Ref& ref, Ref& fresh);
  bool renew_use(const Ref& buffer, Ref& fresh);
  bool rebuild(const Object& node, Ref& fresh);
  bool define(const Ref& definition, Role role, Ref& fresh);
  bool define_unless_known(const Ref& variable, Ref& fresh);
  bool define_buffer(const Buffer& buffer, Role role, Ref& fresh);

  std::array<std::uint8_t, node_count> numbers_{};  // Of the rule of each kind, from 1; 0: none.
  std::vector<Rule> rules_;
  std::function<Ref(const Ref&)> define_;
  std::function<Expr(const Expr&)> outermost_;
  bool enters_expressions_ = false;  // As there are rules for what is in them.
  bool is_inside_ = false;           // Of an expression, or of a buffer.
  NodeMap<Ref> done_;
  bool remembers_statements_ = true;
  NodeMap<Ref> replaced_;
};

/// Values of variables, by identity.
using Substitution = std::unordered_map<Ref, Expr, RefHash, RefEqual>;

/// `root` with each use of a variable replaced. To move a body; to duplicate one, `clone_with`.
Expr substitute(const Expr& root, const Substitution& values);
Stmt substitute(const Stmt& root, const Substitution& values);

/// A copy for use beside `body`: each variable and buffer that it defines is new, so the two share
/// none.
Expr clone_with(const Expr& body, Substitution values);
Stmt clone_with(const Stmt& body, Substitution values);
Ptr<PrimFunc> clone(const Ptr<PrimFunc>& func);

/// The variables used in `root` but not defined in it, by first occurrence.
std::vector<Ptr<Var>> free_variables(const Ref& root);
/// The buffers used in `root` but not defined in it, by first occurrence.
std::vector<Ptr<Buffer>> free_buffers(const Ref& root);
/// True when `root` uses the variable.
bool uses_variable(const Ref& root, const Ptr<Var>& variable);

/// Gives `span` to `ref` and to the nodes in it that have none and without another owner.
void stamp(const Ref& ref, const Span& span);

}  // namespace loopsmith
