// SPDX-License-Identifier: Apache-2.0
// The nodes of tensor expressions: data only; what is done with them is in `te`.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// Output `value_index` of the operation `op`.
struct Tensor : PartNode<Tensor> {
  Ref op;  ///< A PlaceholderOp, ComputeOp, ScanOp or ExternOp.
  std::int64_t value_index = 0;
  DataType dtype;
  std::vector<Expr> shape;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("op", &Tensor::op);
    visit("value_index", &Tensor::value_index);
    visit("dtype", &Tensor::dtype);
    visit("shape", &Tensor::shape);
  }
};

/// An input.
struct PlaceholderOp : PartNode<PlaceholderOp> {
  std::string name;
  DataType dtype;
  std::vector<Expr> shape;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name", &PlaceholderOp::name, Role::label);
    visit("dtype", &PlaceholderOp::dtype);
    visit("shape", &PlaceholderOp::shape);
  }
};

/// Each output at `axis` is one of `body`; with a Reduce on top, reduced over `reduce_axis`.
struct ComputeOp : PartNode<ComputeOp> {
  std::string name;
  std::string tag;
  Attrs attrs;
  std::vector<Ptr<IterVar>> axis;
  std::vector<Expr> body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name", &ComputeOp::name, Role::label);
    visit("tag", &ComputeOp::tag);
    visit("attrs", &ComputeOp::attrs);
    visit("axis", &ComputeOp::axis, Role::binds);
    visit("body", &ComputeOp::body);
  }

  /// The axes of the reduction on top of `body`; none without.
  std::vector<Ptr<IterVar>> reduce_axis() const;
};

/// state[0 .. init) = init; then, along the first axis, state[t] = update(t), which reads state[<
/// t].
struct ScanOp : PartNode<ScanOp> {
  std::string name;
  std::string tag;
  Attrs attrs;
  Ptr<IterVar> scan_axis;
  std::vector<Ptr<Tensor>> init;
  std::vector<Ptr<Tensor>> update;
  std::vector<Ptr<Tensor>> state_placeholder;
  std::vector<Ptr<Tensor>> inputs;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name", &ScanOp::name, Role::label);
    visit("tag", &ScanOp::tag);
    visit("attrs", &ScanOp::attrs);
    visit("scan_axis", &ScanOp::scan_axis, Role::binds);
    visit("init", &ScanOp::init);
    visit("update", &ScanOp::update);
    visit("state_placeholder", &ScanOp::state_placeholder);
    visit("inputs", &ScanOp::inputs);
  }
};

/// Outputs made by the statement `body`, from `inputs`, through buffers.
struct ExternOp : PartNode<ExternOp> {
  std::string name;
  std::string tag;
  Attrs attrs;
  std::vector<Ptr<Tensor>> inputs;
  std::vector<Ptr<Buffer>> input_placeholders;
  std::vector<Ptr<Buffer>> output_placeholders;
  Stmt body;
  std::vector<Ptr<IterVar>> axis;  ///< The loops of `body`, each before those inside it.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name", &ExternOp::name, Role::label);
    visit("tag", &ExternOp::tag);
    visit("attrs", &ExternOp::attrs);
    visit("inputs", &ExternOp::inputs);
    visit("input_placeholders", &ExternOp::input_placeholders, Role::matches);
    visit("output_placeholders", &ExternOp::output_placeholders, Role::matches);
    visit("body", &ExternOp::body);
    visit("axis", &ExternOp::axis);
  }
};

}  // namespace loopsmith
