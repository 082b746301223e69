// SPDX-License-Identifier: Apache-2.0
// What kernels do and other functions do not: memory of threads, barriers, updates in one step.
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/storage_scope.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// What vectors of four floats need.
constexpr int alignment_on_device = 16;

/// Names of updates in the two ways of the languages: `atomic_add` gives `add` and `Add`.
std::string plain_name(Op atomic) {
  return std::string(atomic.name().substr(std::string_view("atomic_").size()));
}
std::string capital_name(Op atomic) {
  std::string name = plain_name(atomic);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

}  // namespace

void CWriter::refuse_on_device(const Object& node, std::string_view what,
                               std::string_view instead) const {
  fail(ErrorKind::lower, "kernel_can_do_it", hint(instead), node.span,
       "target {}: {} cannot stand in a kernel ({})", module_.dialect.name, what, function_name_);
}

/// tvm_storage_sync(scope).
void CWriter::wait_for_threads(const Call& call) {
  const auto* scope = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  const bool is_global = scope && scope->value == "global";
  line(is_global ? module_.dialect.global_barrier : module_.dialect.barrier);
}

void CWriter::allocate_on_device(const Allocate& allocate) {
  const DataType element = allocate.dtype.element();
  if (shares_bytes(element) || has_odd_bytes(element)) {
    refuse_on_device(allocate, fmt::format("memory of {}", to_string(element)),
                     "store it as int8, or as int32");
  }
  std::int64_t count = allocate.dtype.lanes;
  for (const Expr& extent : allocate.extents) {
    const std::int64_t* number = as_int(extent);
    const bool fits = number && *number >= 0 && !__builtin_mul_overflow(count, *number, &count);
    if (!fits) {
      refuse_on_device(
          allocate, fmt::format("{}, memory without a constant size,", allocate.buffer_var->name),
          "allocate it outside of the kernel, or cache a tile of constant size");
    }
  }
  const bool is_shared = is_shared_by_threads(scope_of(*allocate.buffer_var));
  const std::string type = c_memory_type(element);
  const std::string name = new_name(allocate.buffer_var->name);
  line(fmt::format("{}LS_ALIGNED({}) {} {}[{}];", is_shared ? module_.dialect.shared_memory : "",
                   alignment_on_device, type, name, std::max<std::int64_t>(count, 1)));
  CVariable variable{name, handle_type, type + "*"};
  if (is_shared) variable.space = module_.dialect.shared_space;
  bind(allocate.buffer_var, std::move(variable));
  statement(allocate.body);
}

/// A copy of neighbours to neighbours, if it is one that memory is aligned for.
bool CWriter::copy_at_once(const BufferStore& store) {
  const auto* load = store.value.as<BufferLoad>();
  const bool is_plain = load && !store.predicate.defined() && !load->predicate.defined() &&
                        store.indices.size() == 1 && load->indices.size() == 1;
  const auto* into = is_plain ? store.indices[0].as<Ramp>() : nullptr;
  const auto* from = is_plain ? load->indices[0].as<Ramp>() : nullptr;
  const DataType element = store.buffer->dtype;
  if (!into || !from || !element.is_scalar() || load->buffer->dtype != element) return false;
  const int lanes = store.value.dtype().lanes, bytes = lanes * element.bytes();
  const std::string type = bytes == 16 ? "int4" : bytes == 8 ? "int2" : bytes == 4 ? "int" : "";
  if ((lanes != 2 && lanes != 4) || type.empty()) return false;
  Analyzer analyzer;
  for (const Ramp* ramp : {into, from}) {
    const bool is_aligned = analyzer.can_prove(floormod(ramp->base, lanes) == 0);
    if (!is_const_int(ramp->stride, 1) || !is_aligned) return false;
  }
  const Place target = place(store.buffer, {into->base}, {});
  const Place source = place(load->buffer, {from->base}, {});
  const auto first = [](const Place& at) {
    return fmt::format("&{}[{}]", at.memory, at.index.text);
  };
  line(fmt::format(fmt::runtime(module_.dialect.copy), lanes, first(target), first(source), type));
  return true;
}

CText CWriter::atomic_update(const Call& call) {
  const DataType type = call.args[1].dtype();
  const CDialect& dialect = module_.dialect;
  const auto* address = call.args[0].as<Call>();
  const auto* element =
      address && address->op == op("address_of") ? address->args[0].as<BufferLoad>() : nullptr;
  const bool is_word = type.bits == 32 || type.bits == 64;
  if (!element || !is_word || (type.is_float() && !dialect.adds_floats)) {
    refuse_on_device(call, fmt::format("{} of {}", call.op.name(), to_string(type)),
                     "update integers of 32 or 64 bits, or reduce over the threads instead");
  }
  const Place at = place(element->buffer, element->indices, {});
  const std::string_view space = variables_.at(element->buffer->data.get()).space;
  std::string name = c_type(type);
  // Of the same bits: CUDA has no addition of int64_t, and other types of 64 bits than these.
  if (type.is_integer()) {
    const bool is_signed = type.is_int() && !(type.bits == 64 && call.op == op("atomic_add"));
    const bool is_opencl = !dialect.global_space.empty();
    name = type.bits == 32 ? (is_signed   ? "int"
                              : is_opencl ? "uint"
                                          : "unsigned int")
           : is_opencl     ? (is_signed ? "long" : "ulong")
                           : (is_signed ? "long long" : "unsigned long long");
  }
  const std::string pointer = fmt::format("{}{}*)&{}[{}]", space, name, at.memory, at.index.text);
  const std::string operand = fmt::format("({}){}", name, value(call.args[1]).in(CLevel::unary));
  std::string text(type.bits == 64 ? dialect.atomic_64 : dialect.atomic);
  const auto put = [&](std::string_view key, const std::string& with) {
    for (std::size_t found = text.find(key); found != std::string::npos; found = text.find(key)) {
      text.replace(found, key.size(), with);
    }
  };
  put("{0})", pointer);
  put("{1}", operand);
  put("{3}", plain_name(call.op));
  put("{4}", capital_name(call.op));
  CText made{.text = fmt::format("({}){}", c_type(type), text), .level = CLevel::unary};
  if (type.is_integer()) made.bound = arith::all_of(type);
  made.is_wide = type == i64;
  return made;
}

}  // namespace loopsmith::detail
