// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/signature.h"

#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/codegen/host_memory.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/outputs.h"

namespace loopsmith {
namespace {

/// In the mask of `tvm_access_ptr`.
constexpr std::int64_t may_write = 2;

/// What the body may do to the outside: the pointers that it may write through, and calls.
class Effects {
 public:
  explicit Effects(const Stmt& body) {
    pre_order_visit(body, [&](const Ref& node) {
      if (const auto* store = node.as<BufferStore>()) add(store->buffer->data);
      const auto* call = node.as<Call>();
      if (call) add_arguments(*call);
      return !call || !looks_at_address(*call);
    });
  }
  bool contains(const Buffer& buffer) const { return pointers_.contains(buffer.data.get()); }
  /// True where the body, or a function that it calls, may call a function of the host.
  bool calls_host() const { return calls_host_; }

 private:
  void add(const Ref& pointer) { pointers_.insert(pointer.get()); }

  /// A pointer that is handed out may be written through, unless the call says that it is not.
  void add_arguments(const Call& call) {
    calls_host_ |= is_packed_call(call.op) || call.op == op("call_global");
    if (call.op == op("tvm_access_ptr")) {
      const std::int64_t* mask = as_int(call.args[4]);
      if (!mask || (*mask & may_write) != 0) add(call.args[1]);
      return;
    }
    if (looks_at_address(call)) return;
    for (const Expr& arg : call.args) {
      const auto* load = arg.as<BufferLoad>();
      if (load && call.op == op("address_of")) add(load->buffer->data);
      if (arg.is<Var>()) add(arg);
    }
  }

  std::unordered_set<const Object*> pointers_;
  bool calls_host_ = false;
};

class SignatureMaker {
 public:
  explicit SignatureMaker(const PrimFunc& func) : func_(func), effects_(func.body) {
    const Ref said = func.attrs.get(outputs_attribute);
    if (const auto* names = said.as<List>()) {
      for (const Ref& name : names->items) outputs_.insert(name.as<StringImm>()->value);
    }
  }

  Signature make() {
    spec_.name = func_.name();
    spec_.noalias = func_.attrs.get_int("tir.noalias", 0) != 0;
    spec_.calls_host = effects_.calls_host();
    find_symbols();
    for (std::size_t i = 0; i < func_.params.size(); ++i) {
      spec_.parameters.push_back(func_.buffer_map[i] ? tensor(*func_.buffer_map[i])
                                                     : scalar(*func_.params[i]));
    }
    return Signature(std::move(spec_));
  }

 private:
  /// The variables that stand alone as a size or a stride, by first occurrence.
  void find_symbols() {
    for (const Ptr<Buffer>& buffer : func_.buffer_map) {
      if (!buffer) continue;
      for (const Expr& extent : buffer->shape) add_symbol(extent);
      for (const Expr& stride : buffer->strides) add_symbol(stride);
    }
  }

  void add_symbol(const Expr& expr) {
    const auto* var = expr.as<Var>();
    if (!var || symbols_.contains(var)) return;
    // Two variables may have one name; symbols may not.
    std::string name = var->name;
    for (int n = 1; names_.contains(name); ++n) name = fmt::format("{}_{}", var->name, n);
    names_.insert(name);
    symbols_.emplace(var, name);
    spec_.symbols.push_back({name, max_int(var->dtype)});
  }

  ExtentRule rule(const Expr& expr) const {
    if (const std::int64_t* value = as_int(expr)) return ExtentRule::equals(*value);
    const auto found = symbols_.find(expr.get());
    return found == symbols_.end() ? ExtentRule::computed(linear_size(expr))
                                   : ExtentRule::named(found->second);
  }

  /// The size as a linear one of symbols, if it is.
  std::optional<LinearSize> linear_size(const Expr& expr) const {
    LinearSize size;
    Expr sum = Analyzer().simplify(expr);
    if (const auto* quotient = sum.as<FloorDiv>()) {
      const std::int64_t* divisor = as_int(quotient->b);
      if (!divisor || *divisor < 1) return {};
      size.divisor = *divisor;
      sum = quotient->a;
    }
    const std::vector<Ptr<Var>> used = free_variables(sum);
    const std::vector<Expr> linear = detect_linear_equation(sum, used);
    if (linear.empty() || !as_int(linear.back())) return {};
    for (std::size_t i = 0; i < used.size(); ++i) {
      const auto symbol = symbols_.find(used[i].get());
      const std::int64_t* coefficient = as_int(linear[i]);
      if (symbol == symbols_.end() || !coefficient) return {};
      size.terms.emplace_back(symbol->second, *coefficient);
    }
    size.constant = *as_int(linear.back());
    return size;
  }

  ParameterSpec tensor(const Buffer& buffer) const {
    ParameterSpec parameter{
        .name = buffer.name, .kind = LS_TENSOR, .dtype = to_dlpack(buffer.dtype)};
    for (const Expr& extent : buffer.shape) parameter.shape.push_back(rule(extent));
    if (!buffer.strides.empty()) {
      parameter.strides.emplace();
      for (const Expr& stride : buffer.strides) {
        // With auto_broadcast the stride of a single element counts as 0; the code sees to it.
        parameter.strides->push_back(buffer.auto_broadcast ? ExtentRule::computed() : rule(stride));
      }
    }
    parameter.alignment = required_alignment(buffer);
    parameter.writable = effects_.contains(buffer);
    parameter.is_output = parameter.writable && outputs_.contains(buffer.name);
    return parameter;
  }

  ParameterSpec scalar(const Var& var) const {
    ParameterSpec parameter{.name = var.name, .dtype = to_dlpack(var.dtype)};
    if (var.dtype.is_handle()) {
      parameter.kind = LS_HANDLE;
    } else if (var.dtype.is_float()) {
      parameter.kind = LS_FLOAT;
    } else {
      parameter.kind = var.dtype.is_bool() ? LS_BOOL : LS_INT;
      const auto found = symbols_.find(&var);
      if (found != symbols_.end()) parameter.symbol = found->second;
    }
    return parameter;
  }

  const PrimFunc& func_;
  const Effects effects_;
  SignatureSpec spec_;
  std::unordered_set<std::string> outputs_;
  std::unordered_map<const Object*, std::string> symbols_;
  std::unordered_set<std::string> names_;
};

}  // namespace

bool looks_at_address(const Call& call) {
  if (call.op == op("prefetch") || call.op == op("isnullptr")) return true;
  return call.op == op("reinterpret") && !call.dtype.is_handle();
}

std::int64_t required_alignment(const Buffer& buffer) {
  if (buffer.data_alignment > own_alignment) return buffer.data_alignment;
  const int bytes = buffer.dtype.element().bytes();
  return bytes & -bytes;
}

DLDataType to_dlpack(DataType dtype) {
  const auto type = [&](DLDataTypeCode code, int bits) {
    return DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits),
                      dtype.lanes};
  };
  switch (dtype.code) {
    case TypeCode::int_: return type(kDLInt, dtype.bits);
    case TypeCode::uint: return dtype.is_bool() ? type(kDLBool, 8) : type(kDLUInt, dtype.bits);
    case TypeCode::float_: return type(kDLFloat, dtype.bits);
    case TypeCode::bfloat: return type(kDLBfloat, dtype.bits);
    case TypeCode::float8_e4m3: return type(kDLFloat8_e4m3fn, dtype.bits);
    case TypeCode::float8_e5m2: return type(kDLFloat8_e5m2, dtype.bits);
    case TypeCode::handle: break;
  }
  return type(kDLOpaqueHandle, dtype.bits);
}

Signature signature_of(const PrimFunc& func) {
  return SignatureMaker(func).make();
}

}  // namespace loopsmith
