// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics as data: what they mean and how they are done, by name.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// A tensor intrinsic of a description and an implementation, which take the same buffers. Throws a
/// UserError that names the parameter where they differ.
Ptr<TensorIntrin> tensor_intrin(std::string_view name, const Ptr<PrimFunc>& desc,
                                const Ptr<PrimFunc>& impl);

/// A tensor intrinsic of the table of those that are built in, as scripts.
struct BuiltinIntrin {
  std::string_view name;
  std::string_view desc;
  std::string_view impl;
};
std::span<const BuiltinIntrin> builtin_intrins();

/// The built-in one of that name; null when there is none.
Ptr<TensorIntrin> find_builtin_intrin(std::string_view name);

/// Which tensor intrinsic is meant: a built-in one by its name, or one's own with a name.
struct TensorIntrinSelector : std::vector<Annotation> {
  TensorIntrinSelector() = default;
  TensorIntrinSelector(const char* name) : TensorIntrinSelector(std::string(name)) {}
  TensorIntrinSelector(std::string name, const Ptr<TensorIntrin>& own = nullptr);

  std::string name() const;
  /// The intrinsic; null when there is none.
  Ptr<TensorIntrin> find() const;
};
Argument to_argument(const TensorIntrinSelector& value);
template <>
inline std::string python_type<TensorIntrinSelector>() {
  return "str";
}

/// Tensor intrinsics by name: the built-in ones, and those that were added. A value: callers that
/// want intrinsics of their own keeps one.
class TensorIntrinTable {
 public:
  /// Adds one. Throws a UserError when the name is taken, unless `override` is set.
  void add(const std::string& name, const Ptr<PrimFunc>& desc, const Ptr<PrimFunc>& impl,
           bool override = false);
  /// The one of that name; null when there is none.
  Ptr<TensorIntrin> find(std::string_view name) const;
  /// The one of that name as an argument of `tensorize`.
  TensorIntrinSelector select(const std::string& name) const;
  /// All names, sorted.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Ptr<TensorIntrin>, std::less<>> own_;
};

}  // namespace loopsmith
