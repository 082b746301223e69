// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_helpers.h"

#include <fmt/format.h>

#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/cuda_instructions.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

std::uint64_t mask_of(DataType dtype) {
  return dtype.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << dtype.bits) - 1;
}

/// What follows `LS_INLINE T name(...)`, on T a and T b.
std::string integer_body(std::string_view name, DataType dtype) {
  const auto wrapped = [&](const std::string& expr) { return c_wrapped(dtype, expr); };
  const bool is_signed = dtype.is_int();
  const std::string negated = wrapped("0 - (uint64_t)a");
  const auto simple = [&](char sign) {
    return fmt::format("  return {};\n", wrapped(fmt::format("(uint64_t)a {} (uint64_t)b", sign)));
  };
  const auto guard = [&](const std::string& by_minus_one) {
    std::string text = "  if (b == 0) return 0;\n";
    if (is_signed) text += fmt::format("  if (b == -1) return {};\n", by_minus_one);
    return text;
  };
  if (name == "add") return simple('+');
  if (name == "sub") return simple('-');
  if (name == "mul") return simple('*');
  if (name == "div") return guard(negated) + "  return a / b;\n";
  if (name == "mod") return guard("0") + "  return a % b;\n";
  if (name == "floordiv") {
    if (!is_signed) return guard("") + "  return a / b;\n";
    return guard(negated) + "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n";
  }
  if (name == "floormod") {
    if (!is_signed) return guard("") + "  return a % b;\n";
    return guard("0") + "  return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n";
  }
  if (name == "min") return "  return a < b ? a : b;\n";
  if (name == "max") return "  return a > b ? a : b;\n";
  if (name == "abs") return fmt::format("  return a < 0 ? {} : a;\n", negated);
  if (name == "shift_left") {
    return fmt::format("  return (uint64_t)b >= {} ? 0 : {};\n", dtype.bits,
                       wrapped("(uint64_t)a << b"));
  }
  if (name == "shift_right") {
    return fmt::format("  return (uint64_t)b >= {} ? {} : a >> b;\n", dtype.bits,
                       is_signed ? "(a < 0 ? -1 : 0)" : "0");
  }
  const std::string bits = fmt::format("  uint64_t bits = (uint64_t)a & 0x{:x};\n", mask_of(dtype));
  if (name == "popcount") {
    return bits + "  int count = 0;\n  for (; bits; bits &= bits - 1) ++count;\n" +
           fmt::format("  return {};\n", wrapped("(uint64_t)count"));
  }
  check(name == "clz", "c_helpers", "no operation {}", name);
  return bits +
         fmt::format("  int count = {};\n  for (; bits; bits >>= 1) --count;\n", dtype.bits) +
         fmt::format("  return {};\n", wrapped("(uint64_t)count"));
}

bool is_unary(std::string_view name) {
  return name == "abs" || name == "popcount" || name == "clz";
}

}  // namespace

std::string c_wrapped(DataType dtype, const std::string& expr) {
  const std::string type = c_type(dtype);
  if (dtype.is_bool()) return fmt::format("(({}) & 1) != 0", expr);
  if (has_c_width(dtype)) return fmt::format("({})({})", type, expr);
  if (dtype.is_uint()) return fmt::format("({})(({}) & 0x{:x})", type, expr, mask_of(dtype));
  const int unused = 64 - dtype.bits;
  return fmt::format("({})((int64_t)((uint64_t)({}) << {}) >> {})", type, expr, unused, unused);
}

std::string CHelpers::operation(std::string_view name, DataType dtype) {
  const DataType element = dtype.element();
  std::string full = fmt::format("ls_{}_{}", name, c_suffix(element));
  if (!is_new(full)) return full;
  const std::string type = c_type(element);
  if (element.is_integer()) {
    text_ +=
        fmt::format("LS_INLINE {} {}({} a{}) {{\n{}}}\n\n", type, full, type,
                    is_unary(name) ? "" : fmt::format(", {} b", type), integer_body(name, element));
  } else if (name == "muladd") {
    const bool is_double = element.bits == 64;
    text_ += fmt::format(
        "/* a * b + c, rounded once where the processor does so at once. */\n"
        "LS_INLINE {0} {1}({0} a, {0} b, {0} c) {{\n#ifdef FP_FAST_FMA{2}\n"
        "  return fma{3}(a, b, c);\n#else\n  return a * b + c;\n#endif\n}}\n\n",
        type, full, is_double ? "" : "F", is_double ? "" : "f");
  } else {
    check(name == "min" || name == "max", "c_helpers", "no operation {}", name);
    const char sign = name == "min" ? '<' : '>';
    if (is_narrow_float(element)) {
      const std::string wide = to_float32(element);
      text_ += fmt::format(
          "LS_INLINE {0} {1}({0} a, {0} b) {{\n"
          "  const float x = {2}(a), y = {2}(b);\n  return x != x || x {3} y ? a : b;\n}}\n\n",
          type, full, wide, sign);
    } else {
      text_ += fmt::format(
          "LS_INLINE {0} {1}({0} a, {0} b) {{\n  return a != a || a {2} b ? a : b;\n}}\n\n", type,
          full, sign);
    }
  }
  return full;
}

std::string CHelpers::instruction(std::string_view name) {
  std::string full(name);
  if (!is_new(full)) return full;
  const std::optional<std::string> text = cuda_instruction(name);
  check(text.has_value(), "codegen", "CUDA has no instruction {}", name);
  for (const char* other : {"ls_shared_address", "ls_tile_descriptor", "ls_tf32"}) {
    if (name != other && text->find(fmt::format("{}(", other)) != text->npos) instruction(other);
  }
  text_ += fmt::format("#ifndef LS_INSTRUCTIONS\n{}#endif\n\n", *text);
  return full;
}

std::string CHelpers::reinterpretation(DataType from, DataType to) {
  std::string name = fmt::format("ls_bits_{}_{}", c_suffix(from), c_suffix(to));
  if (is_new(name)) {
    text_ += fmt::format(
        "LS_INLINE {0} {1}({2} x) {{\n"
        "  union {{ {2} from; {0} to; }} bits;\n"
        "  bits.from = x;\n  return bits.to;\n}}\n\n",
        c_type(to), name, c_type(from));
  }
  return name;
}

namespace {

/// The instructions give other bits of a NaN: those are left to what follows.
constexpr std::string_view half_to_float32 = R"(#ifndef LS_INSTRUCTIONS
  if ((x & 0x7c00) != 0x7c00) {
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(x));
    return number;
  }
#endif
)";
constexpr std::string_view half_from_float32 = R"(#ifndef LS_INSTRUCTIONS
  if (x == x) {
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
  }
#endif
)";

}  // namespace

/// Exactly, as all narrow floats are float32 numbers.
std::string CHelpers::to_float32(DataType from) {
  std::string name = fmt::format("ls_{}_f32", c_suffix(from));
  if (!is_new(name)) return name;
  const std::string as_float = reinterpretation(u32, f32);
  std::string body;
  if (from.is_bfloat16()) {
    body = fmt::format("  return {}((uint32_t)x << 16);\n", as_float);
  } else {
    // The exponent and the mantissa, moved to their places, give the value but for the bias.
    const bool is_e4m3 = from.code == TypeCode::float8_e4m3;
    const int mantissa = is_e4m3 ? 3 : from.bits == 8 ? 2 : 10;
    const int exponent = from.bits - 1 - mantissa;
    const int sign_shift = 32 - from.bits;
    const int bias_change = 127 - ((1 << (exponent - 1)) - 1);
    const std::uint32_t magnitude_mask = (1U << (from.bits - 1)) - 1;
    const std::uint32_t infinity = ((1U << exponent) - 1) << mantissa;
    body = fmt::format(
        "  const uint32_t sign = (uint32_t)(x & 0x{:x}) << {};\n"
        "  const uint32_t magnitude = x & 0x{:x};\n",
        1U << (from.bits - 1), sign_shift, magnitude_mask);
    if (is_e4m3) {
      body += fmt::format("  if (magnitude == 0x7f) return {}(sign | 0x7fc00000);\n", as_float);
    } else {
      body += fmt::format(
          "  if (magnitude >= 0x{:x}) return {}(sign | 0x7f800000 | (magnitude & 0x{:x}) << {});\n",
          infinity, as_float, (1U << mantissa) - 1, 23 - mantissa);
    }
    body += fmt::format("  return {0}(sign | magnitude << {1}) * {2};\n", as_float, 23 - mantissa,
                        fmt::format("0x1p{}f", bias_change));
  }
  const bool has_instruction = has_instructions_ && from == f16;
  text_ += fmt::format("LS_INLINE float {}({} x) {{\n{}{}}}\n\n", name, c_type(from),
                       has_instruction ? half_to_float32 : "", body);
  return name;
}

/// To nearest even.
std::string CHelpers::from_float32(DataType to) {
  std::string name = fmt::format("ls_f32_{}", c_suffix(to));
  if (!is_new(name)) return name;
  const std::string as_bits = reinterpretation(f32, u32);
  std::string body = fmt::format("  const uint32_t bits = {}(x);\n", as_bits);
  if (to.is_bfloat16()) {
    body +=
        "  if (x != x) return (uint16_t)(bits >> 16 | 0x40);\n"
        "  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n";
  } else {
    const bool is_e4m3 = to.code == TypeCode::float8_e4m3;
    const int mantissa = is_e4m3 ? 3 : to.bits == 8 ? 2 : 10;
    const int min_exponent = is_e4m3 ? -6 : -14;  // Of a normal number.
    const std::uint32_t largest = is_e4m3 ? 0x7e : to.bits == 8 ? 0x7c : 0x7c00;
    const std::uint32_t nan = is_e4m3 ? 0x7f : to.bits == 8 ? 0x7e : 0x7e00;
    const int dropped = 23 - mantissa;
    const std::uint32_t magic = static_cast<std::uint32_t>(127 + min_exponent + dropped) << 23;
    body += fmt::format(
        "  const uint32_t sign = bits >> {0} & 0x{1:x}, magnitude = bits & 0x7fffffff;\n"
        "  uint32_t code;\n"
        "  if (magnitude > 0x7f800000) {{\n"
        "    code = 0x{2:x};\n"
        "  }} else if (magnitude >= 0x{3:x}) {{ /* a normal number */\n"
        "    code = (magnitude + 0x{4:x} + (magnitude >> {5} & 1)) >> {5};\n"
        "    code -= 0x{6:x};\n"
        "    if (code > 0x{7:x}) code = 0x{7:x};\n"
        "  }} else {{ /* the addition rounds to the bits to keep */\n"
        "    code = {8}({9}(magnitude) + {9}(0x{10:x})) - 0x{10:x};\n"
        "  }}\n"
        "  return ({11})(sign | code);\n",
        32 - to.bits, 1U << (to.bits - 1), nan,
        static_cast<std::uint32_t>(127 + min_exponent) << 23, (1U << (dropped - 1)) - 1, dropped,
        static_cast<std::uint32_t>(127 + min_exponent - 1) << mantissa, largest, as_bits,
        reinterpretation(u32, f32), magic, c_type(to));
  }
  const bool has_instruction = has_instructions_ && to == f16;
  text_ += fmt::format("LS_INLINE {} {}(float x) {{\n{}{}}}\n\n", c_type(to), name,
                       has_instruction ? half_from_float32 : "", body);
  return name;
}

/// float64 to float32, inexact values to the neighbour whose last bit is 1: rounding the result
/// once more is as good as rounding once.
std::string CHelpers::round_to_odd() {
  std::string name = "ls_odd_f64_f32";
  if (!is_new(name)) return name;
  text_ += fmt::format(
      "LS_INLINE float {}(double x) {{\n"
      "  const float rounded = (float)x;\n"
      "  uint32_t bits = {}(rounded);\n"
      "  if (x == x && (double)rounded != x && !(bits & 1)) {{\n"
      "    bits += fabs((double)rounded) > fabs(x) ? (uint32_t)-1 : 1;\n"
      "  }}\n"
      "  return {}(bits);\n}}\n\n",
      name, reinterpretation(f32, u32), reinterpretation(u32, f32));
  return name;
}

std::string CHelpers::conversion(DataType from, DataType to) {
  if (is_narrow_float(from) && to == f32) return to_float32(from);
  if (from == f32 && is_narrow_float(to)) return from_float32(to);
  std::string name = fmt::format("ls_{}_{}", c_suffix(from), c_suffix(to));
  if (!is_new(name)) return name;
  std::string body;
  if (from == f64 && is_narrow_float(to)) {
    body = fmt::format("  return {}({}(x));\n", from_float32(to), round_to_odd());
  } else if (from.is_integer() && is_narrow_float(to)) {
    body = fmt::format("  return {}({}((double)x));\n", from_float32(to), round_to_odd());
  } else {
    check(from.is_float() && to.is_integer(), "c_helpers", "no conversion {}", name);
    // The ends are powers of two, which every float holds.
    const int above = to.is_uint() ? to.bits : to.bits - 1;
    const std::string suffix = from.bits == 32 ? "f" : "";
    const std::string low = to.is_uint() ? "0" : fmt::format("-0x1p{}{}", above, suffix);
    const std::string most = to == u64 ? "UINT64_MAX" : c_constant(to, max_int(to));
    body = fmt::format(
        "  if (x != x) return 0;\n"
        "  if (x <= {}) return {};\n"
        "  if (x >= 0x1p{}{}) return {};\n"
        "  return ({})x;\n",
        low, c_constant(to, min_int(to)), above, suffix, most, c_type(to));
  }
  text_ += fmt::format("LS_INLINE {} {}({} x) {{\n{}}}\n\n", c_type(to), name, c_type(from), body);
  return name;
}

std::string CHelpers::memory(std::string_view name, DataType element) {
  std::string full = fmt::format("ls_{}_{}", name, c_suffix(element));
  if (!is_new(full)) return full;
  const std::string type = c_type(element);
  const bool is_load = name == "load";
  std::string body;
  if (shares_bytes(element)) {
    const int per_byte = 8 / element.bits;
    const int shift = __builtin_ctz(static_cast<unsigned>(per_byte));
    const std::string place =
        fmt::format("  const int place = (int)(i & {}) * {};\n", per_byte - 1, element.bits);
    const unsigned field = (1U << element.bits) - 1;
    body = is_load
               ? place + fmt::format("  return {};\n",
                                     c_wrapped(element, fmt::format("(uint64_t)(memory[i >> {}] "
                                                                    ">> place)",
                                                                    shift)))
               : place + fmt::format(
                             "  memory[i >> {0}] = (uint8_t)((memory[i >> {0}] & ~({1}u << "
                             "place)) | ((unsigned)x & {1}u) << place);\n",
                             shift, field);
  } else {
    const int bytes = element.bytes();
    body = is_load
               ? fmt::format(
                     "  uint64_t bits = 0;\n"
                     "  for (int k = 0; k < {0}; ++k) bits |= (uint64_t)memory[i * {0} + k] << 8 * "
                     "k;\n  return {1};\n",
                     bytes, c_wrapped(element, "bits"))
               : fmt::format(
                     "  for (int k = 0; k < {0}; ++k) memory[i * {0} + k] = (uint8_t)((uint64_t)x "
                     ">> 8 * k);\n",
                     bytes);
  }
  text_ += is_load ? fmt::format("LS_INLINE {} {}(const uint8_t* memory, int64_t i) {{\n{}}}\n\n",
                                 type, full, body)
                   : fmt::format("LS_INLINE void {}(uint8_t* memory, int64_t i, {} x) {{\n{}}}\n\n",
                                 full, type, body);
  return full;
}

std::string CHelpers::atomic(Op atomic, DataType dtype) {
  std::string name = fmt::format("ls_{}_{}", atomic.name(), c_suffix(dtype));
  if (!is_new(name)) return name;
  const std::string type = c_type(dtype);
  const auto combined = [&]() -> std::string {
    if (atomic == op("atomic_and")) return "before & x";
    if (atomic == op("atomic_or")) return "before | x";
    if (atomic == op("atomic_xor")) return "before ^ x";
    if (!dtype.is_integer()) return "before + x";
    return operation(atomic.name().substr(std::string_view("atomic_").size()), dtype) +
           "(before, x)";
  };
  const std::string after = combined();
  text_ += fmt::format(
      "LS_INLINE {0} {1}(void* memory, {0} x) {{\n"
      "  {0} before, after;\n"
      "  __atomic_load(({0}*)memory, &before, __ATOMIC_RELAXED);\n"
      "  do {{\n    after = {2};\n"
      "  }} while (!__atomic_compare_exchange(({0}*)memory, &before, &after, 0, __ATOMIC_RELAXED, "
      "__ATOMIC_RELAXED));\n"
      "  return before;\n}}\n\n",
      type, name, after);
  return name;
}

std::string CHelpers::fail() {
  std::string name = "ls_fail";
  if (is_new(name)) {
    text_ += R"(static int32_t ls_fail(ls_context* context, int32_t code, int32_t parameter,
                       int32_t dimension, int64_t expected, int64_t actual, const char* message) {
  const ls_error error = {code, parameter, dimension, NULL, expected, actual, message};
  return context->fail(context, &error);
}

)";
  }
  return name;
}

}  // namespace loopsmith::detail
