// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/extern_primfunc.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"

namespace loopsmith::te {
namespace {

/// The parameters of a function by what it does with them.
struct Roles {
  std::vector<Ptr<Buffer>> inputs;
  std::vector<Ptr<Buffer>> outputs;
};

Roles roles_of(const PrimFunc& func, const std::string& name) {
  std::vector<Ref> read, written;
  pre_order_visit(func.body, [&](const Ref& node) {
    if (const auto* load = node.as<BufferLoad>()) read.push_back(load->buffer);
    if (const auto* store = node.as<BufferStore>()) written.push_back(store->buffer);
    return true;
  });
  const auto has = [](const std::vector<Ref>& all, const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(all, [&](const Ref& one) { return one.same_as(buffer); });
  };
  Roles roles;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    require(buffer.defined(), ErrorKind::type_mismatch, "parameter_is_buffer",
            hint("make it a constant of the function"), current_span,
            "extern_primfunc {}: parameter {} is a scalar", name, func.params[i]->name);
    const bool is_written = has(written, buffer);
    require(is_written || has(read, buffer), ErrorKind::user, "parameter_is_used",
            hint("load from the buffer or store into it, or use extern"), current_span,
            "extern_primfunc {}: it neither loads from {} nor stores into it", name, buffer->name);
    (is_written ? roles.outputs : roles.inputs).push_back(buffer);
  }
  require(!roles.outputs.empty(), ErrorKind::user, "function_writes_output",
          hint("store the result into a parameter"), current_span,
          "extern_primfunc {}: the function writes none of its parameters", name);
  return roles;
}

/// The body inside the block `root`, which another function has, too.
Stmt body_within_root(const PrimFunc& func, const std::string& name) {
  const auto* realize = func.body.as<BlockRealize>();
  if (!realize || realize->block->name_hint != "root") return func.body;
  if (realize->block->alloc_buffers.empty()) return realize->block->body;
  Block block = *realize->block;
  block.name_hint = name + "_body";
  BlockRealize copy = *realize;
  copy.block = make(std::move(block));
  return make(std::move(copy));
}

}  // namespace

std::vector<Tensor> extern_primfunc(const std::vector<Tensor>& inputs, const Ptr<PrimFunc>& func,
                                    std::string name, ExternOptions options, const Place& place) {
  const SpanScope scope(span_of(place));
  const Ptr<PrimFunc> own = clone(func);  // Who uses it twice defines nothing twice.
  Roles roles = roles_of(*own, name);
  require(roles.inputs.size() == inputs.size(), ErrorKind::user, "one_buffer_a_tensor",
          hint("give a tensor for each parameter that the function reads"), current_span,
          "extern_primfunc {}: {} tensors for {} inputs", name, inputs.size(), roles.inputs.size());
  std::vector<std::vector<Expr>> shapes;
  std::vector<DataType> dtypes;
  for (const Ptr<Buffer>& output : roles.outputs) {
    shapes.push_back(output->shape);
    dtypes.push_back(output->dtype);
  }
  options.in_buffers = std::move(roles.inputs);
  options.out_buffers = std::move(roles.outputs);
  const Stmt body = body_within_root(*own, name);
  return extern_op(
      shapes, dtypes, inputs, [&](const auto&, const auto&) { return body; }, std::move(name),
      std::move(options), place);
}

}  // namespace loopsmith::te
