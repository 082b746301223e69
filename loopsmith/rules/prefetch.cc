// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/prefetch.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

constexpr std::int64_t line_bytes = 64;

Expr address_of(const NestAccess& access, const Substitution& values) {
  return call(op("address_of"), {substitute(load(access.buffer, access.indices), values)});
}

}  // namespace

bool exceeds_caches(const Buffer& buffer, const CpuModel& machine) {
  std::int64_t bytes = buffer.dtype.bytes();
  for (const Expr& extent : buffer.shape) {
    const std::int64_t* constant = as_int(extent);
    if (!constant || __builtin_mul_overflow(bytes, *constant, &bytes)) return false;
  }
  return bytes > machine.cache_bytes;
}

Stmt read_ahead(const std::vector<NestAccess>& accesses, const Ptr<Var>& axis,
                const Substitution& values, std::int64_t count, const CpuModel& machine) {
  std::vector<Stmt> requests;
  if (machine.prefetch_bytes == 0) return no_op();
  std::vector<const NestAccess*> known;
  for (const NestAccess& access : accesses) {
    const bool is_known = std::ranges::any_of(known, [&](const NestAccess* other) {
      return other->buffer.same_as(access.buffer) &&
             std::ranges::equal(other->indices, access.indices, StructuralEqual());
    });
    if (is_known) continue;
    known.push_back(&access);
    const std::int64_t bytes = access.buffer->dtype.bytes();
    if (access.is_store || !exceeds_caches(*access.buffer, machine) ||
        stride_along(access, axis) != Stride::one) {
      continue;
    }
    for (std::int64_t done = 0; done < count * bytes; done += line_bytes) {
      Substitution later = values;
      later[axis] = values.at(axis) + int_imm(axis->dtype, (machine.prefetch_bytes + done) / bytes);
      // To be read, once: into the second cache.
      requests.push_back(
          make(Evaluate{.value = call(op("prefetch"), {address_of(access, later), 0, 2, 1})}));
    }
  }
  return requests.empty() ? no_op() : seq(std::move(requests));
}

Expr elements_past_aligned(const Nest& nest, const Substitution& values, std::int64_t lanes,
                           const CpuModel& machine) {
  if (machine.streamed_bytes == 0 || nest.streamed.empty()) return nullptr;
  // What a nest reads of its own results would not be the same a second time.
  for (const Ptr<Buffer>& buffer : written_buffers(nest)) {
    if (reads(nest, buffer)) return nullptr;
  }
  const std::vector<NestAccess> accesses = accesses_in(nest);
  const auto streamed = std::ranges::find_if(accesses, [&](const NestAccess& access) {
    return access.is_store && access.buffer->data.same_as(nest.streamed[0]->data);
  });
  const std::int64_t bytes = streamed->buffer->dtype.bytes();
  const std::int64_t aligned = std::min<std::int64_t>(machine.streamed_bytes, bytes * lanes);
  if ((bytes & (bytes - 1)) != 0 || (aligned & (aligned - 1)) != 0) return nullptr;
  const Expr address = call(i64, op("reinterpret"), {address_of(*streamed, values)});
  const Expr elements = floordiv(address, int_imm(i64, bytes));
  return floormod(elements, int_imm(i64, aligned / bytes));
}

}  // namespace loopsmith
