// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/tensor_intrin.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

void require_fits(std::string_view name, const Tensor& tensor, const Ptr<Buffer>& buffer) {
  const bool fits =
      buffer->dtype == tensor.dtype() && buffer->shape.size() == tensor.ndim() &&
      std::ranges::equal(buffer->shape, tensor.shape(), [](const Expr& a, const Expr& b) {
        const auto* x = as_int(a);
        const auto* y = as_int(b);
        return x && y ? *x == *y : a.is<Var>() && a.same_as(b);
      });
  require(fits, ErrorKind::type_mismatch, "intrin_buffer_fits",
          hint("declare it with the tensor's shape and dtype"), current_span,
          "decl_tensor_intrin {}: buffer {} is not of the type and shape of tensor {}", name,
          buffer->name, tensor.name());
}

}  // namespace

void require_intrin(const TensorIntrinDecl& intrin) {
  const auto* compute = intrin.op.as<ComputeOp>();
  require(compute, ErrorKind::schedule, "intrin_is_compute", hint("give tensor.op of te.compute"),
          current_span, "decl_tensor_intrin {}: the operation is no compute", intrin.name);
  const auto inputs = input_tensors(intrin.op);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require(inputs[i]->op.is<PlaceholderOp>(), ErrorKind::schedule, "intrin_reads_placeholders",
            hint("describe it as one compute over placeholders"), current_span,
            "decl_tensor_intrin {}: {} reads {}, which is computed itself", intrin.name,
            compute->name, inputs[i].name());
    require_fits(intrin.name, inputs[i], intrin.in_buffers[i]);
  }
  for (std::size_t i = 0; i < intrin.out_buffers.size(); ++i) {
    require_fits(intrin.name, output(intrin.op, i), intrin.out_buffers[i]);
  }
  require(intrin.body || intrin.reduce_update, ErrorKind::schedule, "intrin_has_statement",
          hint("return a statement, or (body, reduce_init, reduce_update)"), current_span,
          "decl_tensor_intrin {}: there is no statement", intrin.name);
}

}  // namespace loopsmith::te
