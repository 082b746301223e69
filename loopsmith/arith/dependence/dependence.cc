// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/dependence.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/arith/dependence/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

using dependence::Access;
using dependence::Analysis;
using dependence::Dependence;
using dependence::LegalityQuery;
using dependence::Order;
using dependence::Relation;
using dependence::SequencePart;

namespace {

/// A dependence as one of order: what is at once may start accumulators apart, in turn an init
/// stays before the updates that follow it.
Dependence ordered(Dependence dependence) {
  dependence.is_reduction = dependence.commutes();
  return dependence;
}

/// Asks whether a dependence stands against the loops taking this order.
void ask_permuted(const Analysis& analysis, const Dependence& dependence,
                  const std::vector<int>& moved, LegalityQuery& query) {
  std::vector<int> places;
  bool is_of_init = false;
  for (const int loop : moved) {
    const int place = analysis.place_with_copies(dependence.source, loop);
    const bool is_common = place >= 0 && place < static_cast<int>(dependence.distances.size());
    if (!is_common) continue;
    places.push_back(place);
    is_of_init = is_of_init || analysis.place_of(dependence.source, loop) < 0;
  }
  if (places.empty()) return;
  // The init of a reduction over nothing has copies of those loops alone that do not reduce.
  if (places.size() < moved.size() && !is_of_init) {
    DependenceAnswer answer;
    answer.verdict = Verdict::unknown;
    answer.reason = "the loops are not nested perfectly";
    answer.source = analysis.statement_of(dependence.source).node;
    answer.sink = analysis.statement_of(dependence.sink).node;
    return query.refuse(std::move(answer));
  }
  std::vector<int> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  if (dependence.level < sorted.front() || dependence.level > sorted.back()) return;

  const auto innermost =
      static_cast<std::size_t>(std::max_element(places.begin(), places.end()) - places.begin());
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
    // What each iteration of all of them fills for itself, it does in any order.
    if (distance.min_value < 0) {
      query.ask_unless_private(dependence, moved[innermost], relations);
    }
    if (distance.min_value > 0) return;
    relations.back().order = Order::equal;
  }
}

/// Loops that are to be one loop, by number: one around the first access, one around the second.
using MergedLoops = std::vector<std::pair<int, int>>;

/// True when intervals prove that the second access never aliases, in an earlier iteration of the
/// innermost merged loops, what the first accesses; iterations of the others, and of loops around
/// both, are the same. In a dimension where the indices differ by c*(x - y) + r, for iterations x
/// and y, accesses to one element have x - y = -r/c, and -r/c < 1 says that y is not before x.
bool never_goes_back(const Analysis& analysis, int source, int sink, const MergedLoops& merged) {
  const Access &first = analysis.access(source), &second = analysis.access(sink);
  if (!dependence::are_comparable(first, second)) return false;
  const dependence::Program& program = analysis.program();
  const auto iterator = [&](int loop) { return analysis.loop(loop).iterator; };
  const int depth = program.common_depth(first.statement, second.statement);
  const std::vector<int> around = analysis.loops_of(source, static_cast<std::size_t>(depth));
  // The symbol with the same value in the source's instance; nullopt where there is none.
  const auto counterpart = [&](dependence::Symbol symbol) -> std::optional<dependence::Symbol> {
    for (const auto& [before, after] : merged) {
      if (symbol == iterator(after)) return iterator(before);
    }
    const auto kind = program.symbols[static_cast<std::size_t>(symbol)].kind;
    const bool is_common = kind == dependence::SymbolKind::parameter ||
                           std::ranges::find(around, symbol, iterator) != around.end();
    return is_common ? std::optional(symbol) : std::nullopt;
  };
  const dependence::Symbol moved = iterator(merged.back().first);
  for (std::size_t d = 0; d < first.index.size(); ++d) {
    if (!first.index[d] || !second.index[d]) continue;
    const std::int64_t factor = first.index[d]->coefficient(moved);
    const bool is_alike = factor != 0 && factor != INT64_MIN &&
                          second.index[d]->coefficient(iterator(merged.back().second)) == factor;
    if (!is_alike) continue;
    // Of the rest r, what has one value in both instances, and what the second has alone.
    std::optional<dependence::Linear> shared = first.index[d];
    dependence::Linear alone;
    for (const dependence::Term& term : second.index[d]->terms) {
      if (const auto same = counterpart(term.symbol)) {
        if (shared) shared = dependence::sum(*shared, {0, {{*same, term.coefficient}}}, -1);
      } else {
        alone.terms.push_back(term);
      }
    }
    if (!shared) continue;
    alone.constant = second.index[d]->constant;
    const ConstIntBound rest = arith::subtract(program.range(*shared), program.range(alone));
    if (factor > 0 ? rest.min_value > -factor : rest.max_value < -factor) return true;
  }
  return false;
}

}  // namespace

Dependences::Dependences(Stmt root, DependenceOptions options)
    : analysis_(std::make_unique<Analysis>(std::move(root), std::move(options))) {}
Dependences::Dependences(Dependences&&) noexcept = default;
Dependences& Dependences::operator=(Dependences&&) noexcept = default;
Dependences::~Dependences() = default;

DistanceTable Dependences::distances() const {
  return analysis_->distances();
}
std::vector<Ptr<Var>> Dependences::controlled_loops() const {
  std::vector<Ptr<Var>> found;
  for (const dependence::Loop& loop : analysis_->program().loops) {
    if (loop.as_for() && !loop.control.empty()) found.push_back(loop.as_for()->loop_var);
  }
  return found;
}
std::size_t Dependences::dependence_count() const {
  return analysis_->dependences().size();
}
std::size_t Dependences::exact_questions() const {
  return analysis_->exact_questions();
}

DependenceAnswer Dependences::parallelizable(const Ptr<Var>& variable) {
  const int loop = analysis_->loop_of(variable);
  if (auto answer = analysis_->control_of(loop)) return *std::move(answer);
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    if (analysis_->carrier(dependence) == loop) query.ask_unless_private(dependence, loop);
  }
  return std::move(query).answer();
}

std::vector<CarriedDependence> Dependences::carried(const Ptr<Var>& variable) {
  const int loop = analysis_->loop_of(variable);
  std::vector<CarriedDependence> result;
  for (const Dependence& dependence : analysis_->dependences()) {
    if (analysis_->carrier(dependence) != loop) continue;
    const DependenceAnswer answer = analysis_->decide(dependence, {});
    if (answer.verdict == Verdict::proved) continue;
    result.push_back(analysis_->carried_by(dependence));
    result.back().is_certain = answer.verdict == Verdict::violated;
  }
  return result;
}

DependenceAnswer Dependences::accumulator_is_private(const Ptr<Var>& variable,
                                                     const Ptr<Buffer>& buffer) {
  const int loop = analysis_->loop_of(variable);
  DependenceAnswer answer;
  bool is_updated = false;
  const auto& accesses = analysis_->program().accesses;
  const int count = static_cast<int>(accesses.size());
  for (int update = 0; update < count; ++update) {
    const Access& updated = analysis_->access(update);
    const int depth = analysis_->place_of(update, loop);
    const bool is_update = updated.writes && updated.update != dependence::Update::none;
    if (!is_update || depth < 0 || !updated.memory.same_as(buffer->data)) continue;
    is_updated = true;
    std::vector<Relation> around;
    for (int level = 0; level < depth; ++level) around.push_back({level, level, Order::equal});
    for (int other = 0; other < count; ++other) {
      const Access& accessing = analysis_->access(other);
      const bool may_alias =
          !accessing.memory.defined() || accessing.memory.same_as(updated.memory);
      if (!may_alias || analysis_->place_of(other, loop) < 0) continue;
      if (dependence::is_reduction_pair(updated, accessing)) continue;
      DependenceAnswer found = analysis_->decide({update, other, around});
      if (found.verdict == Verdict::proved) continue;
      found.reason =
          analysis_->text_of(other) + (found.reason.empty() ? "" : ", and ") + found.reason;
      if (found.verdict == Verdict::violated) return found;
      answer = std::move(found);
    }
  }
  if (!is_updated) {
    answer.verdict = Verdict::unknown;
    answer.reason = fmt::format(
        "what loop {} writes of {} combines what it finds there with what "
        "may be its own",
        variable->name, buffer->name);
  }
  return answer;
}

DependenceAnswer Dependences::vectorizable(const Ptr<Var>& variable) {
  const int loop = analysis_->loop_of(variable);
  if (auto answer = analysis_->control_of(loop)) return *std::move(answer);
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    if (analysis_->carrier(dependence) != loop) continue;
    const std::vector<int> loops =
        analysis_->loops_of(dependence.source, dependence.distances.size());
    const int depth = static_cast<int>(loops.size());
    // Loops inside that run concurrently have no steps.
    const bool in_step =
        std::all_of(loops.begin() + dependence.level + 1, loops.end(), [&](int inner) {
          const dependence::Loop& it = analysis_->loop(inner);
          if (!it.control.empty()) return false;
          const ForKind kind = it.as_for()->kind;
          return kind == ForKind::serial || kind == ForKind::unrolled;
        });
    if (!in_step) {
      query.ask_unless_private(dependence, loop);
      continue;
    }
    // Inner loops advance for all lanes together, so an earlier step of theirs comes first...
    std::vector<Relation> inner;
    for (int level = dependence.level + 1; level < depth; ++level) {
      inner.push_back({level, level, Order::greater});
      if (dependence.distances[static_cast<std::size_t>(level)].min_value < 0) {
        query.ask_unless_private(dependence, loop, inner);
      }
      inner.back().order = Order::equal;
    }
    // ... and in one step, an earlier statement; within a statement, reads come before writes, and
    // an earlier lane writes first.
    const Access& source = analysis_->access(dependence.source);
    const Access& sink = analysis_->access(dependence.sink);
    const bool keeps_order =
        source.statement < sink.statement || (source.statement == sink.statement && sink.writes);
    if (!keeps_order) query.ask_unless_private(dependence, loop, inner);
  }
  return std::move(query).answer();
}

DependenceAnswer Dependences::permutable(std::span<const Ptr<Var>> order) {
  std::vector<int> moved;
  for (const Ptr<Var>& variable : order) {
    moved.push_back(analysis_->loop_of(variable));
    if (auto answer = analysis_->control_of(moved.back())) return *std::move(answer);
  }
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    ask_permuted(*analysis_, ordered(dependence), moved, query);
  }
  return std::move(query).answer();
}

DependenceAnswer Dependences::mergeable(std::span<const Ptr<Var>> first,
                                        std::span<const Ptr<Var>> second) {
  check(first.size() == second.size() && !first.empty(), "Dependences",
        "{} loops cannot be merged with {}", first.size(), second.size());
  std::vector<int> before, after;
  for (std::size_t i = 0; i < first.size(); ++i) {
    before.push_back(analysis_->loop_of(first[i]));
    after.push_back(analysis_->loop_of(second[i]));
    for (const int loop : {before.back(), after.back()}) {
      if (auto answer = analysis_->control_of(loop)) return *std::move(answer);
    }
  }
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    if (is_carried(dependence)) continue;
    const int source = analysis_->place_of(dependence.source, before.front());
    const int sink = analysis_->place_of(dependence.sink, after.front());
    if (source < 0 || sink < 0) continue;
    // The sink's iteration would come before the source's.
    std::vector<Relation> relations;
    MergedLoops merged;
    const int count = static_cast<int>(before.size());
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (analysis_->place_of(dependence.source, before[at]) < 0 ||
          analysis_->place_of(dependence.sink, after[at]) < 0) {
        break;
      }
      relations.push_back({source + k, sink + k, Order::greater});
      merged.emplace_back(before[at], after[at]);
      if (!never_goes_back(*analysis_, dependence.source, dependence.sink, merged)) {
        query.ask(ordered(dependence), relations);
      }
      relations.back().order = Order::equal;
    }
  }
  return std::move(query).answer();
}

DependenceAnswer Dependences::distributable(const Ptr<Var>& variable, const Stmt& second_part) {
  const int loop = analysis_->loop_of(variable);
  const auto part =
      std::find_if(analysis_->program().parts.begin(), analysis_->program().parts.end(),
                   [&](const SequencePart& candidate) {
                     return candidate.node == second_part.get() &&
                            std::find(candidate.loops.begin(), candidate.loops.end(), loop) !=
                                candidate.loops.end();
                   });
  check(part != analysis_->program().parts.end(), "Dependences",
        "the second part is no statement of a sequence in the loop");
  for (auto cut = std::find(part->loops.begin(), part->loops.end(), loop); cut != part->loops.end();
       ++cut) {
    if (auto answer = analysis_->control_of(*cut)) return *std::move(answer);
  }
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    const int place = analysis_->place_of(dependence.source, loop);
    const bool is_inside = place >= 0 && analysis_->place_of(dependence.sink, loop) >= 0;
    const bool goes_back =
        analysis_->access(dependence.source).statement >= part->first_statement &&
        analysis_->access(dependence.sink).statement < part->first_statement;
    if (is_inside && goes_back && dependence.level >= place) query.ask(dependence, {});
  }
  return std::move(query).answer();
}

bool Dependences::may_be_private(const Ptr<Var>& loop, const Ptr<Buffer>& buffer) {
  return analysis_->is_private(buffer->data, analysis_->loop_of(loop));
}

DependenceAnswer Dependences::exchangeable(const Stmt& first, const Stmt& second) {
  const auto part_of = [&](const Stmt& statement) -> const SequencePart& {
    const auto& parts = analysis_->program().parts;
    const auto found = std::ranges::find(parts, statement.get(), &SequencePart::node);
    check(found != parts.end(), "Dependences", "a statement is of no sequence");
    return *found;
  };
  const auto is_in = [&](int access, const SequencePart& part) {
    const int statement = analysis_->access(access).statement;
    return statement >= part.first_statement && statement < part.end_statement;
  };
  const SequencePart& before = part_of(first);
  const SequencePart& after = part_of(second);
  LegalityQuery query(*analysis_);
  for (const Dependence& dependence : analysis_->dependences()) {
    if (query.is_over()) break;
    // Between iterations of the loops around both, nothing changes.
    if (is_carried(dependence)) continue;
    if (is_in(dependence.source, before) && is_in(dependence.sink, after)) {
      query.ask(ordered(dependence), {});
    }
  }
  return std::move(query).answer();
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
