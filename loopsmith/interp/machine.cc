// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/machine.h"
#include "loopsmith/support/error.h"

#include <algorithm>

namespace loopsmith::interp {
namespace {

/// Statements between two looks at the limit.
constexpr std::int64_t pause_after = 1 << 20;
constexpr std::size_t deepest_call = 1000;

}  // namespace

Frame::Frame(const Code& code)
    : code(&code),
      words(code.constants.size() + static_cast<std::size_t>(code.registers)),
      r(words.data() + code.constants.size()),
      allocated(static_cast<std::size_t>(code.allocations)) {
  std::reverse_copy(code.constants.begin(), code.constants.end(), words.begin());
}

Span Machine::span_of(const Instr* at) const {
  for (const Code& code : library_.codes) {
    const Instr* first = code.instrs.data();
    if (at >= first && at < first + code.instrs.size()) {
      return code.spans[static_cast<std::size_t>(at - first)];
    }
  }
  return {};
}

void Machine::fail_at(const Span& span, std::string_view code, Hint hint,
                      const std::string& problem) {
  loopsmith::fail(ErrorKind::interp, code, hint, span, "{}", problem);
}

void Machine::pause() {
  const std::int64_t done = granted_ - budget_ - 1;
  if (done >= options_.max_statements) {
    loopsmith::fail(ErrorKind::interp, "statement_limit", hint("raise `max_statements`"), {},
                    "{} runs more than {} statements", code().name, options_.max_statements);
  }
  if (options_.on_pause) options_.on_pause();
  const std::int64_t more = std::min(pause_after, options_.max_statements - done);
  granted_ += more;
  budget_ += more;
}

Outcome Machine::run(const Code& code, const std::vector<Word>& arguments) {
  frames_.push_back(std::make_unique<Frame>(code));
  std::copy(arguments.begin(), arguments.end(), frame().r);
  r_ = frame().r;
  const Instr* at = code.instrs.data();
  while (at) at = at->run(at, r_, *this);
  outcome_.statements = granted_ - budget_;
  return outcome_;
}

const Instr* Machine::call(const Instr* at, const CallSite& site) {
  if (frames_.size() >= deepest_call) {
    fail(at, "call_depth", hint("look for a function that calls itself without end"),
         "{} is called {} levels deep", site.callee->name, frames_.size());
  }
  auto callee = std::make_unique<Frame>(*site.callee);
  for (std::size_t i = 0; i < site.arguments.size(); ++i) callee->r[i] = r_[site.arguments[i]];
  callee->back = at + 1;
  callee->result = at->d;
  callee->levels = levels_.size();
  callee->turn = turn_;
  enter_loop(site.statement);
  frames_.push_back(std::move(callee));
  r_ = frame().r;
  return frame().code->instrs.data();
}

const Instr* Machine::leave(const Word* value) {
  const std::unique_ptr<Frame> done = std::move(frames_.back());
  frames_.pop_back();
  levels_.resize(done->levels);
  turn_ = done->turn;
  const DataType type = done->code->result;
  if (!frames_.empty()) {
    r_ = frame().r;
    if (value && done->result != no_register) r_[done->result] = *value;
    return done->back;
  }
  if (value && !type.is_void()) {
    outcome_.type = type;
    if (type.is_float() && options_.mode == Mode::typed) {
      outcome_.real = value->f;
    } else {
      outcome_.integer = value->i;
    }
  }
  return nullptr;
}

/// Where the memory of a site is kept. `is_done`: another thread has allocated it.
std::unique_ptr<Memory>& Machine::memory_of(int site, const Allocation& allocation, bool& is_done) {
  const auto place = static_cast<std::size_t>(site);
  if (!team_ || !allocation.is_shared || frames_.size() > 1) return frame().allocated[place];
  const std::int64_t visit = team_->fiber().visits[place]++;
  std::unique_ptr<Memory>& memory = team_->shared[{site, visit}];
  is_done = memory != nullptr;
  return memory;
}

Memory& Machine::allocate(int site, const Allocation& allocation, std::int64_t count,
                          const Instr* at) {
  bool is_done = false;
  std::unique_ptr<Memory>& memory = memory_of(site, allocation, is_done);
  if (is_done) return *memory;
  if (!memory) memory = std::make_unique<Memory>();
  bytes_ -= memory->size_bytes();
  const std::int64_t needed = count * allocation.element.lanes *
                              (options_.mode == Mode::ring ? 9 : allocation.element.bytes() + 1);
  if (count < 0 || needed > options_.max_bytes - bytes_) {
    fail(at, "memory_limit", hint("raise `max_bytes`, or run a smaller problem"),
         "{} of {} elements does not fit into what is left of {} bytes", allocation.name, count,
         options_.max_bytes);
  }
  memory->allocate(allocation.name, allocation.element, count, options_.mode == Mode::ring);
  // What the block shares, a thread shares with those that ran before it.
  const bool is_common = team_ && allocation.is_shared && !levels_.empty();
  memory->birth = is_common ? levels_[team_levels_ - 1].begin - 1 : strand_;
  memory->may_be_private = allocation.may_be_private;
  memory->may_be_of_blocks = allocation.may_be_of_blocks;
  memory->is_per_thread = allocation.is_per_thread && thread_ < 0;
  memory->is_per_warp = allocation.is_per_warp;
  if (memory->is_per_thread) memory->plain_bits = 0;
  bytes_ += memory->size_bytes();
  return *memory;
}

}  // namespace loopsmith::interp
