// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/compiler.h"

#include "loopsmith/interp/control.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/ir/vector_lanes.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {

const Code& compile(const Ptr<PrimFunc>& func, const Ptr<IRModule>& module, const Options& options,
                    Library& library) {
  detail::Session session{module, options, library, {}};
  return session.code_of(func);
}

namespace detail {

Code& Session::code_of(const Ptr<PrimFunc>& func) {
  if (const auto found = done.find(func.get()); found != done.end()) return *found->second;
  Code& code = library.codes.emplace_back();
  done.emplace(func.get(), &code);
  // Any `vscale` would do: a program that depends on it is to show that.
  const Ptr<PrimFunc> fixed = with_vscale(func, 2);
  Compiler(*this, fixed, code).run();
  return code;
}

Register Compiler::fresh(int count) {
  const Register first = next_;
  next_ += count;
  code_.registers = std::max(code_.registers, next_);
  return first;
}

Register Compiler::constant(Word word) {
  const auto [found, is_new] = constants_.try_emplace(
      word.u, static_cast<Register>(-1 - static_cast<Register>(code_.constants.size())));
  if (is_new) code_.constants.push_back(word);
  return found->second;
}

std::size_t Compiler::emit(Instr instr) {
  if (instr.type.is_integer()) instr.unused = static_cast<std::uint8_t>(64 - instr.type.bits);
  code_.instrs.push_back(instr);
  code_.spans.push_back(span_);
  return code_.instrs.size() - 1;
}

void Compiler::land(std::size_t from) {
  code_.instrs[from].jump = static_cast<std::int32_t>(here() - from);
}

void Compiler::jump_to(std::size_t target) {
  const std::size_t from = jump();
  code_.instrs[from].jump = static_cast<std::int32_t>(static_cast<std::int64_t>(target) -
                                                      static_cast<std::int64_t>(from));
}

void Compiler::unsupported(const Object& node, std::string_view what) {
  fail(ErrorKind::interp, "interpretable",
       hint("interpret the program before it is lowered so far"),
       node.span.known() ? node.span : span_, "{}: the interpreter does not run {}", code_.name,
       what);
}

void Compiler::run() {
  code_.func = func_;
  code_.name = func_->name();
  code_.result = func_->ret_type;
  has_threads_ = has_threads(func_->body);
  if (has_threads_) {
    implies_barriers_ = options_.implies_barriers;
    pre_order_visit(func_->body, [&](const Ref& ref) {
      implies_barriers_ = implies_barriers_ || ref.is<Block>();
      return !implies_barriers_;
    });
  }
  take_parameters();
  stmt(func_->body);
  emit({.run = leave_handler()});
}

/// Parameters lie in the first registers, in their order; then symbols get their values.
void Compiler::take_parameters() {
  for (std::size_t i = 0; i < func_->params.size(); ++i) {
    const Ptr<Buffer>& buffer = func_->buffer_map[i];
    const Ptr<Var>& var = func_->params[i];
    Parameter parameter{var, buffer, next_};
    if (buffer) {
      const int rank = static_cast<int>(buffer->shape.size());
      fresh(2 + 2 * rank);
      define(var, {parameter.reg});
      define(buffer->data, {parameter.reg});
    } else {
      define(var, {fresh(var->dtype.is_handle() ? 2 : 1)});
    }
    code_.parameters.push_back(parameter);
  }
  // Sizes that stand alone give symbols their values; the others are checked when all are known.
  const auto each_size = [&](auto&& visit) {
    for (const Parameter& parameter : code_.parameters) {
      if (!parameter.buffer) continue;
      const Buffer& buffer = *parameter.buffer;
      const auto rank = static_cast<Register>(buffer.shape.size());
      for (Register d = 0; d < rank; ++d) {
        visit(buffer, buffer.shape[d], parameter.reg + 2 + d, "extent");
        if (!buffer.strides.empty()) {
          visit(buffer, buffer.strides[d], parameter.reg + 2 + rank + d, "stride");
        }
      }
    }
  };
  std::unordered_set<const Object*> bound;
  each_size([&](const Buffer&, const Expr& size, Register actual, std::string_view) {
    if (size.is<Var>() && !values_.contains(size.get())) {
      define(size, {actual});
      bound.insert(size.get());
    }
  });
  for (const SolvedSize& size : solved_sizes(*func_)) {
    const Register first = code_.parameters[size.parameter].reg + 2;
    define(size.extent, {first + static_cast<Register>(size.dimension)});
    define(size.variable, {scalar(size.value)});
  }
  each_size([&](const Buffer& buffer, const Expr& size, Register actual, std::string_view what) {
    // With auto_broadcast a dimension of one element is read with any stride.
    if (buffer.auto_broadcast && what == "stride") return;
    bind_or_check(size, actual, buffer.name, what);
  });
  for (const Parameter& parameter : code_.parameters) {
    if (!parameter.buffer) continue;
    const Ptr<Buffer>& buffer = parameter.buffer;
    const auto rank = static_cast<Register>(buffer->shape.size());
    if (buffer->elem_offset.is<Var>() && !values_.contains(buffer->elem_offset.get())) {
      define(buffer->elem_offset, {integer(0)});
    }
    BufferPlace place{.data = parameter.reg};
    for (Register d = 0; d < rank; ++d) {
      place.shape.push_back(parameter.reg + 2 + d);
      if (!buffer->strides.empty()) place.strides.push_back(parameter.reg + 2 + rank + d);
    }
    define_buffer(buffer, std::move(place));
  }
}

void Compiler::bind_or_check(const Expr& symbol, Register actual, const std::string& buffer,
                             std::string_view what) {
  if (symbol.is<Var>() && !values_.contains(symbol.get())) {
    define(symbol, {actual});
    return;
  }
  const Scope scope(*this);
  const Register expected = scalar(symbol);
  if (expected == actual) return;
  code_.texts.push_back(fmt::format("{} of {}", what, buffer));
  emit({.run = check_equal_handler(), .a = actual, .b = expected, .data = &code_.texts.back()});
}

}  // namespace detail
}  // namespace loopsmith::interp
