// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/fuse_row_nests.h"

#include <algorithm>

#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// How many axes of the nest may be shared: enough are left for it to be vectorised by itself.
std::size_t max_shared(const Nest& nest, const CpuModel& machine) {
  const std::size_t spatial = nest.spatial().size();
  if (nest.reduction().empty()) return spatial == 0 ? 0 : spatial - 1;
  return row_reduction_of(nest) && !is_packed(nest, machine) ? spatial : 0;
}

bool same_axis(const Axis& a, const Axis& b) {
  return structural_equal(a.extent, b.extent) && structural_equal(a.min, b.min);
}

bool accesses(const Nest& nest, const Ptr<Buffer>& buffer) {
  return reads(nest, buffer) || writes(nest, buffer);
}

/// The dimensions of the buffer that the first `shared` axes index alone, in each access of it in
/// `nest`; empty when there are no such.
std::vector<std::size_t> shared_dimensions(const Nest& nest, const Ptr<Buffer>& buffer,
                                           std::size_t shared) {
  std::vector<std::size_t> dimensions;
  for (std::size_t k = 0; k < shared; ++k) {
    std::optional<std::size_t> place;
    for (const NestAccess& access : accesses_in(nest)) {
      if (!access.buffer.same_as(buffer)) continue;
      const auto index = std::ranges::find_if(
          access.indices, [&](const Expr& e) { return e.same_as(nest.axes[k].var); });
      if (index == access.indices.end()) return {};
      const auto here = static_cast<std::size_t>(index - access.indices.begin());
      if (place && *place != here) return {};
      place = here;
    }
    if (!place) return {};
    dimensions.push_back(*place);
  }
  return dimensions;
}

/// True when every dependence between the two stays within one point of the shared axes.
bool depend_row_by_row(const Nest& first, const Nest& second, std::size_t shared) {
  const auto row_by_row = [&](const Nest& writer, const Nest& other) {
    return std::ranges::all_of(written_buffers(writer), [&](const Ptr<Buffer>& buffer) {
      if (!accesses(other, buffer)) return true;
      const std::vector<std::size_t> mine = shared_dimensions(writer, buffer, shared);
      return !mine.empty() && mine == shared_dimensions(other, buffer, shared);
    });
  };
  return row_by_row(first, second) && row_by_row(second, first);
}

bool share_a_buffer(const Group& group, const Nest& nest) {
  return std::ranges::any_of(group.nests, [&](const Nest& other) {
    return std::ranges::any_of(accesses_in(other), [&](const NestAccess& access) {
      return accesses(nest, access.buffer);
    });
  });
}

/// How many axes the group can share with `nest`, too: `most` at most.
std::size_t shared_with(const Group& group, const Nest& nest, std::size_t most) {
  if (group.opaque || group.nests.empty() || !share_a_buffer(group, nest)) return 0;
  std::size_t shared = std::min(group.shared, most);
  for (std::size_t k = 0; k < shared; ++k) {
    if (!same_axis(group.nests[0].axes[k], nest.axes[k])) shared = k;
  }
  for (; shared > 0; --shared) {
    // One point brings nothing together, and leaves nothing to do at once.
    const std::vector<Axis>& axes = group.nests[0].axes;
    const bool is_point =
        std::all_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(shared),
                    [](const Axis& axis) { return is_const_int(axis.extent, 1); });
    if (is_point) return 0;
    const bool legal = std::ranges::all_of(
        group.nests, [&](const Nest& other) { return depend_row_by_row(other, nest, shared); });
    if (legal) return shared;
  }
  return 0;
}

/// True when a row of the nest is known to be shorter than a vector: then rows side by side are in
/// vectors sooner than what is in a row.
bool has_short_rows(const Nest& nest, const CpuModel& machine) {
  const auto extent = constant_extent(nest.axes.back());
  return extent && *extent < lanes_of(nest, machine);
}

/// How many parts from number `first` on compute one element for each point of the axes that the
/// group shares, and stand between it and a nest that shares them, too; 0 where there is none.
///
///     for i: s[i] = sum(A[i, :]);  for i: m[i] = s[i] / n;  for i: B[i, :] = A[i, :] - m[i]
std::size_t parts_between(const Group& group, const Program& program, std::size_t first,
                          const CpuModel& machine) {
  if (group.shared == 0 || has_short_rows(group.nests[0], machine)) return 0;
  Group joined = group;
  for (std::size_t i = first; i < program.parts.size() && program.parts[i].nest; ++i) {
    const Nest& nest = *program.parts[i].nest;
    const bool is_element = nest.reduction().empty() && nest.spatial().size() == group.shared;
    const std::size_t most = is_element ? group.shared : max_shared(nest, machine);
    if (shared_with(joined, nest, most) != group.shared) return 0;
    if (!is_element) return i - first;
    joined.nests.push_back(nest);
  }
  return 0;
}

}  // namespace

std::vector<Group> fuse_row_nests(const Program& program, const CpuModel& machine) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < program.parts.size(); ++i) {
    const Part& part = program.parts[i];
    if (!part.nest) {
      groups.push_back({.nests = {}, .shared = 0, .opaque = part.opaque, .node = part.node});
      continue;
    }
    if (std::size_t between =
            groups.empty() ? 0 : parts_between(groups.back(), program, i, machine);
        between > 0) {
      for (; between > 0; --between, ++i) groups.back().nests.push_back(*program.parts[i].nest);
      groups.back().nests.push_back(*program.parts[i].nest);
      continue;
    }
    // What a nest that stands alone could share is not asked for.
    const bool is_alone = program.parts.size() == 1;
    const std::size_t most = is_alone ? 0 : max_shared(*part.nest, machine);
    const std::size_t shared = groups.empty() ? 0 : shared_with(groups.back(), *part.nest, most);
    if (shared > 0) {
      groups.back().nests.push_back(*part.nest);
      groups.back().shared = shared;
    } else {
      groups.push_back(
          {.nests = {*part.nest}, .shared = most, .opaque = nullptr, .node = part.node});
    }
  }
  return groups;
}

bool is_fed_by(const Nest& producer, const Nest& nest, std::size_t shared,
               const CpuModel& machine) {
  const std::optional<RowReduction> reduction = row_reduction_of(nest);
  const auto* row = producer.body.as<BufferStore>();
  if (!reduction || !row || !producer.reduction().empty() || !producer.streamed.empty()) {
    return false;
  }
  const bool is_one_row = producer.axes.size() == shared + 1 && nest.axes.size() == shared + 1 &&
                          reduction->outer.empty() && !reduction->combination.condition.defined();
  const Axis &along = producer.axes.back(), &combined = reduction->axis;
  if (!is_one_row || reads(producer, row->buffer) || !structural_equal(along.min, combined.min) ||
      !structural_equal(along.extent, combined.extent) ||
      lanes_of(producer, machine) != lanes_of(nest, machine)) {
    return false;
  }
  Substitution own{{along.var, combined.var}};
  for (std::size_t k = 0; k < shared; ++k) own[producer.axes[k].var] = nest.axes[k].var;
  bool is_read = false, is_same = true;
  for (const NestAccess& access : accesses_in(nest)) {
    if (!access.buffer.same_as(row->buffer)) continue;
    is_read = true;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      is_same = is_same && structural_equal(access.indices[d], substitute(row->indices[d], own));
    }
  }
  return is_read && is_same;
}

}  // namespace loopsmith
