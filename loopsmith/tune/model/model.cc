// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/model.h"

#include <utility>

#include "loopsmith/tune/model/cost_model.h"

namespace loopsmith::tune {

Model model_of(const CpuModel& machine) {
  LowerOptions options;
  options.vector_bits = machine.vector_bytes * 8;
  const auto predict = [machine, options](const Ptr<PrimFunc>& func) {
    return estimate(func, machine, options);
  };
  return {.predict = predict, .is_concurrent = true};
}

Model with_sizes(Model model, Sizes sizes) {
  if (sizes.empty()) return model;
  if (model.predict) {
    model.predict = [predict = std::move(model.predict), sizes](const Ptr<PrimFunc>& func) {
      return predict(with_sizes(func, sizes));
    };
  }
  if (model.learn) {
    model.learn = [learn = std::move(model.learn), sizes = std::move(sizes)](
                      const Ptr<PrimFunc>& func, double seconds) {
      learn(with_sizes(func, sizes), seconds);
    };
  }
  return model;
}

}  // namespace loopsmith::tune
