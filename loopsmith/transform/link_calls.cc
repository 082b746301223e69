// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/link_calls.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/hoist_calls.h"

namespace loopsmith {
namespace {

/// Where a helper finds the value of a variable that the layout of a tensor mentions.
struct LayoutVariable {
  enum class Kind { extent, stride, offset };

  Ptr<Var> var;
  std::size_t parameter;
  Kind kind;
  std::size_t dimension;
};

/// A function as others see it.
struct Helper {
  Ptr<PrimFunc> original;
  Ptr<PrimFunc> func;  ///< With numbers and pointers as parameters.
  std::vector<LayoutVariable> layout;
  std::vector<bool> is_written;  ///< For each parameter of the original.
};

std::vector<LayoutVariable> layout_of(const PrimFunc& func) {
  std::unordered_set<const Object*> bound;
  for (const Ptr<Var>& param : func.params) bound.insert(param.get());
  std::vector<LayoutVariable> found;
  using Kind = LayoutVariable::Kind;
  const auto bind = [&](const Expr& expr, std::size_t parameter, Kind kind, std::size_t d) {
    const auto var = Ptr<Var>::from(expr);
    if (var && bound.insert(var.get()).second) found.push_back({var, parameter, kind, d});
  };
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    if (!func.buffer_map[i]) continue;
    const Buffer& buffer = *func.buffer_map[i];
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      bind(buffer.shape[d], i, Kind::extent, d);
    }
    for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
      bind(buffer.strides[d], i, Kind::stride, d);
    }
    bind(buffer.elem_offset, i, Kind::offset, 0);
  }
  return found;
}

/// True when the body may write through `pointer`.
bool may_write(const Stmt& body, const Ref& pointer) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    found = found || (store && store->buffer->data.same_as(pointer));
    const auto* call = ref.as<Call>();
    if (!call || call->op == op("tvm_access_ptr")) {
      const std::int64_t* mask = call ? as_int(call->args[4]) : nullptr;
      found = found || (call && call->args[1].same_as(pointer) && !(mask && *mask == 1));
      return !found && !call;
    }
    for (const Expr& arg : call->args) {
      const auto* element = arg.as<BufferLoad>();
      const bool is_address = element && call->op == op("address_of");
      found =
          found || arg.same_as(pointer) || (is_address && element->buffer->data.same_as(pointer));
    }
    return !found;
  });
  return found;
}

/// Links the functions of one module.
class Linker {
 public:
  explicit Linker(const std::vector<Ptr<PrimFunc>>& functions) {
    for (const Ptr<PrimFunc>& func : functions) by_name_[func->name()] = func;
  }

  LinkedFunctions run(const std::vector<Ptr<PrimFunc>>& functions) {
    LinkedFunctions linked;
    for (const Ptr<PrimFunc>& func : functions) {
      if (calls_functions(func->body)) link_body(func);
    }
    for (const Ptr<PrimFunc>& func : functions) {
      const bool is_only_helper = !func->ret_type.is_void() && helpers_.contains(func->name());
      if (!is_only_helper) linked.entries.push_back(linked_body(func));
    }
    for (const std::string& name : order_) linked.helpers.push_back(helpers_.at(name).func);
    return linked;
  }

 private:
  Ptr<PrimFunc> linked_body(const Ptr<PrimFunc>& func) {
    const auto found = linked_.find(func.get());
    return found == linked_.end() ? func : found->second;
  }

  /// The function with its calls linked.
  Ptr<PrimFunc> link_body(const Ptr<PrimFunc>& func) {
    if (const auto found = linked_.find(func.get()); found != linked_.end()) return found->second;
    const Stmt body = deep_call([&] {
      return hoist_calls(func->body, [&](const Call& call) { return linked(call, *func); });
    });
    return linked_.emplace(func.get(), with_body(func, body)).first->second;
  }

  const Helper& helper(const std::string& name, const Call& call) {
    if (const auto known = helpers_.find(name); known != helpers_.end()) return known->second;
    const auto found = by_name_.find(name);
    require(found != by_name_.end(), ErrorKind::lower, "function_exists",
            hint("build a module that holds the function"), call.span, "there is no function {}",
            name);
    require(active_.insert(name).second, ErrorKind::lower, "no_recursion",
            hint("write a loop, or a while"), call.span,
            "function {} calls itself, directly or through others", name);
    const Ptr<PrimFunc> original = found->second;
    Helper made{.original = original, .func = nullptr, .layout = layout_of(*original)};
    const Ptr<PrimFunc> func = link_body(original);
    for (std::size_t i = 0; i < func->params.size(); ++i) {
      const Ptr<Buffer>& buffer = func->buffer_map[i];
      made.is_written.push_back(!buffer || may_write(func->body, buffer->data));
    }
    made.func = as_helper(*func, made.layout);
    active_.erase(name);
    order_.push_back(name);
    return helpers_.emplace(name, std::move(made)).first->second;
  }

  static Ptr<PrimFunc> as_helper(const PrimFunc& func, const std::vector<LayoutVariable>& layout) {
    const Ptr<PrimFunc> own = clone(make(PrimFunc(func)));
    PrimFunc helper = *own;
    Substitution data;
    for (std::size_t i = 0; i < helper.params.size(); ++i) {
      const Ptr<Buffer> buffer = std::exchange(helper.buffer_map[i], nullptr);
      if (!buffer) continue;
      data[helper.params[i]] = buffer->data;
      helper.params[i] = buffer->data;
      helper.body = make(DeclBuffer{.buffer = buffer, .body = helper.body});
    }
    if (!data.empty()) helper.body = substitute(helper.body, data);
    // By their places: the copy has variables of its own.
    const std::vector<LayoutVariable> copied = layout_of(*own);
    check(copied.size() == layout.size(), "link_calls", "a copy has another layout");
    for (const LayoutVariable& each : copied) {
      helper.params.push_back(each.var);
      helper.buffer_map.push_back(nullptr);
    }
    return make(std::move(helper));
  }

  Expr linked(const Call& call, const PrimFunc& caller) {
    const auto* name = call.args.empty() ? nullptr : call.args[0].as<GlobalVar>();
    require(name, ErrorKind::lower, "call_names_function", hint("write cls.name(...)"), call.span,
            "call_global: the first argument is not a function");
    const Helper& callee = helper(name->name_hint, call);
    const PrimFunc& func = *callee.original;
    require(call.args.size() == func.params.size() + 1, ErrorKind::lower, "argument_count",
            hint("pass one argument for each parameter"), call.span,
            "{} is called with {} arguments, not {}", name->name_hint, call.args.size() - 1,
            func.params.size());
    require(call.dtype == func.ret_type, ErrorKind::lower, "call_has_type_of_function",
            hint("give the call the type after ->"), call.span, "{} gives {}, the call says {}",
            name->name_hint, to_string(func.ret_type), to_string(call.dtype));
    Call made = call;
    std::vector<Ptr<Buffer>> tensors(func.params.size());
    for (std::size_t i = 0; i < func.params.size(); ++i) {
      const Expr& arg = call.args[i + 1];
      const DataType wanted = func.params[i]->dtype;
      require(arg.dtype() == wanted, ErrorKind::lower, "argument_has_type_of_parameter",
              hint("convert the argument"), call.span, "{}: parameter {} is {}, it is given {}",
              name->name_hint, func.params[i]->name, to_string(wanted), to_string(arg.dtype()));
      if (!func.buffer_map[i]) continue;
      tensors[i] = tensor_on(arg, *func.buffer_map[i], caller);
      if (tensors[i]) check_shape(*tensors[i], *func.buffer_map[i], name->name_hint, call);
      if (!callee.is_written[i] && arg.is<Var>()) made.args[i + 1] = read_only(arg, func, i);
    }
    for (const LayoutVariable& each : callee.layout) {
      const Buffer& parameter = *func.buffer_map[each.parameter];
      const Ptr<Buffer>& tensor = tensors[each.parameter];
      const bool is_offset = each.kind == LayoutVariable::Kind::offset;
      require(tensor.defined() || is_offset, ErrorKind::lower, "sizes_are_known",
              hint("pass a whole buffer of as many dimensions, or declare constant sizes"),
              call.span, "{}: {} is given a pointer, and its sizes are not given", name->name_hint,
              parameter.name);
      made.args.push_back(cast(each.var->dtype, value_of(each, tensor)));
    }
    return make(std::move(made));
  }

  /// The caller's buffer that `pointer` is the data of, if it is one like `parameter`.
  static Ptr<Buffer> tensor_on(const Expr& pointer, const Buffer& parameter,
                               const PrimFunc& caller) {
    Ptr<Buffer> found;
    const auto consider = [&](const Ptr<Buffer>& buffer) {
      const bool is_it = buffer->data.same_as(pointer) && buffer->dtype == parameter.dtype &&
                         buffer->shape.size() == parameter.shape.size() &&
                         (!buffer->elem_offset.defined() || is_const_int(buffer->elem_offset, 0) ||
                          buffer->elem_offset.is<Var>());
      if (!found && is_it) found = buffer;
    };
    for (const Ptr<Buffer>& buffer : caller.buffer_map) {
      if (buffer) consider(buffer);
    }
    pre_order_visit(caller.body, [&](const Ref& ref) {
      if (const auto buffer = Ptr<Buffer>::from(ref)) consider(buffer);
      if (const auto* block = ref.as<Block>())
        std::ranges::for_each(block->alloc_buffers, consider);
      if (const auto* declared = ref.as<DeclBuffer>()) consider(declared->buffer);
      return !found;
    });
    return found;
  }

  static void check_shape(const Buffer& given, const Buffer& parameter, const std::string& name,
                          const Call& call) {
    for (std::size_t d = 0; d < given.shape.size(); ++d) {
      const std::int64_t *has = as_int(given.shape[d]), *wants = as_int(parameter.shape[d]);
      require(!has || !wants || *has == *wants, ErrorKind::lower, "argument_has_shape",
              hint("declare the parameter with a size that is a variable"), call.span,
              "{}: dimension {} of {} is {}, it is given {}", name, d, parameter.name, *wants,
              *has);
    }
    const bool is_compact = given.strides.empty() || !parameter.strides.empty();
    require(is_compact, ErrorKind::lower, "argument_is_compact",
            hint("declare the parameter with strides that are variables"), call.span,
            "{}: {} has no strides, it is given {} with strides", name, parameter.name, given.name);
  }

  static Expr value_of(const LayoutVariable& each, const Ptr<Buffer>& tensor) {
    using Kind = LayoutVariable::Kind;
    if (each.kind == Kind::offset) return zero_of(each.var->dtype);
    if (each.kind == Kind::extent) return tensor->shape[each.dimension];
    if (!tensor->strides.empty()) return tensor->strides[each.dimension];
    Expr stride = int_imm(each.var->dtype, 1);
    for (std::size_t d = each.dimension + 1; d < tensor->shape.size(); ++d) {
      stride = stride * cast(each.var->dtype, tensor->shape[d]);
    }
    return stride;
  }

  /// `pointer`, with a remark that it is only read through.
  static Expr read_only(const Expr& pointer, const PrimFunc& func, std::size_t parameter) {
    const DataType element = func.buffer_map[parameter]->dtype;
    return call(op("tvm_access_ptr"), {call(element, op("type_annotation"), {}), pointer, 0, 0, 1});
  }

  std::map<std::string, Ptr<PrimFunc>> by_name_;
  std::map<std::string, Helper> helpers_;
  std::map<const Object*, Ptr<PrimFunc>> linked_;
  std::set<std::string> active_;
  std::vector<std::string> order_;
};

}  // namespace

LinkedFunctions link_calls(const std::vector<Ptr<PrimFunc>>& functions) {
  const bool any = std::ranges::any_of(
      functions, [](const Ptr<PrimFunc>& func) { return calls_functions(func->body); });
  if (!any) return {functions, {}};
  return Linker(functions).run(functions);
}

}  // namespace loopsmith
