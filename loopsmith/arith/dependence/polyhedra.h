// SPDX-License-Identifier: Apache-2.0
// The second tier: exact questions to isl, which nothing outside the source of this header sees.
// Private to this folder.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "loopsmith/arith/dependence/program.h"

namespace loopsmith::dependence {

/// How an iterator of the source compares with one of the sink.
enum class Order : std::uint8_t { less, equal, greater };

/// The source's iterator at depth `source` is less than, equal to, or greater than the sink's at
/// depth `sink`.
struct Relation {
  int source;
  int sink;
  Order order;
};

/// Do the two accesses refer to one element, in iterations that are so related?
struct Conflict {
  int source;  ///< An access.
  int sink;
  std::vector<Relation> relations;
};

/// Values with which a conflict happens.
struct Sample {
  std::vector<std::pair<Symbol, std::int64_t>> parameters;
  std::vector<std::int64_t> source;  ///< Iterators, from the outside in.
  std::vector<std::int64_t> sink;
};

enum class Outcome : std::uint8_t {
  never,    ///< Proved.
  found,    ///< With a sample, of the program as it was widened.
  unknown,  ///< The budget of operations did not suffice.
};

/// Sets and relations of one program, in an isl context of its own. Belongs to one thread at a
/// time.
class Polyhedra {
 public:
  /// Each question may take `operations` of isl's; after some that did not end, all are unknown.
  Polyhedra(const Program& program, unsigned operations);
  Polyhedra(Polyhedra&&) noexcept;
  ~Polyhedra();

  /// Answers; where the answer is yes, `sample` is filled, with small values if `smallest`.
  Outcome find(const Conflict& conflict, bool smallest, Sample& sample);
  /// True when the form is proved to be at least 0 wherever the access happens.
  bool is_never_negative(int access, const Linear& form);
  /// True when it is proved that, within an iteration of the first `depth` loops, which all of them
  /// share, each element that `read` accesses is one that the writes accessed before. The
  /// statements of the writes are exact.
  bool covers(int read, const std::vector<int>& writes, int depth);

 private:
  class Context;
  std::unique_ptr<Context> context_;
};

}  // namespace loopsmith::dependence
