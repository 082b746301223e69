// SPDX-License-Identifier: Apache-2.0
// What each kind of operation becomes in TensorIR: the parts of create_prim_func.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loopsmith/ir/walk.h"
#include "loopsmith/te/create_prim_func.h"

namespace loopsmith::te {

/// The buffer of each tensor.
class BufferTable {
 public:
  /// What is said of the buffers that it makes.
  void set_given(GraphBuffers given) { given_ = std::move(given); }
  const GraphBuffers& given() const { return given_; }
  /// The buffer of `tensor`; a new one at the first time.
  const Ptr<Buffer>& get(const Tensor& tensor);
  void set(const Tensor& tensor, Ptr<Buffer> buffer) { buffers_[key(tensor)] = std::move(buffer); }
  void set_if_new(const Tensor& tensor, const Ptr<Buffer>& buffer) {
    buffers_.emplace(key(tensor), buffer);
  }
  bool is_known(const Tensor& tensor) const { return buffers_.contains(key(tensor)); }
  /// The buffers that it made, in that order.
  const std::vector<Ptr<Buffer>>& made() const { return made_; }

 private:
  using Key = std::pair<const Object*, std::int64_t>;
  static Key key(const Tensor& tensor) { return {tensor->op.get(), tensor->value_index}; }

  GraphBuffers given_;
  std::map<Key, Ptr<Buffer>> buffers_;
  std::vector<Ptr<Buffer>> made_;
};

/// What the operations of one function share.
struct LowerContext {
  BufferTable buffers;
  std::vector<Tensor> layout_free;  ///< Inputs that may be laid out anew.
  BlocksOfOps blocks;               ///< Which blocks were named for each operation.

  /// `name`, or `name_1`, `name_2`, ... if a block has it; for a block that computes `op`.
  std::string block_name(const std::string& name, const Ref& op = {});
  /// The annotations of the block of an operation with these attributes.
  Attrs annotations(const Attrs& attrs);

 private:
  std::unordered_map<std::string, int> names_{
      {"root", 0}};  ///< With the last suffix given to each.
};

/// `expr` with loads from buffers in place of tensors, `values` in place of variables, and
/// variables of its own.
Expr load_buffers(const Expr& expr, BufferTable& buffers, const Substitution& values);

/// The loop in which steps of a scan run; their first axis is its variable.
struct TimeLoop {
  Ptr<Var> loop_var;
  Ptr<Range> domain;
};

/// for i in n:
///   with block(name):
///     v_i = axis(n, i)
///     C[v_i] = ...
Stmt lower_compute(const ComputeOp& op, const Ref& self, LowerContext& context,
                   const TimeLoop* time = nullptr);

/// A block without axes, whose body is the statement over the buffers of the function.
Stmt lower_extern(const ExternOp& op, const Ref& self, LowerContext& context);

/// The first rows; then a loop over time with one nest for each of `steps`.
Stmt lower_scan(const Ptr<ScanOp>& op, const std::vector<Ptr<ComputeOp>>& steps,
                LowerContext& context);

}  // namespace loopsmith::te
