// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/purity.h"

#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool has_only(const Expr& e, Effect worst) {
  bool ok = true;
  pre_order_visit(e, [&](const Ref& ref) {
    if (const auto* call = ref.as<Call>()) ok = ok && call->op.info().effect <= worst;
    if (ref.is<BufferLoad>()) ok = ok && worst >= Effect::reads;
    return ok;
  });
  return ok;
}

}  // namespace

bool is_pure(const Expr& e) {
  return has_only(e, Effect::reads);
}

bool is_timeless(const Expr& e) {
  return has_only(e, Effect::pure);
}

}  // namespace loopsmith
