// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/data_parameters.h"

#include <optional>

#include "loopsmith/ir/node_set.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {
namespace {

/// The sides of `min(max(value, low), high)`, or of the reverse: what is held between two limits.
struct Clamp {
  Expr value, low, high;
};

template <class Outer, class Inner>
std::optional<Clamp> clamp_of(const Ref& ref) {
  const auto* outer = ref.as<Outer>();
  if (!outer) return std::nullopt;
  for (const bool first : {true, false}) {
    const Expr &held = first ? outer->a : outer->b, &limit = first ? outer->b : outer->a;
    const auto* inner = held.as<Inner>();
    if (!inner) continue;
    const bool is_left = inner->b.template is<IntImm>();
    return Clamp{is_left ? inner->a : inner->b, is_left ? inner->b : inner->a, limit};
  }
  return std::nullopt;
}

/// Finds the variables whose values count elements or iterations.
class IndexVariables {
 public:
  explicit IndexVariables(const PrimFunc& func) {
    for (const Ptr<Buffer>& buffer : func.buffer_map) {
      if (buffer) visit(buffer);
    }
    visit(func.body);
    // Inner definitions come later, and use outer ones.
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
      if (contains(let->first)) add(let->second);
    }
  }
  bool contains(const Ref& variable) const { return found_.contains(variable.get()); }

 private:
  void visit(const Ref& root) {
    pre_order_visit(root, [this](const Ref& ref) {
      look_at(ref);
      return true;
    });
  }
  void look_at(const Ref& ref) {
    if (const auto* buffer = ref.as<Buffer>()) {
      add(buffer->shape);
      add(buffer->strides);
      add(buffer->elem_offset);
    } else if (const auto* range = ref.as<Range>()) {
      add(range->min);
      add(range->extent);
    } else if (const auto* loop = ref.as<For>()) {
      for (const Expr& bound : {loop->min, loop->extent, loop->step}) add(bound);
    } else if (const auto* load = ref.as<BufferLoad>()) {
      add(load->indices);
    } else if (const auto* store = ref.as<BufferStore>()) {
      add(store->indices);
    } else if (const auto* realize = ref.as<BlockRealize>()) {
      add(realize->iter_values);
    } else if (const auto* allocate = ref.as<Allocate>()) {
      add(allocate->extents);
    } else if (const auto* statement = ref.as<LetStmt>()) {
      lets_.emplace_back(statement->var, statement->value);
    } else if (const auto* let = ref.as<Let>()) {
      lets_.emplace_back(let->var, let->value);
    }
  }
  void add(const std::vector<Expr>& all) {
    for (const Expr& each : all) add(each);
  }
  void add(const Expr& index) {
    if (!index.defined() || index.is<IntImm>()) return;
    pre_order_visit(index, [this](const Ref& ref) {
      if (ref.is<Var>()) found_.add(ref.get());
      // What is held between limits may have been any value: conditions on data cut loops like
      // that.
      auto clamp = clamp_of<Min, Max>(ref);
      if (!clamp) clamp = clamp_of<Max, Min>(ref);
      if (!clamp) return true;
      add(clamp->low);
      add(clamp->high);
      return false;
    });
  }

  NodeSet found_;
  std::vector<std::pair<Ref, Expr>> lets_;
};

}  // namespace

std::vector<Ptr<Var>> data_parameters(const PrimFunc& func) {
  std::vector<Ptr<Var>> result;
  for (const Ptr<Var>& param : func.params) {
    if (!param->dtype.is_handle() && !param->is_size) result.push_back(param);
  }
  if (result.empty()) return result;
  const IndexVariables indices(func);
  std::erase_if(result, [&](const Ptr<Var>& param) { return indices.contains(param); });
  return result;
}

}  // namespace loopsmith::arith
