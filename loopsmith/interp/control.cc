// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/control.h"

#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

const Instr* jump(const Instr* at, Word*, Machine&) {
  return at + at->jump;
}
const Instr* jump_unless(const Instr* at, Word* r, Machine&) {
  return r[at->a].i ? at + 1 : at + at->jump;
}

const Instr* loop_begin(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  r[at->d] = r[at->a];
  r[at->d + 1].i = 0;
  if (r[at->b].i <= 0) return at + at->jump;
  machine.enter_loop(static_cast<std::uint32_t>(at->number));
  return at + 1;
}

/// Whether there is another iteration; sets the variable for it.
template <bool is_checked>
bool advance(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  machine.take_turn();
  if (++r[at->d + 1].i >= r[at->b].i) return false;
  std::int64_t next;
  const bool overflows = __builtin_add_overflow(r[at->d].i, r[at->c].i, &next);
  if (is_checked && (overflows || wrapped(next, *at) != next)) [[unlikely]] {
    report_overflow(*at, machine, "+", r[at->d], r[at->c]);
  }
  r[at->d].i = is_checked ? next : wrapped(next, *at);
  return true;
}

template <bool is_checked>
const Instr* loop_next(const Instr* at, Word* r, Machine& machine) {
  if (advance<is_checked>(at, r, machine)) return at + at->jump;
  machine.leave_loop();
  return at + 1;
}

/// Jumps past the end of the loop where there is no iteration.
const Instr* parallel_begin(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  r[at->d] = r[at->a];
  r[at->d + 1].i = 0;
  if (r[at->b].i <= 0) return at + at->jump;
  machine.open_level(*static_cast<const ParallelLoop*>(at->data), r[at->a].i, r[at->c].i);
  return at + 1;
}

template <bool is_checked>
const Instr* parallel_next(const Instr* at, Word* r, Machine& machine) {
  if (advance<is_checked>(at, r, machine)) {
    machine.next_iteration();
    return at + at->jump;
  }
  machine.close_level();
  return at + 1;
}

const Instr* enter_loop(const Instr* at, Word*, Machine& machine) {
  machine.enter_loop(static_cast<std::uint32_t>(at->number));
  return at + 1;
}
const Instr* leave_loop(const Instr* at, Word*, Machine& machine) {
  machine.leave_loop();
  return at + 1;
}

const Instr* step(const Instr* at, Word*, Machine& machine) {
  machine.step();
  machine.take_turn();
  return at + 1;
}

Memory& allocate_for(const Instr* at, Word* r, Machine& machine, std::int64_t count) {
  const auto& allocation = *static_cast<const Allocation*>(at->data);
  Memory& memory = machine.allocate(at->b, allocation, count, at);
  r[at->d].memory = &memory;
  r[at->d + 1].i = 0;
  return memory;
}

const Instr* allocate(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  allocate_for(at, r, machine, r[at->a].i);
  return at + 1;
}

const Instr* allocate_constant(const Instr* at, Word* r, Machine& machine) {
  const auto& allocation = *static_cast<const Allocation*>(at->data);
  const auto count = static_cast<std::int64_t>(allocation.constants.size());
  Memory& memory = allocate_for(at, r, machine, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const Word value = allocation.constants[static_cast<std::size_t>(i)];
    if (memory.is_ring) {
      memory.storage[static_cast<std::size_t>(i)] = value.u;
    } else {
      store_element(memory.bytes, allocation.element, i, value);
    }
  }
  memory.written.clear();
  memory.is_read_only = true;
  memory.plain_bits = 0;
  return at + 1;
}

const Instr* check_equal(const Instr* at, Word* r, Machine& machine) {
  if (r[at->a].i == r[at->b].i) return at + 1;
  machine.fail(at, "sizes_agree", hint("pass arrays whose sizes fit the function's declaration"),
               "{}: {} is {}, expected {}", machine.code().name,
               *static_cast<const std::string*>(at->data), r[at->a].i, r[at->b].i);
}

const Instr* assert_holds(const Instr* at, Word* r, Machine& machine) {
  if (r[at->a].i) return at + 1;
  machine.fail(at, "assertion_holds", hint("the program itself asked for it"),
               "assertion failed: {}", *static_cast<const std::string*>(at->data));
}

const Instr* call(const Instr* at, Word*, Machine& machine) {
  machine.step();
  return machine.call(at, *static_cast<const CallSite*>(at->data));
}
const Instr* leave(const Instr*, Word*, Machine& machine) {
  return machine.leave(nullptr);
}
const Instr* leave_with(const Instr* at, Word* r, Machine& machine) {
  const Word value = r[at->a];
  return machine.leave(&value);
}

}  // namespace

Handler jump_handler() {
  return jump;
}
Handler jump_unless_handler() {
  return jump_unless;
}
Handler loop_begin_handler() {
  return loop_begin;
}
Handler loop_next_handler(bool is_checked) {
  return is_checked ? loop_next<true> : loop_next<false>;
}
Handler parallel_begin_handler() {
  return parallel_begin;
}
Handler parallel_next_handler(bool is_checked) {
  return is_checked ? parallel_next<true> : parallel_next<false>;
}
Handler enter_loop_handler() {
  return enter_loop;
}
Handler leave_loop_handler() {
  return leave_loop;
}
Handler step_handler() {
  return step;
}
Handler allocate_handler() {
  return allocate;
}
Handler allocate_constant_handler() {
  return allocate_constant;
}
Handler check_equal_handler() {
  return check_equal;
}
Handler assert_handler() {
  return assert_holds;
}
Handler call_handler() {
  return call;
}
Handler leave_handler() {
  return leave;
}
Handler leave_with_handler() {
  return leave_with;
}

}  // namespace loopsmith::interp
