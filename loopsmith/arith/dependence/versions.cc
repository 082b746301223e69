// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "loopsmith/arith/dependence/delinearize.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"

namespace loopsmith::dependence {
namespace {

bool are_equal(const Ref& a, const Ref& b) {
  if (a.same_as(b)) return true;
  return a.defined() && b.defined() && structural_equal(a, b);
}

bool are_same_loops(const For& a, const For& b) {
  return a.loop_var.same_as(b.loop_var) && are_equal(a.min, b.min) &&
         are_equal(a.extent, b.extent) && are_equal(a.step, b.step);
}

/// What a block keeps when it moves: its first axis, or itself; and whether it is the init of that
/// block alone.
using BlockKey = std::pair<const Object*, bool>;

BlockKey key_of(const PlacedBlock& block) {
  const Block& node = block.started ? *block.started : *block.node().block;
  const Object* own =
      node.iter_vars.empty() ? static_cast<const Object*>(&node) : node.iter_vars[0]->var.get();
  return {own, block.started.defined()};
}

/// What a statement outside of blocks keeps when something inside it changes.
const Object* key_of(const Stmt& stmt) {
  if (const auto* node = stmt.as<For>()) return node->loop_var.get();
  if (const auto* node = stmt.as<While>()) return node->condition.get();
  if (const auto* node = stmt.as<IfThenElse>()) return node->condition.get();
  if (const auto* node = stmt.as<LetStmt>()) return node->var.get();
  if (const auto* node = stmt.as<AssertStmt>()) return node->condition.get();
  return stmt.get();
}

}  // namespace

Versions::Versions(const TwoVersions& given, bool may_be_new) : operations_(given.operations) {
  program_ = extract_both(given.before, given.after, given.local_buffers, border_);
  if (has_products(program_)) {
    polyhedra_.emplace(program_, operations_);
    delinearize(program_, *polyhedra_);
    polyhedra_.reset();
  }
  match(may_be_new);
  find_stable();
}

int Versions::first_access_after() const {
  if (static_cast<std::size_t>(border_) == program_.statements.size()) {
    return static_cast<int>(program_.accesses.size());
  }
  return at(border_).first_access;
}

void Versions::fail(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

const PlacedBlock* Versions::block_of(int statement) const {
  const int block = at(statement).block;
  return block < 0 ? nullptr : &program_.blocks[static_cast<std::size_t>(block)];
}

std::vector<int> Versions::statements_of(int block) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < program_.statements.size(); ++i) {
    if (program_.statements[i].block == block) found.push_back(static_cast<int>(i));
  }
  return found;
}

void Versions::match(bool may_be_new) {
  copies_.resize(static_cast<std::size_t>(border_));
  originals_.resize(program_.statements.size() - static_cast<std::size_t>(border_));
  match_blocks(may_be_new);
  match_loose(may_be_new);
}

void Versions::pair(int original, int copy, bool is_kept) {
  const Stmt& before = at(original).node;
  const bool is_leaf = before.is<BufferStore>() || before.is<Evaluate>();
  if (is_kept && is_leaf && !are_equal(before, at(copy).node)) {
    fail(fmt::format("`{}` is not what it was", at(copy).node));
    return;
  }
  if (at(original).access_count != at(copy).access_count ||
      at(original).node.get()->kind != at(copy).node.get()->kind) {
    fail(fmt::format("`{}` is not what it was", at(copy).node));
    return;
  }
  copies_[static_cast<std::size_t>(original)].push_back(copy);
  originals_[static_cast<std::size_t>(copy - border_)].push_back(original);
}

void Versions::match_blocks(bool may_be_new) {
  // The statements of each block, part by part where it stands in several places.
  std::map<BlockKey, std::vector<std::vector<int>>> known;
  int last = -1;
  for (int s = 0; s < static_cast<int>(program_.statements.size()); ++s) {
    const int block = at(s).block;
    if (block < 0 || block == last) continue;
    last = block;
    const BlockKey key = key_of(program_.blocks[static_cast<std::size_t>(block)]);
    const std::vector<int> here = statements_of(block);
    const auto found = known.find(key);
    if (s < border_) {
      known[key].push_back(here);
    } else if (found == known.end()) {
      if (!may_be_new) return fail(fmt::format("`{}` is new", at(s).node));
    } else {
      for (const std::vector<int>& part : found->second) {
        if (part.size() != here.size()) {
          return fail(fmt::format("the block around `{}` is not what it was", at(s).node));
        }
        for (std::size_t i = 0; i < here.size(); ++i) pair(part[i], here[i], !may_be_new);
      }
    }
  }
}

void Versions::match_loose(bool may_be_new) {
  std::unordered_multimap<const Object*, int> known;
  for (int s = 0; s < border_; ++s) {
    if (at(s).block < 0) known.emplace(key_of(at(s).node), s);
  }
  for (int s = border_; s < static_cast<int>(program_.statements.size()); ++s) {
    if (at(s).block >= 0) continue;
    const auto [first, end] = known.equal_range(key_of(at(s).node));
    // Of one node that stands in several places, each is its own.
    const auto found = std::find_if(first, end, [&](const auto& one) {
      return is_in_place(one.second, s) && copies(one.second).empty();
    });
    if (found != end) {
      pair(found->second, s, !may_be_new);
    } else if (!may_be_new) {
      return fail(fmt::format("`{}` is new, or elsewhere", at(s).node));
    }
  }
}

bool Versions::is_in_place(int statement, int copy) const {
  const auto& before = at(statement).surroundings;
  const auto& after = at(copy).surroundings;
  const auto is_same = [](const Context& a, const Context& b) {
    if (a.kind != b.kind || !a.variable.same_as(b.variable)) return false;
    if (a.kind == Context::Kind::loop) return are_same_loops(*a.node.as<For>(), *b.node.as<For>());
    return are_equal(a.value, b.value);
  };
  return std::ranges::equal(before, after, is_same);
}

bool Versions::stays(int statement) const {
  const std::vector<int>& all = copies(statement);
  return all.size() == 1 && parts(statement).size() == 1 && is_in_place(statement, all[0]);
}

std::vector<int> Versions::parts(int statement) const {
  const std::vector<int>& all = copies(statement);
  if (all.empty()) return {statement};
  return originals_[static_cast<std::size_t>(all[0] - border_)];
}

bool Versions::have_same_order(int a, int b, int copy_of_a, int copy_of_b) const {
  return (a < b) == (copy_of_a < copy_of_b) && (a == b) == (copy_of_a == copy_of_b) &&
         program_.common_depth(a, b) == program_.common_depth(copy_of_a, copy_of_b);
}

void Versions::find_stable() {
  is_stable_.assign(static_cast<std::size_t>(border_), false);
  int last = -1;
  for (int s = 0; s < border_; ++s) {
    const int block = at(s).block;
    if (block < 0 || block == last) continue;
    last = block;
    std::vector<int> asked;
    if (!find_stable_block(block, asked)) continue;
    for (const int one : statements_of(block)) is_stable_[static_cast<std::size_t>(one)] = true;
  }
}

bool Versions::find_stable_block(int block, std::vector<int>& asked) {
  const PlacedBlock& placed = program_.blocks[static_cast<std::size_t>(block)];
  // Without axes, the loops around tell its instances.
  if (placed.axes.empty() && placed.depth > 0) return false;
  if (std::ranges::find(asked, block) != asked.end()) return false;
  asked.push_back(block);
  for (const int s : statements_of(block)) {
    const int first = at(s).first_access;
    for (int i = first; i < first + at(s).access_count; ++i) {
      const Access& access = program_.accesses[static_cast<std::size_t>(i)];
      if (!access.memory.defined()) return false;
      if (access.writes ? !access.is_local : !is_stable_input(access, block, asked)) return false;
      if (!access.writes) continue;
      for (int other = 0; other < first_access_after(); ++other) {
        const Access& write = program_.accesses[static_cast<std::size_t>(other)];
        const bool is_foreign = write.writes && at(write.statement).block != block;
        if (is_foreign && (!write.memory.defined() || write.memory.same_as(access.memory))) {
          return false;
        }
      }
    }
  }
  return true;
}

bool Versions::is_stable_input(const Access& read, int block, std::vector<int>& asked) {
  for (int i = 0; i < first_access_after(); ++i) {
    const Access& write = program_.accesses[static_cast<std::size_t>(i)];
    if (!write.writes || (write.memory.defined() && !write.memory.same_as(read.memory))) continue;
    const int writer = at(write.statement).block;
    if (writer == block) {
      if (read.update == Update::declared && write.update == Update::declared) continue;
      return false;
    }
    // Before all instances, or after all of them.
    if (program_.common_depth(write.statement, read.statement) == 0) continue;
    if (writer < 0 || !find_stable_block(writer, asked)) return false;
  }
  return true;
}

bool Versions::has_axes_for_names(int statement) const {
  if (at(statement).block < 0) return false;
  const int original = statement < border_ ? statement : this->original(statement);
  if (original < 0) return true;
  if (is_stable(original)) return true;
  return !stays(original);
}

bool Versions::has_known_axes(int statement) const {
  const PlacedBlock* block = block_of(statement);
  return block &&
         std::ranges::all_of(block->axes, [](const auto& axis) { return axis.has_value(); });
}

std::vector<Linear> Versions::names(int statement) const {
  std::vector<Linear> forms;
  std::size_t inside = 0;
  if (has_axes_for_names(statement) && has_known_axes(statement)) {
    const PlacedBlock* block = block_of(statement);
    for (const auto& axis : block->axes) forms.push_back(*axis);
    inside = static_cast<std::size_t>(block->depth);
  }
  const std::vector<int>& loops = at(statement).loops;
  for (std::size_t i = inside; i < loops.size(); ++i) {
    forms.push_back(linear_of(program_.loops[static_cast<std::size_t>(loops[i])].iterator));
  }
  return forms;
}

std::vector<std::string> Versions::name_words(int statement) const {
  std::vector<std::string> words;
  std::size_t inside = 0;
  if (has_axes_for_names(statement) && has_known_axes(statement)) {
    const PlacedBlock* block = block_of(statement);
    for (const auto& axis : block->node().block->iter_vars) words.push_back(axis->var->name);
    inside = static_cast<std::size_t>(block->depth);
  }
  const std::vector<int>& loops = at(statement).loops;
  for (std::size_t i = inside; i < loops.size(); ++i) {
    const For* loop = program_.loops[static_cast<std::size_t>(loops[i])].as_for();
    words.push_back(loop ? loop->loop_var->name : "while");
  }
  return words;
}

bool Versions::are_named(int statement) const {
  const auto is_named = [&](int one) { return !has_axes_for_names(one) || has_known_axes(one); };
  return is_named(statement) && std::ranges::all_of(copies(statement), is_named);
}

std::vector<int> Versions::result_axes(int statement) const {
  std::vector<int> found;
  if (!has_axes_for_names(statement) || !has_known_axes(statement)) return found;
  const PlacedBlock* block = block_of(statement);
  const Block& node = *block->node().block;
  const bool is_reduction = node.init.defined() && !is_no_op(node.init);
  for (std::size_t i = 0; i < node.iter_vars.size(); ++i) {
    if (!is_reduction || node.iter_vars[i]->iter_type != IterType::comm_reduce) {
      found.push_back(static_cast<int>(i));
    }
  }
  return found;
}

bool Versions::is_placed_exactly(int statement) const {
  const PlacedBlock* block = block_of(statement);
  return block ? block->is_exact : at(statement).is_exact;
}

int Versions::run_depth(int statement) const {
  const bool is_before = statement < border_;
  const int first = is_before ? 0 : border_;
  const int end = is_before ? border_ : static_cast<int>(program_.statements.size());
  int depth = 0;
  for (int other = first; other < end; ++other) {
    if (at(other).block >= 0 && at(other).block == at(statement).block) continue;
    depth = std::max(depth, program_.common_depth(statement, other));
  }
  return depth;
}

bool Versions::is_written_before(int read, const std::vector<int>& writes, int depth) const {
  if (!polyhedra_) polyhedra_.emplace(program_, operations_);
  return !writes.empty() && polyhedra_->covers(read, writes, depth);
}

}  // namespace loopsmith::dependence
