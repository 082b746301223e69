// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/arith/dependence/analysis.h"

namespace loopsmith {
namespace dependence {
namespace {

DependenceAnswer unknown(std::string reason) {
  DependenceAnswer answer;
  answer.verdict = Verdict::unknown;
  answer.reason = std::move(reason);
  return answer;
}

/// A producer that is to move to the start of the iterations of a loop behind it.
class Move {
 public:
  Move(Analysis& analysis, const SequencePart& producer, int loop)
      : analysis_(analysis), producer_(producer), loop_(loop) {
    const Program& program = analysis.program();
    for (std::size_t i = 0; i < program.accesses.size(); ++i) {
      const int access = static_cast<int>(i);
      if (!is_produced(access)) {
        if (place(access) >= 0 && first_consumer_ < 0) first_consumer_ = statement(access);
      } else if (program.accesses[i].writes) {
        writes_.push_back(access);
      }
    }
    if (first_consumer_ >= 0) {
      const Statement& consumer = program.statements[static_cast<std::size_t>(first_consumer_)];
      const auto end = std::find(consumer.loops.begin(), consumer.loops.end(), loop);
      path_.assign(consumer.loops.begin(), end + 1);
      shared_ = static_cast<int>(producer.loops.size());
    }
  }

  DependenceAnswer answer() {
    if (auto refusal = refuse_form()) return *std::move(refusal);
    if (auto refusal = refuse_producer()) return *std::move(refusal);
    if (auto refusal = refuse_uses()) return *std::move(refusal);
    DependenceAnswer found;
    for (const Dependence& dependence : analysis_.dependences()) {
      if (!is_overtaken(dependence)) continue;
      DependenceAnswer here = overtaking(dependence);
      if (here.verdict == Verdict::violated) return here;
      if (here.verdict == Verdict::unknown) found = std::move(here);
    }
    return found;
  }

 private:
  const Access& at(int access) const { return analysis_.access(access); }
  int statement(int access) const { return at(access).statement; }
  int place(int access) const { return analysis_.place_of(access, loop_); }
  bool is_produced(int access) const {
    return statement(access) >= producer_.first_statement &&
           statement(access) < producer_.end_statement;
  }
  bool is_own_memory(int access) const {
    return std::any_of(writes_.begin(), writes_.end(),
                       [&](int write) { return at(write).memory.same_as(at(access).memory); });
  }
  std::string name(int access) const {
    return at(access).buffer ? at(access).buffer->name : std::string("memory");
  }

  std::optional<DependenceAnswer> refuse_form() const {
    const bool is_behind = first_consumer_ >= producer_.end_statement &&
                           std::equal(producer_.loops.begin(), producer_.loops.end(), path_.begin(),
                                      path_.begin() + std::min(shared_, depth()));
    if (!is_behind || shared_ >= depth()) {
      return unknown("the loop does not stand behind the producer, under the loops around it");
    }
    for (int level = shared_; level < depth(); ++level) {
      if (auto refusal = analysis_.control_of(path_[static_cast<std::size_t>(level)])) {
        return refusal;
      }
    }
    return std::nullopt;
  }

  int depth() const { return static_cast<int>(path_.size()); }

  /// Done again, the producer must do the same: it reads of its own memory only what it defined.
  std::optional<DependenceAnswer> refuse_producer() {
    for (std::size_t i = 0; i < analysis_.program().accesses.size(); ++i) {
      const int access = static_cast<int>(i);
      if (!is_produced(access)) continue;
      if (!at(access).memory.defined() || at(access).whole) {
        return unknown("what the producer touches is not known");
      }
      for (const int loop : analysis_.statement_of(access).loops) {
        if (!analysis_.loop(loop).control.empty()) {
          return unknown("the producer has control flow");
        }
      }
      if (at(access).writes || !is_own_memory(access)) continue;
      const bool is_defined = at(access).update == Update::declared ||
                              (at(access).update != Update::none && is_defined_before(access));
      if (!is_defined) {
        return unknown(fmt::format("the producer reads {}, which it writes itself", name(access)));
      }
    }
    return std::nullopt;
  }

  bool is_defined_before(int read) {
    std::vector<int> definitions;
    std::copy_if(writes_.begin(), writes_.end(), std::back_inserter(definitions),
                 [&](int write) { return at(write).update == Update::none; });
    return analysis_.is_written_before(read, definitions, shared_);
  }

  /// Nobody else writes the memory, or reads it outside the loop; nor in another iteration of the
  /// loops around all of it.
  std::optional<DependenceAnswer> refuse_uses() {
    for (std::size_t i = 0; i < analysis_.program().accesses.size(); ++i) {
      const int access = static_cast<int>(i);
      if (is_produced(access) || !is_own_memory(access)) continue;
      if (at(access).writes)
        return unknown(fmt::format("{} is also written elsewhere", name(access)));
      if (place(access) < 0 || at(access).whole) {
        return unknown(fmt::format("{} is also read outside the loop", name(access)));
      }
      reads_.push_back(access);
    }
    for (const Dependence& dependence : analysis_.dependences()) {
      const bool serves_later =
          dependence.level < shared_ && is_produced(dependence.source) &&
          std::find(reads_.begin(), reads_.end(), dependence.sink) != reads_.end();
      if (!serves_later || analysis_.decide(dependence, {}).verdict == Verdict::proved) continue;
      if (!analysis_.is_written_before(dependence.sink, writes_, shared_)) {
        return unknown(fmt::format("{} is also read in a later iteration", name(dependence.sink)));
      }
    }
    return std::nullopt;
  }

  /// True when the producer runs before what it may have to run after, in one iteration of the
  /// loops around both.
  bool is_overtaken(const Dependence& dependence) const {
    const bool is_served = at(dependence.source).writes && is_own_memory(dependence.sink);
    return is_produced(dependence.source) && !is_produced(dependence.sink) && !is_served &&
           dependence.level >= shared_ && !is_carried(dependence) &&
           statement(dependence.sink) >= producer_.end_statement;
  }

  /// Does the sink run before an iteration in which the producer would run again?
  DependenceAnswer overtaking(const Dependence& dependence) {
    const std::vector<int>& loops = analysis_.statement_of(dependence.sink).loops;
    const int common = static_cast<int>(
        std::mismatch(loops.begin(), loops.end(), path_.begin(), path_.end()).first -
        loops.begin());
    std::vector<Relation> relations;
    for (int level = shared_; level < common; ++level) {
      relations.push_back({level, level, Order::less});
      if (auto answer = ask(dependence, relations); answer.verdict != Verdict::proved) {
        return answer;
      }
      relations.back().order = Order::equal;
    }
    // In one iteration of the loops around both, what stands in front of the consumer runs before.
    const bool is_in_front = common < depth() && statement(dependence.sink) < first_under(common);
    return is_in_front ? ask(dependence, relations) : DependenceAnswer();
  }

  /// The first statement under the loop of the path at `level`.
  int first_under(int level) const {
    const std::vector<Statement>& statements = analysis_.program().statements;
    const auto found =
        std::find_if(statements.begin(), statements.end(), [&](const Statement& one) {
          return static_cast<int>(one.loops.size()) > level &&
                 std::equal(path_.begin(), path_.begin() + level + 1, one.loops.begin());
        });
    return static_cast<int>(found - statements.begin());
  }

  DependenceAnswer ask(const Dependence& dependence, const std::vector<Relation>& relations) {
    for (const int write : writes_) {
      if (statement(write) != statement(dependence.source)) continue;
      for (const int read : reads_) {
        if (!at(read).memory.same_as(at(write).memory)) continue;
        Sample sample;
        const Outcome outcome = analysis_.polyhedra().find(
            Overtaking{dependence.source, write, dependence.sink, read, shared_, relations},
            analysis_.options().smallest_witness, sample);
        if (outcome == Outcome::never) continue;
        return refusal(dependence, outcome, sample);
      }
    }
    return {};
  }

  DependenceAnswer refusal(const Dependence& dependence, Outcome outcome, const Sample& sample) {
    DependenceAnswer answer;
    answer.source = analysis_.statement_of(dependence.source).node;
    answer.sink = analysis_.statement_of(dependence.sink).node;
    const Conflict conflict{dependence.source, dependence.sink, {}};
    if (outcome == Outcome::found) {
      if (const auto sizes = sizes_of(analysis_.program(), sample)) {
        answer.witness = analysis_.witness_of(analysis_.program(), conflict, sample, *sizes);
      }
    }
    answer.verdict = answer.witness ? Verdict::violated : Verdict::unknown;
    if (!answer.witness) {
      answer.reason =
          fmt::format("whether {} changes before the producer reads it again is not clear",
                      name(dependence.source));
    }
    return answer;
  }

  Analysis& analysis_;
  const SequencePart& producer_;
  int loop_;
  int first_consumer_ = -1;  ///< The first statement under the loop.
  std::vector<int> path_;    ///< The loops down to `loop_`.
  int shared_ = 0;           ///< How many of them are around the producer.
  std::vector<int> writes_;  ///< Of the producer.
  std::vector<int> reads_;   ///< Of what it writes, by others.
};

}  // namespace
}  // namespace dependence

DependenceAnswer Dependences::movable(const Stmt& producer, const Ptr<Var>& loop) {
  const auto& parts = analysis_->program().parts;
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& candidate) {
    return candidate.node == producer.get();
  });
  check(part != parts.end(), "Dependences", "the producer is no statement of a sequence");
  return dependence::Move(*analysis_, *part, analysis_->loop_of(loop)).answer();
}

}  // namespace loopsmith
