// SPDX-License-Identifier: Apache-2.0
// What all questions about the dependences of a tree share. Private to this folder.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/dependence/distances.h"
#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/arith/dependence/replay.h"

namespace loopsmith::dependence {

/// A program with its sizes known, asked where that of unknown ones is not affine.
struct Trial {
  KnownValues sizes;
  Program program;
  std::optional<Polyhedra> polyhedra = std::nullopt;
};

/// A program, the dependences that intervals leave open, and exact answers about them, kept.
class Analysis {
 public:
  Analysis(Stmt root, DependenceOptions options);
  Analysis(const Analysis&) = delete;

  const Program& program() const { return program_; }
  const std::vector<Dependence>& dependences() const { return dependences_; }
  /// Of the dependences that were not proved never to happen.
  DistanceTable distances() const;
  std::size_t exact_questions() const { return exact_questions_; }

  const Access& access(int i) const { return program_.accesses[static_cast<std::size_t>(i)]; }
  const Statement& statement_of(int access) const {
    return program_.statements[static_cast<std::size_t>(this->access(access).statement)];
  }
  const Loop& loop(int i) const { return program_.loops[static_cast<std::size_t>(i)]; }

  /// The first `depth` loops around the access.
  std::vector<int> loops_of(int access, std::size_t depth) const;
  /// How many loops are around the loop in the access's statement, or -1.
  int place_of(int access, int loop) const;
  /// The same of the loop or a copy of it.
  int place_with_copies(int access, int loop) const;
  /// The loop whose iterations the dependence connects, or -1. For a copy: the loop it is one of.
  int carrier(const Dependence& dependence) const;
  /// What a carried dependence is to others, but for whether it is certain.
  CarriedDependence carried_by(const Dependence& dependence) const;
  /// The loop of that variable.
  int loop_of(const Ptr<Var>& variable) const;
  /// The refusal of a loop whose iterations are up to earlier ones.
  std::optional<DependenceAnswer> control_of(int loop) const;

  /// Does the dependence happen in iterations that are also so related? `proved`: never.
  DependenceAnswer decide(const Dependence& dependence, const std::vector<Relation>& more);
  /// The same of any two accesses in iterations that are so related.
  DependenceAnswer decide(const Conflict& conflict);

  /// True when each iteration of the loop may have its own copy of the memory: nothing outside the
  /// loop reads what it leaves there, and what an iteration reads, it wrote before.
  bool is_private(const Ref& memory, int loop);
  /// True when `write` is sure to have stored the element that `read` accesses, within the same
  /// iteration of its own loops, `depth` or more: whatever stands around it, whether or not that is
  /// known, stands around the other, too.
  bool is_dominated(int read, int write, int depth) const;
  /// True when, within an iteration of the first `depth` loops around it, each element that `read`
  /// accesses was written before by one of the candidates.
  bool is_written_before(int read, const std::vector<int>& candidates, int depth);

  /// What the access does, as a piece of a sentence: "it reads A[i, k]".
  std::string text_of(int access) const;

  /// The exact tier.
  Polyhedra& polyhedra();
  /// The conflict of a sample, if replaying both iterations confirms it.
  std::shared_ptr<const ConflictWitness> witness_of(const Program& program,
                                                    const Conflict& conflict, const Sample& sample,
                                                    const KnownValues& sizes) const;
  const DependenceOptions& options() const { return options_; }

 private:
  bool find_private(const Ref& memory, int loop);
  DependenceAnswer look_for(const Conflict& conflict);
  /// The first iterations that are so related; nullopt where they are of sizes that are not known.
  std::optional<Sample> first_iterations(const Conflict& conflict) const;
  /// True when both iterations of the sample happen, and one accesses memory of which it is not
  /// known which elements.
  bool may_be_anywhere(const Conflict& conflict, const Sample& sample) const;
  bool is_symbolic(const Conflict& conflict) const;
  const std::vector<Ptr<Var>>& sizes() const;
  std::shared_ptr<const ConflictWitness> try_sizes(const Conflict& conflict);
  std::string reason_for(const Conflict& conflict, Outcome outcome) const;

  Stmt root_;
  DependenceOptions options_;
  Program program_;
  std::vector<Dependence> dependences_;
  std::optional<Polyhedra> polyhedra_;
  std::vector<std::unique_ptr<Trial>> trials_;
  std::map<std::pair<std::pair<int, int>, std::string>, DependenceAnswer> decided_;
  std::map<std::pair<const Object*, int>, bool> private_;
  mutable std::optional<std::vector<Ptr<Var>>> sizes_;
  std::size_t exact_questions_ = 0;
};

/// True when the iterations of a common loop differ.
bool is_carried(const Dependence& dependence);

/// Collects what is found about the dependences that stand against a transformation.
class LegalityQuery {
 public:
  explicit LegalityQuery(Analysis& analysis) : analysis_(analysis) {}

  bool is_over() const { return answer_.verdict == Verdict::violated; }
  /// Asks whether the dependence happens in iterations that are also so related.
  void ask(const Dependence& dependence, const std::vector<Relation>& more);
  /// The same, where iterations of the loop may have copies of what they access.
  void ask_unless_private(const Dependence& dependence, int loop,
                          const std::vector<Relation>& more = {});
  void refuse(DependenceAnswer answer) { answer_ = std::move(answer); }
  DependenceAnswer answer() &&;

 private:
  Analysis& analysis_;
  DependenceAnswer answer_;
  std::vector<Ptr<Buffer>> private_buffers_;
};

}  // namespace loopsmith::dependence
