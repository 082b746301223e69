// SPDX-License-Identifier: Apache-2.0
// What the files of the bindings of tensor expressions share.
#pragma once
#include <string_view>
#include <vector>

#include "bindings/ir.h"
#include "loopsmith/te/tensor.h"

namespace loopsmith::python {

/// The tensors as their nodes.
std::vector<Ptr<Tensor>> nodes_of(const std::vector<te::Tensor>& tensors);

/// What a user gave, as an expression; a number takes the type of `like`, a tensor without
/// dimensions is its only element. An error that begins with `what` for anything else.
Expr value_of(nanobind::handle value, std::string_view what, DataType like = void_type);
std::vector<Expr> values_of(nanobind::handle values, std::string_view what,
                            const std::vector<DataType>& like = {});

/// The stages of schedules.
void bind_te_stage(nanobind::module_& m);

/// The class of `T[i]`, which waits for the other indices.
void bind_tensor_slice(nanobind::module_& m);

}  // namespace loopsmith::python
