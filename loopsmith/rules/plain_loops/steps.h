// SPDX-License-Identifier: Apache-2.0
// Steps of a schedule that are taken where the engine accepts them.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::plain_loops {

/// A schedule whose steps may be refused. Loops are looked up in the trace before a step names
/// them, so that it replays.
class Steps {
 public:
  explicit Steps(Schedule& schedule) : schedule_(schedule) {}

  const Schedule& schedule() const { return schedule_; }
  const For& get(LoopRV loop) const { return schedule_.get(loop); }

  std::vector<LoopRV> distribute(LoopRV loop);
  bool reorder(const std::vector<LoopRV>& loops);
  /// The loops of constant extents, outermost first, that a loop is cut into; empty where refused.
  std::vector<LoopRV> split(LoopRV loop, const std::vector<SplitFactor>& factors);
  bool expand_scalar(const Ptr<Buffer>& buffer, LoopRV loop);
  bool substitute_scalar(const Ptr<Buffer>& buffer, LoopRV loop);
  /// The loops that find which iteration leaves its values; empty where refused.
  std::vector<LoopRV> store_last(LoopRV loop);
  bool vectorize(LoopRV loop);
  bool unroll(LoopRV loop);
  bool parallel(LoopRV loop);
  bool parallel_scan(LoopRV loop);
  bool skew(LoopRV outer, LoopRV inner, std::int64_t factor = 1);
  bool peel(LoopRV loop, std::int64_t first, std::int64_t last);
  /// The parts of a loop before, at and after a value, as far as it has iterations there; empty
  /// where refused.
  std::vector<LoopRV> cut(LoopRV loop, const LoopValue& at);
  bool inspect_split(LoopRV loop, bool cut_iterations);
  /// The loops that merge the copies of each buffer, that over the copies last; empty where
  /// refused.
  std::vector<std::vector<LoopRV>> privatize(LoopRV loop);
  /// A loop as it is where loops have so many iterations or more, and those of the first uneven
  /// work if that is asked, and its copy for elsewhere; empty where refused.
  std::vector<LoopRV> version_loop(const std::vector<LoopRV>& loops,
                                   const std::vector<std::int64_t>& least, bool uneven = false);
  bool bind(LoopRV loop, const std::string& axis);
  /// One loop of several that are nested, outermost first; nothing where refused.
  std::optional<LoopRV> fuse(const std::vector<LoopRV>& loops);
  /// A loop of one iteration around a loop; nothing where refused.
  std::optional<LoopRV> add_unit_loop(LoopRV loop);
  void allow_reassociation(bool allowed) { schedule_.allow_reassociation(allowed); }

  /// The loops outside of all others and of blocks with axes; those directly inside a loop.
  std::vector<LoopRV> outermost() const;
  std::vector<LoopRV> inside(LoopRV loop) const;

  /// The schedule as it is now, to go back to.
  struct Snapshot {
    Schedule schedule;
    std::set<LoopRV> known;
  };
  Snapshot snapshot() const { return {schedule_.snapshot(), known_}; }
  void restore(Snapshot&& snapshot);

 private:
  /// Makes the trace know a loop: by its name, or by the loops around it where others have it, too.
  void look_up(LoopRV loop);
  void know(const std::vector<LoopRV>& loops);

  Schedule& schedule_;
  std::set<LoopRV> known_;
};

/// Whether `take` succeeds for a loop: as it is, or without its last iteration, which then leaves
/// variables to statements that read them afterwards.
bool take_without_last(Steps& steps, LoopRV loop, bool (*take)(Steps&, LoopRV));

/// True when a loop has no blocks with axes inside, and no loop that its user has said how to run.
bool is_plain(const Schedule& schedule, LoopRV loop);

/// The loop and those inside it, each of which is all that the one before holds.
std::vector<LoopRV> band_of(const Schedule& schedule, LoopRV outermost);

/// The loops around a loop, outermost first, as statements.
std::vector<const For*> nest_around(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith::plain_loops
