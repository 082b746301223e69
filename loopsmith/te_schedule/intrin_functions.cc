// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/intrin_functions.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/te/create_prim_func.h"

namespace loopsmith::te {
namespace {

/// A function of these buffers and numbers: a block that says that it reads and writes all of them.
Ptr<PrimFunc> implementation(const std::vector<Ptr<Buffer>>& inputs,
                             const std::vector<Ptr<Buffer>>& outputs,
                             const std::vector<Ptr<Var>>& numbers, bool reads_outputs,
                             const Stmt& body) {
  Block block{.name_hint = "root", .body = body};
  PrimFunc func;
  const auto add = [&](const Ptr<Buffer>& buffer, bool is_read, bool is_written) {
    if (is_read) block.reads.push_back(whole_region(buffer));
    if (is_written) block.writes.push_back(whole_region(buffer));
    func.params.push_back(var("var_" + buffer->name, handle_type));
    func.buffer_map.push_back(buffer);
  };
  for (const auto& buffer : inputs) add(buffer, true, false);
  for (const auto& buffer : outputs) add(buffer, reads_outputs, true);
  for (const auto& number : numbers) {
    func.params.push_back(number);
    func.buffer_map.emplace_back();
  }
  func.body = make(BlockRealize{.block = make(std::move(block))});
  return make(std::move(func));
}

/// The numbers that it is called with: its parameters, and the variables of where it is called.
std::vector<Ptr<Var>> numbers_of(const TensorIntrinDecl& intrin) {
  std::vector<Ptr<Var>> numbers = intrin.scalar_params;
  std::vector<Ptr<Var>> known = numbers;
  const auto add_sizes = [&](const Tensor& tensor) {
    for (const Expr& extent : tensor.shape()) {
      const auto sizes = free_variables(extent);
      known.insert(known.end(), sizes.begin(), sizes.end());
    }
  };
  for (const Tensor& input : input_tensors(intrin.op)) add_sizes(input);
  add_sizes(output(intrin.op, 0));
  for (const IterVar& axis : root_axes(intrin.op)) known.push_back(axis->var);
  for (const Expr& body : intrin.op.as<ComputeOp>()->body) {
    for (const Ptr<Var>& variable : free_variables(body)) {
      const auto is_it = [&](const Ptr<Var>& other) { return other.same_as(variable); };
      if (std::ranges::any_of(known, is_it)) continue;
      numbers.push_back(variable);
      known.push_back(variable);
    }
  }
  return numbers;
}

/// The function of an operation: its inputs, outputs and numbers.
Ptr<PrimFunc> description(const TensorIntrinDecl& intrin, const std::vector<Ptr<Var>>& numbers) {
  std::vector<Ref> args;
  for (const Tensor& input : input_tensors(intrin.op)) args.push_back(input);
  for (std::size_t i = 0; i < output_count(intrin.op); ++i) args.push_back(output(intrin.op, i));
  args.insert(args.end(), numbers.begin(), numbers.end());
  return create_prim_func(args);
}

/// The function with another body, and only the last parameters where inputs are left out.
Ptr<PrimFunc> with_statement(const PrimFunc& func, const Stmt& body, std::size_t first) {
  PrimFunc copy = func;
  copy.params.erase(copy.params.begin(), copy.params.begin() + static_cast<std::ptrdiff_t>(first));
  copy.buffer_map.erase(copy.buffer_map.begin(),
                        copy.buffer_map.begin() + static_cast<std::ptrdiff_t>(first));
  copy.body = make(BlockRealize{.block = make(Block{.name_hint = "root", .body = body})});
  return clone(make(std::move(copy)));
}

}  // namespace

IntrinFunctions functions_of(const TensorIntrinDecl& intrin, bool for_all) {
  const std::vector<Ptr<Var>> numbers = numbers_of(intrin);
  const Ptr<PrimFunc> func = description(intrin, numbers);
  const auto& inputs = intrin.in_buffers;
  const auto& outputs = intrin.out_buffers;
  const auto* compute = intrin.op.as<ComputeOp>();
  if (!compute->body[0].is<Reduce>()) {
    if (!intrin.body) return {};
    return {.whole = tensor_intrin(intrin.name, func,
                                   implementation(inputs, outputs, numbers, false, intrin.body))};
  }
  // What comes before the reduction, and the reduction.
  loopsmith::Schedule parts(func);
  const BlockRV block = get_block.apply(parts, {.name = compute->name});
  const auto loops = get_loops.apply(parts, {.block = block});
  const BlockRV init = decompose_reduction.apply(parts, {.block = block, .loop = loops[0]});
  const Stmt start = parts.statement(parts.node(get_loops.apply(parts, {.block = init})[0]));
  const Stmt combination = parts.statement(parts.node(loops[0]));
  IntrinFunctions made;
  if (intrin.reduce_init) {
    made.init = tensor_intrin(intrin.name + "_init", with_statement(*func, start, inputs.size()),
                              implementation({}, outputs, numbers, false, intrin.reduce_init));
  }
  const Stmt update = intrin.reduce_update ? intrin.reduce_update : for_all ? intrin.body : Stmt();
  if (update) {
    made.update = tensor_intrin(intrin.name, with_statement(*func, combination, 0),
                                implementation(inputs, outputs, numbers, true, update));
  }
  return made;
}

}  // namespace loopsmith::te
