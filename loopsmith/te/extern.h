// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/te/compute.h"

namespace loopsmith::te {

/// The statement that makes `outputs` from `inputs`.
using ExternFunction = std::function<Stmt(const std::vector<Ptr<Buffer>>& inputs,
                                          const std::vector<Ptr<Buffer>>& outputs)>;

/// The buffers that an extern's statement is written in; one for each tensor, where they are given.
struct ExternOptions {
  std::string tag;
  Attrs attrs;
  std::vector<Ptr<Buffer>> in_buffers;
  std::vector<Ptr<Buffer>> out_buffers;
};

/// Tensors of the given shapes and types, made by a statement over buffers.
std::vector<Tensor> extern_op(const std::vector<std::vector<Expr>>& shapes,
                              const std::vector<DataType>& dtypes,
                              const std::vector<Tensor>& inputs, const ExternFunction& function,
                              std::string name = "extern", ExternOptions options = {},
                              const Place& place = Place::current());

/// The tensors that a function over buffers makes from `inputs`, whose shapes say what the sizes in
/// its shapes are.
///
/// Parameters that it writes are the outputs, which it has to fill before it reads them; the others
/// take the inputs, in order. `options` gives no buffers.
std::vector<Tensor> extern_primfunc(const std::vector<Tensor>& inputs, const Ptr<PrimFunc>& func,
                                    std::string name = "extern", ExternOptions options = {},
                                    const Place& place = Place::current());

}  // namespace loopsmith::te
