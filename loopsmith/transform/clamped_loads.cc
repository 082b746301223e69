// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/clamped_loads.h"

#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// A minimum or maximum, lane by lane, of a ramp and a number.
struct Clamp {
  const Object* node;
  const Ramp* ramp;
  Expr bound;
  bool is_min;

  /// Whether no lane needs it.
  Expr is_idle() const {
    const bool is_last = (*as_int(ramp->stride) > 0) == is_min;
    const std::int64_t steps = is_last ? ramp->dtype.lanes - 1 : 0;
    const Expr extreme = ramp->base + int_imm(ramp->base.dtype(), steps * *as_int(ramp->stride));
    return is_min ? extreme <= bound : bound <= extreme;
  }

  /// True when it is needed in all lanes or in none: vectors begin and end at the bound.
  bool is_whole(Analyzer& analyzer) const {
    const Expr end = is_min ? bound + int_imm(bound.dtype(), 1) : bound;
    const Expr lanes = int_imm(bound.dtype(), ramp->dtype.lanes);
    return analyzer.can_prove(floormod(end - ramp->base, lanes) == 0);
  }

  /// The lanes that do not need it.
  Expr idle_lanes() const {
    const Expr moving(ramp), fixed = broadcast(bound, ramp->dtype.lanes);
    return is_min ? moving <= fixed : fixed <= moving;
  }
};

/// Takes clamps out of an index.
class ClampRemover {
 public:
  explicit ClampRemover(Analyzer& analyzer) : analyzer_(analyzer) {
    rewrite_.on<Min>([this](const Min& node) { return side_of(node, true); });
    rewrite_.on<Max>([this](const Max& node) { return side_of(node, false); });
  }

  /// The index without them.
  Expr operator()(const Expr& index) {
    const Expr plain = rewrite_(index);
    return analyzer_.simplify(plain);
  }

  /// What was taken out, innermost first.
  const std::vector<Clamp>& clamps() const { return clamps_; }

 private:
  template <class Node>
  Expr side_of(const Node& node, bool is_min) {
    const Ptr<Node> inside = rewrite_.children(node);
    const Expr a = analyzer_.simplify(inside->a), b = analyzer_.simplify(inside->b);
    for (const auto& [moving, other] : {std::pair{a, b}, std::pair{b, a}}) {
      const auto* ramp = moving.template as<Ramp>();
      const auto* bound = other.template as<Broadcast>();
      if (!ramp || !as_int(ramp->stride) || !bound) continue;
      kept_.push_back(moving);
      clamps_.push_back({&node, ramp, bound->value, is_min});
      return moving;
    }
    return inside;
  }

  Analyzer& analyzer_;
  Rewriter rewrite_;
  std::vector<Clamp> clamps_;
  std::vector<Expr> kept_;  ///< The ramps that they point to.
};

BufferLoad with_index(const BufferLoad& load, const Expr& index, DataType type) {
  BufferLoad copy = load;
  copy.indices.back() = index;
  copy.dtype = type;
  return copy;
}

/// What lanes load where the one clamp of their index is needed: those past the bound the element
/// there, the others theirs. `load` itself where that has no short form.
Expr clamped(const Ptr<BufferLoad>& load, const Clamp& clamp, const Expr& plain,
             Analyzer& analyzer) {
  const int lanes = load->dtype.lanes;
  // Memory is read by masks in elements as large as that.
  constexpr int min_masked_bits = 32;
  const bool is_whole = clamp.is_whole(analyzer);
  if (!is_whole && load->dtype.bits < min_masked_bits) return load;
  Rewriter rewrite;
  const auto at_bound = [&](const auto& node) -> Expr {
    if (&node == clamp.node) return broadcast(clamp.bound, lanes);
    return rewrite.children(node);
  };
  rewrite.on<Min>(at_bound);
  rewrite.on<Max>(at_bound);
  const Expr index = analyzer.simplify(rewrite(load->indices.back()));
  const auto* fixed = index.as<Broadcast>();
  if (!fixed || load->indices.size() != 1) return load;
  const Expr edge = broadcast(make(with_index(*load, fixed->value, load->dtype.element())), lanes);
  if (is_whole) return edge;
  BufferLoad masked = with_index(*load, plain, load->dtype);
  const Expr mask = masked.predicate = clamp.idle_lanes();
  return select(mask, make(std::move(masked)), edge);
}

}  // namespace

Expr without_idle_clamps(const Ptr<BufferLoad>& load) {
  if (load->indices.empty() || load->predicate.defined()) return load;
  Analyzer analyzer;
  ClampRemover remove(analyzer);
  const Expr index = remove(load->indices.back());
  const std::vector<Clamp>& clamps = remove.clamps();
  const auto* ramp = index.as<Ramp>();
  if (clamps.empty() || !ramp || !is_const_int(ramp->stride, 1)) return load;
  Expr is_idle = clamps[0].is_idle();
  for (std::size_t i = 1; i < clamps.size(); ++i) is_idle = is_idle && clamps[i].is_idle();
  const bool is_simple = clamps.size() == 1 && is_const_int(clamps[0].ramp->stride, 1);
  return if_then_else(is_idle, make(with_index(*load, index, load->dtype)),
                      is_simple ? clamped(load, clamps[0], index, analyzer) : Expr(load));
}

}  // namespace loopsmith
