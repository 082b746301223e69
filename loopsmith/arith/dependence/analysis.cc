// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/arith/dependence/delinearize.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::dependence {
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

std::pair<std::pair<int, int>, std::string> key_of(const Conflict& conflict) {
  std::string key;
  for (const Relation& relation : conflict.relations) {
    key +=
        fmt::format("{} {} {};", relation.source, relation.sink, static_cast<int>(relation.order));
  }
  return {{conflict.source, conflict.sink}, std::move(key)};
}

}  // namespace

bool is_carried(const Dependence& dependence) {
  return static_cast<std::size_t>(dependence.level) < dependence.distances.size();
}

Analysis::Analysis(Stmt root, DependenceOptions options)
    : root_(std::move(root)),
      options_(std::move(options)),
      program_(extract(root_, options_.local_buffers, options_.shared_buffers)) {
  if (has_products(program_)) delinearize(program_, polyhedra());
  dependences_ = find_dependences(program_);
}

DistanceTable Analysis::distances() const {
  DistanceTable table;
  std::vector<Ptr<Var>> loops;
  for (const Dependence& dependence : dependences_) {
    if (!is_carried(dependence)) continue;
    const auto known =
        decided_.find(key_of({dependence.source, dependence.sink, relations_of(dependence)}));
    if (known != decided_.end() && known->second.verdict == Verdict::proved) continue;
    loops.clear();
    for (const int each : loops_of(dependence.source, dependence.distances.size())) {
      loops.push_back(loop(each).variable());
    }
    table.add(loops, dependence.distances, dependence.commutes());
  }
  return table;
}

std::vector<int> Analysis::loops_of(int access, std::size_t depth) const {
  const std::vector<int>& loops = statement_of(access).loops;
  return {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(depth)};
}

int Analysis::place_of(int access, int loop) const {
  const std::vector<int>& loops = statement_of(access).loops;
  const auto found = std::find(loops.begin(), loops.end(), loop);
  return found == loops.end() ? -1 : static_cast<int>(found - loops.begin());
}

int Analysis::place_with_copies(int access, int which) const {
  const std::vector<int>& loops = statement_of(access).loops;
  const Ptr<Var> variable = loop(which).variable();
  const auto found = std::ranges::find_if(loops, [&](int around) {
    return around == which || (variable && loop(around).original.same_as(variable));
  });
  return found == loops.end() ? -1 : static_cast<int>(found - loops.begin());
}

int Analysis::carrier(const Dependence& dependence) const {
  if (!is_carried(dependence)) return -1;
  const int loop =
      statement_of(dependence.source).loops[static_cast<std::size_t>(dependence.level)];
  const Ptr<Var>& original = this->loop(loop).original;
  return original ? loop_of(original) : loop;
}

CarriedDependence Analysis::carried_by(const Dependence& dependence) const {
  const Access &source = access(dependence.source), &sink = access(dependence.sink);
  const bool is_known = source.buffer && source.memory.same_as(source.buffer->data);
  return {statement_of(dependence.source).node,
          statement_of(dependence.sink).node,
          is_known ? source.buffer : nullptr,
          source.writes,
          sink.writes,
          dependence.is_reduction,
          dependence.distances[static_cast<std::size_t>(dependence.level)]};
}

int Analysis::loop_of(const Ptr<Var>& variable) const {
  const int result = program_.find_loop(variable);
  check(result >= 0, "Dependences", "no loop has the variable {}", variable->name);
  return result;
}

std::optional<DependenceAnswer> Analysis::control_of(int which) const {
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

bool Analysis::is_private(const Ref& memory, int loop) {
  const auto [known, is_new] = private_.try_emplace({memory.get(), loop}, false);
  if (is_new) known->second = find_private(memory, loop);
  return known->second;
}

bool Analysis::find_private(const Ref& memory, int loop) {
  std::vector<int> uses;
  Ptr<Buffer> used_elsewhere;
  for (std::size_t i = 0; i < program_.accesses.size(); ++i) {
    const Access& use = program_.accesses[i];
    if (!use.memory.defined()) return false;
    if (!use.memory.same_as(memory)) continue;
    if (!use.is_local || use.whole) return false;
    if (place_of(static_cast<int>(i), loop) >= 0) {
      uses.push_back(static_cast<int>(i));
    } else {
      used_elsewhere = use.buffer;
    }
  }
  if (used_elsewhere) {
    const For* node = this->loop(loop).as_for();
    if (!node || is_live_after(root_, *node, used_elsewhere)) return false;
  }
  const auto is_covered = [&](int read) {
    return access(read).writes || is_written_before(read, uses, place_of(read, loop) + 1);
  };
  return std::all_of(uses.begin(), uses.end(), is_covered);
}

bool Analysis::is_dominated(int which, int write, int depth) const {
  const Access &read = access(which), &first = access(write);
  const Statement &reader = statement_of(which), &writer = statement_of(write);
  const bool is_element = first.writes && first.locals.empty() && read.locals.empty() &&
                          first.buffer.same_as(read.buffer) && !first.whole && !read.whole &&
                          first.statement < read.statement;
  if (!is_element || static_cast<int>(writer.loops.size()) < depth) return false;
  const auto leads = [](const auto& a, const auto& b, auto&& is_same) {
    return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin(), is_same);
  };
  const auto is_around = [](const Context& a, const Context& b) {
    const bool is_condition =
        a.kind == Context::Kind::condition || a.kind == Context::Kind::negation;
    // Of a condition without its statement, it is not known when it is asked.
    const bool is_one = !is_condition || a.node.defined() || is_timeless(a.value);
    return is_one && a.kind == b.kind && a.node.same_as(b.node) && a.value.same_as(b.value) &&
           a.variable.same_as(b.variable);
  };
  if (!leads(writer.loops, reader.loops, std::equal_to<>()) ||
      !leads(writer.surroundings, reader.surroundings, is_around) || !first.surroundings.empty()) {
    return false;
  }
  return first.index.size() == read.index.size() &&
         std::equal(first.index.begin(), first.index.end(), read.index.begin(),
                    [](const auto& a, const auto& b) { return a && b && *a == *b; });
}

bool Analysis::is_written_before(int read, const std::vector<int>& candidates, int depth) {
  const auto dominates = [&](int write) { return is_dominated(read, write, depth); };
  if (std::any_of(candidates.begin(), candidates.end(), dominates)) return true;
  std::vector<int> writes;
  for (const int i : candidates) {
    const int common = program_.common_depth(access(i).statement, access(read).statement);
    if (access(i).writes && statement_of(i).is_exact && common >= depth) writes.push_back(i);
  }
  if (writes.empty()) return false;
  ++exact_questions_;
  return polyhedra().covers(read, writes, depth);
}

Polyhedra& Analysis::polyhedra() {
  if (!polyhedra_) polyhedra_.emplace(program_, options_.operations);
  return *polyhedra_;
}

DependenceAnswer Analysis::decide(const Dependence& dependence, const std::vector<Relation>& more) {
  Conflict conflict{dependence.source, dependence.sink, relations_of(dependence)};
  conflict.relations.insert(conflict.relations.end(), more.begin(), more.end());
  return decide(conflict);
}

DependenceAnswer Analysis::decide(const Conflict& conflict) {
  const auto key = key_of(conflict);
  if (const auto known = decided_.find(key); known != decided_.end()) return known->second;

  DependenceAnswer answer = look_for(conflict);
  decided_.emplace(key, answer);
  return answer;
}

DependenceAnswer Analysis::look_for(const Conflict& conflict) {
  DependenceAnswer answer;
  answer.verdict = Verdict::violated;
  answer.source = statement_of(conflict.source).node;
  answer.sink = statement_of(conflict.sink).node;
  // What the first iterations do needs no exact question.
  if (const auto first = first_iterations(conflict)) {
    answer.witness = witness_of(program_, conflict, *first, {});
    if (answer.witness) return answer;
    if (may_be_anywhere(conflict, *first)) {
      answer.verdict = Verdict::unknown;
      answer.reason = reason_for(conflict, Outcome::found);
      return answer;
    }
  }

  ++exact_questions_;
  Sample sample;
  const Outcome outcome = polyhedra().find(conflict, options_.smallest_witness, sample);
  if (outcome == Outcome::never) return {};
  if (outcome == Outcome::found) {
    if (const auto sizes = sizes_of(program_, sample)) {
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

std::optional<Sample> Analysis::first_iterations(const Conflict& conflict) const {
  if (!sizes().empty()) return std::nullopt;
  Sample sample;
  sample.source.resize(statement_of(conflict.source).loops.size());
  sample.sink.resize(statement_of(conflict.sink).loops.size());
  for (const Relation& relation : conflict.relations) {
    if (relation.source != relation.sink) return std::nullopt;
    std::vector<std::int64_t>& later = relation.order == Order::less ? sample.sink : sample.source;
    if (relation.order != Order::equal) later[static_cast<std::size_t>(relation.source)] = 1;
  }
  return sample;
}

bool Analysis::may_be_anywhere(const Conflict& conflict, const Sample& sample) const {
  const Access &source = access(conflict.source), &sink = access(conflict.sink);
  const auto is_anywhere = [](const Access& each) { return each.whole || !each.buffer; };
  return (is_anywhere(source) || is_anywhere(sink)) &&
         happens(program_, source, sample.source, {}) && happens(program_, sink, sample.sink, {});
}

std::shared_ptr<const ConflictWitness> Analysis::witness_of(const Program& program,
                                                            const Conflict& conflict,
                                                            const Sample& sample,
                                                            const KnownValues& sizes) const {
  const auto at = [&](int i) -> const Access& {
    return program.accesses[static_cast<std::size_t>(i)];
  };
  auto first = replay(program, at(conflict.source), sample.source, sizes);
  auto second = replay(program, at(conflict.sink), sample.sink, sizes);
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

bool Analysis::is_symbolic(const Conflict& conflict) const {
  if (sizes().empty()) return false;
  const auto is_open = [&](int i) {
    const Access& a = access(i);
    return !a.whole && a.buffer &&
           std::any_of(a.index.begin(), a.index.end(), [](const auto& x) { return !x; });
  };
  const bool has_compound =
      std::any_of(program_.symbols.begin(), program_.symbols.end(), [](const auto& symbol) {
        return symbol.kind == SymbolKind::parameter && !symbol.source.template is<Var>();
      });
  return has_compound || is_open(conflict.source) || is_open(conflict.sink);
}

const std::vector<Ptr<Var>>& Analysis::sizes() const {
  if (!sizes_) {
    sizes_.emplace();
    for (const Ptr<Var>& variable : free_variables(root_)) {
      if (variable->dtype.is_index()) sizes_->push_back(variable);
    }
  }
  return *sizes_;
}

std::shared_ptr<const ConflictWitness> Analysis::try_sizes(const Conflict& conflict) {
  if (trials_.empty()) {
    for (const std::int64_t size : trial_sizes) {
      KnownValues known;
      for (const Ptr<Var>& variable : sizes()) known.emplace_back(variable, size);
      Program program = extract(root_, options_.local_buffers, options_.shared_buffers, known);
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

std::string Analysis::text_of(int which) const {
  const Access& one = access(which);
  const std::string_view verb = one.writes ? "writes" : "reads";
  if (one.whole || !one.buffer) {
    return fmt::format("it {} memory in `{}`", verb, statement_of(which).node);
  }
  return fmt::format("it {} {}", verb, brief(load(one.buffer, one.expressions)));
}

std::string Analysis::reason_for(const Conflict& conflict, Outcome outcome) const {
  for (const int i : {conflict.source, conflict.sink}) {
    const Access& one = access(i);
    const Stmt& node = statement_of(i).node;
    if (!one.memory.defined()) return fmt::format("what `{}` accesses is not known", node);
    if (one.whole) return fmt::format("`{}` may access any element of what it is given", node);
    // Where an index was taken apart, there are more of them than expressions.
    const std::size_t rank = one.index.size() == one.expressions.size() ? one.index.size() : 0;
    for (std::size_t k = 0; k < rank; ++k) {
      if (one.index[k]) continue;
      const Expr& index = one.expressions[k];
      return fmt::format("index {} of {} is not quasi-affine: {}", k, one.buffer->name,
                         index.defined() ? brief(index) : "a vector in a view");
    }
  }
  if (!are_comparable(access(conflict.source), access(conflict.sink))) {
    return fmt::format("{} and {} are views of the same memory",
                       access(conflict.source).buffer->name, access(conflict.sink).buffer->name);
  }
  if (outcome == Outcome::unknown) {
    return fmt::format("too complex: {} operations did not decide it", options_.operations);
  }
  return "whether both iterations happen depends on values in memory";
}

void LegalityQuery::ask(const Dependence& dependence, const std::vector<Relation>& more) {
  // One is enough to know of reductions.
  if (is_over() || (dependence.is_reduction && answer_.reductions)) return;
  DependenceAnswer found = analysis_.decide(dependence, more);
  if (found.verdict == Verdict::proved) return;
  if (dependence.is_reduction) {
    answer_.reductions = true;
    answer_.witness = std::move(found.witness);
  } else if (answer_.verdict == Verdict::proved || found.verdict == Verdict::violated) {
    found.reductions = answer_.reductions;
    answer_ = std::move(found);
  }
}

void LegalityQuery::ask_unless_private(const Dependence& dependence, int loop,
                                       const std::vector<Relation>& more) {
  if (dependence.is_reduction && answer_.reductions) return;
  const Ptr<Buffer>& buffer = analysis_.access(dependence.source).buffer;
  const auto is_buffer = [&](const Ptr<Buffer>& known) { return known.same_as(buffer); };
  if (std::any_of(private_buffers_.begin(), private_buffers_.end(), is_buffer)) return;
  if (analysis_.decide(dependence, more).verdict == Verdict::proved) return;
  if (buffer && analysis_.access(dependence.source).is_local &&
      analysis_.is_private(buffer->data, loop)) {
    private_buffers_.push_back(buffer);
  } else {
    ask(dependence, more);
  }
}

DependenceAnswer LegalityQuery::answer() && {
  if (answer_.verdict == Verdict::proved) answer_.private_buffers = std::move(private_buffers_);
  return std::move(answer_);
}

}  // namespace loopsmith::dependence
