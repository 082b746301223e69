// SPDX-License-Identifier: Apache-2.0
// What the parts of the bindings of the tuner share.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/tune/model/model.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/spaces/numerics.h"

namespace loopsmith::python {

/// The model of a target's processor, which is looked at once.
class CostModel {
 public:
  explicit CostModel(const Target& target);

  tune::Model model() const { return tune::model_of(machine_); }
  double seconds(const Ptr<PrimFunc>& func) const;
  std::vector<double> features(const Ptr<PrimFunc>& func) const;
  nanobind::list statements(const Ptr<PrimFunc>& func) const;

 private:
  CpuModel machine_;
  LowerOptions options_;
};

/// A lock of numerics by its name in Python.
tune::Numerics numerics_of(const std::string& name);

/// What makes the batches of a search: its method `next_candidates`.
tune::Search::NextCandidates next_candidates_of(nanobind::object search);

/// Spaces.
void bind_tune_spaces(nanobind::module_& m);
/// Spaces, and searches in them.
void bind_tune_search(nanobind::module_& m);

}  // namespace loopsmith::python
