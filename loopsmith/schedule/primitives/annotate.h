// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct AnnotateArguments {
  BlockOrLoop block_or_loop;
  std::string ann_key;
  Annotation ann_val;

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &AnnotateArguments::block_or_loop},
      Parameter{"ann_key", &AnnotateArguments::ann_key},
      Parameter{"ann_val", &AnnotateArguments::ann_val,
                "A text, a number, or lists and dicts of them."}};
};

struct UnannotateArguments {
  BlockOrLoop block_or_loop;
  std::string ann_key;

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &UnannotateArguments::block_or_loop},
      Parameter{"ann_key", &UnannotateArguments::ann_key}};
};

struct AnnotatePlan {
  BlockOrLoop subject;
  std::string key;
  Ref value;  ///< Null: takes the annotation away.
  bool changes_nothing = false;
};

inline constexpr Condition annotation_exists{"name_is_known", "{} has no annotation {}",
                                             "see its annotations with get"};
inline constexpr const Condition* unannotate_conditions[] = {&annotation_exists};

Planned<AnnotatePlan> plan_annotate(const Schedule& schedule, const AnnotateArguments& arguments);
Planned<AnnotatePlan> plan_unannotate(const Schedule& schedule,
                                      const UnannotateArguments& arguments);
Nothing commit_annotate(Schedule& schedule, AnnotatePlan&& plan);

inline constexpr Primitive annotate(PrimitiveDefinition{
    .name = "annotate",
    .past = "annotated",
    .doc = "Puts a note on a block or a loop; one that is there already stays.",
    .required = 3,
    .keeps_accesses = true,
    .plan = plan_annotate,
    .commit = commit_annotate,
});

inline constexpr Primitive unannotate(PrimitiveDefinition{
    .name = "unannotate",
    .past = "unannotated",
    .doc = "Takes a note from a block or a loop.",
    .conditions = unannotate_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_unannotate,
    .commit = commit_annotate,
});

}  // namespace loopsmith
