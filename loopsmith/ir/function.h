// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A function. A parameter that is a tensor is a handle whose buffer stands at the same place of
/// `buffer_map`; for the others that is null.
struct PrimFunc : PartNode<PrimFunc> {
  std::vector<Ptr<Var>> params;
  std::vector<Ptr<Buffer>> buffer_map;
  DataType ret_type = void_type;
  Attrs attrs;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("params", &PrimFunc::params, Role::binds);
    visit("buffer_map", &PrimFunc::buffer_map, Role::matches);
    visit("ret_type", &PrimFunc::ret_type);
    visit("attrs", &PrimFunc::attrs);
    visit("body", &PrimFunc::body);
  }

  /// Its name: the attribute `global_symbol`; `main` without it.
  std::string name() const { return attrs.get_string("global_symbol", "main"); }
};
void canonicalize(PrimFunc& node);

/// Functions by name, which are kept sorted, `main` last.
struct IRModule : PartNode<IRModule> {
  std::vector<Ptr<GlobalVar>> names;
  std::vector<Ptr<PrimFunc>> functions;
  Attrs attrs;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("names", &IRModule::names);
    visit("functions", &IRModule::functions);
    visit("attrs", &IRModule::attrs);
  }

  /// The function of that name, or null.
  Ptr<PrimFunc> find(std::string_view name) const;
};
void canonicalize(IRModule& node);

/// What a tensor intrinsic means (`desc`) and how it is done (`impl`).
struct TensorIntrin : PartNode<TensorIntrin> {
  Ptr<PrimFunc> desc;
  Ptr<PrimFunc> impl;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("desc", &TensorIntrin::desc);
    visit("impl", &TensorIntrin::impl);
  }
};

/// True when a function with this body, and buffers of its own if `allocates`, is given a block
/// `root` around all by the parser: where there are blocks, one of them holds the others.
bool needs_root_block(const Stmt& body, bool allocates);

/// The function with another body; itself when that is the same.
Ptr<PrimFunc> with_body(const Ptr<PrimFunc>& func, Stmt body);
Ptr<PrimFunc> with_attr(const Ptr<PrimFunc>& func, std::string_view key, Ref value);

}  // namespace loopsmith
