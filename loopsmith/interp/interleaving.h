// SPDX-License-Identifier: Apache-2.0
// Where lanes that go in step are.
#pragma once
#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace loopsmith::interp {

/// The iterations of loops inside a lane that are running. Lanes that come to the same iterations
/// have the same turn.
struct Turn {
  std::uint32_t loop = 0;       ///< See `Interleaving`; 0: in no lane.
  std::uint32_t iteration = 0;  ///< Of the innermost loop, from where all lanes begin to count.
};

/// The loops that lanes came to, each by the turn around it and its number in the program. Calls
/// count as loops, too.
class Interleaving {
 public:
  static constexpr Turn lane{1, 0};  ///< In no loop inside a lane.

  /// Forgets all loops.
  void clear();
  /// The first turn of a loop.
  Turn enter(Turn around, std::uint32_t statement);
  /// The turn around that of a loop.
  Turn around(Turn turn) const { return loops_[turn.loop].around; }
  /// Which of two statements comes first when all lanes go in step: that of the loop that comes
  /// first, of one loop the one in an earlier iteration, of one iteration the one that stands
  /// first. Calls run before the rest of their statement.
  std::strong_ordering compare(Turn a, std::uint32_t statement_of_a, Turn b,
                               std::uint32_t statement_of_b) const;
  /// How many loops are known, and the memory that they take.
  std::size_t size() const { return loops_.size() - 2; }
  std::int64_t size_bytes() const;

 private:
  struct Loop {
    Turn around;
    std::uint32_t statement = 0;
    std::uint32_t depth = 0;
    bool operator==(const Loop& other) const;
  };
  struct Hash {
    std::size_t operator()(const Loop& loop) const;
  };

  std::vector<Loop> loops_ = std::vector<Loop>(2);  ///< That of no lane, then that of `lane`.
  std::unordered_map<Loop, std::uint32_t, Hash> numbers_;
  std::uint32_t last_ = 1;  ///< Lanes mostly come to loops one after another as those before did.
};

}  // namespace loopsmith::interp
