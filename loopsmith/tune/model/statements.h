// SPDX-License-Identifier: Apache-2.0
// What a cost model sees of a program: each statement, with the loops around it, the memory that it
// accesses and the operations that it does.
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith::tune {

/// A loop around a statement.
struct NestLoop {
  const Object* variable = nullptr;
  ForKind kind = ForKind::serial;
  double extent = 1;  ///< With symbolic sizes, and bounds that vary, an estimate.
};

/// How an access moves with one of the loops around it.
struct Motion {
  std::int64_t stride = 0;  ///< Elements from one iteration to the next, mostly.
  double distinct = 1;      ///< How many elements the loop accesses.
  bool is_known = true;     ///< False: the contents of a buffer decide.
  bool is_even = true;      ///< Each step is by the stride.
};

/// A load or a store of a statement.
struct Access {
  const Object* buffer = nullptr;
  bool is_store = false;
  bool is_parameter = false;    ///< Of a tensor that the caller has given.
  bool is_accumulator = false;  ///< The statement loads and stores this element.
  int bytes = 4;                ///< Of an element.
  double buffer_bytes = 0;      ///< Of the whole buffer.
  std::vector<Motion> motions;  ///< One for each loop.
  std::vector<bool> carried;    ///< By loop: a load of what the iteration before has stored.
};

/// What a statement computes, in operations on elements.
struct Operations {
  double simple = 0;      ///< Sums, products, extrema, choices; a product in a sum counts once.
  double divisions = 0;   ///< And square roots.
  double functions = 0;   ///< Such as `exp`.
  double conditions = 0;  ///< Guards around it that its innermost loops decide.
};

/// A store, with what is around it.
struct Statement {
  std::vector<NestLoop> loops;  ///< Outermost first.
  std::vector<Access> accesses;
  Operations operations;
  int bytes = 4;            ///< Of the values that it computes with.
  std::size_t guarded = 0;  ///< How many of the loops there are up to the innermost one that
                            ///< decides a condition around it; 0: no loop does.
};

/// The statements of a function as it is scheduled, brought into flat form by lowering.
/// Throws a UserError where it cannot be lowered.
std::vector<Statement> statements_of(const Ptr<PrimFunc>& func, const LowerOptions& options = {});

}  // namespace loopsmith::tune
