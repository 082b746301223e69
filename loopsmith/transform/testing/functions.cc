// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/testing/functions.h"

#include "loopsmith/ir/structural.h"

namespace loopsmith::testing {

Ptr<PrimFunc> function(const std::vector<Ptr<Buffer>>& tensors, Stmt body,
                       const std::vector<Ptr<Var>>& scalars) {
  PrimFunc func{.body = std::move(body)};
  for (const auto& tensor : tensors) {
    func.params.push_back(var(tensor->name, handle_type));
    func.buffer_map.push_back(tensor);
  }
  for (const auto& scalar : scalars) {
    func.params.push_back(scalar);
    func.buffer_map.push_back(nullptr);
  }
  return make(std::move(func));
}

::testing::AssertionResult same(const Ref& actual, const Ref& expected) {
  const auto difference = first_difference(actual, expected);
  if (!difference) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << difference->text();
}

Ptr<IterVar> axis(const Ptr<Var>& variable, Expr extent, IterType type) {
  return make(IterVar{.dom = range(0, std::move(extent)), .var = variable, .iter_type = type});
}

Stmt block(const std::vector<Ptr<IterVar>>& axes, std::vector<Expr> values, Stmt body, Stmt init,
           Expr predicate) {
  return make(BlockRealize{
      .iter_values = std::move(values),
      .predicate = std::move(predicate),
      .block = make(Block{
          .iter_vars = axes, .name_hint = "b", .init = std::move(init), .body = std::move(body)})});
}

Stmt allocated(const Ptr<Buffer>& buffer, Stmt body) {
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .buffer_var = buffer->data,
                       .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
}

}  // namespace loopsmith::testing
