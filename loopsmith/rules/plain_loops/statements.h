// SPDX-License-Identifier: Apache-2.0
// What the default schedule sees of loops without blocks: their stores, what these access, and how
// each access moves with a loop.
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/ir/stmt.h"
#include "loopsmith/rules/plain_loops/machine.h"

namespace loopsmith::plain_loops {

/// How far an access moves in memory from one iteration of a loop to the next.
struct Motion {
  enum class Kind : std::uint8_t { none, contiguous, strided, irregular };
  Kind kind = Kind::none;
  std::int64_t bytes = 0;  ///< Up or down; of an irregular motion, or over unknown sizes, a page.
};

/// A load or a store.
struct Reference {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  bool is_store = false;
};

/// A store with the loops around it.
struct Statement {
  Ptr<BufferStore> store;
  std::vector<const For*> loops;      ///< Outermost first.
  std::vector<Reference> references;  ///< The store first; each load once.
  double operations = 0;              ///< Of arithmetic; a division counts as several.
  bool is_accumulation = false;       ///< It updates its element by an associative operation.
  bool is_conditional = false;        ///< An `if` around it is decided in each iteration.
};

/// The stores in `root`, in their order; branches that are updates as these.
std::vector<Statement> statements_in(const Stmt& root);

Motion motion_of(const Reference& reference, const For& loop);

/// How often a loop runs its body: its extent, half of the largest one where that depends on loops
/// around it, and a guess where it depends on sizes.
double trip_count(const For& loop, const std::vector<const For*>& around, const Machine& machine);
/// How often all iterations of loops, outermost first, inside of others are run.
double executions(const std::vector<const For*>& loops, std::vector<const For*> around,
                  const Machine& machine);

}  // namespace loopsmith::plain_loops
