// SPDX-License-Identifier: Apache-2.0
// Marks around the steps of a user's own primitive, which is made of others.
#pragma once
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct BeginMacroArguments {
  std::string name;
  std::string arguments = {};

  static constexpr std::tuple parameters{
      Parameter{"name", &BeginMacroArguments::name, "Of the primitive."},
      Parameter{"arguments", &BeginMacroArguments::arguments,
                "What it was called with, for people to read."}};
};

struct EndMacroArguments {
  static constexpr std::tuple<> parameters{};
};

struct MacroMark {};

Planned<MacroMark> plan_begin_macro(const Schedule& schedule, const BeginMacroArguments& arguments);
Planned<MacroMark> plan_end_macro(const Schedule& schedule, const EndMacroArguments& arguments);
Nothing commit_macro_mark(Schedule& schedule, MacroMark&& mark);

inline constexpr Primitive begin_macro(PrimitiveDefinition{
    .name = "begin_macro",
    .doc = "Marks where the steps of a user's own primitive begin.",
    .required = 1,
    .keeps_accesses = true,
    .plan = plan_begin_macro,
    .commit = commit_macro_mark,
});

inline constexpr Primitive end_macro(PrimitiveDefinition{
    .name = "end_macro",
    .doc = "Marks where the steps of a user's own primitive end.",
    .required = 0,
    .keeps_accesses = true,
    .plan = plan_end_macro,
    .commit = commit_macro_mark,
});

}  // namespace loopsmith
