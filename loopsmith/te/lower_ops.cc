// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/lower_ops.h"
#include "loopsmith/support/error.h"

#include <algorithm>
#include <array>

namespace loopsmith::te {
namespace {

/// Attributes that say something about tensor expressions, not about blocks.
constexpr std::array<std::string_view, 4> dropped_attrs = {
    "auto_scheduler_simplify_const_tensor_indices", "const_matrix", "layout_free_placeholders",
    "workload"};

bool is_dropped(std::string_view key) {
  return std::find(dropped_attrs.begin(), dropped_attrs.end(), key) != dropped_attrs.end();
}

}  // namespace

const Ptr<Buffer>& BufferTable::get(const Tensor& tensor) {
  Ptr<Buffer>& buffer = buffers_[key(tensor)];
  if (!buffer) {
    const auto scope = given_.scopes.find(tensor->op);
    buffer = decl_buffer(tensor.shape(), tensor.dtype(), tensor.name(),
                         scope == given_.scopes.end() ? "global" : scope->second);
    made_.push_back(buffer);
  }
  return buffer;
}

std::string LowerContext::block_name(const std::string& name, const Ref& op) {
  std::string unique = name;
  const auto [known, is_new] = names_.emplace(name, 0);
  if (!is_new) {
    int& suffix = known->second;  // References into the table stay where they are when it grows.
    do {
      unique = fmt::format("{}_{}", name, ++suffix);
    } while (!names_.emplace(unique, 0).second);
  }
  if (op.defined()) blocks[op].push_back(unique);
  return unique;
}

Attrs LowerContext::annotations(const Attrs& attrs) {
  const Ref listed = attrs.get("layout_free_placeholders");
  if (const auto* tensors = listed.as<List>()) {
    for (const Ref& item : tensors->items) {
      const auto tensor = Ptr<loopsmith::Tensor>::from(item);
      require(tensor.defined(), ErrorKind::type_mismatch, "layout_free_is_tensor",
              hint("list tensors"), current_span,
              "layout_free_placeholders: an item is not a tensor");
      layout_free.emplace_back(tensor);
    }
  }
  Rewriter rewrite;
  rewrite.on<loopsmith::Tensor>([&](const loopsmith::Tensor& tensor) -> Ref {
    return buffers.get(Tensor(Ptr<loopsmith::Tensor>(&tensor)));
  });
  Attrs result;
  for (const auto& [key, value] : attrs) {
    if (is_dropped(key)) continue;
    // The rewriter starts from an expression, a statement or a node of a known type.
    const Ptr<List> wrapped = rewrite(make(List{.items = {value}}));
    result = result.with(key, wrapped->items[0]);
  }
  return result;
}

Expr load_buffers(const Expr& expr, BufferTable& buffers, const Substitution& values) {
  Rewriter rewrite;
  Substitution renewed;
  rewrite.on_definition([&](const Ref& definition) -> Ref {
    const auto* variable = definition.as<Var>();
    if (!variable) return definition;
    Ptr<Var> fresh = make(Var(*variable));
    renewed[definition] = fresh;
    return fresh;
  });
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const Ptr<Var> self(&variable);
    if (const auto found = values.find(self); found != values.end()) return found->second;
    const auto found = renewed.find(self);
    return found == renewed.end() ? Expr(self) : found->second;
  });
  rewrite.on<ProducerLoad>([&](const ProducerLoad& load) -> Expr {
    std::vector<Expr> indices;
    for (const Expr& index : load.indices) indices.push_back(rewrite(index));
    return loopsmith::load(buffers.get(Tensor(load.producer)), std::move(indices));
  });
  return rewrite(expr);
}

}  // namespace loopsmith::te
