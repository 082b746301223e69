// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/samples.h"

namespace loopsmith {

std::int64_t Samples::next_random() {
  random_ = random_ * 48271 % modulus;
  return random_;
}

void Samples::seed(std::int64_t seed) {
  const std::int64_t normal = seed % modulus;
  random_ = normal == 0 ? 1 : normal;
}

std::int64_t Samples::fork_seed() {
  return next_random() * 32767 % 1999999973;
}

void Samples::tell(std::vector<Decision> decisions) {
  told_ = std::make_shared<const std::vector<Decision>>(std::move(decisions));
  next_told_ = 0;
}

std::optional<Argument> Samples::told(std::string_view primitive) {
  if (!told_ || next_told_ == told_->size()) return {};
  const auto& [kind, decision] = (*told_)[next_told_++];
  if (kind != primitive) return {};
  return decision;
}

}  // namespace loopsmith
