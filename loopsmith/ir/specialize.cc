// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/specialize.h"

#include <algorithm>

#include "loopsmith/ir/fold_operators.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Gathers what variables are.
class Values {
 public:
  void add(const Ptr<Var>& variable, const Expr& value) {
    const Expr given = cast(variable->dtype, value);
    const auto [known, is_new] = values_.emplace(variable, given);
    require(is_new || structural_equal(known->second, given), "sizes_agree",
            hint("give parameters the same sizes where their declarations have one variable"),
            "specialize: {} is {} and {}", variable->name, known->second, given);
  }
  /// What a parameter declares, and what takes its place.
  void match(std::string_view what, const Buffer& buffer, const Expr& declared, const Expr& given) {
    const Expr known = substitute(declared, values_);
    if (structural_equal(known, given)) return;
    const auto variable = Ptr<Var>::from(declared);
    require(variable.defined(), ErrorKind::type_mismatch, "size_is_variable",
            hint("give a buffer with that size"), {},
            "specialize: {} {} of buffer {} is given as {}, where the parameter expected an "
            "independent Var or that",
            what, known, buffer.name, given);
    add(variable, given);
  }
  const Substitution& all() const { return values_; }

 private:
  Substitution values_;
};

void match_buffers(Values& values, const Buffer& declared, const Buffer& given) {
  require(declared.shape.size() == given.shape.size() &&
              declared.strides.size() == given.strides.size(),
          "buffers_have_one_rank", hint("give a buffer with as many dimensions and strides"),
          "specialize: buffer {} has {} dimensions and {} strides, {} has {} and {}", declared.name,
          declared.shape.size(), declared.strides.size(), given.name, given.shape.size(),
          given.strides.size());
  require(declared.dtype == given.dtype && declared.data_alignment == given.data_alignment &&
              declared.offset_factor == given.offset_factor,
          "buffers_are_alike", hint("declare both with one type, alignment and offset factor"),
          "specialize: buffers {} and {} differ in type, alignment or offset factor", declared.name,
          given.name);
  for (std::size_t d = 0; d < declared.shape.size(); ++d) {
    values.match("extent", declared, declared.shape[d], given.shape[d]);
  }
  for (std::size_t d = 0; d < declared.strides.size(); ++d) {
    values.match("stride", declared, declared.strides[d], given.strides[d]);
  }
  if (declared.elem_offset.defined() && given.elem_offset.defined()) {
    values.match("offset", declared, declared.elem_offset, given.elem_offset);
  }
}

}  // namespace

Ptr<PrimFunc> specialize(const Ptr<PrimFunc>& func, const std::vector<ParameterValue>& given) {
  Values values;
  for (const auto& [param, value] : given) {
    const auto place = std::ranges::find_if(
        func->params, [&](const Ptr<Var>& other) { return other.same_as(param); });
    require(place != func->params.end(), "parameter_exists", hint("take one of its `params`"),
            "specialize: {} is no parameter of {}", param->name, func->name());
    const Ptr<Buffer>& buffer =
        func->buffer_map[static_cast<std::size_t>(place - func->params.begin())];
    const auto as_buffer = Ptr<Buffer>::from(value);
    const Expr as_expr = Expr::from(value);
    require(buffer.defined() ? as_buffer.defined() : as_expr.defined(), ErrorKind::type_mismatch,
            "value_fits_parameter", hint("give a buffer for a tensor, a number for a number"), {},
            "specialize: parameter {} is a {}", param->name,
            buffer.defined() ? "tensor" : "number");
    if (buffer.defined()) {
      match_buffers(values, *buffer, *as_buffer);
    } else {
      values.add(param, as_expr);
    }
  }
  PrimFunc kept = *func;
  kept.params.clear();
  kept.buffer_map.clear();
  for (std::size_t i = 0; i < func->params.size(); ++i) {
    if (values.all().contains(func->params[i])) continue;
    kept.params.push_back(func->params[i]);
    kept.buffer_map.push_back(func->buffer_map[i]);
  }
  Rewriter rewrite;
  fold_operators(rewrite);
  for (const auto& [variable, value] : values.all()) {
    rewrite.replace_variable(Ptr<Var>::from(variable), value);
  }
  return rewrite(make(std::move(kept)));
}

}  // namespace loopsmith
