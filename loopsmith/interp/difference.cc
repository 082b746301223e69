// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/difference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "loopsmith/interp/memory.h"
#include "loopsmith/interp/ring.h"

namespace loopsmith::interp {

bool is_close(DataType type, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  // About half of the digits that the type has.
  const double tolerance = type.bits == 64 ? 1e-8 : type.bits == 32 ? 1e-4 : 0.05;
  return std::fabs(a - b) <= tolerance * (0.1 + std::max(std::fabs(a), std::fabs(b)));
}

Verdict difference_at(const DrawnTensor& before, const DrawnTensor& after,
                      const std::vector<std::int64_t>& index) {
  const bool is_real = before.element.is_float();
  const bool is_ring = is_real && before.tensor.dtype.code == kDLUInt;
  const DataType element = is_ring ? u64 : before.element;
  const auto lanes = static_cast<std::int64_t>(before.tensor.dtype.lanes);
  std::int64_t place = 0;
  for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * before.strides[d];
  for (std::int64_t l = 0; l < lanes; ++l) {
    const Word x = load_element(before.bytes.data(), element, place * lanes + l);
    const Word y = load_element(after.bytes.data(), element, place * lanes + l);
    const bool is_same = is_real && !is_ring ? is_close(element, x.f, y.f) : x.u == y.u;
    if (is_same) continue;
    const auto shown = [&](Word w) {
      if (is_real && !is_ring) return fmt::format("{}", w.f);
      return fmt::format("{}", is_ring ? ring::ordered(w.u) : w.i);
    };
    return {.answer = Answer::different,
            .reason = fmt::format("{}[{}] is {} before and {} after{}", before.name,
                                  fmt::join(index, ", "), shown(x), shown(y),
                                  is_ring ? " (elements of the field of 2^61 - 1)" : ""),
            .buffer = before.name,
            .index = index};
  }
  return {.answer = Answer::same};
}

Verdict difference(const Inputs& before, const Inputs& after) {
  for (std::size_t t = 0; t < before.tensors.size(); ++t) {
    const DrawnTensor &a = before.tensors[t], &b = after.tensors[t];
    if (a.bytes == b.bytes) continue;
    std::vector<std::int64_t> index(a.shape.size(), 0);
    for (;;) {
      Verdict verdict = difference_at(a, b, index);
      if (!verdict) return verdict;
      std::size_t d = index.size();
      while (d > 0 && ++index[d - 1] >= a.shape[d - 1]) index[--d] = 0;
      if (d == 0) break;
    }
  }
  return {.answer = Answer::same};
}

}  // namespace loopsmith::interp
