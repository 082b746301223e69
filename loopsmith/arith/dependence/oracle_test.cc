// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/oracle_test.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/ir/script_printer.h"

namespace loopsmith::testing {

RandomProgram::RandomProgram(unsigned seed) : random_(seed) {
  is_symbolic_ = pick(3) == 0;
  for (const int rank : {1, 2, 1}) {
    buffers_.push_back(decl_buffer(std::vector<Expr>(static_cast<std::size_t>(rank), 1000), f32,
                                   std::string(1, static_cast<char>('A' + buffers_.size()))));
  }
  first = nest("ij", 2 + pick(2));
  if (pick(2) == 0) second = nest("uv", 2);
  root = second.root.defined() ? seq({first.root, second.root}) : first.root;
}

RandomProgram::Nest RandomProgram::nest(const std::string& name, int depth) {
  Nest result;
  std::vector<Expr> mins, extents;
  std::vector<int> steps;
  scope_.clear();
  for (int level = 0; level < depth; ++level) {
    extents.push_back(extent());
    mins.push_back(pick(3) == 0 ? Expr(pick(4) - 1) : Expr(0));
    if (level > 0 && extremes_left_ > 0 && pick(6) == 0) mins.back() = extreme();
    steps.push_back(pick(8) == 0 ? -1 : pick(8) == 0 ? 2 : 1);
    result.loops.push_back(var(name + std::to_string(level)));
    scope_.push_back(result.loops.back());
  }
  const int count = 1 + pick(3);
  for (int i = 0; i < count; ++i) result.parts.push_back(statement());
  result.root = seq(result.parts);
  for (int level = depth; level-- > 0;) {
    const auto at = static_cast<std::size_t>(level);
    result.root = make(For{.loop_var = result.loops[at],
                           .min = mins[at],
                           .extent = extents[at],
                           .step = steps[at],
                           .body = result.root});
  }
  return result;
}

Expr RandomProgram::extent() {
  if (is_symbolic_ && pick(2) == 0) return pick(3) == 0 ? n + 1 : Expr(n);
  if (!scope_.empty() && pick(6) == 0) {
    const Expr outer = scope_[static_cast<std::size_t>(pick(static_cast<int>(scope_.size())))];
    return pick(2) == 0 ? outer + 1 : min(outer + 2, 3);
  }
  return 1 + pick(5);
}

Stmt RandomProgram::statement() {
  switch (pick(6)) {
    case 0: {
      Stmt otherwise = pick(2) == 0 ? assignment() : Stmt();
      return make(
          IfThenElse{.condition = condition(), .then_case = assignment(), .else_case = otherwise});
    }
    case 1: {
      const auto inner = var("r");
      const Expr size = extent();
      scope_.push_back(inner);
      Stmt body = assignment();
      scope_.pop_back();
      return for_loop(inner, 0, size, std::move(body));
    }
    default: return assignment();
  }
}

Stmt RandomProgram::assignment() {
  const Ptr<Buffer>& target = buffer();
  Expr value = access();
  if (pick(2) == 0) value = value + access();
  if (pick(4) == 0) value = if_then_else(condition(), value, float_imm(f32, 0));
  return store(target, value, indices(*target));
}

Expr RandomProgram::access() {
  const Ptr<Buffer>& source = buffer();
  return load(source, indices(*source));
}

std::vector<Expr> RandomProgram::indices(const Buffer& target) {
  std::vector<Expr> result;
  for (std::size_t i = 0; i < target.shape.size(); ++i) result.push_back(index());
  return result;
}

Expr RandomProgram::variable() {
  return scope_[static_cast<std::size_t>(pick(static_cast<int>(scope_.size())))];
}

Expr RandomProgram::index() {
  if (extremes_left_ > 0 && pick(8) == 0) return extreme();
  switch (pick(12)) {
    case 0: return pick(3);
    case 1: return variable() + variable();
    case 2: return variable() - variable();
    case 3: return variable() * 2 + pick(3);
    case 4: return variable() * 3 + variable();
    case 5: return floormod(variable() + pick(2), 2 + pick(2));
    case 6: return floordiv(variable() + pick(3), 2 + pick(2));
    case 7: return is_symbolic_ ? n - 1 - variable() : 4 - variable();
    case 8: return floordiv(variable() * 3 + variable(), 4);
    default: return variable() + (pick(3) - 1);
  }
}

/// Each doubles the work of an exact answer.
Expr RandomProgram::extreme() {
  --extremes_left_;
  const Expr a = variable(), b = pick(2) == 0 ? Expr(pick(4)) : variable() * 2 - 1;
  return pick(2) == 0 ? max(a, b) : min(a, b);
}

Expr RandomProgram::condition() {
  switch (pick(6)) {
    case 0: return floormod(variable(), 2) == 0;
    case 1: return variable() != variable();
    case 2: return variable() < variable() || variable() > 2;
    case 3: return variable() < 3 && variable() >= 1;
    case 4: return !(variable() == 1);
    default: return variable() + variable() < 4;
  }
}

std::int64_t iteration_of(const RecordedAccess& access, const Ptr<Var>& loop) {
  for (const Step& step : access.steps) {
    if (step.loop == loop.get()) return step.iteration;
  }
  return -1;
}

Times times_of(const RecordedAccess& access) {
  Times result;
  for (const Step& step : access.steps) result.push_back(step.iteration);
  return result;
}

namespace {

/// True for x = x + e where e does not read the buffer of x.
bool is_update(const Object* statement) {
  const auto* store = static_cast<const BufferStore*>(statement);
  const auto* add = store->value.as<Add>();
  if (!add) return false;
  const auto is_old = [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (!load || !load->buffer.same_as(store->buffer)) return false;
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      if (to_string(load->indices[i]) != to_string(store->indices[i])) return false;
    }
    return true;
  };
  const auto reads = [&](const Expr& e) {
    return to_string(e).find(store->buffer->name) != std::string::npos;
  };
  return (is_old(add->a) && !reads(add->b)) || (is_old(add->b) && !reads(add->a));
}

}  // namespace

Oracle::Oracle(const Stmt& root, const std::map<const Object*, std::int64_t>& sizes)
    : log_(enumerate(root, sizes)) {
  for (std::size_t i = 0; i < log_.size(); ++i) {
    by_element_[{log_[i].buffer, log_[i].element}].push_back(i);
    const Object* statement = log_[i].statement;
    if (!updates_.contains(statement)) updates_[statement] = is_update(statement);
  }
}

bool Oracle::is_broken(const Breaks& breaks) const {
  for (const auto& [element, accesses] : by_element_) {
    for (std::size_t x = 0; x < accesses.size(); ++x) {
      for (std::size_t y = x + 1; y < accesses.size(); ++y) {
        const RecordedAccess& a = log_[accesses[x]];
        const RecordedAccess& b = log_[accesses[y]];
        if ((a.writes || b.writes) && !may_change_places(a, b) && breaks(a, b)) return true;
      }
    }
  }
  return false;
}

bool Oracle::confirms(const ConflictWitness& witness, const Breaks& breaks) const {
  const auto found = by_element_.find({witness.buffer.get(), witness.element});
  if (found == by_element_.end()) return false;
  const auto is_side = [](const RecordedAccess& access, const ConflictSide& side) {
    return access.statement == side.statement.get() && access.writes == side.writes &&
           std::equal(access.values.begin(), access.values.end(), side.iteration.begin(),
                      side.iteration.end(), [](const auto& x, const auto& y) {
                        return x.first == y.first.get() && x.second == y.second;
                      });
  };
  for (std::size_t x = 0; x < found->second.size(); ++x) {
    for (std::size_t y = x + 1; y < found->second.size(); ++y) {
      const RecordedAccess& a = log_[found->second[x]];
      const RecordedAccess& b = log_[found->second[y]];
      if (is_side(a, witness.first) && is_side(b, witness.second) && breaks(a, b)) return true;
    }
  }
  return false;
}

bool Oracle::may_change_places(const RecordedAccess& a, const RecordedAccess& b) const {
  const auto updates = [&](const RecordedAccess& access) {
    const auto* store = static_cast<const BufferStore*>(access.statement);
    return access.buffer == store->buffer.get() && updates_.at(access.statement);
  };
  return updates(a) && updates(b);
}

Checker::Checker(RandomProgram& program) : program_(program), dependences_(program.root) {
  for (int size = program.is_symbolic() ? 0 : 1; size <= (program.is_symbolic() ? 5 : 1); ++size) {
    oracles_.emplace_back(program.root,
                          std::map<const Object*, std::int64_t>{{program.n.get(), size}});
  }
}

bool Checker::is_broken(const Breaks& breaks) const {
  return std::any_of(oracles_.begin(), oracles_.end(),
                     [&](const Oracle& oracle) { return oracle.is_broken(breaks); });
}

void Checker::check(const std::string& question, const DependenceAnswer& answer,
                    const Breaks& breaks) {
  const std::string where = question + "\n" + script(program_.root);
  if (answer.verdict == Verdict::proved) {
    EXPECT_FALSE(is_broken(breaks)) << "proved: " << where;
    ++proved;
  } else if (answer.verdict == Verdict::violated) {
    ASSERT_TRUE(answer.witness) << where;
    std::map<const Object*, std::int64_t> sizes{{program_.n.get(), 1}};
    for (const auto& [variable, value] : answer.witness->sizes) sizes[variable.get()] = value;
    EXPECT_TRUE(Oracle(program_.root, sizes).confirms(*answer.witness, breaks))
        << answer.witness->text() << " is not real: " << where;
    ++violated;
  } else if (!program_.has_extremes() || !answer.reason.starts_with("too complex")) {
    ADD_FAILURE() << "unknown: " << answer.reason << ": " << where;
  }
}

}  // namespace loopsmith::testing
