// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/effects.h"

#include <unordered_set>

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

bool may_change(const Expr& e, const Stmt& body) {
  if (!e.defined() || is_timeless(e)) return false;
  std::unordered_set<Ref, RefHash, RefEqual> read;
  bool reads_anything = false;
  pre_order_visit(e, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) read.insert(load->buffer->data);
    const auto* call = ref.as<Call>();
    reads_anything = reads_anything || (call && call->op.info().effect >= Effect::reads);
    return true;
  });
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      found = found || reads_anything || read.contains(store->buffer->data);
    }
    const auto* call = ref.as<Call>();
    found = found || (call && call->op.info().effect == Effect::updates);
    return !found;
  });
  return found;
}

}  // namespace loopsmith
