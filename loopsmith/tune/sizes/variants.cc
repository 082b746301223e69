// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/variants.h"

#include "loopsmith/ir/stmt.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/sizes/size_conditions.h"

namespace loopsmith::tune {
namespace {

bool has_parameters_of(const PrimFunc& func, const PrimFunc& first) {
  if (func.params.size() != first.params.size()) return false;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    if (!func.params[i].same_as(first.params[i])) return false;
  }
  return true;
}

}  // namespace

Ptr<PrimFunc> with_variants(const std::vector<Variant>& variants) {
  require(!variants.empty(), "function_has_variants", hint("give one at least"),
          "with_variants: there is no variant");
  Stmt body;
  for (std::size_t i = variants.size(); i-- > 0;) {
    const Variant& variant = variants[i];
    const bool is_last = i + 1 == variants.size();
    require(variant.condition.defined() != is_last, "last_variant_is_for_the_rest",
            hint("give a condition for each but the last"), "with_variants: variant {} {}", i,
            is_last ? "is the last and has a condition" : "has no condition");
    require(has_parameters_of(*variant.func, *variants.front().func),
            "variants_are_of_one_function", hint("make all schedules of the same function"),
            "with_variants: variant {} has other parameters than the first", i);
    // Variants share what their steps did not change: each gets definitions of its own.
    const Stmt own = clone_with(variant.func->body, {});
    body = is_last ? own
                   : Stmt(make(IfThenElse{
                         .condition = variant.condition, .then_case = own, .else_case = body}));
  }
  return with_body(variants.front().func, body);
}

Ptr<PrimFunc> with_size_tree(const std::vector<Ptr<PrimFunc>>& variants, const SizeTree& tree) {
  check(!variants.empty(), "with_size_tree", "no variants");
  std::vector<Variant> chosen;
  for (const auto& [which, condition] : size_conditions(tree, *variants.front())) {
    require(static_cast<std::size_t>(which) < variants.size(), ErrorKind::format,
            "variant_is_known", hint("tune it again, or delete the record"), {},
            "tune: the tree decides for variant {} of {}", which, variants.size());
    chosen.push_back({variants[static_cast<std::size_t>(which)], condition});
  }
  return with_attr(with_variants(chosen), "tir.is_scheduled", Expr(1));
}

}  // namespace loopsmith::tune
