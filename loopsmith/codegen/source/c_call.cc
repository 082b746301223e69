// SPDX-License-Identifier: Apache-2.0
// Intrinsics. Those that are functions of mathematics were expanded before; see transform.
#include <algorithm>

#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {

CText CWriter::call(const Call& call, const CLane& lane) {
  const auto operand = [&](std::size_t i) { return value(call.args[i], lane); };
  const DataType dtype = call.dtype.element();
  const auto function = [&](std::string_view name) {
    std::string arguments;
    int depth = 0;
    for (const Expr& arg : call.args) {
      const CText text = value(arg, lane);
      if (!arguments.empty()) arguments += ", ";
      arguments += text.text;
      depth = std::max(depth, text.depth);
    }
    CText text{.text = fmt::format("{}({})", module_.helpers.operation(name, dtype), arguments),
               .is_wide = dtype == i64,
               .depth = depth + 1};
    text.bound = arith::all_of(dtype);
    return text;
  };
  const auto infix = [&](std::string_view sign) {
    const CText a = operand(0), b = operand(1);
    const std::string text =
        fmt::format("{} {} {}", a.in(CLevel::unary), sign, b.in(CLevel::unary));
    const int depth = std::max(a.depth, b.depth) + 1;
    if (dtype.is_bool() || dtype.bits >= 32) {
      return CText{.text = text,
                   .level = CLevel::bit_or,
                   .bound = arith::all_of(dtype),
                   .is_wide = dtype == i64,
                   .depth = depth};
    }
    return CText{.text = fmt::format("({})({})", c_type(dtype), text),
                 .level = CLevel::unary,
                 .bound = arith::all_of(dtype),
                 .depth = depth};
  };
  if (const Identity identity = identity_of(call.op); identity != Identity::none) {
    const bool outer = std::exchange(is_precise_, is_precise_ || identity == Identity::precise);
    CText text = operand(0);
    is_precise_ = outer;
    return text;
  }
  switch (call.op.index()) {
    case op("assume").index():
    case op("prefetch").index(): return {.text = "0"};
    case op("undef").index(): return {.text = "0"};
    case op("if_then_else").index(): return choice(call.args[0], call.args[1], call.args[2], lane);
    case op("bitwise_and").index(): return infix("&");
    case op("bitwise_or").index(): return infix("|");
    case op("bitwise_xor").index(): return infix("^");
    case op("bitwise_not").index(): {
      const CText a = operand(0);
      if (dtype.is_bool()) return {.text = "!" + a.in(CLevel::unary), .level = CLevel::unary};
      return {.text = c_wrapped(dtype, "~" + a.in(CLevel::unary)),
              .level = CLevel::unary,
              .bound = arith::all_of(dtype),
              .is_wide = dtype == i64,
              .depth = a.depth + 1};
    }
    case op("shift_left").index(): return function("shift_left");
    case op("shift_right").index(): return function("shift_right");
    case op("popcount").index(): return function("popcount");
    case op("clz").index(): return function("clz");
    case op("reinterpret").index(): return reinterpret(call, lane);
    case op("large_uint_imm").index():
      return {.text =
                  c_constant(u64, static_cast<std::int64_t>(
                                      (static_cast<std::uint64_t>(*as_int(call.args[1])) << 32) +
                                      static_cast<std::uint64_t>(*as_int(call.args[0]))))};
    case op("fabs").index():
      if (dtype.is_uint()) return operand(0);
      return dtype.is_int() ? function("abs") : math_function(call, "fabs", lane);
    case op("isnan").index():
    case op("isinf").index():
    case op("isfinite").index(): return classify(call, lane);
    case op("isnullptr").index():
      return {.text = "!" + operand(0).in(CLevel::unary), .level = CLevel::unary};
    case op("address_of").index(): return address_of(call);
    case op("tvm_access_ptr").index(): {
      const DataType element = call.args[0].dtype();
      const CText offset = index(call.args[2]);
      return {.text = fmt::format("({}*){} + {}{}", c_memory_type(element.element()),
                                  operand(1).in(CLevel::unary), offset.in(CLevel::product),
                                  element.lanes > 1 ? fmt::format(" * {}", element.lanes) : ""),
              .level = CLevel::sum};
    }
    case op("atomic_add").index():
    case op("atomic_min").index():
    case op("atomic_max").index():
    case op("atomic_and").index():
    case op("atomic_or").index():
    case op("atomic_xor").index(): {
      require_atomic(call);
      if (module_.dialect.is_device) return atomic_update(call);
      const DataType type = call.args[1].dtype();
      return {.text = fmt::format("{}({}, {})", module_.helpers.atomic(call.op, type),
                                  operand(0).text, operand(1).text),
              .bound = type.is_integer() ? arith::all_of(type) : ConstIntBound{}};
    }
    case op("tvm_warp_shuffle").index():
    case op("tvm_warp_shuffle_up").index():
    case op("tvm_warp_shuffle_down").index():
      if (module_.dialect.shuffle.empty()) break;
      return shuffle_lanes(call);
    case op("tvm_warp_activemask").index():
      if (module_.dialect.shuffle.empty()) break;
      return {
          .text = "(int32_t)__activemask()", .level = CLevel::unary, .bound = arith::all_of(i32)};
    case op("ptx_init_barrier_thread_count").index():
    case op("ptx_arrive_barrier").index():
    case op("dma_start_group").index():
    case op("dma_wait").index(): {
      if (!module_.dialect.has_instructions) break;
      const std::string_view name = call.op == op("dma_wait")             ? "ls_wait_barrier"
                                    : call.op == op("ptx_arrive_barrier") ? "ls_arrive_barrier"
                                    : call.op == op("dma_start_group")    ? "ls_see_map"
                                                                          : "ls_init_barrier";
      const std::string rest = call.args.size() > 1 ? ", " + operand(1).text : "";
      return {.text = fmt::format("{}({}{})", module_.helpers.instruction(std::string(name)),
                                  operand(0).text, rest)};
    }
    case op("ptx_mma").index():
    case op("ptx_ldmatrix").index():
      if (!module_.dialect.has_instructions) break;
      return warp_instruction_call(call);
    case op("dp4a").index(): {
      if (!module_.dialect.has_instructions || !find_dot_intrinsic(call)) break;
      const auto sign_of = [&](std::size_t i) {
        return call.args[i].dtype().is_uint() ? 'u' : 's';
      };
      return {
          .text = fmt::format(
              "({}){}({}, {}, {})", c_type(dtype),
              module_.helpers.instruction(fmt::format("ls_dp4a_{}8_{}8", sign_of(0), sign_of(1))),
              operand(0).text, operand(1).text, call.args.size() > 2 ? operand(2).text : "0"),
          .level = CLevel::unary,
          .bound = arith::all_of(dtype)};
    }
    case op("call_global").index():
      if (module_.dialect.is_device) {
        refuse_on_device(call, "a call of a function of the module", "write its statements there");
      }
      return call_function(call);
    case op("call_extern").index():
    case op("call_pure_extern").index(): return call_symbol(call, lane);
    case op("tvm_call_packed").index():
    case op("tvm_call_cpacked").index():
      if (module_.dialect.is_device) {
        refuse_on_device(call, "a call of a function of the host", "call it outside of the kernel");
      }
      return call_host(call);
    case op("vectorlow").index(): return value(call.args[0], lane);
    case op("vectorhigh").index():
      return lane_of(call.args[0], std::stoi(lane.text) + call.dtype.lanes);
    case op("vectorcombine").index(): {
      const int at = std::stoi(lane.text), half = call.args[0].dtype().lanes;
      return at < half ? lane_of(call.args[0], at) : lane_of(call.args[1], at - half);
    }
    case op("vector_reduce_add").index():
    case op("vector_reduce_mul").index():
    case op("vector_reduce_min").index():
    case op("vector_reduce_max").index(): return reduce(call);
    case op("get_active_lane_mask").index(): {
      const CText base = operand(0), limit = operand(1);
      return {.text = fmt::format("(int64_t){} + {} < (int64_t){}", base.in(CLevel::unary),
                                  lane.text, limit.in(CLevel::unary)),
              .level = CLevel::compare};
    }
    default: break;
  }
  const MathFunction* known = find_math_function(call.op);
  if (known && !known->c.empty()) return math_function(call, known->c, lane);
  refuse_call(call, module_.dialect.name);
}

/// A function of <math.h>. Rounding to integers: an integer is its own.
CText CWriter::math_function(const Call& call, std::string_view name, const CLane& lane) {
  const DataType dtype = call.dtype.element();
  if (dtype.is_integer()) return value(call.args[0], lane);
  std::string text = fmt::format("{}{}(", name, dtype.bits == 64 ? "" : "f");
  int depth = 0;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const CText operand = widened(call.args[i], lane);
    text += (i ? ", " : "") + operand.text;
    depth = std::max(depth, operand.depth);
  }
  CText result = narrowed(dtype, text + ")", CLevel::atom);
  result.depth = depth + 1;
  return result;
}

CText CWriter::classify(const Call& call, const CLane& lane) {
  if (call.args[0].dtype().is_integer()) {
    return {.text = call.op == op("isfinite") ? "true" : "false"};
  }
  const CText operand = widened(call.args[0], lane);
  return {.text = fmt::format("{}({}) != 0", call.op.name(), operand.text),
          .level = CLevel::equal,
          .depth = operand.depth + 1};
}

CText CWriter::reinterpret(const Call& call, const CLane& lane) {
  const DataType from = call.args[0].dtype(), to = call.dtype;
  if (from.is_handle() || to.is_handle()) {
    const std::string through = from.is_handle() && to.is_handle() ? "" : "(uintptr_t)";
    return {.text = fmt::format("({}){}{}", c_type(to), through,
                                value(call.args[0], lane).in(CLevel::unary)),
            .level = CLevel::unary};
  }
  require(from.bits * from.lanes == to.bits * to.lanes, ErrorKind::type_mismatch,
          "reinterpret_keeps_size", hint("reinterpret as a type with as many bits"), call.span,
          "reinterpret: {} as {} changes the number of bits", to_string(from), to_string(to));
  if (from.lanes != to.lanes) {
    const std::string lanes = regrouped(call);
    CText text{.text = fmt::format("{}[{}]", lanes, to.is_scalar() ? "0" : lane.text),
               .is_wide = to.element() == i64};
    if (to.is_integer()) text.bound = arith::all_of(to.element());
    return text;
  }
  const CText operand = value(call.args[0], lane);
  if (from == to) return operand;
  const auto is_bits = [](DataType t) { return t.is_integer() || is_narrow_float(t); };
  const bool is_c_cast = is_bits(from) && is_bits(to);
  const DataType element = to.element();
  CText text{.depth = operand.depth + 1};
  if (!is_c_cast) {
    text.text = fmt::format("{}({})", module_.helpers.reinterpretation(from.element(), element),
                            operand.text);
  } else if (element.is_integer()) {
    text.text = c_wrapped(element, operand.text);
    text.level = CLevel::unary;
  } else {
    text.text = fmt::format("({}){}", c_type(element), operand.in(CLevel::unary));
    text.level = CLevel::unary;
  }
  text.is_wide = element == i64;
  if (element.is_integer()) text.bound = arith::all_of(element);
  return text;
}

std::string CWriter::materialize(const Expr& vector) {
  const std::string name = new_name("v");
  const int lanes = vector.dtype().lanes;
  line(fmt::format("{} {}[{}];", c_type(vector.dtype().element()), name, lanes));
  fill(name, vector);
  return name;
}

void CWriter::fill(const std::string& name, const Expr& vector) {
  for_each_lane(vector.dtype().lanes, {vector}, [&](const CLane& lane) {
    line(fmt::format("{}[{}] = {};", name, lane.text, value(vector, lane).text));
  });
}

/// Halves with each other while there are halves, then one by one, as for LLVM.
CText CWriter::reduce(const Call& reduction) {
  const DataType vector = reduction.args[0].dtype();
  if (vector.is_scalar()) return value(reduction.args[0]);
  const std::string name = materialize(reduction.args[0]);
  const DataType dtype = vector.element();
  const auto combined = [&](const std::string& a, const std::string& b) -> std::string {
    if (reduction.op == op("vector_reduce_min")) {
      return fmt::format("{}({}, {})", module_.helpers.operation("min", dtype), a, b);
    }
    if (reduction.op == op("vector_reduce_max")) {
      return fmt::format("{}({}, {})", module_.helpers.operation("max", dtype), a, b);
    }
    const bool is_sum = reduction.op == op("vector_reduce_add");
    if (dtype.is_integer()) {
      return fmt::format("{}({}, {})", module_.helpers.operation(is_sum ? "add" : "mul", dtype), a,
                         b);
    }
    const auto wide = [&](const std::string& x) {
      return is_narrow_float(dtype)
                 ? fmt::format("{}({})", module_.helpers.conversion(dtype, f32), x)
                 : x;
    };
    return narrowed(dtype, fmt::format("{} {} {}", wide(a), is_sum ? '+' : '*', wide(b)),
                    CLevel::sum)
        .text;
  };
  int lanes = vector.lanes;
  for (; lanes % 2 == 0; lanes /= 2) {
    const int half = lanes / 2;
    block(fmt::format("for (int l = 0; l < {}; ++l)", half), [&] {
      line(fmt::format("{0}[l] = {1};", name,
                       combined(name + "[l]", fmt::format("{}[l + {}]", name, half))));
    });
  }
  if (lanes > 1) {
    block(fmt::format("for (int l = 1; l < {}; ++l)", lanes),
          [&] { line(fmt::format("{0}[0] = {1};", name, combined(name + "[0]", name + "[l]"))); });
  }
  CText text{.text = name + "[0]"};
  if (dtype.is_integer()) text.bound = arith::all_of(dtype);
  text.is_wide = dtype == i64;
  return text;
}

CText CWriter::call_symbol(const Call& call, const CLane& lane) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  require(name, ErrorKind::type_mismatch, "call_names_function",
          hint("give the function's name as a text, first"), call.span,
          "{}: the first argument is not a name", call.op.name());
  const bool is_name = !name->value.empty() && std::ranges::all_of(name->value, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  require(is_name && !(name->value[0] >= '0' && name->value[0] <= '9'), ErrorKind::type_mismatch,
          "call_names_function", hint("give a name of C"), call.span,
          "{}: '{}' is no name of a C function", call.op.name(), name->value);
  std::string types, arguments;
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    const DataType dtype = call.args[i].dtype().element();
    // What differs from the type of a variable: texts are read, bool is a byte.
    types += fmt::format("{}{}", i > 1 ? ", " : "",
                         call.args[i].is<StringImm>() ? "const char*"
                         : dtype.is_bool()            ? "int8_t"
                                                      : c_type(dtype));
    arguments += fmt::format("{}{}", i > 1 ? ", " : "", value(call.args[i], lane).text);
  }
  const DataType result = call.dtype.element();
  const bool is_imported = module_.imported.find(name->value + "(") != std::string::npos;
  if (!is_imported && module_.declared.insert(name->value).second) {
    module_.declarations +=
        fmt::format("extern {} {}({});\n", result.is_bool() ? "int8_t" : c_type(result),
                    name->value, types.empty() ? "void" : types);
  }
  const std::string text = fmt::format("{}({})", name->value, arguments);
  if (result.is_bool()) return {.text = text + " != 0", .level = CLevel::equal};
  CText made{.text = text, .is_wide = result == i64};
  if (result.is_integer()) made.bound = arith::all_of(result);
  return made;
}

CText CWriter::address_of(const Call& call) {
  const auto* load = call.args[0].as<BufferLoad>();
  require(load && load->dtype.lanes == load->buffer->dtype.lanes, ErrorKind::type_mismatch,
          "address_of_element", hint("write address_of(A[i])"), call.span,
          "address_of: the argument is not one element of a buffer");
  const Place at = place(load->buffer, load->indices, {"0", load->buffer->dtype.lanes});
  return {.text = fmt::format("(void*)&{}[{}]", at.memory, at.index.text), .level = CLevel::unary};
}

}  // namespace loopsmith::detail
