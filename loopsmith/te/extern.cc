// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/extern.h"

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/same_extent.h"

namespace loopsmith::te {
namespace {

/// The buffers that were given, or new ones like the tensors.
std::vector<Ptr<Buffer>> input_buffers(std::string_view name, const std::vector<Tensor>& inputs,
                                       const std::vector<Ptr<Buffer>>& given) {
  require(given.empty() || given.size() == inputs.size(), ErrorKind::user, "one_buffer_a_tensor",
          hint("give a buffer for each input, or none"), current_span,
          "extern {}: {} buffers for {} inputs", name, given.size(), inputs.size());
  std::vector<Ptr<Buffer>> buffers = given;
  for (std::size_t i = buffers.size(); i < inputs.size(); ++i) {
    buffers.push_back(decl_buffer(inputs[i].shape(), inputs[i].dtype(), inputs[i].name()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bool fits =
        buffers[i]->dtype == inputs[i].dtype() && buffers[i]->shape.size() == inputs[i].ndim();
    for (std::size_t k = 0; fits && k < inputs[i].ndim(); ++k) {
      fits = same_extent(buffers[i]->shape[k], inputs[i].shape()[k]);
    }
    require(fits, ErrorKind::type_mismatch, "buffer_fits_tensor",
            hint("give it the type and the shape of the tensor"), current_span,
            "extern {}: buffer {} does not fit input {}", name, buffers[i]->name, inputs[i].name());
  }
  return buffers;
}

std::vector<Ptr<Buffer>> output_buffers(const std::string& name,
                                        const std::vector<std::vector<Expr>>& shapes,
                                        const std::vector<DataType>& dtypes,
                                        const std::vector<Ptr<Buffer>>& given) {
  require(!shapes.empty() && shapes.size() == dtypes.size(), ErrorKind::user, "one_type_an_output",
          hint("give a type for each shape"), current_span, "extern {}: {} types for {} shapes",
          name, dtypes.size(), shapes.size());
  require(given.empty() || given.size() == shapes.size(), ErrorKind::user, "one_buffer_a_tensor",
          hint("give a buffer for each output, or none"), current_span,
          "extern {}: {} buffers for {} outputs", name, given.size(), shapes.size());
  std::vector<Ptr<Buffer>> buffers = given;
  for (std::size_t i = buffers.size(); i < shapes.size(); ++i) {
    detail::require_shape("extern", name, shapes[i], dtypes[i]);
    buffers.push_back(decl_buffer(shapes[i], dtypes[i], name));
  }
  return buffers;
}

/// The loops of a statement as axes: those that run on threads are thread axes.
std::vector<Ptr<loopsmith::IterVar>> loops_of(const Stmt& body) {
  std::vector<Ptr<loopsmith::IterVar>> axes;
  pre_order_visit(body, [&](const Ref& node) {
    if (const auto* loop = node.as<For>()) {
      const bool is_bound = loop->kind == ForKind::thread_binding;
      axes.push_back(make(
          loopsmith::IterVar{.dom = range(loop->min, loop->extent),
                             .var = loop->loop_var,
                             .iter_type = is_bound ? IterType::thread_index : IterType::data_par}));
    }
    return true;
  });
  return axes;
}

}  // namespace

std::vector<Tensor> extern_op(const std::vector<std::vector<Expr>>& shapes,
                              const std::vector<DataType>& dtypes,
                              const std::vector<Tensor>& inputs, const ExternFunction& function,
                              std::string name, ExternOptions options, const Place& place) {
  const SpanScope scope(span_of(place));
  auto in_buffers = input_buffers(name, inputs, options.in_buffers);
  auto out_buffers = output_buffers(name, shapes, dtypes, options.out_buffers);
  Stmt body = function(in_buffers, out_buffers);
  require(body.defined(), ErrorKind::type_mismatch, "extern_gives_statement",
          hint("give a statement, or an expression to evaluate"), current_span,
          "extern {}: the function gives no statement", name);
  auto axes = loops_of(body);
  const Ref op = make(ExternOp{.name = std::move(name),
                               .tag = std::move(options.tag),
                               .attrs = std::move(options.attrs),
                               .inputs = {inputs.begin(), inputs.end()},
                               .input_placeholders = std::move(in_buffers),
                               .output_placeholders = std::move(out_buffers),
                               .body = std::move(body),
                               .axis = std::move(axes)});
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < output_count(op); ++i) outputs.push_back(output(op, i));
  return outputs;
}

}  // namespace loopsmith::te
