// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/function.h"

#include <algorithm>
#include <numeric>

#include "loopsmith/ir/type_name.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

void canonicalize(PrimFunc& node) {
  if (node.buffer_map.empty()) node.buffer_map.resize(node.params.size());
  require(node.buffer_map.size() == node.params.size(), "one_buffer_a_parameter",
          hint("give a buffer, or null, for each parameter"),
          "function {}: {} entries of buffer_map for {} parameters", node.name(),
          node.buffer_map.size(), node.params.size());
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    require(node.params[i].defined(), "field_is_missing", hint("give each parameter a variable"),
            "function {}: parameter {} is missing", node.name(), i);
    require(!node.buffer_map[i] || node.params[i]->dtype.is_handle(), ErrorKind::type_mismatch,
            "buffer_parameter_is_handle", hint("make the parameter a handle"), node.span,
            "function {}: parameter {} has a buffer but is {}, not a handle", node.name(),
            node.params[i]->name, TypeName(node.params[i]->dtype));
  }
}

/// Keeps the functions sorted by name, `main` last, so that modules are compared and printed alike.
void canonicalize(IRModule& node) {
  require(node.names.size() == node.functions.size(), "one_name_a_function",
          hint("give each function a name"), "module: {} names for {} functions", node.names.size(),
          node.functions.size());
  std::vector<std::size_t> order(node.names.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const std::string& name = node.names[i]->name_hint;
    return std::pair(name == "main", name);
  });
  std::vector<Ptr<GlobalVar>> names;
  std::vector<Ptr<PrimFunc>> functions;
  for (const std::size_t i : order) {
    require(names.empty() || names.back()->name_hint != node.names[i]->name_hint,
            "function_names_differ", hint("rename one of them"),
            "module: two functions are called {}", node.names[i]->name_hint);
    names.push_back(node.names[i]);
    functions.push_back(node.functions[i]);
  }
  node.names = std::move(names);
  node.functions = std::move(functions);
}

Ptr<PrimFunc> IRModule::find(std::string_view name) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i]->name_hint == name) return functions[i];
  }
  return nullptr;
}

bool needs_root_block(const Stmt& body, bool allocates) {
  if (allocates) return true;
  if (const auto* realize = body.as<BlockRealize>()) return !realize->block->iter_vars.empty();
  bool has_block = false;
  pre_order_visit(body, [&](const Ref& ref) {
    has_block = has_block || ref.is<BlockRealize>();
    return !has_block && Stmt::from(ref).defined();
  });
  return has_block;
}

Ptr<PrimFunc> with_body(const Ptr<PrimFunc>& func, Stmt body) {
  if (body.same_as(func->body)) return func;
  PrimFunc copy = *func;
  copy.body = std::move(body);
  return make(std::move(copy));
}

Ptr<PrimFunc> with_attr(const Ptr<PrimFunc>& func, std::string_view key, Ref value) {
  PrimFunc copy = *func;
  copy.attrs = copy.attrs.with(key, std::move(value));
  return make(std::move(copy));
}

}  // namespace loopsmith
