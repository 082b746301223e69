// SPDX-License-Identifier: Apache-2.0
// Two versions of a program as one: which statements of the later one are copies of which of the
// earlier. Private to this folder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/preservation.h"
#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/support/error.h"

namespace loopsmith::dependence {

/// Both versions, read as one sequence: statements below `border()` are of the earlier one.
class Versions {
 public:
  /// `may_be_new`: blocks of the later version that have no original are left without one.
  Versions(const TwoVersions& given, bool may_be_new);

  const Program& program() const { return program_; }
  int border() const { return border_; }
  int first_access_after() const;
  /// Why statements could not be matched; empty where they could.
  const std::string& problem() const { return problem_; }

  /// The statements of the later version that do what `statement` did.
  const std::vector<int>& copies(int statement) const {
    return copies_[static_cast<std::size_t>(statement)];
  }
  /// What a statement of the later version is a copy of; -1 for what is new.
  int original(int statement) const {
    const auto& all = originals_[static_cast<std::size_t>(statement - border_)];
    return all.empty() ? -1 : all[0];
  }
  /// The statements of the earlier version that have the same copies: parts of a block that stands
  /// in several places there.
  std::vector<int> parts(int statement) const;

  /// True when a statement is one, has one copy, and that is in place.
  bool stays(int statement) const;
  /// True when the same loops, conditions and bindings are around a statement and its copy.
  bool is_in_place(int statement, int copy) const;
  /// True when two statements that are in place keep their loops and order with each other.
  bool have_same_order(int a, int b, int copy_of_a, int copy_of_b) const;

  /// True when what an instance computes is up to its name alone: the memory that its block writes
  /// is local and its own, and what it reads is written before or after all of its instances,
  /// never, or by such blocks. Its instances may have run more than once before.
  bool is_stable(int statement) const {
    return statement < border_ && is_stable_[static_cast<std::size_t>(statement)];
  }

  /// The forms that identify instances: the axes of the block, then the loops inside it; all
  /// loops outside of blocks, and where the statement is in place and not stable.
  std::vector<Linear> names(int statement) const;
  std::vector<std::string> name_words(int statement) const;
  /// True when these forms are known for the statement and all its copies.
  bool are_named(int statement) const;
  /// The positions among the names that identify results: those of a reduction are its spatial
  /// axes.
  std::vector<int> result_axes(int statement) const;
  /// True when it is known exactly which instances of its block run.
  bool is_placed_exactly(int statement) const;
  /// How many loops are around the statement and what is not of its block, in the same version.
  int run_depth(int statement) const;

  /// True when each element that `read` accesses was written by one of `writes` before, within an
  /// iteration of the first `depth` loops.
  bool is_written_before(int read, const std::vector<int>& writes, int depth) const;

 private:
  const Statement& at(int i) const { return program_.statements[static_cast<std::size_t>(i)]; }
  const PlacedBlock* block_of(int statement) const;
  /// True when the instances of a statement are named by the axes of its block.
  bool has_axes_for_names(int statement) const;
  bool has_known_axes(int statement) const;
  void find_stable();
  bool find_stable_block(int block, std::vector<int>& asked);
  bool is_stable_input(const Access& read, int block, std::vector<int>& asked);
  void match(bool may_be_new);
  void match_blocks(bool may_be_new);
  void match_loose(bool may_be_new);
  /// Takes a statement for a copy of another one; `is_kept`: it must do just the same.
  void pair(int original, int copy, bool is_kept);
  std::vector<int> statements_of(int block) const;
  void fail(std::string problem);

  Program program_;
  mutable std::optional<Polyhedra> polyhedra_;
  unsigned operations_;
  int border_ = 0;
  std::string problem_;
  std::vector<std::vector<int>> copies_;
  std::vector<std::vector<int>> originals_;
  std::vector<bool> is_stable_;
};

}  // namespace loopsmith::dependence
