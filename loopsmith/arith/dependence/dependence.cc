// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/dependence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "loopsmith/arith/dependence/distances.h"
#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/arith/dependence/replay.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

using dependence::Access;
using dependence::Conflict;
using dependence::Dependence;
using dependence::KnownValues;
using dependence::Loop;
using dependence::Order;
using dependence::Outcome;
using dependence::Polyhedra;
using dependence::Program;
using dependence::Relation;
using dependence::Sample;
using dependence::SequencePart;
using dependence::Statement;

namespace {

/// Sizes with which a question that is not affine is asked again.
constexpr std::int64_t trial_sizes[] = {2, 3, 5, 7};

/// The iterations in which a dependence happens: equal down to its level, then less.
std::vector<Relation> relations_of(const Dependence& dependence) {
  std::vector<Relation> result;
  for (int i = 0; i < dependence.level; ++i) result.push_back({i, i, Order::equal});
  if (static_cast<std::size_t>(dependence.level) < dependence.distances.size()) {
    result.push_back({dependence.level, dependence.level, Order::less});
  }
  return result;
}

/// A program with its sizes known, asked where that of unknown ones is not affine.
struct Trial {
  KnownValues sizes;
  Program program;
  std::optional<Polyhedra> polyhedra = std::nullopt;
};

}  // namespace

class Dependences::Analysis {
 public:
  Analysis(Stmt root, DependenceOptions options)
      : root_(std::move(root)),
        options_(options),
        program_(dependence::extract(root_)),
        dependences_(dependence::find_dependences(program_)) {
    std::vector<Ptr<Var>> loops;
    for (const Dependence& dependence : dependences_) {
      if (!is_carried(dependence)) continue;
      loops.clear();
      for (const int loop : loops_of(dependence.source, dependence.distances.size())) {
        const For* node = program_.loops[static_cast<std::size_t>(loop)].as_for();
        // A while loop has no name to ask for.
        loops.push_back(node ? node->loop_var : nullptr);
      }
      distances_.add(loops, dependence.distances, dependence.is_reduction);
    }
  }

  const DistanceTable& distances() const { return distances_; }
  std::size_t dependence_count() const { return dependences_.size(); }
  std::size_t exact_questions() const { return exact_questions_; }

  DependenceAnswer parallelizable(const Ptr<Var>& variable) {
    const int loop = loop_of(variable);
    if (auto answer = control_of(loop)) return *std::move(answer);
    Inquiry inquiry(*this);
    for (std::size_t i = 0; i < dependences_.size() && !inquiry.is_over(); ++i) {
      if (carrier(dependences_[i]) == loop) inquiry.ask(i, {});
    }
    return std::move(inquiry).answer();
  }

  DependenceAnswer vectorizable(const Ptr<Var>& variable) {
    const int loop = loop_of(variable);
    if (auto answer = control_of(loop)) return *std::move(answer);
    Inquiry inquiry(*this);
    for (std::size_t i = 0; i < dependences_.size() && !inquiry.is_over(); ++i) {
      const Dependence& dependence = dependences_[i];
      if (carrier(dependence) != loop) continue;
      const std::vector<int> loops = loops_of(dependence.source, dependence.distances.size());
      const int depth = static_cast<int>(loops.size());
      const bool in_step =
          std::all_of(loops.begin() + dependence.level + 1, loops.end(), [&](int inner) {
            return program_.loops[static_cast<std::size_t>(inner)].control.empty();
          });
      if (!in_step) {
        inquiry.ask(i, {});
        continue;
      }
      // Inner loops advance for all lanes together, so an earlier step of theirs comes first...
      std::vector<Relation> inner;
      for (int level = dependence.level + 1; level < depth; ++level) {
        inner.push_back({level, level, Order::greater});
        if (dependence.distances[static_cast<std::size_t>(level)].min_value < 0) {
          inquiry.ask(i, inner);
        }
        inner.back().order = Order::equal;
      }
      // ... and in one step, an earlier statement; within a statement, reads come before writes.
      const Access& source = access(dependence.source);
      const Access& sink = access(dependence.sink);
      const bool keeps_order =
          source.statement < sink.statement ||
          (source.statement == sink.statement && !source.writes && sink.writes);
      if (!keeps_order) inquiry.ask(i, inner);
    }
    return std::move(inquiry).answer();
  }

  DependenceAnswer permutable(std::span<const Ptr<Var>> order) {
    std::vector<int> moved;
    for (const Ptr<Var>& variable : order) {
      moved.push_back(loop_of(variable));
      if (auto answer = control_of(moved.back())) return *std::move(answer);
    }
    Inquiry inquiry(*this);
    for (std::size_t i = 0; i < dependences_.size() && !inquiry.is_over(); ++i) {
      ask_permuted(i, moved, inquiry);
    }
    return std::move(inquiry).answer();
  }

  DependenceAnswer mergeable(std::span<const Ptr<Var>> first, std::span<const Ptr<Var>> second) {
    check(first.size() == second.size() && !first.empty(), "Dependences",
          "{} loops cannot be merged with {}", first.size(), second.size());
    std::vector<int> before, after;
    for (std::size_t i = 0; i < first.size(); ++i) {
      before.push_back(loop_of(first[i]));
      after.push_back(loop_of(second[i]));
      for (const int loop : {before.back(), after.back()}) {
        if (auto answer = control_of(loop)) return *std::move(answer);
      }
    }
    Inquiry inquiry(*this);
    for (std::size_t i = 0; i < dependences_.size() && !inquiry.is_over(); ++i) {
      const Dependence& dependence = dependences_[i];
      if (is_carried(dependence)) continue;
      const int source = place_of(dependence.source, before.front());
      const int sink = place_of(dependence.sink, after.front());
      if (source < 0 || sink < 0) continue;
      // The sink's iteration would come before the source's.
      std::vector<Relation> relations;
      const int count = static_cast<int>(before.size());
      for (int k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (place_of(dependence.source, before[at]) < 0 ||
            place_of(dependence.sink, after[at]) < 0) {
          break;
        }
        relations.push_back({source + k, sink + k, Order::greater});
        inquiry.ask(i, relations);
        relations.back().order = Order::equal;
      }
    }
    return std::move(inquiry).answer();
  }

  DependenceAnswer distributable(const Ptr<Var>& variable, const Stmt& second_part) {
    const int loop = loop_of(variable);
    const auto part = std::find_if(
        program_.parts.begin(), program_.parts.end(), [&](const SequencePart& candidate) {
          return candidate.node == second_part.get() &&
                 std::find(candidate.loops.begin(), candidate.loops.end(), loop) !=
                     candidate.loops.end();
        });
    check(part != program_.parts.end(), "Dependences",
          "the second part is no statement of a sequence in the loop");
    for (auto cut = std::find(part->loops.begin(), part->loops.end(), loop);
         cut != part->loops.end(); ++cut) {
      if (auto answer = control_of(*cut)) return *std::move(answer);
    }
    Inquiry inquiry(*this);
    for (std::size_t i = 0; i < dependences_.size() && !inquiry.is_over(); ++i) {
      const Dependence& dependence = dependences_[i];
      const int place = place_of(dependence.source, loop);
      const bool is_inside = place >= 0 && place_of(dependence.sink, loop) >= 0;
      const bool goes_back = access(dependence.source).statement >= part->first_statement &&
                             access(dependence.sink).statement < part->first_statement;
      if (is_inside && goes_back && dependence.level >= place) inquiry.ask(i, {});
    }
    return std::move(inquiry).answer();
  }

 private:
  /// Collects what is found about the dependences that stand against a transformation.
  class Inquiry {
   public:
    explicit Inquiry(Analysis& analysis) : analysis_(analysis) {}

    bool is_over() const { return answer_.verdict == Verdict::violated; }

    /// Asks whether the dependence happens in iterations that are also so related.
    void ask(std::size_t which, const std::vector<Relation>& more) {
      const Dependence& dependence = analysis_.dependences_[which];
      // One is enough to know of reductions.
      if (is_over() || (dependence.is_reduction && answer_.reductions)) return;
      DependenceAnswer found = analysis_.decide(dependence, more);
      if (found.verdict == Verdict::proved) return;
      if (dependence.is_reduction) {
        answer_.reductions = true;
      } else if (answer_.verdict == Verdict::proved || found.verdict == Verdict::violated) {
        found.reductions = answer_.reductions;
        answer_ = std::move(found);
      }
    }
    void refuse(DependenceAnswer answer) { answer_ = std::move(answer); }

    DependenceAnswer answer() && { return std::move(answer_); }

   private:
    Analysis& analysis_;
    DependenceAnswer answer_;
  };

  const Access& access(int i) const { return program_.accesses[static_cast<std::size_t>(i)]; }
  const Statement& statement_of(int access) const {
    return program_.statements[static_cast<std::size_t>(this->access(access).statement)];
  }

  static bool is_carried(const Dependence& dependence) {
    return static_cast<std::size_t>(dependence.level) < dependence.distances.size();
  }

  std::vector<int> loops_of(int access, std::size_t depth) const {
    const std::vector<int>& loops = statement_of(access).loops;
    return {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(depth)};
  }

  /// How many loops are around the loop in the access's statement, or -1.
  int place_of(int access, int loop) const {
    const std::vector<int>& loops = statement_of(access).loops;
    const auto found = std::find(loops.begin(), loops.end(), loop);
    return found == loops.end() ? -1 : static_cast<int>(found - loops.begin());
  }

  /// The loop whose iterations the dependence connects, or -1.
  int carrier(const Dependence& dependence) const {
    if (!is_carried(dependence)) return -1;
    return statement_of(dependence.source).loops[static_cast<std::size_t>(dependence.level)];
  }

  int loop_of(const Ptr<Var>& variable) const {
    const int result = program_.find_loop(variable);
    check(result >= 0, "Dependences", "no loop has the variable {}", variable->name);
    return result;
  }

  std::optional<DependenceAnswer> control_of(int which) const {
    const Loop& loop = program_.loops[static_cast<std::size_t>(which)];
    if (loop.control.empty()) return std::nullopt;
    DependenceAnswer answer;
    answer.verdict = Verdict::violated;
    answer.reason = fmt::format(
        "whether an iteration of loop {} happens is up to the `{}` of "
        "earlier ones",
        loop.as_for()->loop_var->name, loop.control);
    answer.source = answer.sink = loop.node;
    return answer;
  }

  void ask_permuted(std::size_t which, const std::vector<int>& moved, Inquiry& inquiry) {
    const Dependence& dependence = dependences_[which];
    std::vector<int> places;
    for (const int loop : moved) {
      const int place = place_of(dependence.source, loop);
      const bool is_common = place >= 0 && place < static_cast<int>(dependence.distances.size());
      if (is_common) places.push_back(place);
    }
    if (places.empty()) return;
    if (places.size() < moved.size()) {
      DependenceAnswer answer;
      answer.verdict = Verdict::unknown;
      answer.reason = "the loops are not nested perfectly";
      answer.source = statement_of(dependence.source).node;
      answer.sink = statement_of(dependence.sink).node;
      return inquiry.refuse(std::move(answer));
    }
    std::vector<int> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    if (dependence.level < sorted.front() || dependence.level > sorted.back()) return;

    // The levels in their new order. Those that come before the dependence's own, and were inside
    // it, must not turn it round.
    std::vector<int> sequence;
    for (int level = sorted.front(); level <= sorted.back(); ++level) {
      const auto slot = std::find(sorted.begin(), sorted.end(), level) - sorted.begin();
      const bool is_moved = slot < static_cast<std::ptrdiff_t>(sorted.size());
      sequence.push_back(is_moved ? places[static_cast<std::size_t>(slot)] : level);
    }
    std::vector<Relation> relations;
    for (const int level : sequence) {
      if (level == dependence.level) return;
      if (level < dependence.level) continue;
      const ConstIntBound& distance = dependence.distances[static_cast<std::size_t>(level)];
      relations.push_back({level, level, Order::greater});
      if (distance.min_value < 0) inquiry.ask(which, relations);
      if (distance.min_value > 0) return;
      relations.back().order = Order::equal;
    }
  }

  // The exact tier.

  DependenceAnswer decide(const Dependence& dependence, const std::vector<Relation>& more) {
    Conflict conflict{dependence.source, dependence.sink, relations_of(dependence)};
    conflict.relations.insert(conflict.relations.end(), more.begin(), more.end());
    const auto key = std::pair(std::pair(conflict.source, conflict.sink), key_of(conflict));
    if (const auto known = decided_.find(key); known != decided_.end()) return known->second;

    DependenceAnswer answer = look_for(conflict);
    decided_.emplace(key, answer);
    return answer;
  }

  static std::string key_of(const Conflict& conflict) {
    std::string key;
    for (const Relation& relation : conflict.relations) {
      key += fmt::format("{} {} {};", relation.source, relation.sink,
                         static_cast<int>(relation.order));
    }
    return key;
  }

  DependenceAnswer look_for(const Conflict& conflict) {
    DependenceAnswer answer;
    if (!polyhedra_) polyhedra_.emplace(program_, options_.operations);
    ++exact_questions_;
    Sample sample;
    const Outcome outcome = polyhedra_->find(conflict, options_.smallest_witness, sample);
    if (outcome == Outcome::never) return answer;

    answer.verdict = Verdict::violated;
    answer.source = statement_of(conflict.source).node;
    answer.sink = statement_of(conflict.sink).node;
    if (outcome == Outcome::found) {
      if (const auto sizes = dependence::sizes_of(program_, sample)) {
        answer.witness = witness_of(program_, conflict, sample, *sizes);
      }
    }
    if (!answer.witness && is_symbolic(conflict)) answer.witness = try_sizes(conflict);
    if (!answer.witness) {
      answer.verdict = Verdict::unknown;
      answer.reason = reason_for(conflict, outcome);
    }
    return answer;
  }

  /// The conflict of a sample, if replaying both iterations confirms it.
  std::shared_ptr<const ConflictWitness> witness_of(const Program& program,
                                                    const Conflict& conflict, const Sample& sample,
                                                    const KnownValues& sizes) const {
    const auto at = [&](int i) -> const Access& {
      return program.accesses[static_cast<std::size_t>(i)];
    };
    auto first = dependence::replay(program, at(conflict.source), sample.source, sizes);
    auto second = dependence::replay(program, at(conflict.sink), sample.sink, sizes);
    if (!first || !second || first->element != second->element ||
        !at(conflict.source).buffer.same_as(at(conflict.sink).buffer)) {
      return nullptr;
    }
    ConflictWitness witness;
    witness.first = {statement_of(conflict.source).node, std::move(first->iteration),
                     at(conflict.source).writes};
    witness.second = {statement_of(conflict.sink).node, std::move(second->iteration),
                      at(conflict.sink).writes};
    witness.buffer = at(conflict.source).buffer;
    witness.element = std::move(first->element);
    witness.sizes = sizes;
    return std::make_shared<const ConflictWitness>(std::move(witness));
  }

  /// True when known sizes may make affine what is not.
  bool is_symbolic(const Conflict& conflict) const {
    if (sizes().empty()) return false;
    const auto is_open = [&](int i) {
      const Access& a = access(i);
      return !a.whole && a.buffer &&
             std::any_of(a.index.begin(), a.index.end(), [](const auto& x) { return !x; });
    };
    const bool has_compound =
        std::any_of(program_.symbols.begin(), program_.symbols.end(), [](const auto& symbol) {
          return symbol.kind == dependence::SymbolKind::parameter &&
                 !symbol.source.template is<Var>();
        });
    return has_compound || is_open(conflict.source) || is_open(conflict.sink);
  }

  const std::vector<Ptr<Var>>& sizes() const {
    if (!sizes_) {
      sizes_.emplace();
      for (const Ptr<Var>& variable : free_variables(root_)) {
        if (variable->dtype.is_index()) sizes_->push_back(variable);
      }
    }
    return *sizes_;
  }

  std::shared_ptr<const ConflictWitness> try_sizes(const Conflict& conflict) {
    if (trials_.empty()) {
      for (const std::int64_t size : trial_sizes) {
        KnownValues known;
        for (const Ptr<Var>& variable : sizes()) known.emplace_back(variable, size);
        Program program = dependence::extract(root_, known);
        trials_.push_back(std::make_unique<Trial>(std::move(known), std::move(program)));
      }
    }
    for (const auto& trial : trials_) {
      if (!trial->polyhedra) trial->polyhedra.emplace(trial->program, options_.operations);
      Sample sample;
      ++exact_questions_;
      if (trial->polyhedra->find(conflict, options_.smallest_witness, sample) != Outcome::found) {
        continue;
      }
      if (auto witness = witness_of(trial->program, conflict, sample, trial->sizes)) return witness;
    }
    return nullptr;
  }

  std::string reason_for(const Conflict& conflict, Outcome outcome) const {
    for (const int i : {conflict.source, conflict.sink}) {
      const Access& one = access(i);
      const Stmt& node = statement_of(i).node;
      if (!one.memory.defined()) return fmt::format("what `{}` touches is not known", node);
      if (one.whole) return fmt::format("`{}` may touch any element of what it is given", node);
      for (std::size_t k = 0; k < one.index.size(); ++k) {
        if (one.index[k]) continue;
        const Expr& index = one.expressions[k];
        return fmt::format("index {} of {} is not quasi-affine: {}", k, one.buffer->name,
                           index.defined() ? brief(index) : "a vector in a view");
      }
    }
    if (!dependence::are_comparable(access(conflict.source), access(conflict.sink))) {
      return fmt::format("{} and {} are views of the same memory",
                         access(conflict.source).buffer->name, access(conflict.sink).buffer->name);
    }
    if (outcome == Outcome::unknown) {
      return fmt::format("too complex: {} operations did not decide it", options_.operations);
    }
    return "whether both iterations happen depends on values in memory";
  }

  Stmt root_;
  DependenceOptions options_;
  Program program_;
  std::vector<Dependence> dependences_;
  DistanceTable distances_;
  std::optional<Polyhedra> polyhedra_;
  std::vector<std::unique_ptr<Trial>> trials_;
  std::map<std::pair<std::pair<int, int>, std::string>, DependenceAnswer> decided_;
  mutable std::optional<std::vector<Ptr<Var>>> sizes_;
  std::size_t exact_questions_ = 0;
};

Dependences::Dependences(Stmt root, DependenceOptions options)
    : analysis_(std::make_unique<Analysis>(std::move(root), options)) {}
Dependences::Dependences(Dependences&&) noexcept = default;
Dependences& Dependences::operator=(Dependences&&) noexcept = default;
Dependences::~Dependences() = default;

DependenceAnswer Dependences::parallelizable(const Ptr<Var>& loop) {
  return analysis_->parallelizable(loop);
}
DependenceAnswer Dependences::vectorizable(const Ptr<Var>& loop) {
  return analysis_->vectorizable(loop);
}
DependenceAnswer Dependences::permutable(std::span<const Ptr<Var>> order) {
  return analysis_->permutable(order);
}
DependenceAnswer Dependences::mergeable(std::span<const Ptr<Var>> first,
                                        std::span<const Ptr<Var>> second) {
  return analysis_->mergeable(first, second);
}
DependenceAnswer Dependences::distributable(const Ptr<Var>& loop, const Stmt& second_part) {
  return analysis_->distributable(loop, second_part);
}
const DistanceTable& Dependences::distances() const {
  return analysis_->distances();
}
std::size_t Dependences::dependence_count() const {
  return analysis_->dependence_count();
}
std::size_t Dependences::exact_questions() const {
  return analysis_->exact_questions();
}

std::string ConflictWitness::text() const {
  const auto iteration = [](const ConflictSide& side) {
    std::string result;
    for (const auto& [variable, value] : side.iteration) {
      result += fmt::format("{}{}={}", result.empty() ? "" : ", ", variable->name, value);
    }
    return result.empty() ? std::string("the program") : result;
  };
  std::string given;
  for (const auto& [variable, value] : sizes) {
    given += fmt::format("{}{}={}", given.empty() ? "with " : ", ", variable->name, value);
  }
  return fmt::format("{}{}iteration {} {} {}[{}], iteration {} {} it", given,
                     given.empty() ? "" : ": ", iteration(first), first.writes ? "writes" : "reads",
                     buffer->name, fmt::join(element, ", "), iteration(second),
                     second.writes ? "writes" : "reads");
}

}  // namespace loopsmith
