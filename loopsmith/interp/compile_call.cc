// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/access.h"
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/control.h"
#include "loopsmith/interp/vectors.h"
#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp::detail {

Value Compiler::call(const Call& call) {
  const auto& args = call.args;
  const DataType type = call.dtype;
  if (call.op.info().effect >= Effect::updates) known_.clear();
  if (identity_of(call.op) != Identity::none) return expr(args[0]);
  switch (call.op.index()) {
    case op("if_then_else").index():
      if (args[0].dtype().is_scalar()) return choice(args[0], args[1], args[2], type);
      return operation(select_handler(type), type, type,
                       {expr(args[0]), expr(args[1]), expr(args[2])});
    case op("undef").index():
    case op("ptx_commit_group").index():
    case op("ptx_wait_group").index():
    // Copies are done where they are started.
    case op("ptx_init_barrier_thread_count").index():
    case op("ptx_arrive_barrier").index():
    case op("dma_start_group").index():
    case op("dma_wait").index():
    case op("prefetch").index(): {
      const Register zero = integer(0);
      return {zero, 0};
    }
    case op("assume").index(): return assumption(args[0]);
    case op("large_uint_imm").index():
      return {
          integer(static_cast<std::int64_t>((static_cast<std::uint64_t>(*as_int(args[1])) << 32) +
                                            static_cast<std::uint64_t>(*as_int(args[0])))),
          0};
    case op("reinterpret").index(): return reinterpret(call);
    case op("vectorlow").index(): return expr(args[0]);
    case op("vectorhigh").index(): {
      const Value whole = expr(args[0]);
      return {whole.reg + whole.stride * type.lanes, whole.stride};
    }
    case op("vectorcombine").index(): {
      const Value low = expr(args[0]), high = expr(args[1]);
      const Register result = fresh(type.lanes);
      copy_to(result, low, type.lanes / 2);
      copy_to(result + type.lanes / 2, high, type.lanes / 2);
      return {result};
    }
    case op("vector_reduce_add").index():
    case op("vector_reduce_mul").index():
    case op("vector_reduce_min").index():
    case op("vector_reduce_max").index(): return reduce_lanes(call);
    case op("get_active_lane_mask").index(): return active_lanes(call);
    case op("address_of").index(): {
      const auto* load = args[0].as<BufferLoad>();
      if (!load) unsupported(call, "address_of anything but an element");
      const Access& access = new_access(load->buffer, load->indices, nullptr, call, false);
      Instr instr{.access = &access};
      return operation(address_handler(), i64.with_lanes(2), i64, {}, instr);
    }
    case op("tvm_access_ptr").index(): return access_pointer(call);
    case op("atomic_add").index():
    case op("atomic_min").index():
    case op("atomic_max").index():
    case op("atomic_and").index():
    case op("atomic_or").index():
    case op("atomic_xor").index(): return atomic_update(call);
    case op("call_global").index(): return call_function(call);
    case op("call_extern").index():
    case op("call_pure_extern").index():
    case op("tvm_call_packed").index():
    case op("tvm_call_cpacked").index(): return call_host(call);
    case op("tvm_storage_sync").index(): return barrier(call);
    case op("tvm_warp_shuffle").index():
    case op("tvm_warp_shuffle_up").index():
    case op("tvm_warp_shuffle_down").index(): return warp_shuffle(call);
    case op("tvm_thread_allreduce").index(): return all_reduce(call);
    case op("ptx_mma").index(): return multiply_tiles(call);
    case op("ptx_ldmatrix").index(): return load_matrices(call);
    case op("dma_copy").index(): return copy_tile(call);
    case op("dp4a").index():
    case op("call_llvm_intrin").index():
    case op("call_llvm_pure_intrin").index(): return llvm_intrinsic(call);
    case op("tvm_warp_activemask").index(): return {integer(wrap_to(type, -1)), 0};
    default: break;
  }
  if (args.empty() || !call.op.info().element_wise) {
    unsupported(call, fmt::format("a call of {}", call.op.name()));
  }
  std::vector<Value> operands;
  for (const Expr& arg : args) operands.push_back(expr(arg));
  const DataType operand = args[0].dtype();
  const Intrinsic found = intrinsic(call.op, operand, type, options_);
  if (!found.handler) {
    unsupported(call, fmt::format("a call of {} of {}", call.op.name(), to_string(operand)));
  }
  // ldexp takes an integer as a number.
  if (args.size() == 2 && operand.is_float() && args[1].dtype().is_integer() && !is_ring()) {
    operands[1] = operation(cast_handler(args[1].dtype(), f64.with_lanes(type.lanes), options_),
                            f64.with_lanes(type.lanes), f64.with_lanes(type.lanes), {operands[1]});
  }
  Instr instr{.number = call.op.index()};
  if (found.function) instr.function = found.function;
  if (found.function2) instr.function2 = found.function2;
  if (args.size() == 1) instr.b = operand.bits;
  return operation(found.handler, type, operand.is_float() && type.is_bool() ? operand : type,
                   operands, instr);
}

/// What is unwritten may be anything: an assumption about it says nothing.
Value Compiler::assumption(const Expr& condition) {
  std::vector<std::size_t> exits;
  {
    const Scope scope(*this);
    auto* const outer = std::exchange(assumption_exits_, &exits);
    const Register holds = scalar(condition);
    assumption_exits_ = outer;
    code_.texts.emplace_back("what the program assumes does not hold");
    emit({.run = assert_handler(), .a = holds, .data = &code_.texts.back()});
  }
  for (const std::size_t each : exits) land(each);
  return {integer(1), 0};
}

Value Compiler::reinterpret(const Call& call) {
  const DataType from = call.args[0].dtype(), to = call.dtype;
  const Value value = expr(call.args[0]);
  if (from == to) return value;
  if (from.is_handle() && to == i64) {
    // Memory has no other address here than the place in its buffer, which is kept in bits.
    return operation(binary_handler(kind_of<FloorDiv>, i64, options_), i64, i64,
                     {{value.reg + 1}, {integer(8), 0}});
  }
  const bool has_bytes = from.bits % 8 == 0 && to.bits % 8 == 0;
  if (from.is_handle() || to.is_handle() || from.bits * from.lanes != to.bits * to.lanes ||
      (from.bits != to.bits && !has_bytes)) {
    unsupported(call, fmt::format("{} reinterpreted as {}", to_string(from), to_string(to)));
  }
  if (from.bits != to.bits) {
    Instr regroup{.b = static_cast<Register>(from.code), .number = from.bits};
    return operation(regroup_handler(from, to, options_), to, to, {value}, regroup);
  }
  Instr instr{.b = static_cast<Register>(from.code)};
  return operation(reinterpret_handler(options_), to, to, {value}, instr);
}

Value Compiler::llvm_intrinsic(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  const DotIntrinsic* known = find_dot_intrinsic(call);
  const Expr meaning = known ? meaning_of(*known, call) : nullptr;
  if (!meaning.defined()) {
    unsupported(call, name ? fmt::format("a call of LLVM's intrinsic {}", name->value)
                           : "a call of dp4a of anything but four bytes each");
  }
  meanings_.push_back(meaning);
  return expr(meaning);
}

/// Lane after lane, with the scalar operation.
Value Compiler::reduce_lanes(const Call& call) {
  const std::uint16_t kind = call.op == op("vector_reduce_add")   ? kind_of<Add>
                             : call.op == op("vector_reduce_mul") ? kind_of<Mul>
                             : call.op == op("vector_reduce_min") ? kind_of<Min>
                                                                  : kind_of<Max>;
  const DataType element = call.args[0].dtype().element();
  const Value lanes = expr(call.args[0]);
  const Handler handler = binary_handler(kind, element, options_);
  Value total{lanes.reg};
  for (int l = 1; l < call.args[0].dtype().lanes; ++l) {
    total = operation(handler, element, element, {total, {lanes.reg + l * lanes.stride}});
  }
  return total;
}

/// Lane i is true while base + i < limit.
Value Compiler::active_lanes(const Call& call) {
  const Value base = expr(call.args[0]), limit = expr(call.args[1]);
  return operation(active_lanes_handler(), call.dtype, call.dtype, {base, limit});
}

/// tvm_access_ptr(type, data, offset, extent, mask): the address of data[offset].
Value Compiler::access_pointer(const Call& call) {
  const DataType element = call.args[0].dtype();
  const Value pointer = expr(call.args[1]), offset = expr(call.args[2]);
  Instr instr{.number = stored_bits(element.element()) * element.lanes};
  return operation(move_pointer_handler(), i64.with_lanes(2), i64, {pointer, offset}, instr);
}

Value Compiler::atomic_update(const Call& call) {
  const Value pointer = expr(call.args[0]), value = expr(call.args[1]);
  const DataType type = call.dtype;
  if (!type.is_scalar()) unsupported(call, "an atomic update of vectors");
  // An access to whatever the pointer leads to: one element from there.
  const Ptr<Buffer> target = decl_buffer({1}, type, "atomic");
  define_buffer(target, {.data = pointer.reg, .shape = {integer(1)}});
  const auto access = [&](bool is_store) -> Access& {
    Access& made = new_access(target, {Expr(0)}, nullptr, call, is_store);
    made.is_atomic = true;
    return made;
  };
  Instr load{.access = &access(false)};
  const Value old = operation(load_handler(*load.access, options_), type, type, {}, load);
  const auto before = var("before", type), operand = var("operand", type);
  values_[before.get()] = old;
  values_[operand.get()] = value;
  const Value after = expr(stored_atomically(call.op, before, operand));
  Instr store{.a = after.reg, .type = type};
  store.access = &access(true);
  store.run = store_handler(*store.access, options_);
  emit(store);
  return old;
}

/// Passes tensors by their pointers, with the sizes of the buffer that is there.
Value Compiler::call_function(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<GlobalVar>();
  const Ptr<PrimFunc> callee =
      name && session_.module ? session_.module->find(name->name_hint) : nullptr;
  if (!callee) {
    fail(ErrorKind::interp, "function_exists", hint("interpret a module that holds the function"),
         span_, "there is no function {}", name ? name->name_hint : "without a name");
  }
  if (callee->params.size() + 1 != call.args.size()) {
    fail(ErrorKind::interp, "argument_count", hint("pass one argument for each parameter"), span_,
         "{} is called with {} arguments, not {}", name->name_hint, call.args.size() - 1,
         callee->params.size());
  }
  CallSite site{.callee = &session_.code_of(callee), .statement = statement_};
  for (std::size_t i = 0; i < callee->params.size(); ++i) {
    const Expr& arg = call.args[i + 1];
    const Value value = expr(arg);
    site.arguments.push_back(value.reg);
    const Ptr<Buffer>& buffer = callee->buffer_map[i];
    if (!buffer) {
      if (arg.dtype().is_handle()) site.arguments.push_back(value.reg + 1);
      continue;
    }
    site.arguments.push_back(value.reg + 1);
    for (const Register size : sizes_for(*buffer, arg, call)) site.arguments.push_back(size);
  }
  code_.calls.push_back(std::move(site));
  Instr instr{.run = call_handler(), .d = fresh()};
  instr.data = &code_.calls.back();
  emit(instr);
  return {instr.d};
}

/// Extents and strides of what `pointer` leads to, for a parameter `buffer`: those of a buffer on
/// that pointer, or those that the parameter declares.
std::vector<Register> Compiler::sizes_for(const Buffer& buffer, const Expr& pointer,
                                          const Call& call) {
  const std::size_t rank = buffer.shape.size();
  std::vector<Register> sizes, strides;
  for (const auto& [known, place] : buffers_) {
    const auto& candidate = *static_cast<const Buffer*>(known);
    const auto data = values_.find(candidate.data.get());
    const bool is_it = data != values_.end() && data->second.reg == scalar(pointer) &&
                       place.shape.size() == rank && place.offset == no_register &&
                       candidate.dtype == buffer.dtype;
    if (!is_it) continue;
    sizes = place.shape;
    strides = place.strides;
    break;
  }
  if (sizes.empty()) {
    for (const Expr& extent : buffer.shape) {
      const std::int64_t* value = as_int(extent);
      if (!value)
        unsupported(call, fmt::format("a pointer for {}, whose sizes are not given", buffer.name));
      sizes.push_back(integer(*value));
    }
  }
  if (strides.empty()) {
    strides.assign(rank, integer(1));
    for (std::size_t d = rank; d-- > 1;) {
      strides[d - 1] = operation(binary_handler(kind_of<Mul>, i64, options_), i64, i64,
                                 {{sizes[d]}, {strides[d]}})
                           .reg;
    }
  }
  sizes.insert(sizes.end(), strides.begin(), strides.end());
  return sizes;
}

}  // namespace loopsmith::interp::detail
