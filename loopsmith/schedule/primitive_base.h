// SPDX-License-Identifier: Apache-2.0
// Type-erased primitives, as traces, errors and Python use them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/refusal.h"

namespace loopsmith {

class Schedule;

// ---- What any primitive may refuse by ----

inline constexpr Condition reductions_keep_their_order{
    "reductions_keep_their_order",
    "reduction {} would combine its elements in another order, and allow_reassociation is False",
    "make the schedule with allow_reassociation=True, or keep the order of the reduction"};

inline constexpr Condition numbers_fit_their_types{
    "numbers_fit_their_types", "numbers of the program would be too large: {}",
    "choose smaller factors, or give the loops and sizes wider types"};

inline constexpr ResultChange iterations_would_depend{
    LegalityQuestion::concurrency, true,
    "iterations of loop {}, which is {}, would depend on each other",
    "take this step first, then parallelize, vectorize or bind the loop"};
inline constexpr ResultChange iterations_may_depend{
    LegalityQuestion::concurrency, false,
    "whether iterations of loop {}, which is {}, would depend on each other is unknown, as {}",
    "take this step first, then parallelize, vectorize or bind the loop"};
inline constexpr ResultChange blocks_would_depend{
    LegalityQuestion::concurrency, true,
    "loop {} is bound to {} inside of a kernel, whose blocks do not wait for each other: over {} "
    "they would conflict",
    "bind loops around it to threads instead, or leave what is around the loops over blocks to the "
    "host, so that each is a kernel of its own"};
inline constexpr ResultChange blocks_may_depend{
    LegalityQuestion::concurrency, false,
    "loop {} is bound to {} inside of a kernel, whose blocks do not wait for each other: whether "
    "they would conflict is unknown",
    "bind loops around it to threads instead, or leave what is around the loops over blocks to the "
    "host, so that each is a kernel of its own"};
inline constexpr ResultChange threads_do_more_than_fill{
    LegalityQuestion::concurrency, true,
    "loop {}, bound to {} inside of loop {}, which is so, too, would not only fill memory that all "
    "these threads fill alike",
    "take this step first, then bind the loop"};

/// A parameter as the type-erased faces see it.
struct ParameterInfo {
  std::string_view name;
  std::string_view doc;
  std::string type;  ///< In Python.
  bool is_promise = false;
  bool required = false;
  Argument default_value;  ///< The default.
};

/// A type-erased primitive.
class PrimitiveBase {
 public:
  std::string_view name;
  std::string_view past;  ///< The participle in messages: `split` in "i was split at step 3".
  std::string_view doc;
  std::span<const Condition* const> conditions;
  std::size_t required;  ///< How many parameters have no default; they come first.
  bool pure;             ///< Changes nothing: a query, or a choice.
  bool keeps_accesses;   ///< Iterations access what they did, in the order that they did.

  constexpr PrimitiveBase(std::string_view name, std::string_view past, std::string_view doc,
                          std::span<const Condition* const> conditions, std::size_t required,
                          bool pure, bool keeps_accesses)
      : name(name),
        past(past.empty() ? name : past),
        doc(doc),
        conditions(conditions),
        required(required),
        pure(pure),
        keeps_accesses(keeps_accesses) {}

  virtual std::vector<ParameterInfo> parameters() const = 0;
  /// How Python writes the type of the result.
  virtual std::string result_type() const = 0;
  /// Applies it. A null argument is the parameter's default. Throws a ScheduleError when it is
  /// refused, a UserError when an argument is of a wrong type.
  virtual Argument call(Schedule& schedule, std::span<const Argument* const> arguments) const = 0;
  /// Why it cannot be applied, if it cannot.
  virtual std::optional<Refusal> refuse(const Schedule& schedule,
                                        std::span<const Argument* const> arguments) const = 0;
  /// How many indices its index map takes by its other arguments, 0 where these are refused;
  /// nothing where that is up to the map.
  virtual std::optional<std::size_t> index_count(
      const Schedule& schedule, std::span<const Argument* const> arguments) const = 0;

 protected:
  ~PrimitiveBase() = default;
};

}  // namespace loopsmith
