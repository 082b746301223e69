// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/extern.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/same_extent.h"

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

/// What the sizes that give the inputs' shapes their names are, by the tensors.
Substitution sizes_of(const std::vector<Ptr<Buffer>>& buffers, const std::vector<Tensor>& tensors) {
  Substitution sizes;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::vector<Expr>&shape = buffers[i]->shape, &given = tensors[i].shape();
    for (std::size_t d = 0; d < std::min(shape.size(), given.size()); ++d) {
      if (shape[d].is<Var>()) sizes.try_emplace(shape[d], cast(shape[d].dtype(), given[d]));
    }
  }
  return sizes;
}

/// A tensor's own extents, where they are those of a buffer but for their type.
void take_extents(Buffer& buffer, const Tensor& tensor) {
  for (std::size_t d = 0; d < std::min(buffer.shape.size(), tensor.ndim()); ++d) {
    const Expr& extent = tensor.shape()[d];
    if (same_extent(buffer.shape[d], cast(buffer.shape[d].dtype(), extent))) {
      buffer.shape[d] = extent;
    }
  }
}

/// Puts the sizes in place, in the body of a function and in its buffers.
Stmt with_sizes(const Stmt& body, Roles& roles, const std::vector<Tensor>& inputs,
                const Substitution& sizes) {
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto size = sizes.find(Ref(&variable));
    return size == sizes.end() ? Expr(&variable) : size->second;
  });
  Analyzer analyzer;
  for (auto* buffers : {&roles.inputs, &roles.outputs}) {
    for (std::size_t i = 0; i < buffers->size(); ++i) {
      Ptr<Buffer>& buffer = (*buffers)[i];
      Buffer sized = *buffer;
      for (Expr& extent : sized.shape) extent = analyzer.simplify(substitute(extent, sizes));
      for (Expr& stride : sized.strides) stride = substitute(stride, sizes);
      if (sized.elem_offset.defined()) sized.elem_offset = substitute(sized.elem_offset, sizes);
      if (buffers == &roles.inputs) take_extents(sized, inputs[i]);
      const Ptr<Buffer> made = make(std::move(sized));
      rewrite.replace_buffer(buffer, made);
      buffer = made;
    }
  }
  return rewrite(body);
}

/// The body inside the block `root`, which another function has, too.
Stmt body_within_root(const Stmt& body, const std::string& name) {
  const auto* realize = body.as<BlockRealize>();
  if (!realize || realize->block->name_hint != "root") return body;
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
  const Ptr<PrimFunc> own = clone(func);  // Used twice, it defines nothing twice.
  Roles roles = roles_of(*own, name);
  require(roles.inputs.size() == inputs.size(), ErrorKind::user, "one_buffer_a_tensor",
          hint("give a tensor for each parameter that the function reads"), current_span,
          "extern_primfunc {}: {} tensors for {} inputs", name, inputs.size(), roles.inputs.size());
  const Substitution sizes = sizes_of(roles.inputs, inputs);
  const Stmt sized = sizes.empty() ? own->body : with_sizes(own->body, roles, inputs, sizes);
  std::vector<std::vector<Expr>> shapes;
  std::vector<DataType> dtypes;
  for (const Ptr<Buffer>& output : roles.outputs) {
    shapes.push_back(output->shape);
    dtypes.push_back(output->dtype);
  }
  options.in_buffers = std::move(roles.inputs);
  options.out_buffers = std::move(roles.outputs);
  const Stmt body = body_within_root(sized, name);
  return extern_op(
      shapes, dtypes, inputs, [&](const auto&, const auto&) { return body; }, std::move(name),
      std::move(options), place);
}

}  // namespace loopsmith::te
