// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/memories.h"

#include <utility>

#include "loopsmith/ir/operators.h"

namespace loopsmith::dependence {

void Memories::name(const Ptr<Var>& pointer, const Expr& value) {
  named_.emplace(pointer.get(), at(value));
}

Ref Memories::of(const Ref& pointer) const {
  const auto known = named_.find(pointer.get());
  return known == named_.end() ? pointer : known->second;
}

/// The memory that the value of a pointer leads to.
Ref Memories::at(const Expr& value) const {
  if (value.is<Var>()) return of(value);
  const auto* call = value.as<Call>();
  const auto* element =
      call && call->op == op("address_of") ? call->args[0].as<BufferLoad>() : nullptr;
  if (element) return of(views_.element(element->buffer, {}).buffer->data);
  return call && call->op == op("tvm_access_ptr") ? at(call->args[1]) : Ref();
}

void Memories::place(Access& access, const Ptr<Buffer>& buffer,
                     const std::vector<Expr>& indices) const {
  Views::Element element = views_.element(buffer, indices);
  access.buffer = std::move(element.buffer);
  access.expressions = std::move(element.indices);
  access.whole = element.is_any;
  access.memory = of(access.buffer->data);
  if (const auto depth = allocated_.find(access.memory.get()); depth != allocated_.end()) {
    access.is_local = true;
    access.private_depth = depth->second;
  }
}

}  // namespace loopsmith::dependence
