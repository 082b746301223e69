// SPDX-License-Identifier: Apache-2.0
// Expressions but loads, calls and indices. Integers of 32 and 64 bits are computed with C's
// operators where no result can leave its type, else by functions that wrap.
#include <algorithm>
#include <cctype>

#include "loopsmith/codegen/leaf.h"
#include "loopsmith/codegen/source/c_operators.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// Deeper expressions are cut by a variable: compilers take some hundred levels.
constexpr int max_depth = 40;

}  // namespace

CText CWriter::value(const Expr& expr, const CLane& lane) {
  const bool is_scalar = expr.dtype().is_scalar();
  const CLane own = is_scalar ? CLane{} : lane;
  if (is_leaf(expr)) return new_value(expr, own);
  if (const auto found = known_.find({expr.get(), own.text}); found != known_.end()) {
    return found->second;
  }
  CText text = deep_call([&] { return new_value(expr, own); });
  const auto used = uses_.find(expr.get());
  const bool is_again = used != uses_.end() && used->second > 1;
  if (expr.dtype().is_void() || (!is_again && text.depth < max_depth)) return text;
  return named(expr, text, own);
}

/// A variable that holds the value, for later uses.
CText CWriter::named(const Expr& expr, const CText& value, const CLane& lane) {
  const std::string name = new_name("t");
  const std::string type = value.is_wide ? "int64_t" : c_type(expr.dtype().element());
  line(fmt::format("const {} {} = {};", type, name, value.text));
  CText text{.text = name, .bound = value.bound, .is_wide = value.is_wide};
  known_.insert_or_assign({expr.get(), lane.text}, text);
  return text;
}

/// How often each node of a statement's expressions is asked for.
void CWriter::count_uses(const Expr& root) {
  if (!root.defined() || is_leaf(root)) return;
  if (++uses_[root.get()] > 1) return;
  deep_call([&] {
    for_each_child(*root.get(), [&](const Ref& child, Role) { count_uses(Expr::from(child)); });
  });
}

CText CWriter::new_value(const Expr& expr, const CLane& lane) {
  const Object& node = *expr.get();
  const auto binary = [&](auto method, const auto& operation) {
    return (this->*method)(expr, operation.a, operation.b, lane);
  };
  switch (node.kind) {
    case kind_of<IntImm>: {
      const auto& imm = static_cast<const IntImm&>(node);
      const bool is_negative = imm.value < 0 && !imm.dtype.is_uint();
      return {.text = c_constant(imm.dtype, imm.value),
              .level = is_negative ? CLevel::unary : CLevel::atom,
              .bound = arith::point(imm.value)};
    }
    case kind_of<FloatImm>: {
      const std::string text = c_constant(expr.dtype(), static_cast<const FloatImm&>(node).value);
      return {.text = text, .level = text[0] == '-' ? CLevel::unary : CLevel::atom};
    }
    case kind_of<StringImm>: return {.text = c_string(static_cast<const StringImm&>(node).value)};
    case kind_of<Var>: return variable(static_cast<const Var&>(node), lane);
    case kind_of<Cast>: {
      const Expr& operand = static_cast<const Cast&>(node).value;
      return cast(operand.dtype().element(), expr.dtype().element(), value(operand, lane));
    }
    case kind_of<Add>: return binary(&CWriter::arithmetic, static_cast<const Add&>(node));
    case kind_of<Sub>: return binary(&CWriter::arithmetic, static_cast<const Sub&>(node));
    case kind_of<Mul>: return binary(&CWriter::arithmetic, static_cast<const Mul&>(node));
    case kind_of<Div>: return binary(&CWriter::division, static_cast<const Div&>(node));
    case kind_of<Mod>: return binary(&CWriter::division, static_cast<const Mod&>(node));
    case kind_of<FloorDiv>: return binary(&CWriter::division, static_cast<const FloorDiv&>(node));
    case kind_of<FloorMod>: return binary(&CWriter::division, static_cast<const FloorMod&>(node));
    case kind_of<Min>: return binary(&CWriter::extremum, static_cast<const Min&>(node));
    case kind_of<Max>: return binary(&CWriter::extremum, static_cast<const Max&>(node));
    case kind_of<EQ>: return binary(&CWriter::comparison, static_cast<const EQ&>(node));
    case kind_of<NE>: return binary(&CWriter::comparison, static_cast<const NE&>(node));
    case kind_of<LT>: return binary(&CWriter::comparison, static_cast<const LT&>(node));
    case kind_of<LE>: return binary(&CWriter::comparison, static_cast<const LE&>(node));
    case kind_of<GT>: return binary(&CWriter::comparison, static_cast<const GT&>(node));
    case kind_of<GE>: return binary(&CWriter::comparison, static_cast<const GE&>(node));
    case kind_of<And>: {
      const auto& both = static_cast<const And&>(node);
      return logic(both.a, both.b, /*is_and=*/true, lane);
    }
    case kind_of<Or>: {
      const auto& either = static_cast<const Or&>(node);
      return logic(either.a, either.b, /*is_and=*/false, lane);
    }
    case kind_of<Not>: {
      const CText operand = value(static_cast<const Not&>(node).a, lane);
      return {.text = "!" + operand.in(CLevel::unary),
              .level = CLevel::unary,
              .depth = operand.depth + 1};
    }
    case kind_of<Select>: {
      const auto& select = static_cast<const Select&>(node);
      return choice(select.condition, select.true_value, select.false_value, lane);
    }
    case kind_of<Ramp>: return ramp(static_cast<const Ramp&>(node), lane, /*is_index=*/false);
    case kind_of<Broadcast>: return value(static_cast<const Broadcast&>(node).value);
    case kind_of<Shuffle>: return shuffle(static_cast<const Shuffle&>(node), lane);
    case kind_of<Let>: {
      const auto& let = static_cast<const Let&>(node);
      const std::string name = new_name(let.var->name);
      const DataType dtype = let.var->dtype;
      if (dtype.is_vector()) {
        bind(let.var, {materialize(let.value), dtype, c_type(dtype.element())});
      } else {
        const CText text = value(let.value);
        const std::string type = text.is_wide ? "int64_t" : c_type(dtype);
        line(fmt::format("const {} {} = {};", type, name, text.text));
        bind(let.var, {name, dtype, type, text.bound, text.is_wide});
      }
      return value(let.body, lane);
    }
    case kind_of<Call>: return call(static_cast<const Call&>(node), lane);
    case kind_of<BufferLoad>: return load(static_cast<const BufferLoad&>(node), lane);
    default: break;
  }
  check(false, "codegen", "an expression {} was not lowered", node_info(node).name);
  return {};
}

CText CWriter::variable(const Var& var, const CLane& lane) {
  const auto found = variables_.find(&var);
  check(found != variables_.end(), "codegen", "variable {} is used but not defined", var.name);
  const CVariable& known = found->second;
  if (known.dtype.is_vector()) return {.text = fmt::format("{}[{}]", known.name, lane.text)};
  if (known.is_wide && !fits_type(known.dtype, known.bound)) {
    return {.text = fmt::format("({}){}", c_type(known.dtype), known.name),
            .level = CLevel::unary,
            .bound = arith::all_of(known.dtype)};
  }
  return {.text = known.name, .bound = known.bound, .is_wide = known.is_wide};
}

/// The value of a narrow float as float32; others as they are.
CText CWriter::widened(const Expr& expr, const CLane& lane) {
  const DataType dtype = expr.dtype().element();
  const CText text = value(expr, lane);
  if (!is_narrow_float(dtype)) return text;
  return {.text = fmt::format("{}({})", module_.helpers.conversion(dtype, f32), text.text),
          .depth = text.depth + 1};
}

/// A float32 rounded to `dtype`, where that is narrower.
CText CWriter::narrowed(DataType dtype, std::string float32, CLevel level) {
  if (!is_narrow_float(dtype)) return {.text = std::move(float32), .level = level};
  return {.text = fmt::format("{}({})", module_.helpers.conversion(f32, dtype), float32)};
}

CText CWriter::arithmetic(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane) {
  const DataType dtype = expr.dtype().element();
  const COperator& row = c_operator_of(expr);
  if (dtype.is_float()) {
    // One rounding for a product and a sum, where that is allowed.
    const auto* product = expr.is<Add>() ? a.as<Mul>() : nullptr;
    const Expr& addend = product ? b : a;
    if (!product && expr.is<Add>()) product = b.as<Mul>();
    if (product && module_.floats.contract && !is_precise_ && !is_narrow_float(dtype)) {
      const CText x = value(product->a, lane), y = value(product->b, lane), z = value(addend, lane);
      return {.text = fmt::format("{}({}, {}, {})", module_.helpers.operation("muladd", dtype),
                                  x.text, y.text, z.text),
              .depth = std::max(depth_over(x, y), z.depth + 1)};
    }
    const CText x = widened(a, lane), y = widened(b, lane);
    const CText result = c_infix(x, row.sign, y, row.level);
    CText text = narrowed(dtype, result.text, result.level);
    text.depth = result.depth + 1;
    return text;
  }
  const CText x = value(a, lane), y = value(b, lane);
  if (dtype.is_index()) {
    const ConstIntBound bound = row.bound(x.bound, y.bound);
    // Of 64 bits, both operands must be: C computes in the wider type.
    const bool is_safe = fits_type(dtype, bound) && (dtype.bits == 32 || x.is_wide || y.is_wide);
    if (is_safe) {
      CText text = c_infix(x, row.sign, y, row.level);
      text.bound = bound;
      return text;
    }
  }
  if (dtype.is_uint() && (dtype.bits == 32 || dtype.bits == 64)) {
    return c_infix(x, row.sign, y, row.level);
  }
  return {.text = fmt::format("{}({}, {})", module_.helpers.operation(row.function, dtype), x.text,
                              y.text),
          .bound = arith::all_of(dtype),
          .is_wide = dtype == i64,
          .depth = depth_over(x, y)};
}

CText CWriter::division(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane) {
  const DataType dtype = expr.dtype().element();
  if (dtype.is_float()) return arithmetic(expr, a, b, lane);
  const COperator& row = c_operator_of(expr);
  const CText x = value(a, lane), y = value(b, lane);
  const bool is_truncating = expr.is<Div>() || expr.is<Mod>();
  const bool same_in_c =
      is_truncating || dtype.is_uint() || (x.bound.is_non_negative() && y.bound.is_non_negative());
  const std::int64_t* divisor = as_int(b);
  const bool is_plain = dtype.is_index() || (dtype.is_uint() && has_c_width(dtype));
  if (is_plain && same_in_c && divisor && *divisor > 0) {
    CText text = c_infix(x, row.sign, y, row.level);
    if (dtype.is_index()) text.bound = row.bound(x.bound, y.bound);
    return text;
  }
  const bool is_bounded = divisor && *divisor > 0 && dtype.is_index();
  return {.text = fmt::format("{}({}, {})", module_.helpers.operation(row.function, dtype), x.text,
                              y.text),
          .bound = is_bounded ? row.bound(x.bound, y.bound) : arith::all_of(dtype),
          .is_wide = dtype == i64,
          .depth = depth_over(x, y)};
}

CText CWriter::extremum(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane) {
  const DataType dtype = expr.dtype().element();
  const CText x = value(a, lane), y = value(b, lane);
  CText text{.text = fmt::format("{}({}, {})",
                                 module_.helpers.operation(c_operator_of(expr).function, dtype),
                                 x.text, y.text),
             .is_wide = dtype == i64,
             .depth = depth_over(x, y)};
  if (dtype.is_integer()) text.bound = c_operator_of(expr).bound(x.bound, y.bound);
  return text;
}

CText CWriter::comparison(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane) {
  const COperator& row = c_operator_of(expr);
  CText text = c_infix(widened(a, lane), row.sign, widened(b, lane), row.level);
  text.is_wide = false;
  return text;
}

/// The right side of C's operators is not evaluated where the left one decides.
CText CWriter::logic(const Expr& a, const Expr& b, bool is_and, const CLane& lane) {
  const CText left = value(a, lane);
  CText right;
  const std::string before = captured([&] { right = value(b, lane); });
  if (!before.empty()) return choice(a, is_and ? b : Expr(true), is_and ? Expr(false) : b, lane);
  return c_infix(left, is_and ? "&&" : "||", right, is_and ? CLevel::both : CLevel::either);
}

CText CWriter::choice(const Expr& condition, const Expr& yes, const Expr& no, const CLane& lane) {
  const CText test = value(condition, lane);
  CText left, right;
  const std::string before_left = captured([&] { left = value(yes, lane); });
  const std::string before_right = captured([&] { right = value(no, lane); });
  const bool is_wide = left.is_wide || right.is_wide;
  const ConstIntBound bound = arith::unite(left.bound, right.bound);
  if (before_left.empty() && before_right.empty()) {
    return {.text = fmt::format("{} ? {} : {}", test.in(CLevel::either), left.in(CLevel::either),
                                right.in(CLevel::choice)),
            .level = CLevel::choice,
            .bound = bound,
            .is_wide = is_wide,
            .depth = std::max(test.depth + 1, depth_over(left, right))};
  }
  const DataType dtype = yes.dtype().element();
  const std::string name = dtype.is_void() ? "" : new_name("t");
  if (!dtype.is_void()) line(fmt::format("{} {};", is_wide ? "int64_t" : c_type(dtype), name));
  const auto arm = [&](const std::string& before, const CText& result) {
    out_ += before;
    ++indent_;
    if (!dtype.is_void()) line(fmt::format("{} = {};", name, result.text));
    --indent_;
  };
  line(fmt::format("if ({}) {{", test.text));
  arm(before_left, left);
  line("} else {");
  arm(before_right, right);
  line("}");
  return {.text = dtype.is_void() ? "0" : name, .bound = bound, .is_wide = is_wide};
}

CText CWriter::cast(DataType from, DataType to, const CText& value) {
  const int depth = value.depth + 1;
  if (from == to || from.is_handle()) return value;
  if (to.is_bool()) {
    const std::string wide =
        is_narrow_float(from)
            ? fmt::format("{}({})", module_.helpers.conversion(from, f32), value.text)
            : value.in(CLevel::compare);
    return {.text = wide + " != 0", .level = CLevel::equal, .depth = depth};
  }
  const auto by_c = [&](const std::string& text) {
    return CText{
        .text = fmt::format("({}){}", c_type(to), text), .level = CLevel::unary, .depth = depth};
  };
  const auto by_function = [&](DataType source, const std::string& text) {
    return CText{.text = fmt::format("{}({})", module_.helpers.conversion(source, to), text),
                 .depth = depth};
  };
  if (from.is_integer() && to.is_integer()) {
    const bool keeps =
        from.is_bool() || fits_type(to, value.bound) || fits_type(to, arith::all_of(from));
    CText text =
        has_c_width(to) || (keeps && from != u64)
            ? by_c(value.in(CLevel::unary))
            : CText{.text = c_wrapped(to, value.text), .level = CLevel::unary, .depth = depth};
    text.bound = keeps && !from.is_bool() ? value.bound : arith::all_of(to);
    text.is_wide = to == i64;
    return text;
  }
  if (from.is_integer()) {
    return is_narrow_float(to) ? by_function(from, value.text) : by_c(value.in(CLevel::unary));
  }
  const DataType wide = is_narrow_float(from) ? f32 : from;
  const std::string as_wide =
      is_narrow_float(from)
          ? fmt::format("{}({})", module_.helpers.conversion(from, f32), value.text)
          : value.text;
  if (to.is_integer()) {
    CText text = by_function(wide, as_wide);
    text.bound = arith::all_of(to);
    return text;
  }
  if (is_narrow_float(to)) return by_function(wide, as_wide);
  return wide == to ? CText{.text = as_wide, .depth = depth}
                    : by_c(is_narrow_float(from) ? as_wide : value.in(CLevel::unary));
}

CText CWriter::ramp(const Ramp& ramp, const CLane& lane, bool is_index) {
  const DataType dtype = ramp.dtype.element();
  const auto part = [&](const Expr& expr) { return is_index ? wide_index(expr) : value(expr); };
  const CText base = part(ramp.base), stride = part(ramp.stride);
  if (lane.text == "0") return base;
  const CText step{.text = lane.text, .bound = {0, lane.lanes - 1}};
  const CText scaled =
      is_const_int(ramp.stride, 1) ? step : c_infix(step, "*", stride, CLevel::product);
  const ConstIntBound scaled_bound = arith::multiply(step.bound, stride.bound);
  const ConstIntBound bound = arith::add(base.bound, scaled_bound);
  const bool is_safe = dtype.is_index() && fits_type(dtype, bound) &&
                       fits_type(dtype, scaled_bound) && (dtype.bits == 32 || base.is_wide);
  if (is_index || is_safe) {
    CText text = base.text == "0" ? scaled : c_infix(base, "+", scaled, CLevel::sum);
    text.bound = bound;
    return text;
  }
  return {.text = c_wrapped(
              dtype, fmt::format("(uint64_t){} + (uint64_t){} * (uint64_t){}",
                                 base.in(CLevel::unary), step.text, stride.in(CLevel::unary))),
          .level = CLevel::unary,
          .bound = arith::all_of(dtype),
          .depth = depth_over(base, stride) + 1};
}

CText CWriter::lane_of(const Expr& vector, int lane) {
  return value(vector, {std::to_string(lane), vector.dtype().lanes});
}

std::optional<CEvenLanes> even_lanes(const Shuffle& shuffle) {
  if (shuffle.vectors.size() != 1 || shuffle.indices.size() < 2) return {};
  const std::int64_t first = *as_int(shuffle.indices[0]);
  const std::int64_t stride = *as_int(shuffle.indices[1]) - first;
  for (std::size_t i = 0; i < shuffle.indices.size(); ++i) {
    const std::int64_t expected = first + stride * static_cast<std::int64_t>(i);
    if (*as_int(shuffle.indices[i]) != expected) return {};
  }
  return CEvenLanes{first, stride};
}

CText CWriter::shuffle(const Shuffle& shuffle, const CLane& lane) {
  const auto even = even_lanes(shuffle);
  const bool is_counted =
      !lane.is_none() && !std::isdigit(static_cast<unsigned char>(lane.text[0]));
  if (even && is_counted) {
    const std::string at = fmt::format("({} * {} + {})", lane.text, even->stride, even->offset);
    return value(shuffle.vectors[0], {at, shuffle.vectors[0].dtype().lanes});
  }
  // Else `lane` is a constant here: see for_each_lane.
  const auto at = lane.is_none() ? 0 : static_cast<std::size_t>(std::stoi(lane.text));
  std::int64_t rest = *as_int(shuffle.indices[at]);
  for (const Expr& vector : shuffle.vectors) {
    if (rest < vector.dtype().lanes) return lane_of(vector, static_cast<int>(rest));
    rest -= vector.dtype().lanes;
  }
  check(false, "codegen", "a lane of a shuffle does not exist");
  return {};
}

}  // namespace loopsmith::detail
