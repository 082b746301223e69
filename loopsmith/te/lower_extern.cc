// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/lower_ops.h"

namespace loopsmith::te {
namespace {

/// What stands for the placeholder buffers of an extern inside a function.
class Placeholders {
 public:
  void replace(const Ptr<Buffer>& placeholder, const Ptr<Buffer>& buffer) {
    rewrite_.replace_buffer(placeholder, buffer);
    values_[placeholder->data] = buffer->data;
    if (placeholder->elem_offset.is<Var>()) {
      values_[placeholder->elem_offset] = zero_of(placeholder->elem_offset.dtype());
    }
    const std::vector<Expr> strides = strides_of(*buffer);
    for (std::size_t i = 0; i < placeholder->strides.size(); ++i) {
      if (placeholder->strides[i].is<Var>()) values_[placeholder->strides[i]] = strides[i];
    }
  }

  Stmt in(const Stmt& body) {
    rewrite_.on<Var>([&](const Var& variable) -> Expr {
      const Ptr<Var> self(&variable);
      const auto found = values_.find(self);
      return found == values_.end() ? Expr(self) : found->second;
    });
    return rewrite_(body);
  }

 private:
  Rewriter rewrite_;
  Substitution values_;
};

}  // namespace

Stmt lower_extern(const ExternOp& op, const Ref& self, LowerContext& context) {
  Placeholders placeholders;
  Block block{.name_hint = context.block_name(op.name, self),
              .annotations = context.annotations(op.attrs)};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Ptr<Buffer> buffer = context.buffers.get(op.inputs[i]);
    placeholders.replace(op.input_placeholders[i], buffer);
    block.reads.push_back(whole_region(buffer));
  }
  for (std::size_t i = 0; i < op.output_placeholders.size(); ++i) {
    const Ptr<Buffer> buffer = context.buffers.get(output(self, i));
    placeholders.replace(op.output_placeholders[i], buffer);
    block.writes.push_back(whole_region(buffer));
  }
  block.body = placeholders.in(op.body);
  return make(BlockRealize{.block = make(std::move(block))});
}

}  // namespace loopsmith::te
