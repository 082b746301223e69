// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/scan.h"

#include "loopsmith/support/error.h"
#include "loopsmith/te/same_extent.h"

namespace loopsmith::te {
namespace {

void require_same_rows(std::string_view name, const Tensor& state, const Tensor& other,
                       std::string_view what) {
  require(other->dtype == state->dtype, ErrorKind::type_mismatch, "scan_has_one_type",
          hint("cast it"), current_span, "scan {}: {} {} is {}, the state {} is {}", name, what,
          other.name(), to_string(other->dtype), state.name(), to_string(state->dtype));
  require(other.ndim() == state.ndim(), ErrorKind::type_mismatch, "scan_has_one_shape",
          hint("give them the same dimensions, time first"), current_span,
          "scan {}: {} {} has {} dimensions, the state {} has {}", name, what, other.name(),
          other.ndim(), state.name(), state.ndim());
  for (std::size_t i = 1; i < state.ndim(); ++i) {
    require(same_extent(other.shape()[i], state.shape()[i]), ErrorKind::type_mismatch,
            "scan_has_one_shape", hint("give them the same extents"), current_span,
            "scan {}: dimension {} of {} {} is not that of the state {}", name, i, what,
            other.name(), state.name());
  }
}

}  // namespace

std::vector<Tensor> scan(const std::vector<Tensor>& init, const std::vector<Tensor>& update,
                         const std::vector<Tensor>& state, const std::vector<Tensor>& inputs,
                         std::string name, ComputeOptions options, const Place& place) {
  const SpanScope scope(span_of(place));
  require(!state.empty() && init.size() == state.size() && update.size() == state.size(),
          ErrorKind::user, "scan_is_whole",
          hint("give one init, one update and one placeholder for each state"), current_span,
          "scan {}: {} inits, {} updates, {} states", name, init.size(), update.size(),
          state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    require(state[i]->op.is<PlaceholderOp>(), ErrorKind::user, "state_is_placeholder",
            hint("make the state with placeholder"), current_span,
            "scan {}: the state {} is no placeholder", name, state[i].name());
    require(state[i].ndim() > 0, ErrorKind::user, "scan_has_time",
            hint("give the time as first dimension"), current_span,
            "scan {}: the state {} has no dimension", name, state[i].name());
    require_same_rows(name, state[i], init[i], "init");
    require_same_rows(name, state[i], update[i], "update");
    require(same_extent(update[i].shape()[0], state[i].shape()[0]), ErrorKind::type_mismatch,
            "scan_has_one_length", hint("give both the same first dimension"), current_span,
            "scan {}: update {} and state {} differ in length", name, update[i].name(),
            state[i].name());
    require(same_extent(state[i].shape()[0], state[0].shape()[0]) &&
                same_extent(init[i].shape()[0], init[0].shape()[0]),
            ErrorKind::type_mismatch, "scan_has_one_length",
            hint("give all states the same first dimension, and all inits"), current_span,
            "scan {}: states {} and {} differ in length", name, state[0].name(), state[i].name());
  }
  const auto [first, end] = match_types(init[0].shape()[0], state[0].shape()[0]);
  auto axis = make(loopsmith::IterVar{.dom = range(first, end - first),
                                      .var = var(name + ".idx", end.dtype()),
                                      .iter_type = IterType::ordered});
  const auto nodes = [](const std::vector<Tensor>& tensors) {
    return std::vector<Ptr<loopsmith::Tensor>>(tensors.begin(), tensors.end());
  };
  const Ref op = make(ScanOp{.name = std::move(name),
                             .tag = std::move(options.tag),
                             .attrs = std::move(options.attrs),
                             .scan_axis = std::move(axis),
                             .init = nodes(init),
                             .update = nodes(update),
                             .state_placeholder = nodes(state),
                             .inputs = nodes(inputs)});
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < output_count(op); ++i) outputs.push_back(output(op, i));
  return outputs;
}

}  // namespace loopsmith::te
