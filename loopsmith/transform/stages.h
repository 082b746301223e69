// SPDX-License-Identifier: Apache-2.0
// When the statements of a pipelined loop are run, and whether they may be run so.
#pragma once
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

inline constexpr std::string_view stage_key = "software_pipeline_stage";
inline constexpr std::string_view order_key = "software_pipeline_order";
inline constexpr std::string_view async_key = "software_pipeline_async_stages";
/// How many products of four warps may be under way when the next iteration begins.
inline constexpr std::string_view in_flight_key = "software_pipeline_products_in_flight";
/// The attribute around a statement of a pipelined loop, whose value is its number.
inline constexpr std::string_view statement_key = "software_pipeline_statement";

/// In step t of a pipelined loop, statement k does its part of iteration t - stage[k]; the
/// statements of a step are run by their order.
struct Stages {
  std::vector<std::int64_t> stage;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> async = {};  ///< Stages whose copies need not be done when they return.
  std::int64_t products_in_flight = 0;   ///< Which read while the next iteration begins.

  std::int64_t last() const;
  /// The statements by their order.
  std::vector<std::size_t> in_order() const;
};

/// What the annotations of a loop say; none where it is not to be pipelined. Throws where they do
/// not fit each other.
std::optional<Stages> stages_of(const For& loop);

using Pointers = std::unordered_set<const Object*>;

/// What a statement accesses, by the pointers of buffers.
struct AccessedMemory {
  Pointers reads, writes;
  bool has_effects = false;  ///< Calls that do more than that.
};
AccessedMemory accessed_by(const Stmt& stmt);

/// True when two statements must stay in their order.
bool depend(const AccessedMemory& a, const AccessedMemory& b);

/// Two statements of a loop that the stages bring out of order.
struct OutOfOrder {
  std::size_t first = 0, second = 0;  ///< In the order of the program.
  std::int64_t distance = 0;          ///< How many iterations the second is later.
  std::string why;                    ///< Of dependences that are not known to happen.
};

/// What the stages bring out of order, if anything. Each iteration has its own memory for what is
/// behind the pointers `own`.
std::optional<OutOfOrder> find_out_of_order(const For& loop, const std::vector<Stmt>& statements,
                                            const Stages& stages, const Pointers& own);

/// How many copies of a buffer the iterations that overlap need.
std::int64_t versions_of(const Object* pointer, const std::vector<AccessedMemory>& accessed,
                         const Stages& stages);

/// The statements that may be done while threads go on: of an asynchronous stage, they copy from
/// global into shared memory that each iteration has for itself, what they read is not written in
/// the loop, and all that use the copies are of later stages.
std::vector<bool> statements_that_may_wait(const std::vector<Stmt>& statements,
                                           const std::vector<AccessedMemory>& accessed,
                                           const Stages& stages, const Pointers& own);

/// In which stage the copies of a statement are first used; above its own.
std::int64_t first_use(std::size_t copy, const std::vector<AccessedMemory>& accessed,
                       const Stages& stages);

}  // namespace loopsmith
