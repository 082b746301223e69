// SPDX-License-Identifier: Apache-2.0
// Loops: serial ones are counted, the body of a parallel one becomes a function.
#include "loopsmith/codegen/captures.h"
#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/pragmas.h"

namespace loopsmith::detail {
namespace {

int magnitude_bits(const std::int64_t* value, int default_value) {
  if (!value) return default_value;
  return 64 - __builtin_clzll(static_cast<std::uint64_t>(std::abs(*value)) | 1);
}

/// Tells LLVM to unroll the loop, all of it where its extent is known.
llvm::MDNode* unroll_hint(llvm::LLVMContext& context, const For& loop) {
  const char* how = as_int(loop.extent) ? "llvm.loop.unroll.full" : "llvm.loop.unroll.enable";
  llvm::Metadata* hint = llvm::MDNode::get(context, {llvm::MDString::get(context, how)});
  // The first operand of a loop's metadata is itself.
  llvm::MDNode* all = llvm::MDNode::getDistinct(context, {nullptr, hint});
  all->replaceOperandWith(0, all);
  return all;
}

}  // namespace

void Emitter::loop(const For& loop) {
  require_few_loops(loop, loop_depth_);
  require_no_thread(loop);
  const std::int64_t* extent = as_int(loop.extent);
  if (extent && (loop.loop_var->dtype.is_uint() ? *extent == 0 : *extent <= 0)) return;

  ++loop_depth_;
  const bool is_alone = (extent && *extent == 1) || is_const_int(parallel_condition(loop), 0);
  if (loop.kind == ForKind::parallel && !is_alone) {
    starts_threads_ = true;
    parallel_loop(loop);
  } else {
    repeats_ = true;
    count_loop(loop, int64(0), index(loop.extent).value, /*may_be_empty=*/!extent);
  }
  --loop_depth_;
}

/// The iterations begin, ..., end - 1.
void Emitter::count_loop(const For& loop, llvm::Value* begin, llvm::Value* end, bool may_be_empty) {
  const Index min = index(loop.min);
  const Index step = index(loop.step);
  const bool min_is_non_negative = is_non_negative(loop.min) && is_non_negative(loop.step);
  llvm::BasicBlock* after = new_block("after");
  if (may_be_empty) {
    llvm::BasicBlock* enter = new_block("enter");
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), enter, after);
    ir_.SetInsertPoint(enter);
  }
  const std::vector<const Allocate*> taken = take_for_all_iterations(loop);
  llvm::BasicBlock* exit = taken.empty() ? after : new_block("exit");
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* next = new_block("next");
  ir_.CreateBr(body);

  ir_.SetInsertPoint(body);
  llvm::PHINode* iteration = ir_.CreatePHI(ir_.getInt64Ty(), 2, loop.loop_var->name);
  iteration->addIncoming(begin, before);
  const DataType dtype = loop.loop_var->dtype;
  // Of 32 bits and less, neither the product nor the sum can leave 64.
  const bool is_short = dtype.bits <= 32;
  llvm::Value* wide = iteration;
  if (!is_const_int(loop.step, 1)) wide = ir_.CreateMul(wide, step.value);
  if (!is_const_int(loop.min, 0)) {
    wide = ir_.CreateAdd(wide, min.value, "", /*HasNUW=*/false, is_short);
  }
  const int extent_bits = magnitude_bits(as_int(loop.extent), dtype.bits);
  const Index known{wide,
                    std::min(std::max(min.bits, step.bits + extent_bits) + 1, is_short ? 33 : 63),
                    std::gcd(min.multiple, step.multiple)};
  variables_.insert_or_assign(
      loop.loop_var.get(),
      dtype.is_index() ? Variable{nullptr, known, min_is_non_negative}
                       : Variable{ir_.CreateTrunc(wide, type(dtype)), {}, min_is_non_negative});

  const bool is_parallel = is_loop_body_ && exits_.empty();
  exits_.push_back({next, is_parallel ? nullptr : exit, held_.size()});
  statement(loop.body);
  exits_.pop_back();
  if (!is_terminated() && !next->hasNPredecessorsOrMore(1)) {
    next->eraseFromParent();
  } else {
    if (!is_terminated()) ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
  }
  llvm::Value* following = ir_.CreateAdd(iteration, int64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  iteration->addIncoming(following, ir_.GetInsertBlock());
  auto* back = ir_.CreateCondBr(ir_.CreateICmpSLT(following, end), body, exit);
  if (loop.annotations.contains(unroll_later)) {
    back->setMetadata(llvm::LLVMContext::MD_loop, unroll_hint(module_.context, loop));
  }
  ir_.SetInsertPoint(exit);
  if (taken.empty()) return;
  for (const Allocate* each : taken) {
    taken_.erase(each);
    give_back_if_reached();
  }
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

void Emitter::loop_while(const While& loop) {
  repeats_ = true;
  llvm::BasicBlock* test = new_block("while");
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* exit = new_block("exit");
  ir_.CreateBr(test);
  ir_.SetInsertPoint(test);
  branch_if(loop.condition, body, exit);
  ir_.SetInsertPoint(body);
  exits_.push_back({test, exit, held_.size()});
  ++loop_depth_;
  statement(loop.body);
  --loop_depth_;
  exits_.pop_back();
  if (!is_terminated()) ir_.CreateBr(test);
  ir_.SetInsertPoint(exit);
}

/// context->parallel_for(data, 0, extent, body, &closure), whose code is this function's.
void Emitter::parallel_loop(const For& loop) {
  const std::vector<Ref> captured =
      captured_by({loop.min, loop.step, loop.body},
                  [&](const Object* var) { return variables_.contains(var); });
  std::vector<llvm::Type*> types = {context_->getType()};
  for (const Ref& var : captured) types.push_back(type(var.as<Var>()->dtype));
  auto* layout = llvm::StructType::get(module_.context, types);
  llvm::AllocaInst* closure = stack_memory(layout);
  ir_.CreateStore(context_, ir_.CreateStructGEP(layout, closure, 0));
  for (unsigned i = 0; i < captured.size(); ++i) {
    ir_.CreateStore(variable(*captured[i].as<Var>()), ir_.CreateStructGEP(layout, closure, i + 1));
  }
  llvm::Function* body = module_.new_function(
      module_.body_type, function_->getName().str() + "." + loop.loop_var->name, true);
  Emitter inner(module_, aliasing_, body);
  inner.run_iterations(loop, *this, captured, layout);

  llvm::Type* pointer = context_->getType();
  llvm::Value* run = context_field(pointer, offsetof(ls_context, parallel_for));
  llvm::Value* data = context_field(pointer, offsetof(ls_context, parallel_for_data));
  auto* run_type = llvm::FunctionType::get(
      ir_.getInt32Ty(), {pointer, ir_.getInt64Ty(), ir_.getInt64Ty(), pointer, pointer}, false);
  llvm::Value* extent = index(loop.extent).value;
  const auto in_threads = [&] {
    leave_if_failed(ir_.CreateCall(run_type, run, {data, int64(0), extent, body, closure}));
  };
  const Expr condition = parallel_condition(loop);
  if (is_const_int(condition, 1)) return in_threads();
  in_either_case(value(condition), in_threads, [&] {
    llvm::CallInst* alone = ir_.CreateCall(body, {closure, int64(0), extent});
    alone->setIsNoInline();  // Its code is there once.
    leave_if_failed(alone);
  });
}

/// Emits the whole of this function, the body of a parallel loop of `outer`.
void Emitter::run_iterations(const For& loop, const Emitter& outer,
                             const std::vector<Ref>& captured, llvm::StructType* layout) {
  is_loop_body_ = true;
  loop_depth_ = outer.loop_depth_;
  non_temporal_ = outer.non_temporal_;
  llvm::Value* closure = function_->getArg(0);
  const auto field = [&](unsigned i) {
    llvm::LoadInst* loaded =
        ir_.CreateLoad(layout->getElementType(i), ir_.CreateStructGEP(layout, closure, i));
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(module_.context, {}));
    return loaded;
  };
  context_ = field(0);
  for (unsigned i = 0; i < captured.size(); ++i) {
    const Variable& known = outer.variables_.at(captured[i].get());
    Variable variable{.value = field(i + 1), .index = {}, .is_non_negative = known.is_non_negative};
    const auto* var = captured[i].as<Var>();
    if (var->dtype.is_index()) {
      // The same facts hold of it here.
      variable.index = {ir_.CreateSExt(variable.value, ir_.getInt64Ty()),
                        known.index.value ? known.index.bits : std::min<int>(var->dtype.bits, 63),
                        known.index.value ? known.index.multiple : 1};
    }
    variables_.insert_or_assign(captured[i].get(), variable);
  }
  count_loop(loop, function_->getArg(1), function_->getArg(2), /*may_be_empty=*/true);
  finish();
}

}  // namespace loopsmith::detail
