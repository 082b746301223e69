// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/clamped_loads.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Takes minima and maxima of a ramp and a number out of an index.
class ClampRemover {
 public:
  ClampRemover() {
    rewrite_.on<Min>([this](const Min& node) { return side_of(*rewrite_.children(node), true); });
    rewrite_.on<Max>([this](const Max& node) { return side_of(*rewrite_.children(node), false); });
  }

  /// The index without them; null where there are none.
  Expr operator()(const Expr& index) {
    const Expr plain = rewrite_(index);
    return is_idle_.defined() ? analyzer_.simplify(plain) : nullptr;
  }

  /// Whether no lane needs what was taken out.
  const Expr& is_idle() const { return is_idle_; }

 private:
  template <class Clamp>
  Expr side_of(const Clamp& node, bool is_min) {
    const Expr a = analyzer_.simplify(node.a), b = analyzer_.simplify(node.b);
    for (const auto& [moving, other] : {std::pair{a, b}, std::pair{b, a}}) {
      const auto* ramp = moving.template as<Ramp>();
      const auto* bound = other.template as<Broadcast>();
      const std::int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
      if (!stride || !bound) continue;
      const bool is_last = (*stride > 0) == is_min;
      const std::int64_t steps = is_last ? ramp->dtype.lanes - 1 : 0;
      const Expr extreme = ramp->base + int_imm(ramp->base.dtype(), steps * *stride);
      const Expr holds = is_min ? extreme <= bound->value : bound->value <= extreme;
      is_idle_ = is_idle_.defined() ? is_idle_ && holds : holds;
      return moving;
    }
    return make(node, node.dtype);
  }

  Analyzer analyzer_;
  Rewriter rewrite_;
  Expr is_idle_;
};

}  // namespace

Expr without_idle_clamps(const Ptr<BufferLoad>& load) {
  if (load->indices.empty() || load->predicate.defined()) return load;
  ClampRemover remove;
  const Expr index = remove(load->indices.back());
  const auto* ramp = index.defined() ? index.as<Ramp>() : nullptr;
  if (!ramp || !is_const_int(ramp->stride, 1)) return load;
  BufferLoad plain = *load;
  plain.indices.back() = index;
  return if_then_else(remove.is_idle(), make(std::move(plain)), load);
}

}  // namespace loopsmith
