// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct TrustCallsArguments {
  std::vector<std::string> names;

  static constexpr std::tuple parameters{
      Parameter{"names", &TrustCallsArguments::names,
                "Of functions that blocks call by `call_extern` or `call_packed`."}};
};

/// A block, and what it lists as trusted from here on.
struct TrustingBlock {
  BlockRV block;
  Ref names;
};

struct TrustCallsPlan {
  std::vector<TrustingBlock> blocks;
};

inline constexpr Condition block_calls_function{
    "name_is_known", "no block calls {}",
    "name a function of the host, and put its call into a block that declares what it accesses"};
inline constexpr Condition pointers_are_declared{
    "pointers_are_declared", "block {} gives {} to {}, and declares no region of it",
    "say in T.reads and T.writes what the function accesses"};
inline constexpr const Condition* trust_calls_conditions[] = {&block_calls_function,
                                                              &pointers_are_declared};

Planned<TrustCallsPlan> plan_trust_calls(const Schedule& schedule,
                                         const TrustCallsArguments& arguments);

/// with T.block("A"):            with T.block("A"):
///   T.reads(...)                  T.block_attr({"trusted_calls": ["f"]})
///   T.writes(...)         =>      ...
///   T.call_extern("f", ...)
///
/// In all functions of the module.
Nothing commit_trust_calls(Schedule& schedule, TrustCallsPlan&& plan);

inline constexpr Primitive trust_calls(PrimitiveDefinition{
    .name = "trust_calls",
    .doc = "Takes the caller's word that functions of the host read what the blocks that call them "
           "declare to read, write all that these declare to write, by values that follow from "
           "that, and do nothing else.",
    .conditions = trust_calls_conditions,
    .keeps_accesses = true,
    .plan = plan_trust_calls,
    .commit = commit_trust_calls,
});

}  // namespace loopsmith
