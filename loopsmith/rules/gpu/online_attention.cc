// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/online_attention.h"

#include <algorithm>
#include <numeric>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/primitives/cache_expression.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/hoist_factor.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/merge_online.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith::gpu {
namespace {

/// Takes the steps of `merge_stages`.
class Merger {
 public:
  Merger(Schedule& schedule, const AttentionStages& stages, const AttentionTiles& tiles)
      : schedule_(schedule), stages_(stages), tiles_(tiles) {}

  OnlineAttention run() {
    OnlineAttention made{};
    made.result = hoist_quotient();
    if (tiles_.rounds_exponentials) made.rounded = keep_rounded_exponentials();
    if (tiles_.padding) pad_stages(schedule_, stages_, *tiles_.padding, made.rounded);
    made.maxima = part_of(stages_.maximum);
    made.sums = part_of(stages_.sum);
    cut(stages_.maximum.block, stages_.maximum, Keys::tiles);
    cut(stages_.exponentials.block, stages_.exponentials, Keys::whole);
    cut(made.sums, stages_.sum, Keys::in_tiles);
    cut(stages_.sum.block, stages_.sum, Keys::tiles);
    if (made.rounded) {
      std::vector<std::size_t> places(stages_.exponentials.places.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      cut(*made.rounded, {*made.rounded, std::move(places)}, Keys::whole);
    }
    cut(stages_.mix.block, stages_.mix, Keys::whole);
    made.rows = merge(schedule_, rows_);
    made.step = merge_online(schedule_, steps_);
    compute_at(schedule_, made.maxima, made.step, /*preserve_unit_loops=*/true);
    reverse_compute_at(schedule_, made.result, made.rows, /*preserve_unit_loops=*/true);
    return made;
  }

 private:
  /// Whether a nest has a loop over keys, over tiles of them, or both.
  enum class Keys { whole, tiles, in_tiles };

  /// The quotient by the sums, and what is made of it, come after the product. An exponential is at
  /// most 1, and fits what it is rounded to.
  BlockRV hoist_quotient() {
    const BlockRV result = hoist_factor(schedule_, stages_.mix.block, /*through_casts=*/true);
    while (const auto reader = only_reader(schedule_, result)) {
      const bool is_inlined = attempt(
          schedule_, [&] { reverse_compute_inline(schedule_, look_up(schedule_, *reader)); });
      if (!is_inlined) break;
    }
    return result;
  }

  /// Rounds exponentials where they are made, if that is what the product does with them.
  BlockRV keep_rounded_exponentials() {
    const BlockRV mix = stages_.mix.block;
    const Ptr<Buffer> exponentials = made_by(schedule_, stages_.exponentials.block);
    const auto& reads = schedule_.get(mix).reads;
    const auto read = std::ranges::find_if(
        reads, [&](const auto& each) { return each->buffer.same_as(exponentials); });
    const auto number = static_cast<std::int64_t>(read - reads.begin());
    const std::int64_t of_values = number_of_values(schedule_, stages_);
    const DataType type = reads[static_cast<std::size_t>(of_values)]->buffer->dtype;
    bool is_rounded = false;
    pre_order_visit(schedule_.get(mix).body, [&](const Ref& ref) {
      const auto* cast = ref.as<Cast>();
      const auto* load = cast ? cast->value.as<BufferLoad>() : nullptr;
      is_rounded =
          is_rounded || (load && load->buffer.same_as(exponentials) && cast->dtype == type);
      return true;
    });
    require(is_rounded, ErrorKind::schedule, "exponentials_are_rounded", hint("keep the form"), {},
            "exponentials are not rounded to the type of the values");
    const BlockRV rounded =
        cache_expression(schedule_, mix, BufferSelector(number), "global", map_to_powers(mix));
    unsafe_set_dtype(schedule_, rounded, BufferSelector(0), to_string(type));
    return rounded;
  }

  /// From the axes of the product to indices of exponentials.
  Ptr<IndexMap> map_to_powers(BlockRV mix) const {
    IndexMap map;
    for (const Ptr<IterVar>& axis : schedule_.get(mix).iter_vars) {
      map.initial_indices.push_back(make(Var(*axis->var)));
    }
    const auto loops = loops_around(schedule_, schedule_.node(mix));
    const auto& values = schedule_.realize(mix).iter_values;
    for (const std::size_t place : stages_.mix.places) {
      const auto value = std::ranges::find_if(values, [&](const Expr& each) {
        return each.same_as(schedule_.get(loops[place]).loop_var);
      });
      map.final_indices.push_back(
          map.initial_indices.at(static_cast<std::size_t>(value - values.begin())));
    }
    return make(std::move(map));
  }

  /// Parts of a reduction of rows, one for each tile of keys.
  BlockRV part_of(const AttentionStage& stage) {
    const LoopRV keys = get_loops(schedule_, stage.block)[stage.places[stages_.keys]];
    const auto [tile, inside] = split(schedule_, keys, {infer, tiles_.keys}).take<2>();
    return rfactor(schedule_, tile, 0);
  }

  /// Puts the loops over batches, tiles of rows and tiles of keys outside.
  void cut(BlockRV block, const AttentionStage& stage, Keys keys) {
    const std::vector<std::size_t>& places = stage.places;
    std::vector<LoopRV> loops = get_loops(schedule_, block);
    const std::size_t at = places[stages_.keys];
    std::vector<LoopRV> inside;
    LoopRV tile = loops[at];
    if (keys == Keys::whole) {
      const auto parts = split(schedule_, tile, {infer, tiles_.keys});
      tile = parts[0];
      inside.push_back(parts[1]);
    } else if (keys == Keys::in_tiles) {
      inside.push_back(loops[at + 1]);
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    std::vector<LoopRV> order;
    for (std::size_t d = 0; d < places.size(); ++d) {
      if (d != stages_.rows && d != stages_.keys) order.push_back(loops[places[d]]);
    }
    const auto rows = split(schedule_, loops[places[stages_.rows]], tiles_.rows);
    order.insert(order.end(), rows.begin(), rows.end() - 1);
    order.insert(order.end(), {tile, rows.back()});
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (std::ranges::find(places, i) == places.end()) order.push_back(loops[i]);
    }
    order.insert(order.end(), inside.begin(), inside.end());
    reorder(schedule_, order);
    rows_.push_back(rows[rows.size() - 2]);
    steps_.push_back(tile);
  }

  Schedule& schedule_;
  const AttentionStages& stages_;
  const AttentionTiles& tiles_;
  std::vector<LoopRV> rows_, steps_;  ///< To be merged.
};

}  // namespace

OnlineAttention merge_stages(Schedule& schedule, const AttentionStages& stages,
                             const AttentionTiles& tiles) {
  return Merger(schedule, stages, tiles).run();
}

}  // namespace loopsmith::gpu
