// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_literals.h"
#include "loopsmith/ir/script_writer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {
namespace {

bool is_plain_serial(const For& loop) {
  return loop.kind == ForKind::serial && is_const_int(loop.step, 1) && loop.annotations.empty();
}

/// May share a line with other loops in `T.grid`.
bool fits_grid(const For& loop) {
  return is_plain_serial(loop) && is_const_int(loop.min, 0);
}

/// Loops nested without anything between, as far as none's extent needs a loop before it.
std::vector<const For*> grid_of(const For& first) {
  std::vector<const For*> loops;
  std::unordered_set<const Object*> variables;
  const For* loop = &first;
  while (loop && fits_grid(*loop)) {
    bool depends = false;
    if (!loop->extent.is<IntImm>()) {
      pre_order_visit(loop->extent, [&](const Ref& ref) {
        depends = depends || variables.contains(ref.get());
        return !depends;
      });
    }
    if (depends) break;
    loops.push_back(loop);
    variables.insert(loop->loop_var.get());
    loop = loop->body.as<For>();
  }
  return loops;
}

/// The buffer that an allocation and nothing else is made for: both are one `T.decl_buffer`.
const DeclBuffer* declaration_in(const Allocate& allocate) {
  const auto* declaration = allocate.body.as<DeclBuffer>();
  if (!declaration) return nullptr;
  const Buffer& buffer = *declaration->buffer;
  const bool one = buffer.data.same_as(allocate.buffer_var) && buffer.dtype == allocate.dtype &&
                   is_const_int(allocate.condition, 1) && allocate.annotations.empty() &&
                   std::ranges::equal(buffer.shape, allocate.extents, StructuralEqual());
  return one ? declaration : nullptr;
}

constexpr std::string_view loop_functions[] = {"T.serial", "T.parallel", "T.vectorized", "T.unroll",
                                               "T.thread_binding"};

/// The statement that starts a thread, as `T.launch_thread` makes it.
bool is_launch(const AttrStmt& attr, const IterVar& axis) {
  const bool is_virtual = thread_axis_of(axis.thread_tag) == ThreadAxis::virtual_thread;
  return attr.attr_key == (is_virtual ? "virtual_thread" : "thread_extent") &&
         axis.iter_type == IterType::thread_index && axis.dom && is_const_int(axis.dom->min, 0) &&
         structural_equal(axis.dom->extent, attr.value);
}

/// Calls that are written with an operator, and not as a call.
bool is_infix(const Call& call) {
  constexpr Op ops[] = {op("bitwise_and"), op("bitwise_or"), op("bitwise_xor"), op("shift_left"),
                        op("shift_right")};
  return std::ranges::find(ops, call.op) != std::end(ops);
}

}  // namespace

void ScriptWriter::stmt(const Stmt& root, bool last) {
  Stmt here = root;
  while (here.defined() && !cut_) {
    if (const auto* sequence = here.as<SeqStmt>()) {
      for (std::size_t i = 0; i + 1 < sequence->seq.size(); ++i) stmt(sequence->seq[i], false);
      here = sequence->seq.back();
    } else {
      here = scoped(here, last);
    }
  }
}

/// A statement with what belongs to it. A definition that holds to the end of the scope is one
/// line, and what comes after it is given back.
Stmt ScriptWriter::scoped(const Stmt& here, bool last) {
  if (const auto* node = here.as<LetStmt>()) return let(*node, last);
  if (const auto* node = here.as<Allocate>()) return allocate(*node, last);
  if (const auto* node = here.as<AllocateConst>()) {
    return definition(here, last, node->buffer_var, node->buffer_var->name, node->body,
                      [&] { allocate_const(*node); });
  }
  if (const auto* node = here.as<DeclBuffer>()) {
    if (!names_.find(node->buffer->data.get())) declare_variable(node->buffer->data);
    return buffer_definition(here, last, node->buffer, "T.decl_buffer", node->body);
  }
  if (const auto* node = here.as<AttrStmt>()) return attribute(*node, last);
  if (const auto* node = here.as<AssertStmt>()) {
    const auto parts = [&](std::string_view open, std::string_view close) {
      put(open);
      expr(node->condition);
      put(", ");
      expr(node->message);
      put(close);
    };
    if (last) {
      const Marking marking = line(here);
      parts("assert ", "");
      return node->body;
    }
    nested(here, [&] { parts("with T.Assert(", ")"); }, node->body);
    return nullptr;
  }
  simple(here);
  return nullptr;
}

/// `name = value`, and the body that follows; or `with value as name:`, and the body inside.
template <class Value>
Stmt ScriptWriter::definition(const Stmt& here, bool last, const Ref& defined,
                              std::string_view wanted, const Stmt& body, Value&& value) {
  if (last) {
    const Marking marking = line(here);
    put(define(defined, wanted));
    put(" = ");
    value();
    return body;
  }
  nested(
      here,
      [&] {
        put("with ");
        value();
        put(" as ");
        put(define(defined, wanted));
      },
      body);
  return nullptr;
}

Stmt ScriptWriter::let(const LetStmt& node, bool last) {
  const Ref here(&node);
  if (last) {
    const Marking marking = line(here);
    put(define(node.var, node.var->name));
    put(": ");
    variable_type(*node.var, false);
    put(" = ");
    expr(node.value);
    return node.body;
  }
  nested(
      here,
      [&] {
        put("with T.LetStmt(");
        expr(node.value);
        if (node.var->pointer || node.var->is_size) {
          put(", ");
          variable_type(*node.var, false);
        }
        put(") as ");
        put(define(node.var, node.var->name));
      },
      node.body);
  return nullptr;
}

Stmt ScriptWriter::allocate(const Allocate& node, bool last) {
  if (const auto* declaration = declaration_in(node)) {
    return buffer_definition(Stmt(&node), last, declaration->buffer, "T.decl_buffer",
                             declaration->body);
  }
  return definition(Stmt(&node), last, node.buffer_var, node.buffer_var->name, node.body, [&] {
    put("T.allocate([");
    list(node.extents, [&](const Expr& extent) { expr(extent); });
    const auto& pointer = node.buffer_var->pointer;
    put(fmt::format("], \"{}\", \"{}\"", to_string(node.dtype),
                    pointer ? pointer->storage_scope : "global"));
    if (!is_const_int(node.condition, 1)) {
      put(", condition=");
      expr(node.condition);
    }
    annotations(node.annotations);
    put(")");
  });
}

void ScriptWriter::allocate_const(const AllocateConst& node) {
  put("T.allocate_const([");
  list(node.data, [&](const Expr& element) {
    const auto* integer = element.as<IntImm>();
    const auto* real = element.as<FloatImm>();
    if (integer) return put(fmt::format("{}", integer->value));
    real ? put(float_literal(real->dtype, real->value)) : expr(element);
  });
  put(fmt::format("], \"{}\", [{}]", to_string(node.dtype), fmt::join(node.extents, ", ")));
  annotations(node.annotations);
  put(")");
}

void ScriptWriter::annotations(const Attrs& attrs) {
  if (attrs.empty()) return;
  put(", annotations=");
  dict(attrs);
}

Stmt ScriptWriter::attribute(const AttrStmt& node, bool last) {
  const Ref here(&node);
  const auto* axis = node.node.as<IterVar>();
  const bool known = axis && names_.find(axis->var.get());
  if (axis && is_launch(node, *axis)) {
    const auto launch = [&] {
      put("T.launch_thread(");
      known ? put(name(axis->var)) : put(string_literal(axis->thread_tag));
      put(", ");
      expr(node.value);
      put(")");
    };
    if (!known) return definition(Stmt(&node), last, axis->var, axis->var->name, node.body, launch);
    return attribute_scope(here, last, launch, node.body);
  }
  if (axis && !known) declare_variable(axis->var);
  return attribute_scope(
      here, last,
      [&] {
        put("T.attr(");
        part(node.node);
        put(", ");
        put(string_literal(node.attr_key));
        put(", ");
        expr(node.value);
        put(")");
      },
      node.body);
}

template <class Text>
Stmt ScriptWriter::attribute_scope(const Ref& here, bool last, Text&& text, const Stmt& body) {
  if (last) {
    const Marking marking = line(here);
    text();
    return body;
  }
  nested(
      here,
      [&] {
        put("with ");
        text();
      },
      body);
  return nullptr;
}

void ScriptWriter::simple(const Stmt& here) {
  if (const auto* node = here.as<For>()) return loop(*node);
  if (const auto* node = here.as<IfThenElse>()) return branch(*node);
  if (const auto* node = here.as<BlockRealize>()) return block(*node->block, node);
  if (const auto* node = here.as<Block>()) return block(*node, nullptr);
  if (const auto* node = here.as<While>()) {
    return nested(
        here,
        [&] {
          put("while ");
          expr(node->condition);
        },
        node->body);
  }
  const Marking marking = line(here);
  if (const auto* node = here.as<BufferStore>()) return buffer_store(*node);
  if (const auto* node = here.as<Evaluate>()) {
    const auto* call = node->value.as<Call>();
    if (call && !is_infix(*call)) return expr(node->value);
    put("T.evaluate(");
    expr(node->value);
    return put(")");
  }
  if (here.is<Break>()) return put("break");
  if (here.is<Continue>()) return put("continue");
  if (const auto* node = here.as<Return>()) {
    put("return");
    if (!node->value.defined()) return;
    put(" ");
    return expr(node->value);
  }
  if (const auto* node = here.as<Prefetch>()) {
    put("T.prefetch(");
    region(node->buffer, node->bounds);
    put(")");
  }
}

void ScriptWriter::buffer_store(const BufferStore& node) {
  if (!node.predicate.defined()) {
    access(node.buffer, node.indices);
    put(" = ");
    return expr(node.value);
  }
  put(name(node.buffer));
  put(".vstore([");
  list(node.indices, [&](const Expr& index) { expr(index); });
  put("], ");
  expr(node.value);
  put(", predicate=");
  expr(node.predicate);
  put(")");
}

void ScriptWriter::branch(const IfThenElse& first) {
  std::string_view word = "if ";
  for (const IfThenElse* here = &first; here;) {
    nested(
        Ref(here),
        [&] {
          put(word);
          expr(here->condition);
        },
        here->then_case);
    const Stmt else_case = here->else_case;
    here = else_case.as<IfThenElse>();
    word = "elif ";
    if (else_case.defined() && !here) nested(nullptr, [&] { put("else"); }, else_case);
  }
}

void ScriptWriter::loop(const For& first) {
  std::vector<const For*> loops = grid_of(first);
  if (loops.empty()) loops.push_back(&first);
  nested(
      Ref(&first),
      [&] {
        put("for ");
        const std::size_t begin = text_.size();
        list(loops, [&](const For* loop) {
          put(define(loop->loop_var, loop->loop_var->name));
          loop_of_[loop->loop_var.get()] = loop;
        });
        put(" in ");
        if (loops.size() == 1) {
          loop_range(first);
        } else {
          put("T.grid(");
          list(loops, [&](const For* loop) { expr(loop->extent); });
          put(")");
        }
        for (const For* loop : std::span(loops).subspan(1)) mark(Ref(loop), begin);
      },
      loops.back()->body);
}

/// `range(n)`, `T.parallel(1, n, step=2, annotations={...})`.
void ScriptWriter::loop_range(const For& loop) {
  const bool unit = is_const_int(loop.step, 1);
  const bool is_range = loop.kind == ForKind::serial && loop.annotations.empty();
  put(is_range ? "range" : loop_functions[static_cast<int>(loop.kind)]);
  put("(");
  if (!unit || !is_const_int(loop.min, 0)) {
    expr(loop.min);
    put(", ");
  }
  expr(stop_of(loop.min, loop.extent, loop.step));
  if (!unit) {
    put(is_range ? ", " : ", step=");
    expr(loop.step);
  }
  if (loop.thread_binding) {
    put(", thread=");
    put(string_literal(loop.thread_binding->thread_tag));
  }
  annotations(loop.annotations);
  put(")");
}

}  // namespace loopsmith::detail
