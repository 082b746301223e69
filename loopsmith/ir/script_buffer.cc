// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/ir/script_literals.h"
#include "loopsmith/ir/script_writer.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {

/// What stands for `node`. One without a definition gets a name all the same.
std::string ScriptWriter::name(const Ref& node) {
  if (const std::string* known = names_.find(node.get())) return *known;
  if (const auto* function = node.as<GlobalVar>()) return "cls." + label(function->name_hint);
  if (const auto* tensor = node.as<Tensor>()) {
    const auto* placeholder = tensor->op.as<PlaceholderOp>();
    const auto* compute = tensor->op.as<ComputeOp>();
    return define(node, placeholder ? placeholder->name : compute ? compute->name : "tensor");
  }
  if (const auto* buffer = node.as<Buffer>()) {
    return name_buffer(Ptr<Buffer>(buffer));
  }
  const auto* variable = node.as<Var>();
  return define(node, variable ? variable->name : "v");
}

const std::string& ScriptWriter::define(const Ref& node, std::string_view wanted) {
  return names_.define(node.get(), wanted);
}

void ScriptWriter::variable_type(const Var& variable, bool called) {
  if (variable.pointer) return part(variable.pointer);
  put(fmt::format("T.{}", to_string(variable.dtype)));
  if (variable.is_size) {
    put("(is_size_var=True)");
  } else if (called) {
    put("()");
  }
}

void ScriptWriter::declare_variable(const Ptr<Var>& variable) {
  const Marking marking = line(variable);
  put(define(variable, variable->name));
  put(" = ");
  variable_type(*variable, true);
}

void ScriptWriter::declare_parts(const Buffer& buffer) {
  const auto declare = [&](const Expr& part) {
    for (const Ptr<Var>& variable : free_variables(part)) {
      if (!names_.find(variable.get())) declare_variable(variable);
    }
  };
  std::ranges::for_each(buffer.shape, declare);
  std::ranges::for_each(buffer.strides, declare);
  if (buffer.elem_offset.defined()) declare(buffer.elem_offset);
}

/// Variables and buffers that `root` uses and nothing in it defines.
void ScriptWriter::declare_free(const Ref& root) {
  const auto buffers = free_buffers(root);
  for (const Ptr<Var>& variable : free_variables(root)) {
    const bool is_data = std::ranges::any_of(
        buffers, [&](const Ptr<Buffer>& buffer) { return buffer->data.same_as(variable); });
    if (!is_data && !root.same_as(variable)) declare_variable(variable);
  }
  for (const Ptr<Buffer>& buffer : buffers) {
    if (!root.same_as(buffer)) define_buffer(buffer, "T.Buffer", nullptr);
  }
}

/// Threads that start more than once have one declaration for all.
void ScriptWriter::declare_threads(const Ref& root) {
  std::unordered_map<const Object*, int> starts;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* attr = ref.as<AttrStmt>();
    const auto* axis = attr ? attr->node.as<IterVar>() : nullptr;
    if (axis && ++starts[axis->var.get()] == 2) {
      begin_line();
      put(define(axis->var, axis->var->name));
      put(" = T.env_thread(");
      put(string_literal(axis->thread_tag));
      if (axis->var->dtype != i32) put(fmt::format(", dtype=\"{}\"", to_string(axis->var->dtype)));
      put(")");
    }
    return ref.is<PrimFunc>() || Stmt::from(ref).defined();
  });
}

/// Its pointer is called `A.data`, unless that was defined before it.
const std::string& ScriptWriter::name_buffer(const Ptr<Buffer>& buffer) {
  const std::string& text = define(buffer, buffer->name.empty() ? "buffer" : buffer->name);
  if (!names_.find(buffer->data.get())) names_.alias(buffer->data.get(), text + ".data");
  return text;
}

void ScriptWriter::define_buffer(const Ptr<Buffer>& buffer, std::string_view function,
                                 const Ref& source) {
  declare_parts(*buffer);
  const Marking marking = line(buffer);
  const bool is_view = names_.find(buffer->data.get()) != nullptr;
  put(name_buffer(buffer));
  put(" = ");
  put(function);
  put("(");
  if (source.defined()) {
    part(source);
    put(", ");
  }
  buffer_arguments(*buffer, is_view, false);
  put(")");
}

Stmt ScriptWriter::buffer_definition(const Stmt& here, bool last, const Ptr<Buffer>& buffer,
                                     std::string_view function, const Stmt& body) {
  declare_parts(*buffer);
  const bool is_view = names_.find(buffer->data.get()) != nullptr;
  const auto value = [&] {
    put(function);
    put("(");
    buffer_arguments(*buffer, is_view, false);
    put(")");
  };
  if (last) {
    const Marking marking = line(here);
    put(name_buffer(buffer));
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
        put(name_buffer(buffer));
      },
      body);
  return nullptr;
}

void ScriptWriter::tuple(const std::vector<Expr>& items) {
  put("(");
  list(items, [&](const Expr& item) { expr(item); });
  put(items.size() == 1 ? ",)" : ")");
}

/// Shape, type and whatever is not the default. A view names its pointer.
void ScriptWriter::buffer_arguments(const Buffer& buffer, bool is_view, bool always_typed) {
  tuple(buffer.shape);
  if (always_typed || buffer.dtype != f32) {
    put(", ");
    put(string_literal(to_string(buffer.dtype)));
  }
  if (is_view) {
    put(", data=");
    put(name(buffer.data));
  }
  if (!buffer.strides.empty()) {
    put(", strides=");
    tuple(buffer.strides);
  }
  if (buffer.elem_offset.defined()) {
    put(", elem_offset=");
    expr(buffer.elem_offset);
  } else if (buffer.offset_factor > 1) {
    // Left out, it would be a new variable.
    put(", elem_offset=None");
  }
  if (buffer.scope() != "global") {
    put(", scope=");
    put(string_literal(buffer.scope()));
  }
  if (buffer.data_alignment != 64) put(fmt::format(", align={}", buffer.data_alignment));
  if (buffer.offset_factor != 1) put(fmt::format(", offset_factor={}", buffer.offset_factor));
  if (buffer.auto_broadcast) put(", buffer_type=\"auto_broadcast\"");
  if (!buffer.axis_separators.empty()) {
    put(fmt::format(", axis_separators=[{}]", fmt::join(buffer.axis_separators, ", ")));
  }
}

}  // namespace loopsmith::detail
