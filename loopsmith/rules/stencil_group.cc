// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/stencil_group.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/neighbour_reads.h"
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

/// Of longer chains, each strip would compute too many rows again.
constexpr std::size_t max_members = 32;

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
  const bool has_borders = peel_boundaries(nest, stage.lanes).has_value();
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

/// A stage, and the stages that read its result.
struct Candidate {
  StencilStage stage;
  double cost = 0;         ///< Of a vector.
  bool may_join = false;   ///< Whether it may be computed where stages read it.
  bool is_window = false;  ///< Whether a reader takes several elements for one of its own.
  std::vector<std::pair<std::size_t, RowWindow>> readers = {};  ///< Those, by their numbers.
};

/// Which parts of a program read and write which memory, by their numbers.
struct MemoryUses {
  std::unordered_map<const Object*, std::vector<std::size_t>> readers, writers;
  std::unordered_set<const Object*> opaque;

  explicit MemoryUses(const Program& program) {
    for (std::size_t part = 0; part < program.parts.size(); ++part) {
      const auto& nest = program.parts[part].nest;
      if (nest) {
        for (const NestAccess& access : accesses_in(*nest)) {
          auto& parts = (access.is_store ? writers : readers)[access.buffer->data.get()];
          if (parts.empty() || parts.back() != part) parts.push_back(part);
        }
        continue;
      }
      pre_order_visit(program.parts[part].opaque, [&](const Ref& ref) {
        if (const auto* buffer = ref.as<Buffer>()) opaque.insert(buffer->data.get());
        if (ref.is<Var>()) opaque.insert(ref.get());
        return true;
      });
    }
  }
};

class GroupSearch {
 public:
  GroupSearch(const Program& program, const CpuModel& machine) : machine_(machine) {
    for (const Part& part : program.parts) {
      auto stage = part.nest ? stage_of(*part.nest, machine) : std::nullopt;
      const double cost = stage ? vector_cost(stage->nest, machine) : 0;
      stages_.push_back(stage ? std::optional(Candidate{*std::move(stage), cost}) : std::nullopt);
    }
    is_taken_.resize(stages_.size());
    MemoryUses uses(program);
    for (std::size_t part = 0; part < stages_.size(); ++part) {
      if (stages_[part]) find_readers(part, uses, program);
    }
  }

  std::vector<StencilGroup> run() {
    std::vector<StencilGroup> groups;
    for (std::size_t last = stages_.size(); last-- > 0;) {
      if (!stages_[last] || is_taken_[last]) continue;
      const std::vector<std::size_t> members = members_for(last);
      // Chains without windows are no stencils: rows of them are fused without strips.
      const auto is_window = [&](std::size_t part) { return stages_[part]->is_window; };
      if (std::ranges::none_of(members.begin() + 1, members.end(), is_window)) continue;
      const std::int64_t rows = rows_of_strips(members);
      if (rows == 0) continue;
      StencilGroup group{.last = stage(last), .producers = {}, .rows = rows};
      for (const std::size_t member : members) {
        is_taken_[member] = true;
        if (member != last) group.producers.push_back(stage(member));
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  const StencilStage& stage(std::size_t part) const { return stages_[part]->stage; }

  static const Ptr<Buffer>& result_of(const StencilStage& stage) {
    return stage.nest.body.as<BufferStore>()->buffer;
  }

  void find_readers(std::size_t part, MemoryUses& uses, const Program& program) {
    Candidate& candidate = *stages_[part];
    const Ptr<Buffer>& buffer = result_of(candidate.stage);
    const Object* memory = buffer->data.get();
    const std::vector<std::size_t>& readers = uses.readers[memory];
    if (readers.empty() || uses.writers[memory].size() != 1 || uses.opaque.contains(memory) ||
        !program.is_local(buffer)) {
      return;
    }
    for (const std::size_t reader : readers) {
      if (reader <= part || !stages_[reader]) return;
      const auto window = window_of(stage(reader), candidate.stage);
      if (!window) return;
      candidate.readers.emplace_back(reader, *window);
      candidate.is_window = candidate.is_window || reads_neighbours(stage(reader).nest, buffer);
    }
    candidate.may_join = true;
  }

  /// The last stage, and what is computed for members alone, those that read first.
  std::vector<std::size_t> members_for(std::size_t last) const {
    std::vector<std::size_t> members{last};
    const auto is_member = [&](const auto& reader) {
      return std::ranges::find(members, reader.first) != members.end();
    };
    for (std::size_t part = last; part-- > 0 && members.size() < max_members;) {
      const auto& candidate = stages_[part];
      if (!candidate || is_taken_[part] || !candidate->may_join) continue;
      if (std::ranges::all_of(candidate->readers, is_member)) members.push_back(part);
    }
    return members;
  }

  /// Rows that each member computes for so many of the first one's.
  std::vector<std::int64_t> rows_for(const std::vector<std::size_t>& members,
                                     std::int64_t rows) const {
    std::vector<std::int64_t> needed(members.size(), 0);
    needed[0] = rows;
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (const auto& [reader, window] : stages_[members[i]]->readers) {
        const auto number = std::ranges::find(members, reader) - members.begin();
        needed[i] = std::max(needed[i], window.rows_for(needed[static_cast<std::size_t>(number)]));
      }
      needed[i] = std::min(needed[i], *constant_extent(stage(members[i]).row));
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
      const StencilStage& member = stage(members[i]);
      total += *point_count(member.nest.axes) * result_of(member)->dtype.bytes();
    }
    return total;
  }

  std::int64_t strip_bytes(const std::vector<std::size_t>& members, std::int64_t rows) const {
    const std::vector<std::int64_t> needed = rows_for(members, rows);
    std::int64_t bytes = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
      bytes += needed[i] * bytes_a_row(stage(members[i]));
    }
    return bytes;
  }

  /// How many rows of the first member a strip has; 0 where strips do not pay.
  std::int64_t rows_of_strips(const std::vector<std::size_t>& members) const {
    if (bytes_of(members) < machine_.core_cache_bytes) return 0;
    for (std::int64_t strips = strips_a_core; strips > 0; strips /= 2) {
      const std::int64_t rows = rows_for_tasks(members, strips * machine_.cores);
      if (rows == 0 || !pays(members, rows)) continue;
      // Prefer a divisor of the rows, so that no strip is cut.
      const std::int64_t all = *constant_extent(stage(members[0]).row);
      for (std::int64_t fewer = rows; 2 * fewer > rows; --fewer) {
        if (all % fewer == 0 && pays(members, fewer)) return fewer;
      }
      return rows;
    }
    return 0;
  }

  /// Rows of a strip, where there are to be so many strips; 0 where there are too few rows.
  std::int64_t rows_for_tasks(const std::vector<std::size_t>& members, std::int64_t tasks) const {
    const Nest& last = stage(members[0]).nest;
    const std::int64_t all = *constant_extent(stage(members[0]).row);
    const std::int64_t columns = *constant_extent(stage(members[0]).column);
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
        static_cast<double>(*constant_extent(stage(members[0]).row)) / static_cast<double>(rows);
    double saved = 0, again = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
      const StencilStage& member = stage(members[i]);
      const auto all = static_cast<double>(*constant_extent(member.row));
      const double computed = std::max(static_cast<double>(needed[i]) * strips, all);
      const double vectors =
          static_cast<double>(*constant_extent(member.column)) / static_cast<double>(member.lanes);
      saved += all * vectors * keeping_cost(bytes_of(members), machine_) / 2;
      again += (computed - all) * vectors * stages_[members[i]]->cost;
    }
    return again < saved;
  }

  const CpuModel& machine_;
  std::vector<std::optional<Candidate>> stages_;
  std::vector<bool> is_taken_;
};

}  // namespace

std::vector<StencilGroup> stencil_groups(const Program& program, const CpuModel& machine) {
  return GroupSearch(program, machine).run();
}

}  // namespace loopsmith
