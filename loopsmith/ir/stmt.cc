// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/stmt.h"

#include <algorithm>

#include "loopsmith/ir/access.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

void require_scalar_bool(const Object& node, const Expr& condition, std::string_view what) {
  require(condition.dtype() == boolean, ErrorKind::type_mismatch, "condition_is_bool",
          hint("give a comparison"), node.span, "{}: the condition is {}, not bool", what,
          TypeName(condition.dtype()));
}

/// Joins nested sequences, without recursion: they may be deep.
std::vector<Stmt> flatten(std::vector<Stmt> statements) {
  std::vector<Stmt> flat;
  std::vector<Stmt> waiting(std::make_move_iterator(statements.rbegin()),
                            std::make_move_iterator(statements.rend()));
  while (!waiting.empty()) {
    const Stmt next = std::move(waiting.back());
    waiting.pop_back();
    if (const auto* inner = next.as<SeqStmt>()) {
      waiting.insert(waiting.end(), inner->seq.rbegin(), inner->seq.rend());
    } else if (next.defined() && !is_no_op(next)) {
      flat.push_back(next);
    }
  }
  return flat;
}

}  // namespace

void canonicalize(LetStmt& node) {
  require(node.var->dtype == node.value.dtype(), ErrorKind::type_mismatch, "let_has_type_of_value",
          hint("cast the value"), node.span, "let: variable {} is {}, its value {}", node.var->name,
          TypeName(node.var->dtype), TypeName(node.value.dtype()));
}

void canonicalize(AssertStmt& node) {
  require_scalar_bool(node, node.condition, "assert");
  require(node.message.is<StringImm>(), ErrorKind::type_mismatch, "message_is_text",
          hint("give a StringImm"), node.span, "assert: the message is {}, not a text",
          TypeName(node.message.dtype()));
}

void canonicalize(BufferStore& node) {
  const DataType type =
      detail::access_type(node, node.buffer, node.indices, node.predicate, "store");
  require(node.value.dtype() == type, ErrorKind::type_mismatch, "store_has_type_of_buffer",
          hint("cast the value"), node.span, "store: buffer {} takes {}, the value is {}",
          node.buffer->name, TypeName(type), TypeName(node.value.dtype()));
}

namespace {

void require_pointer(const Object& node, const Var& pointer, std::string_view what) {
  require(pointer.dtype.is_handle(), ErrorKind::type_mismatch, "buffer_data_is_pointer",
          hint("use pointer_var"), node.span, "{}: {} is {}, not a pointer", what, pointer.name,
          TypeName(pointer.dtype));
}

}  // namespace

void canonicalize(Allocate& node) {
  require_scalar_bool(node, node.condition, "allocate");
  require_pointer(node, *node.buffer_var, "allocate");
}

void canonicalize(AllocateConst& node) {
  require_pointer(node, *node.buffer_var, "allocate_const");
  std::int64_t count = 1;
  bool counted = true;
  for (const std::int64_t extent : node.extents) {
    counted = counted && extent >= 0 && !__builtin_mul_overflow(count, extent, &count);
  }
  for (const Expr& element : node.data) {
    const bool constant = element.is<IntImm>() || element.is<FloatImm>();
    require(constant && element.dtype() == node.dtype, ErrorKind::type_mismatch,
            "constant_has_type", hint("give constants of that type"), node.span,
            "allocate_const: an element is {}, not a constant of type {}", element,
            TypeName(node.dtype));
  }
  require(counted && count == static_cast<std::int64_t>(node.data.size()), ErrorKind::bounds,
          "constant_fills_extents", hint("give as many elements as the product of the extents"),
          node.span, "allocate_const: {} elements do not fill extents [{}]", node.data.size(),
          fmt::join(node.extents, ", "));
}

void canonicalize(SeqStmt& node) {
  const auto is_sequence = [](const Stmt& stmt) { return stmt.is<SeqStmt>(); };
  if (std::ranges::any_of(node.seq, is_sequence)) {
    std::vector<Stmt> flat;
    for (const Stmt& stmt : node.seq) {
      const auto* inner = stmt.as<SeqStmt>();
      inner ? flat.insert(flat.end(), inner->seq.begin(), inner->seq.end())
            : flat.insert(flat.end(), stmt);
    }
    node.seq = std::move(flat);
  }
  require(node.seq.size() >= 2, "sequence_of_two", hint("use seq(...), which takes any number"),
          "SeqStmt: {} statements, at least 2 are needed", node.seq.size());
}

void canonicalize(IfThenElse& node) {
  require_scalar_bool(node, node.condition, "if");
}

void canonicalize(For& node) {
  const DataType type = node.loop_var->dtype;
  require(type.is_integer() && type.is_scalar(), ErrorKind::type_mismatch, "loop_over_integers",
          hint("make the loop variable int32 or int64"), node.span, "loop {} is {}, not an integer",
          node.loop_var->name, TypeName(type));
  // A literal takes the type of the loop variable.
  for (Expr* bound : {&node.min, &node.extent, &node.step}) {
    const auto* literal = bound->as<IntImm>();
    if (literal && bound->dtype() != type) *bound = int_imm(type, literal->value);
    require(bound->dtype() == type, ErrorKind::type_mismatch, "loop_bounds_have_one_type",
            hint("cast the bound"), node.span, "loop {} is {}, one of its bounds {}",
            node.loop_var->name, TypeName(type), TypeName(bound->dtype()));
  }
  require(!is_const_int(node.step, 0), ErrorKind::bounds, "step_is_not_zero",
          hint("give a positive or negative step"), node.span, "loop {} has step 0",
          node.loop_var->name);
  require((node.kind == ForKind::thread_binding) == node.thread_binding.defined(),
          "thread_loop_has_thread",
          hint("give thread_binding for that kind of loop, and only then"),
          "loop {}: kind and thread_binding do not fit", node.loop_var->name);
}

void canonicalize(While& node) {
  require_scalar_bool(node, node.condition, "while");
}

void canonicalize(Prefetch& node) {
  require(node.bounds.size() == node.buffer->shape.size(), ErrorKind::type_mismatch,
          "one_range_a_dimension", hint("give one range for each dimension"), node.span,
          "prefetch: buffer {} has {} dimensions, {} ranges were given", node.buffer->name,
          node.buffer->shape.size(), node.bounds.size());
}

void canonicalize(BlockRealize& node) {
  require_scalar_bool(node, node.predicate, "block");
  require(node.iter_values.size() == node.block->iter_vars.size(), ErrorKind::type_mismatch,
          "one_value_an_axis", hint("bind each axis of the block"), node.span,
          "block {}: {} values for {} axes", node.block->name_hint, node.iter_values.size(),
          node.block->iter_vars.size());
  for (const Ptr<IterVar>& axis : node.block->iter_vars) {
    require(axis->dom.defined(), ErrorKind::type_mismatch, "axis_has_domain",
            hint("give the axis an extent, or a begin and an end"), axis->span,
            "block {}: axis {} has no domain", node.block->name_hint, axis->var->name);
  }
}

Stmt seq(std::vector<Stmt> statements) {
  std::vector<Stmt> flat = flatten(std::move(statements));
  if (flat.empty()) return no_op();
  if (flat.size() == 1) return flat[0];
  return make(SeqStmt{.seq = std::move(flat)});
}

Stmt no_op() {
  return make(Evaluate{.value = 0});
}

bool is_no_op(const Stmt& stmt) {
  const auto* evaluate = stmt.as<Evaluate>();
  return evaluate && evaluate->value.is<IntImm>();
}

Stmt for_loop(Ptr<Var> loop_var, Expr min, Expr extent, Stmt body, ForKind kind) {
  return make(For{.loop_var = std::move(loop_var),
                  .min = std::move(min),
                  .extent = std::move(extent),
                  .kind = kind,
                  .body = std::move(body)});
}

Stmt store(const Ptr<Buffer>& buffer, Expr value, std::vector<Expr> indices) {
  return make(
      BufferStore{.buffer = buffer, .value = std::move(value), .indices = std::move(indices)});
}

}  // namespace loopsmith
