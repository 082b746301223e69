// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include <numeric>

#include "loopsmith/ir/script_literals.h"
#include "loopsmith/ir/script_writer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {
namespace {

std::unordered_set<const Object*> variables_used(const Ref& root) {
  std::unordered_set<const Object*> used;
  pre_order_visit(root, [&](const Ref& ref) {
    if (ref.is<Var>()) used.insert(ref.get());
    return true;
  });
  return used;
}

/// All that a `T.Buffer(shape, dtype)` beside the parameter's name can say.
bool is_simple(const Buffer& buffer) {
  const bool constant =
      std::ranges::all_of(buffer.shape, [](const Expr& e) { return e.is<IntImm>(); });
  return constant && buffer.strides.empty() && !buffer.elem_offset.defined() &&
         buffer.scope() == "global" && buffer.data_alignment == 64 && buffer.offset_factor == 1 &&
         !buffer.auto_broadcast && buffer.axis_separators.empty();
}

/// The block around the whole function that the parser makes by itself; nullptr if it would not.
const Block* implied_root(const Stmt& body) {
  const auto* realize = body.as<BlockRealize>();
  if (!realize || !is_const_int(realize->predicate, 1)) return nullptr;
  const Block& block = *realize->block;
  const bool bare = block.iter_vars.empty() && block.reads.empty() && block.writes.empty() &&
                    block.annotations.empty() && block.match_buffers.empty() &&
                    !block.init.defined() && block.name_hint == "root";
  return bare && needs_root_block(block.body, !block.alloc_buffers.empty()) ? &block : nullptr;
}

}  // namespace

void ScriptWriter::header(bool with_module) {
  if (!options_.header) return;
  if (with_module) {
    begin_line();
    put("# from loopsmith.script import ir as I");
  }
  begin_line();
  put("# from loopsmith.script import tir as T");
  blank_line();
}

/// A function's name, where a script can say it, else one that looks like it.
std::string ScriptWriter::label(const std::string& name) const {
  if (const auto known = labels_.find(name); known != labels_.end()) return known->second;
  std::string legal = legal_name(name);
  return is_reserved_name(legal) ? legal + "_" : legal;
}

/// Gives each function of a module a label of its own; those that scripts can say keep their names.
void ScriptWriter::set_labels(const IRModule& module) {
  std::unordered_set<std::string> taken;
  for (const auto& function : module.names) taken.insert(function->name_hint);
  for (const auto& function : module.names) {
    const std::string& name = function->name_hint;
    std::string legal = label(name);
    if (legal == name) continue;
    while (!taken.insert(legal).second) legal += '_';
    labels_[name] = std::move(legal);
  }
}

void ScriptWriter::function(const PrimFunc& func, const std::string& wanted) {
  const Ref here(&func);
  names_.open();
  declare_free(here);
  begin_line();
  const bool is_private = !func.attrs.contains("global_symbol");
  // Blocks that the parser would put into a root block, and that have none.
  const bool lacks_root = !implied_root(func.body) && needs_root_block(func.body, false);
  const bool is_labelled = labels_.contains(wanted);
  std::vector<std::string> options;
  if (is_labelled) options.push_back("name=" + string_literal(wanted));
  if (is_private) options.emplace_back("private=True");
  if (lacks_root) options.emplace_back("implicit_root=False");
  put("@T.prim_func");
  if (!options.empty()) put(fmt::format("({})", fmt::join(options, ", ")));

  const std::string name = label(wanted);
  const auto used = variables_used(func.body);
  std::vector<bool> is_inline;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    const auto same_data = [&](const Ptr<Buffer>& other) {
      return other && other->data.same_as(buffer->data);
    };
    is_inline.push_back(buffer && is_simple(*buffer) && !used.contains(func.params[i].get()) &&
                        std::ranges::count_if(func.buffer_map, same_data) == 1);
  }
  const auto signature = [&] {
    put("def " + name + "(");
    std::vector<std::size_t> places(func.params.size());
    std::iota(places.begin(), places.end(), 0);
    list(places, [&](std::size_t i) { parameter(func, i, is_inline[i]); });
    put(")");
    if (!func.ret_type.is_void()) put(fmt::format(" -> T.{}", to_string(func.ret_type)));
  };
  nested_lines(here, signature, [&] {
    function_attrs(func, is_labelled ? wanted : name);
    for (std::size_t i = 0; i < func.params.size(); ++i) {
      if (func.buffer_map[i] && !is_inline[i]) {
        define_buffer(func.buffer_map[i], "T.match_buffer", func.params[i]);
      }
    }
    declare_threads(func.body);
    function_body(func);
  });
  names_.close();
}

void ScriptWriter::parameter(const PrimFunc& func, std::size_t i, bool is_inline) {
  const Ptr<Var>& param = func.params[i];
  const Marking marking(*this, param);
  if (!is_inline) {
    put(define(param, param->name));
    put(": ");
    return variable_type(*param, false);
  }
  const Ptr<Buffer>& buffer = func.buffer_map[i];
  const Marking buffer_marking(*this, buffer);
  put(name_buffer(buffer));
  put(": T.Buffer(");
  buffer_arguments(*buffer, false, true);
  put(")");
}

void ScriptWriter::function_attrs(const PrimFunc& func, std::string_view said_name) {
  const bool says_name = func.attrs.get_string("global_symbol") == said_name;
  const Attrs attrs = says_name ? func.attrs.with("global_symbol", nullptr) : func.attrs;
  if (attrs.empty()) return;
  begin_line();
  put("T.func_attr(");
  dict(attrs);
  put(")");
}

void ScriptWriter::function_body(const PrimFunc& func) {
  const Block* root = implied_root(func.body);
  if (!root) return stmt(func.body, true);
  {
    const Marking marking = line(func.body);
    const std::size_t begin = text_.size();
    put("# with T.block(\"root\"):");
    mark(Ref(root), begin);
  }
  block_inside(*root);
}

void ScriptWriter::module(const IRModule& module) {
  set_labels(module);
  const auto header = [&] { put("class Module"); };
  begin_line();
  put("@I.ir_module");
  nested_lines(Ref(&module), header, [&] {
    if (!module.attrs.empty()) {
      begin_line();
      put("I.module_attrs(");
      dict(module.attrs);
      put(")");
    }
    if (module.names.empty() && module.attrs.empty()) {
      begin_line();
      put("pass");
    }
    for (std::size_t i = 0; i < module.names.size(); ++i) {
      if (i > 0 || !module.attrs.empty()) blank_line();
      function(*module.functions[i], module.names[i]->name_hint);
    }
  });
}

void ScriptWriter::root(const Ref& root) {
  if (const auto* node = root.as<IRModule>()) {
    header(true);
    return module(*node);
  }
  if (const auto* node = root.as<PrimFunc>()) {
    header(false);
    return function(*node, options_.name.empty() ? node->name() : options_.name);
  }
  if (options_.declare && root.defined()) declare_free(root);
  if (options_.declare) declare_threads(root);
  if (const Stmt here = Stmt::from(root); here.defined()) return stmt(here, true);
  if (const auto* buffer = root.as<Buffer>())
    return define_buffer(Ptr<Buffer>(buffer), "T.Buffer", nullptr);
  if (const auto* variable = root.as<Var>(); variable && options_.declare)
    return declare_variable(Ptr<Var>(variable));
  begin_line();
  part(root);
}

}  // namespace loopsmith::detail
