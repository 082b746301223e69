// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"
#include "loopsmith/interp/threads.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {

/// A call in progress: its registers and what it has allocated.
struct Frame {
  const Code* code;
  std::vector<Word> words;
  Word* r;  ///< Register 0.
  std::vector<std::unique_ptr<Memory>> allocated;
  const Instr* back = nullptr;    ///< Where the caller goes on; null: nowhere.
  Register result = no_register;  ///< The caller's register for what is returned.
  std::size_t levels = 0;         ///< Parallel loops that were open at the call.
  Turn turn;                      ///< The caller's.

  explicit Frame(const Code& code);
};

/// A parallel loop that is running, one iteration after the other.
struct Level {
  const ParallelLoop* loop;
  std::uint64_t begin;      ///< The first strand of the loop.
  std::uint64_t iteration;  ///< The first strand of this iteration.
  std::int64_t min, step;
  Turn around;  ///< The turn where the loop began.
  /// The first strand of each iteration so far, where one had more than one; of threads, which are
  /// numbered, of each of their turns.
  std::vector<std::pair<std::uint64_t, std::int64_t>> starts = {};
  /// Of threads: for each warp, the first strand after its last barrier. Empty: an ordinary loop.
  std::vector<std::uint64_t> warp_begins = {};

  bool is_team() const { return !warp_begins.empty(); }
  /// The iteration, counted from 0, that a strand belongs to.
  std::int64_t number_of(std::uint64_t strand) const;
};

/// Runs instructions; holds what is not in registers.
class Machine {
 public:
  Machine(const Library& library, const Options& options) : library_(library), options_(options) {}

  /// Runs a function whose parameters' words are `arguments`.
  Outcome run(const Code& code, const std::vector<Word>& arguments);

  const Options& options() const { return options_; }
  std::uint64_t seed() const { return options_.seed; }

  /// Counts a statement.
  void step() {
    if (--budget_ < 0) [[unlikely]]
      pause();
  }

  // Calls.
  const Instr* call(const Instr* at, const CallSite& site);
  const Instr* leave(const Word* value);
  const Code& code() const { return *frames_.back()->code; }
  Frame& frame() { return *frames_.back(); }

  /// Fresh memory for a site, in place of what the frame had for it.
  Memory& allocate(int site, const Allocation& allocation, std::int64_t count, const Instr* at);

  // Threads of a block.
  /// Which one is running; -1: none.
  std::int64_t thread() const { return thread_; }
  /// What the thread that is running has of memory: a copy of its own, one of its warp, or the same
  /// as others.
  Memory& seen(Memory& memory) const {
    if (!memory.is_per_thread || thread_ < 0) return memory;
    return memory.copy_of(memory.is_per_warp ? warp_ : thread_);
  }
  Team* team() { return team_; }
  /// Runs what follows `at` in each thread of the region.
  void run_team(const ThreadRegion& region, const Instr* at);
  /// Ends the turn of the thread that is running; it goes on after `at`.
  const Instr* suspend(const Instr* at, Wait wait_kind);

  // Parallel loops.
  bool searches_races() const { return !levels_.empty(); }
  void open_level(const ParallelLoop& loop, std::int64_t min, std::int64_t step);
  void next_iteration();
  void close_level();
  /// Counts what lanes do inside: a loop, or call, that begins; an iteration; its end.
  void enter_loop(std::uint32_t statement) {
    if (turn_.loop) [[unlikely]]
      enter_loop_of_lane(statement);
  }
  void take_turn() { ++turn_.iteration; }
  void leave_loop() {
    if (turn_.loop) [[unlikely]]
      turn_ = turns_.around(turn_);
  }
  /// Stops at a load of what several iterations wrote, unless one of them loads it.
  void check_mixed(Memory& memory, std::int64_t place, const Access& access);
  /// Records an access to granule `place`; throws when it races with one before. `keeps_value`: it
  /// stores the value that is there.
  void note_access(Memory& memory, std::int64_t place, const Access& access, const Word* r,
                   bool keeps_value);

  /// An error of the program at an instruction.
  template <class... Args>
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const Instr* at, std::string_view code,
                                                   Hint hint, fmt::format_string<Args...> format,
                                                   Args&&... args) {
    fail_at(span_of(at), code, hint, fmt::vformat(format, fmt::make_format_args(args...)));
  }
  [[noreturn]] void fail_at(const Span& span, std::string_view code, Hint hint,
                            const std::string& problem);
  Span span_of(const Instr* at) const;

 private:
  void pause();
  void enter_loop_of_lane(std::uint32_t statement);
  void run_turn(Team& team, std::size_t number);
  void order_threads(const Team& team, const std::vector<bool>& runs, bool is_block);
  [[noreturn]] void report_divergence(const Team& team);
  std::unique_ptr<Memory>& memory_of(int site, const Allocation& allocation, bool& is_done);
  const Level* level_between(std::uint64_t strand) const;
  bool is_ordered(const Level& level, std::uint64_t strand) const;
  bool combines(std::uint64_t earlier, const Access& access) const;
  const Level* racing_level(std::uint64_t earlier, Turn turn, bool with_write,
                            const Access& access) const;
  void keep_other_read(LastAccesses& last_accesses, std::uint64_t now, const Level& level) const;
  [[noreturn]] void report_race(const Memory& memory, std::int64_t place, const Access& access,
                                std::uint64_t other, const Level& level, const Word* r);

  const Library& library_;
  const Options& options_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::int64_t budget_ = 0;
  std::int64_t granted_ = 0;  ///< Statements that the budget was filled up with.
  std::int64_t bytes_ = 0;
  std::vector<Level> levels_;
  std::uint64_t strand_ = 1;
  Turn turn_;
  Interleaving turns_;  ///< Of the outermost vectorized loop that is running.
  std::int64_t thread_ = -1;
  std::int64_t warp_ = -1;  ///< The same of all threads along x.
  Team* team_ = nullptr;
  std::size_t team_levels_ = 0;  ///< Parallel loops that were open when its threads started.
  Word* r_ = nullptr;            ///< Register 0 of the current frame.
  Outcome outcome_;
};

}  // namespace loopsmith::interp
