// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string shape_text(const Buffer& buffer) {
  std::vector<std::string> sizes;
  for (const Expr& size : buffer.shape) sizes.push_back(to_string(size));
  return fmt::format("{}({})", to_string(buffer.dtype), fmt::join(sizes, ", "));
}

/// Pairs the sizes of two functions.
class SizePairs {
 public:
  bool are_same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::ranges::equal(a, b, [&](const Expr& x, const Expr& y) { return is_same(x, y); });
  }

 private:
  bool is_same(const Expr& a, const Expr& b) {
    if (!a.is<Var>() || !b.is<Var>()) return structural_equal(a, b);
    return a.dtype() == b.dtype() && others_.try_emplace(a, b).first->second.same_as(b) &&
           others_.try_emplace(b, a).first->second.same_as(a);
  }

  std::unordered_map<Ref, Ref, RefHash, RefEqual> others_;
};

}  // namespace

Ptr<TensorIntrin> tensor_intrin(std::string_view name, const Ptr<PrimFunc>& desc,
                                const Ptr<PrimFunc>& impl) {
  require(desc->params.size() == impl->params.size(), ErrorKind::schedule,
          "intrinsic_parameters_agree", hint("let both take the same buffers in the same order"),
          impl->span,
          "tensor intrinsic {}: the description has {} parameters, the implementation {}", name,
          desc->params.size(), impl->params.size());
  SizePairs sizes;
  for (std::size_t i = 0; i < desc->params.size(); ++i) {
    const Ptr<Buffer>& meant = desc->buffer_map[i];
    const Ptr<Buffer>& done = impl->buffer_map[i];
    if (!meant && !done && desc->params[i]->dtype == impl->params[i]->dtype) continue;  // A number.
    require(meant && done, ErrorKind::schedule, "intrinsic_takes_buffers",
            hint("let it be a buffer in both functions, or a number of one type in both"),
            desc->span, "tensor intrinsic {}: parameter {} is no buffer", name, i);
    require(meant->dtype == done->dtype && sizes.are_same(meant->shape, done->shape),
            ErrorKind::schedule, "intrinsic_parameters_agree",
            hint("let both take the same buffers in the same order"), done->span,
            "tensor intrinsic {}: parameter {} is {} in the description, {} in the implementation",
            name, meant->name, shape_text(*meant), shape_text(*done));
    const bool is_plain = std::ranges::all_of(
        meant->shape, [](const Expr& size) { return size.is<IntImm>() || size.is<Var>(); });
    require(
        is_plain, ErrorKind::schedule, "intrinsic_sizes_are_plain",
        hint("let each size be a number, or a variable of its own"), meant->span,
        "tensor intrinsic {}: parameter {} is {}, its sizes are neither constants nor variables",
        name, meant->name, shape_text(*meant));
  }
  return make(TensorIntrin{.desc = desc, .impl = impl});
}

Ptr<TensorIntrin> find_builtin_intrin(std::string_view name) {
  // Each is read when it is first asked for.
  static std::mutex mutex;
  static auto* known = new std::map<std::string_view, Ptr<TensorIntrin>>;
  const auto rows = builtin_intrins();
  const auto row = std::ranges::find(rows, name, &BuiltinIntrin::name);
  if (row == rows.end()) return nullptr;
  const std::scoped_lock lock(mutex);
  const auto [found, is_new] = known->try_emplace(row->name);
  if (is_new) {
    found->second = tensor_intrin(name, parse_function(row->desc, {.name = row->name}),
                                  parse_function(row->impl, {.name = row->name}));
  }
  return found->second;
}

TensorIntrinSelector::TensorIntrinSelector(std::string name, const Ptr<TensorIntrin>& own) {
  emplace_back(std::move(name));
  if (own) emplace_back(Ref(own));
}

std::string TensorIntrinSelector::name() const {
  const auto* text = empty() ? nullptr : front().value.as<StringImm>();
  return text ? text->value : "";
}

Ptr<TensorIntrin> TensorIntrinSelector::find() const {
  if (size() == 2 && back().value.is<TensorIntrin>()) {
    return Ptr<TensorIntrin>::from(back().value);
  }
  return size() == 1 ? find_builtin_intrin(name()) : nullptr;
}

Argument to_argument(const TensorIntrinSelector& value) {
  if (value.size() < 2) return Argument(value.name());
  return Argument(Argument::List{Argument(value.name()), Argument(value.back().value)});
}

void TensorIntrinTable::add(const std::string& name, const Ptr<PrimFunc>& desc,
                            const Ptr<PrimFunc>& impl, bool override) {
  require(override || !find(name), ErrorKind::schedule, "intrinsic_name_is_free",
          hint("choose another name, or pass override=True"), {},
          "tensor intrinsic {} has already been registered", name);
  own_[name] = tensor_intrin(name, desc, impl);
}

Ptr<TensorIntrin> TensorIntrinTable::find(std::string_view name) const {
  const auto found = own_.find(name);
  return found == own_.end() ? find_builtin_intrin(name) : found->second;
}

TensorIntrinSelector TensorIntrinTable::select(const std::string& name) const {
  const auto found = own_.find(name);
  return found == own_.end() ? TensorIntrinSelector(name)
                             : TensorIntrinSelector(name, found->second);
}

std::vector<std::string> TensorIntrinTable::names() const {
  std::vector<std::string> all;
  for (const auto& [name, intrin] : own_) all.push_back(name);
  for (const BuiltinIntrin& row : builtin_intrins()) {
    if (!own_.contains(row.name)) all.emplace_back(row.name);
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace loopsmith
