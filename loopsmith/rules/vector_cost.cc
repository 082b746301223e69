// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/vector_cost.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/lane_strides.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// By measurement of filters on Zen 4 with vectors of 64 bytes.
constexpr double operation_cost = 0.5, store_cost = 1.0, call_cost = 24.0;
/// Of a load whose elements are widened, and of one whose lanes are gathered.
constexpr double widening_cost = 1.0, gather_cost = 8.0;
constexpr double near_cost = 2.0, far_cost = 4.0;
constexpr double cache_line_bytes = 64.0;

class ElementCost {
 public:
  ElementCost(const Nest& nest, const CpuModel& machine)
      : lanes_(lanes_of(nest, machine)), column_(contiguous_axis(nest)), machine_(machine) {}

  /// What is shared in the tree is computed once.
  double of(const Expr& value) {
    pre_order_visit(value, [&](const Ref& ref) {
      if (!seen_.insert(ref.get()).second) return false;
      const auto* load = ref.as<BufferLoad>();
      if (load) {
        note(*load, 0);
      } else if (const BufferLoad* narrow = widened(ref)) {
        note(*narrow, widening_cost);
        return false;
      } else if (!ref.is<Var>() && !ref.is<IntImm>() && !ref.is<FloatImm>()) {
        operations_ += is_costly_call(ref) ? call_cost : adds_product(ref) ? 0 : operation_cost;
      }
      return !load;
    });
    return std::max(loads_cost_, operations_) + store_cost;
  }

 private:
  static const BufferLoad* widened(const Ref& ref) {
    const auto* cast = ref.as<Cast>();
    const auto* load = cast ? cast->value.as<BufferLoad>() : nullptr;
    return load && load->dtype.bytes() < cast->dtype.bytes() ? load : nullptr;
  }

  static bool adds_product(const Ref& sum) {
    if (!sum.is<Add>() && !sum.is<Sub>()) return false;
    bool has_product = false;
    for_each_child(*sum.get(),
                   [&](const Ref& child, Role) { has_product = has_product || child.is<Mul>(); });
    return has_product;
  }

  void note(const BufferLoad& load, double extra) {
    BufferLoad copy = load;
    for (Expr& index : copy.indices) index = analyzer_.simplify(index);
    const bool is_across = crosses_lines(copy);
    const Digest digest = structural_hash(make(std::move(copy)));
    if (std::ranges::find(loads_, digest) != loads_.end()) return;
    loads_.push_back(digest);
    const double cost = is_across ? 1.0 + machine_.vector_bytes / cache_line_bytes : 1.0;
    const auto stride =
        column_ ? stride_in_lines(NestAccess{load.buffer, load.indices}, *column_) : 1;
    loads_cost_ += stride ? cost * static_cast<double>(*stride) + extra : gather_cost;
  }

  /// Whether vectors start between lines: their rows, or their offsets, are no whole vectors.
  bool crosses_lines(const BufferLoad& load) {
    if (load.indices.empty()) return false;
    const Substitution at_0 = [&] {
      Substitution zeros;
      for (const Ptr<Var>& axis : free_variables(load.indices.back())) {
        if (axis->dtype.is_index()) zeros[axis] = zero_of(axis->dtype);
      }
      return zeros;
    }();
    const Expr offset = analyzer_.simplify(substitute(load.indices.back(), at_0));
    const auto is_whole = [&](const Expr& count) {
      const std::int64_t* known = as_int(count);
      return known && *known % lanes_ == 0;
    };
    return !is_whole(offset) || !is_whole(load.buffer->shape.back());
  }

  std::int64_t lanes_;
  std::optional<Axis> column_;
  const CpuModel& machine_;
  Analyzer analyzer_;
  std::unordered_set<const Object*> seen_;
  std::vector<Digest> loads_;
  double loads_cost_ = 0, operations_ = 0;
};

}  // namespace

bool is_costly_call(const Ref& node) {
  const auto* call = node.as<Call>();
  return call && call->dtype.is_float() && call->op != op("if_then_else");
}

double vector_cost(const Nest& nest, const CpuModel& machine) {
  const auto* store = nest.body.as<BufferStore>();
  return store ? ElementCost(nest, machine).of(store->value) : store_cost;
}

double keeping_cost(std::int64_t bytes, const CpuModel& machine) {
  return bytes > machine.core_cache_bytes ? far_cost : near_cost;
}

}  // namespace loopsmith
