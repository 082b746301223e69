// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/stencil_group.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/vector_cost.h"

namespace loopsmith {
namespace {

/// The rows of intermediates of all cores' strips fill this part of the largest cache: longer
/// strips compute less again, and what is beyond a core's own cache is near enough.
constexpr std::int64_t cache_parts_of_strips = 4;
/// Strips for each thread, so that the last ones to be done are few; and the longest and shortest.
constexpr std::int64_t strips_a_core = 4, max_strip_rows = 128, min_strip_rows = 4;

std::optional<StencilStage> stage_of(const Nest& nest, const CpuModel& machine) {
  const std::vector<Axis> axes = nest.spatial();
  if (!nest.reduction().empty() || nest.init || axes.size() < 2 || !nest.body.is<BufferStore>() ||
      !point_count(axes)) {
    return std::nullopt;
  }
  const std::optional<Axis> column = contiguous_axis(nest);
  // Other orders of axes are for rules that turn them.
  if (!column || !column->var.same_as(axes.back().var)) return std::nullopt;
  StencilStage stage{.nest = nest,
                     .row = axes[axes.size() - 2],
                     .column = axes.back(),
                     .lanes = lanes_of(nest, machine)};
  const bool fills_vectors = *constant_extent(stage.column) >= 2 * stage.lanes;
  const bool is_along_rows = std::ranges::none_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, column->var) == Stride::other;
  });
  // Clamped borders are peeled where a nest stands alone.
  const bool has_borders = peel_boundaries(nest, axes, stage.lanes).has_value();
  return fills_vectors && is_along_rows && !has_borders ? std::optional(stage) : std::nullopt;
}

/// An index as `slope * axis + offset`.
struct LinearIndex {
  std::int64_t slope = 0, offset = 0;
};

std::optional<LinearIndex> linear_in(const Expr& index, const Axis& axis) {
  const Expr at_0 = substitute(index, {{axis.var, zero_of(axis.var->dtype)}});
  Analyzer analyzer;
  const Expr next = substitute(index, {{axis.var, axis.var + int_imm(axis.var->dtype, 1)}});
  const Expr step = analyzer.simplify(next - index), offset = analyzer.simplify(at_0);
  if (!as_int(step) || !as_int(offset)) return std::nullopt;
  return LinearIndex{*as_int(step), *as_int(offset)};
}

/// How the rows of a producer depend on those of a reader.
struct RowWindow {
  std::int64_t slope = 1, first = 0, last = 0;

  std::int64_t rows_for(std::int64_t rows) const { return slope * (rows - 1) + last - first + 1; }
};

/// The window of `producer` that a point of `reader` reads; nothing where rows are no rows there.
std::optional<RowWindow> window_of(const StencilStage& reader, const StencilStage& producer) {
  const auto& store = *producer.nest.body.as<BufferStore>();
  std::optional<RowWindow> window;
  for (const NestAccess& access : accesses_in(reader.nest)) {
    if (!access.buffer.same_as(store.buffer)) continue;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const bool is_row = store.indices[d].same_as(producer.row.var);
      const bool moves = uses_variable(access.indices[d], reader.row.var);
      if (!is_row && moves) return std::nullopt;
      if (!is_row) continue;
      const auto index = linear_in(access.indices[d], reader.row);
      if (!index || index->slope < 1 || (window && window->slope != index->slope)) {
        return std::nullopt;
      }
      if (!window) window = RowWindow{index->slope, index->offset, index->offset};
      window->first = std::min(window->first, index->offset);
      window->last = std::max(window->last, index->offset);
    }
  }
  return window;
}

class GroupSearch {
 public:
  GroupSearch(const Program& program, const CpuModel& machine)
      : program_(program), machine_(machine) {
    for (const Part& part : program.parts) {
      stages_.push_back(part.nest ? stage_of(*part.nest, machine) : std::nullopt);
    }
    is_taken_.resize(stages_.size());
  }

  std::vector<StencilGroup> run() {
    std::vector<StencilGroup> groups;
    for (std::size_t last = stages_.size(); last-- > 0;) {
      if (!stages_[last] || is_taken_[last]) continue;
      const std::vector<std::size_t> members = members_for(last);
      if (members.size() < 2) continue;
      const std::int64_t rows = rows_of_strips(members);
      if (rows == 0) continue;
      StencilGroup group{.last = *stages_[last], .producers = {}, .rows = rows};
      for (const std::size_t member : members) {
        is_taken_[member] = true;
        if (member != last) group.producers.push_back(*stages_[member]);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  static const Ptr<Buffer>& result_of(const StencilStage& stage) {
    return stage.nest.body.as<BufferStore>()->buffer;
  }

  /// The last stage, and what is computed for members alone, those that read first.
  std::vector<std::size_t> members_for(std::size_t last) const {
    std::vector<std::size_t> members{last};
    for (std::size_t part = last; part-- > 0;) {
      if (stages_[part] && !is_taken_[part] && is_for(part, members)) members.push_back(part);
    }
    return members;
  }

  bool is_for(std::size_t part, const std::vector<std::size_t>& members) const {
    const StencilStage& stage = *stages_[part];
    const Ptr<Buffer>& buffer = result_of(stage);
    if (!program_.is_local(buffer) || program_.used_by_opaque(buffer) ||
        reads(stage.nest, buffer)) {
      return false;
    }
    bool is_read = false;
    for (std::size_t other = 0; other < program_.parts.size(); ++other) {
      const auto& nest = program_.parts[other].nest;
      if (!nest || other == part) continue;
      if (writes(*nest, buffer)) return false;
      if (!reads(*nest, buffer)) continue;
      const bool is_member = std::ranges::count(members, other) != 0;
      if (!is_member || !window_of(*stages_[other], stage)) return false;
      is_read = true;
    }
    return is_read;
  }

  /// Rows that each member computes for so many of the first one's.
  std::vector<std::int64_t> rows_for(const std::vector<std::size_t>& members,
                                     std::int64_t rows) const {
    std::vector<std::int64_t> needed(members.size(), 0);
    needed[0] = rows;
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t reader = 0; reader < i; ++reader) {
        if (!reads(stages_[members[reader]]->nest, result_of(*stages_[members[i]]))) continue;
        const auto window = window_of(*stages_[members[reader]], *stages_[members[i]]);
        needed[i] = std::max(needed[i], window->rows_for(needed[reader]));
      }
      needed[i] = std::min(needed[i], *constant_extent(stages_[members[i]]->row));
    }
    return needed;
  }

  /// Bytes of a row of a stage's result, at one point of the axes outside of its rows.
  static std::int64_t bytes_a_row(const StencilStage& stage) {
    return *constant_extent(stage.column) * result_of(stage)->dtype.bytes();
  }

  /// Bytes of all intermediates.
  std::int64_t bytes_of(const std::vector<std::size_t>& members) const {
    std::int64_t total = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
      const StencilStage& stage = *stages_[members[i]];
      total += *point_count(stage.nest.axes) * result_of(stage)->dtype.bytes();
    }
    return total;
  }

  std::int64_t strip_bytes(const std::vector<std::size_t>& members, std::int64_t rows) const {
    const std::vector<std::int64_t> needed = rows_for(members, rows);
    std::int64_t bytes = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
      bytes += needed[i] * bytes_a_row(*stages_[members[i]]);
    }
    return bytes;
  }

  /// How many rows of the first member a strip has; 0 where strips do not pay.
  std::int64_t rows_of_strips(const std::vector<std::size_t>& members) const {
    if (bytes_of(members) < machine_.core_cache_bytes) return 0;
    for (std::int64_t strips = strips_a_core; strips > 0; strips /= 2) {
      const std::int64_t rows = rows_for_tasks(members, strips * machine_.cores);
      if (rows == 0 || !pays(members, rows)) continue;
      // Somewhat fewer, where all strips are whole then.
      const std::int64_t all = *constant_extent(stages_[members[0]]->row);
      for (std::int64_t fewer = rows; 2 * fewer > rows; --fewer) {
        if (all % fewer == 0 && pays(members, fewer)) return fewer;
      }
      return rows;
    }
    return 0;
  }

  /// Rows of a strip, where there are to be so many strips; 0 where there are too few rows.
  std::int64_t rows_for_tasks(const std::vector<std::size_t>& members, std::int64_t tasks) const {
    const Nest& last = stages_[members[0]]->nest;
    const std::int64_t all = *constant_extent(stages_[members[0]]->row);
    const std::int64_t columns = *constant_extent(stages_[members[0]]->column);
    if (all < min_strip_rows || columns == 0) return 0;
    const std::int64_t rows_of_all = *point_count(last.axes) / columns;
    const std::int64_t budget = std::max(
        machine_.cache_bytes / (cache_parts_of_strips * machine_.cores), machine_.core_cache_bytes);
    std::int64_t rows =
        std::clamp(rows_of_all / tasks, min_strip_rows, std::min(max_strip_rows, all));
    while (rows > min_strip_rows && strip_bytes(members, rows) > budget) rows /= 2;
    rows = std::max(rows, min_strip_rows);
    return rows < all ? rows : 0;
  }

  /// Whether all that is computed again takes less time than to keep whole intermediates.
  bool pays(const std::vector<std::size_t>& members, std::int64_t rows) const {
    const std::vector<std::int64_t> needed = rows_for(members, rows);
    const double strips =
        static_cast<double>(*constant_extent(stages_[members[0]]->row)) / static_cast<double>(rows);
    double saved = 0, again = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
      const StencilStage& stage = *stages_[members[i]];
      const auto all = static_cast<double>(*constant_extent(stage.row));
      const double computed = std::max(static_cast<double>(needed[i]) * strips, all);
      const double vectors =
          static_cast<double>(*constant_extent(stage.column)) / static_cast<double>(stage.lanes);
      saved += all * vectors * keeping_cost(bytes_of(members), machine_) / 2;
      again += (computed - all) * vectors * vector_cost(stage.nest, machine_);
    }
    return again < saved;
  }

  const Program& program_;
  const CpuModel& machine_;
  std::vector<std::optional<StencilStage>> stages_;
  std::vector<bool> is_taken_;
};

}  // namespace

std::vector<StencilGroup> stencil_groups(const Program& program, const CpuModel& machine) {
  return GroupSearch(program, machine).run();
}

}  // namespace loopsmith
