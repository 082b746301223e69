// SPDX-License-Identifier: Apache-2.0
// What names stand for while a function runs, and what expressions are worth. Private to the floor.
#pragma once
#include <algorithm>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/judge/scalar.h"
#include "loopsmith/support/error.h"

namespace loopsmith::judge {

/// Ends a run that failed, or of which nothing can be said.
struct Stop {
  Ending ending;
  std::string message;
};
[[noreturn]] inline void fail(std::string message) {
  throw Stop{Ending::failed, std::move(message)};
}
[[noreturn]] inline void cannot_say(std::string_view what) {
  throw Stop{Ending::cannot_say, std::string(what)};
}

/// The variables and the memory of a run. Throws a Stop.
struct Values {
  /// What a pointer points to.
  struct Memory {
    DataType type = {};
    std::vector<Scalar> elements = {};
  };
  /// Where the elements of a buffer are.
  struct View {
    Memory* memory = nullptr;
    std::int64_t offset = 0;
    std::vector<std::int64_t> strides = {};
  };

  RunOptions options_ = {};
  std::vector<std::pair<const Var*, Scalar>> values_ = {};
  std::unordered_map<const Var*, Memory> memories_ = {};
  std::unordered_map<const Buffer*, View> views_ = {};
  bool overflows_ = false;

  void define(const Ptr<Var>& var, Scalar value) { values_.emplace_back(var.get(), value); }

  /// Defines a variable that has no value yet; anything else must have that value.
  void match(const Expr& pattern, std::int64_t value, const char* what) {
    const auto* var = pattern.as<Var>();
    const auto is_known = [&](const auto& entry) { return entry.first == var; };
    if (var && std::ranges::none_of(values_, is_known)) return define(Ptr<Var>(var), {value});
    if (number(pattern) == value) return;
    fail(std::string("a match_buffer asks for another value of ") + what);
  }

  void allocate(const Var& data, DataType type, const std::vector<Expr>& extents) {
    std::int64_t count = 1;
    for (const Expr& extent : extents) {
      count *= std::max<std::int64_t>(number(extent), 0);
      if (count > options_.max_elements) cannot_say("much memory");
    }
    memories_[&data] = {type, std::vector<Scalar>(static_cast<std::size_t>(count), {0, true})};
  }

  /// Says where the elements of a buffer are, if they are in memory that is known. The strides of
  /// an argument are defined by that.
  void declare(const Buffer& buffer, bool is_argument = false) {
    const auto found = memories_.find(buffer.data.get());
    if (found == memories_.end()) return;
    if (is_argument && buffer.elem_offset.defined()) match(buffer.elem_offset, 0, "an offset");
    View view{&found->second, buffer.elem_offset.defined() ? number(buffer.elem_offset) : 0};
    view.strides.resize(buffer.shape.size(), 1);
    std::int64_t compact = 1;
    for (std::size_t d = buffer.shape.size(); d-- > 0; compact *= number(buffer.shape[d])) {
      const bool is_compact = buffer.strides.empty();
      if (is_argument && !is_compact) match(buffer.strides[d], compact, "a stride");
      view.strides[d] = is_compact ? compact : number(buffer.strides[d]);
    }
    views_[&buffer] = std::move(view);
  }

  void match_buffer(const MatchBufferRegion& matched) {
    const Buffer& buffer = *matched.buffer;
    const View& around = view_of(*matched.source->buffer);
    View view{around.memory, around.offset};
    const auto& region = matched.source->region;
    if (buffer.shape.size() > region.size()) cannot_say("a match_buffer of more dimensions");
    const std::size_t dropped = region.size() - buffer.shape.size();
    for (std::size_t d = 0; d < region.size(); ++d) {
      view.offset += number(region[d]->min) * around.strides[d];
      const std::int64_t extent = number(region[d]->extent);
      if (d < dropped && extent != 1) cannot_say("a match_buffer of another shape");
      if (d < dropped) continue;
      match(buffer.shape[d - dropped], extent, "an extent");
      view.strides.push_back(around.strides[d]);
    }
    for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
      match(buffer.strides[d], view.strides[d], "a stride");
    }
    if (buffer.elem_offset.is<Var>()) match(buffer.elem_offset, view.offset, "an offset");
    views_[&buffer] = std::move(view);
  }

  Scalar& element(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate) {
    if (predicate.defined()) cannot_say("an access with a predicate");
    if (!buffer.dtype.is_scalar()) cannot_say("a buffer of vectors");
    const View& view = view_of(buffer);
    std::int64_t place = view.offset;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::int64_t at = number(indices[d]);
      if (at < 0 || at >= number(buffer.shape[d])) {
        fail(fmt::format("{}: index {} of dimension {} is out of bounds", buffer.name, at, d));
      }
      place += at * view.strides[d];
    }
    if (place < 0 || place >= std::ssize(view.memory->elements)) {
      fail(fmt::format("{}: element {} is not in its memory", buffer.name, place));
    }
    if (view.memory->type != buffer.dtype) cannot_say("memory that is read as another type");
    return view.memory->elements[static_cast<std::size_t>(place)];
  }

  std::int64_t number(const Expr& expr) {
    if (const auto* literal = expr.as<IntImm>()) return literal->value;
    const Scalar value = evaluate(expr);
    if (value.is_poison) fail(fmt::format("{} is not defined", expr));
    if (!expr.dtype().is_integer()) cannot_say("a number that is no integer");
    return value.bits;
  }

  Scalar evaluate(const Expr& expr) {
    const DataType type = expr.dtype();
    const std::uint16_t kind = expr.get()->kind;
    if (!type.is_scalar()) cannot_say("a vector");
    if (detail::is_binary(kind)) return binary_node(expr);
    if (const auto* literal = expr.as<IntImm>()) return {literal->value};
    if (const auto* literal = expr.as<FloatImm>()) return constant(type, literal->value);
    if (const auto* var = expr.as<Var>()) return value_of(*var);
    if (const auto* load = expr.as<BufferLoad>())
      return element(*load->buffer, load->indices, load->predicate);
    if (const auto* node = expr.as<Call>()) return call(*node);
    if (const auto* cast = expr.as<Cast>())
      return converted(cast->value.dtype(), type, evaluate(cast->value));
    if (const auto* negation = expr.as<Not>()) {
      const Scalar value = evaluate(negation->a);
      return {value.bits == 0, value.is_poison};
    }
    if (const auto* select = expr.as<Select>()) {
      const std::int64_t condition = number(select->condition);
      const Scalar yes = evaluate(select->true_value), no = evaluate(select->false_value);
      return condition != 0 ? yes : no;
    }
    if (const auto* let = expr.as<Let>()) {
      define(let->var, evaluate(let->value));
      const Scalar result = evaluate(let->body);
      values_.pop_back();
      return result;
    }
    cannot_say("a " + std::string(node_info(kind).name));
  }

  Scalar value_of(const Var& var) const {
    for (const auto& [known, value] : values_ | std::views::reverse) {
      if (known == &var) return value;
    }
    cannot_say("a variable without a value: " + var.name);
  }

  const View& view_of(const Buffer& buffer) const {
    const auto found = views_.find(&buffer);
    if (found == views_.end()) cannot_say("a buffer without memory: " + buffer.name);
    return found->second;
  }

  Scalar binary_node(const Expr& expr) {
    const std::uint16_t kind = expr.get()->kind;
    const auto& [a, b] = detail::operands_of(expr);
    const Scalar first = evaluate(a);
    const bool is_or = kind == kind_of<Or>, is_logical = is_or || kind == kind_of<And>;
    // A side that decides is enough.
    if (is_logical && !first.is_poison && (first.bits != 0) == is_or) return {is_or};
    return binary(kind, a.dtype(), first, evaluate(b), overflows_);
  }

  Scalar call(const Call& call) {
    if (call.op == op("if_then_else"))
      return evaluate(call.args[number(call.args[0]) != 0 ? 1 : 2]);
    if (identity_of(call.op) != Identity::none) return evaluate(call.args[0]);
    if (call.op == op("tvm_storage_sync") || call.op == op("assume")) return {};
    if (call.op.name().starts_with("atomic_")) return atomic(call);
    if (call.op == op("vscale")) return {.bits = 2};  // Any number would do.
    const bool is_number = call.dtype.is_integer() || call.dtype.is_float();
    if (call.op.info().effect != Effect::pure || call.args.empty() || !is_number)
      cannot_say(call.op.name());
    const DataType type = call.args[0].dtype();
    std::vector<Scalar> operands;
    for (const Expr& argument : call.args) {
      if (argument.dtype() != type) cannot_say(call.op.name());
      operands.push_back(evaluate(argument));
    }
    if (call.op == op("reinterpret") && type == call.dtype) return operands[0];
    return intrinsic(call.op, type, call.dtype, operands);
  }

  Scalar atomic(const Call& call) {
    const auto* address = call.args[0].as<Call>();
    const Expr target = address ? address->args[0] : Expr();
    const auto* load = target.as<BufferLoad>();
    if (!load) cannot_say("an atomic update of a pointer");
    const Scalar after = evaluate(stored_atomically(call.op, target, call.args[1]));
    return std::exchange(element(*load->buffer, load->indices, load->predicate), after);
  }
};

}  // namespace loopsmith::judge
