// SPDX-License-Identifier: Apache-2.0
// What intrinsics take. A call of other types is refused where it is made, so that no pass after
// that has to ask.
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool is_number(DataType type) {
  return !type.is_void() && !type.is_handle();
}

bool is_scalar_integer(DataType type) {
  return type.is_integer() && type.is_scalar();
}

void require_types(const Call& call, bool fits, std::string_view wanted) {
  if (fits) return;
  std::vector<std::string> given;
  for (const Expr& arg : call.args) given.push_back(to_string(arg.dtype()));
  fail(ErrorKind::type_mismatch, "intrinsic_types",
       hint("cast the arguments, or ask for another type"), call.span,
       "{} takes {}, not ({}) for a result of {}", call.op.name(), wanted, fmt::join(given, ", "),
       TypeName(call.dtype));
}

/// Lane by lane, on numbers of the type that the result has.
void check_function(const Call& call, const MathFunction& function) {
  const OpInfo& info = call.op.info();
  for (const Expr& arg : call.args) {
    require(function.operands != Operands::integers || arg.dtype().is_integer(),
            ErrorKind::type_mismatch, "operands_are_integers",
            hint("cast the operands to an integer type"), call.span,
            "{}: the operands are {}, not integers", info.name, TypeName(arg.dtype()));
  }
  const DataType first = call.args[0].dtype();
  require(function.operands != Operands::floats || !first.is_integer(), ErrorKind::type_mismatch,
          "operands_are_floats", hint("cast the operands to float32"), call.span,
          "{}: the operands are {}, not floating-point numbers", info.name, TypeName(first));
  if (info.result == Result::boolean) {
    const bool fits = is_number(first) && call.dtype == boolean.with_lanes(first.lanes);
    return require_types(call, fits, "a number");
  }
  const bool fits = std::ranges::all_of(call.args, [&](const Expr& arg) {
    const DataType type = arg.dtype();
    return function.is_mixed ? is_number(type) && type.lanes == call.dtype.lanes
                             : type == call.dtype;
  });
  require_types(call, fits && first == call.dtype && is_number(first),
                "numbers of the type of its result");
}

/// A function of C: texts, pointers, and numbers with the lanes of the result, or with one.
void check_extern(const Call& call) {
  const bool fits = std::ranges::all_of(call.args, [&](const Expr& arg) {
    const DataType type = arg.dtype();
    return !type.is_void() && (type.is_scalar() || type.lanes == call.dtype.lanes);
  });
  require_types(call, fits, "values with the lanes of its result, or with one");
}

void check_halves(const Call& call) {
  const bool combines = call.op == op("vectorcombine");
  const DataType whole = combines ? call.dtype : call.args[0].dtype();
  const DataType half = combines ? call.args[0].dtype() : call.dtype;
  const bool fits = is_number(half) && whole == half.with_lanes(2 * half.lanes) &&
                    (!combines || call.args[1].dtype() == half);
  require_types(call, fits, "a vector of twice the lanes, or two of half of them");
}

void check_prefetch(const Call& call) {
  constexpr std::int64_t most[] = {1, 3, 1};
  bool fits = call.args[0].dtype().is_handle();
  for (std::size_t i = 0; i < std::size(most); ++i) {
    const std::int64_t* choice = as_int(call.args[i + 1]);
    fits = fits && choice && *choice >= 0 && *choice <= most[i];
  }
  require_types(call, fits, "an address and the constants 0..1, 0..3, 0..1");
}

void check_types(const Call& call) {
  const auto type = [&](std::size_t i) { return call.args[i].dtype(); };
  switch (call.op.index()) {
    case op("call_extern").index():
    case op("call_pure_extern").index(): return check_extern(call);
    case op("isnullptr").index():
      return require_types(call, type(0).is_handle() && call.dtype == boolean, "a pointer");
    case op("if_then_else").index():
      return require_types(call,
                           type(0) == boolean && type(1) == call.dtype && type(2) == call.dtype &&
                               !call.dtype.is_void(),
                           "a bool and two values of the type of its result");
    case op("large_uint_imm").index():
      return require_types(
          call, as_int(call.args[0]) && as_int(call.args[1]) && is_scalar_integer(call.dtype),
          "the constants of the lower and the upper half");
    case op("vector_reduce_add").index():
    case op("vector_reduce_mul").index():
    case op("vector_reduce_min").index():
    case op("vector_reduce_max").index():
      return require_types(call, is_number(type(0)) && call.dtype == type(0).element(),
                           "a vector of numbers");
    case op("vectorlow").index():
    case op("vectorhigh").index():
    case op("vectorcombine").index(): return check_halves(call);
    case op("get_active_lane_mask").index():
      return require_types(
          call, is_scalar_integer(type(0)) && is_scalar_integer(type(1)) && call.dtype.is_bool(),
          "two integers");
    case op("atomic_and").index():
    case op("atomic_or").index():
    case op("atomic_xor").index():
      return require_types(
          call, type(0).is_handle() && is_scalar_integer(type(1)) && call.dtype == type(1),
          "an address and an integer");
    case op("atomic_add").index():
    case op("atomic_min").index():
    case op("atomic_max").index():
      return require_types(
          call,
          type(0).is_handle() && is_number(type(1)) && type(1).is_scalar() && call.dtype == type(1),
          "an address and a number");
    case op("tvm_access_ptr").index():
      return require_types(call,
                           is_number(type(0)) && type(1).is_handle() &&
                               is_scalar_integer(type(2)) && is_scalar_integer(type(3)) &&
                               is_scalar_integer(type(4)),
                           "a type, a pointer and three integers");
    case op("prefetch").index(): return check_prefetch(call);
    default: break;
  }
  if (const MathFunction* function = find_math_function(call.op)) check_function(call, *function);
}

}  // namespace

void canonicalize(Call& node) {
  const OpInfo& info = node.op.info();
  require(info.arity < 0 || static_cast<std::size_t>(info.arity) == node.args.size(),
          ErrorKind::type_mismatch, "argument_count", hint("see the table of intrinsics"),
          node.span, "{} takes {} arguments, {} were given", info.name, info.arity,
          node.args.size());
  check_types(node);
}

}  // namespace loopsmith
