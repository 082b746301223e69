// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/host_call.h"

#include <algorithm>
#include <deque>

#include "loopsmith/interp/arguments.h"
#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

/// Memory that a call lends.
struct Lent {
  DLTensor tensor{};
  std::vector<std::int64_t> shape, strides;
};

[[noreturn]] void report_escape(const Instr* at, const HostSite& site, const HostOperand& operand,
                                std::int64_t wanted, std::int64_t elements, Machine& machine) {
  machine.fail(at, "address_in_memory", hint("compare the extent with what was allocated"),
               "{} gets {} elements of {}, the memory has {} from there on", site.name, wanted,
               to_string(operand.type), elements);
}

/// Where a pointer leads to, as an array; notes what may be written there.
void lend(const Instr* at, const HostSite& site, const HostOperand& operand, const Word* r,
          Machine& machine, Lent& lent) {
  Memory* memory = &machine.seen(*r[operand.value.reg].memory);
  const int bits = stored_bits(operand.type);
  const std::int64_t skipped = operand.is_array ? r[operand.offset].i * bits : 0;
  const std::int64_t offset_bits = r[operand.value.reg + 1].i + skipped;
  const bool writes = !operand.is_read_only;
  if (writes && memory->is_read_only) {
    machine.fail(at, "memory_is_writable", hint("pass an array that may be written"),
                 "{} may write {}: its memory is read-only", site.name, memory->name);
  }
  const std::int64_t all_bits = memory->granules * memory->granule_bits;
  if (offset_bits % 8 != 0 || offset_bits < 0 || offset_bits > all_bits) {
    machine.fail(at, "address_in_memory", hint("compare the offset with what was allocated"),
                 "{} gets a pointer {} bits from the start of {}, which has {}", site.name,
                 offset_bits, memory->name, all_bits);
  }
  const std::int64_t elements = (all_bits - offset_bits) / bits;
  std::int64_t reach = 1;
  if (!operand.is_array) {
    lent.shape = {elements};
    lent.strides = {1};
    reach = elements;
  } else {
    lent.strides.assign(operand.shape.size(), 1);
    for (std::size_t d = operand.shape.size(); d-- > 0;) {
      lent.shape.insert(lent.shape.begin(), r[operand.shape[d]].i);
      if (d + 1 < lent.strides.size()) lent.strides[d] = lent.strides[d + 1] * lent.shape[1];
      if (!operand.strides.empty()) lent.strides[d] = r[operand.strides[d]].i;
      reach += (lent.shape[0] - 1) * lent.strides[d];
    }
    if (std::ranges::count(lent.shape, 0) > 0) reach = 0;
  }
  if (reach < 0 || reach > elements) report_escape(at, site, operand, reach, elements, machine);
  lent.tensor = {.data = memory->bytes + offset_bits / 8,
                 .device = {kDLCPU, 0},
                 .ndim = static_cast<std::int32_t>(lent.shape.size()),
                 .dtype = dlpack_type(operand.type, Mode::typed),
                 .shape = lent.shape.data(),
                 .strides = lent.strides.data(),
                 .byte_offset = 0};
  if (!writes || memory->written.empty()) return;
  memory->cut_granules(bits);
  const std::int64_t parts = bits / memory->granule_bits;
  const std::int64_t first = offset_bits / memory->granule_bits;
  for (std::int64_t i = 0; i < reach * parts; ++i) {
    memory->written[static_cast<std::size_t>(first + i)] =
        i % parts == 0 ? static_cast<std::uint8_t>(parts) : Memory::goes_on;
  }
}

ls_argument number(const HostOperand& operand, int lane, const Word* r) {
  const DataType type = operand.type.element();
  const Word word = r[operand.value.reg + lane * operand.value.stride];
  if (type.is_float()) return {{.as_float = word.f}, LS_FLOAT, 0};
  return {{.as_int = word.i}, type.is_bool() ? LS_BOOL : type == u64 ? LS_UINT : LS_INT, 0};
}

const Instr* call_host(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  const auto& site = *static_cast<const HostSite*>(at->data);
  const DataType element = at->type.element();
  const ls_kind kind = !site.takes_result   ? LS_NONE
                       : element.is_float() ? LS_FLOAT
                       : element.is_bool()  ? LS_BOOL
                                            : LS_INT;
  std::deque<Lent> lent;
  for (int lane = 0; lane < at->type.lanes; ++lane) {
    std::vector<ls_argument> arguments;
    for (const HostOperand& operand : site.operands) {
      if (operand.is_text) {
        arguments.push_back({{.as_text = operand.text.c_str()}, LS_TEXT, 1});
      } else if (operand.is_memory) {
        lend(at, site, operand, r, machine, lent.emplace_back());
        arguments.push_back(
            {{.as_tensor = &lent.back().tensor}, LS_TENSOR, operand.is_read_only ? 1 : 0});
      } else {
        arguments.push_back(number(operand, lane, r));
      }
    }
    const ls_value result = (*site.function)({site.name, arguments, kind});
    if (element.is_float()) {
      r[at->d + lane].f = round_to(element, result.as_float);
    } else {
      r[at->d + lane].i = wrap_to(element, result.as_int);
    }
  }
  return at + 1;
}

const Instr* hash_host(const Instr* at, Word* r, Machine& machine) {
  const auto& site = *static_cast<const HostSite*>(at->data);
  for (int lane = 0; lane < at->type.lanes; ++lane) {
    std::uint64_t all = ring::hash(machine.seed(), site.name, {});
    for (const HostOperand& operand : site.operands) {
      if (operand.is_text) {
        all = ring::hash(machine.seed(), operand.text, {all});
      } else {
        const Word word = r[operand.value.reg + lane * operand.value.stride];
        all = ring::hash(machine.seed(), "operand", {all, word.u});
      }
    }
    const auto value = static_cast<std::int64_t>(all);
    r[at->d + lane].i = at->type.is_integer() ? wrapped(value, *at) : value;
  }
  return at + 1;
}

}  // namespace

Handler host_call_handler() {
  return call_host;
}
Handler host_hash_handler() {
  return hash_host;
}

}  // namespace loopsmith::interp
