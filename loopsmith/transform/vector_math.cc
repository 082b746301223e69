// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/vector_math.h"

namespace loopsmith {
namespace {

Expr ramp(const Expr& base, const Expr& stride, std::int64_t lanes) {
  return make(Ramp{.base = base, .stride = stride, .lanes = lanes});
}

/// The scalar of which all lanes of `value` are made; null when there is none.
Expr uniform(const Expr& value) {
  if (value.dtype().is_scalar()) return value;
  const auto* same = value.as<Broadcast>();
  return same && same->value.dtype().is_scalar() ? same->value : Expr();
}

/// True for a ramp and for what is the same in all lanes: their sums and multiples are ramps.
struct Affine {
  Expr base, stride;  ///< Both null when it is neither; stride null when it is uniform.
  std::int64_t lanes = 1;
};

Affine affine(const Expr& value) {
  if (const auto* r = value.as<Ramp>()) return {r->base, r->stride, r->lanes};
  return {uniform(value), nullptr, value.dtype().lanes};
}

}  // namespace

Expr with_lanes(const Expr& value, int lanes) {
  return value.dtype().lanes == lanes ? value : broadcast(value, lanes);
}

Expr add_lanes(const Expr& a, const Expr& b) {
  const Affine x = affine(a), y = affine(b);
  const bool both = x.base.defined() && y.base.defined() && a.dtype().is_index();
  if (!both || (!x.stride.defined() && !y.stride.defined())) return a + b;
  const Expr stride = !x.stride.defined()   ? y.stride
                      : !y.stride.defined() ? x.stride
                                            : x.stride + y.stride;
  return ramp(x.base + y.base, stride, std::max(x.lanes, y.lanes));
}

Expr subtract_lanes(const Expr& a, const Expr& b) {
  const Affine x = affine(a), y = affine(b);
  const bool both = x.base.defined() && y.base.defined() && a.dtype().is_index();
  if (!both || (!x.stride.defined() && !y.stride.defined())) return a - b;
  const Expr stride = !x.stride.defined()   ? -y.stride
                      : !y.stride.defined() ? x.stride
                                            : x.stride - y.stride;
  return ramp(x.base - y.base, stride, std::max(x.lanes, y.lanes));
}

Expr multiply_lanes(const Expr& a, const Expr& b) {
  const Affine x = affine(a), y = affine(b);
  const bool both = x.base.defined() && y.base.defined() && a.dtype().is_index();
  if (both && x.stride.defined() && !y.stride.defined()) {
    return ramp(x.base * y.base, x.stride * y.base, x.lanes);
  }
  if (both && y.stride.defined() && !x.stride.defined()) {
    return ramp(x.base * y.base, x.base * y.stride, y.lanes);
  }
  return a * b;
}

Expr cast_lanes(DataType element, const Expr& value) {
  const auto* r = value.as<Ramp>();
  const bool widens = r && element.is_index() && element.bits >= value.dtype().bits;
  if (!widens) return cast(element.with_lanes(value.dtype().lanes), value);
  return ramp(cast(element, r->base), cast(element, r->stride), r->lanes);
}

}  // namespace loopsmith
