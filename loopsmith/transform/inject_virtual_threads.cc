// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/inject_virtual_threads.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/lower_blocks.h"

namespace loopsmith {
namespace {

/// Up to so many threads, a statement without loops is written out.
constexpr std::int64_t max_copies = 16;

/// Runs each statement for all threads before the next.
class Spreader {
 public:
  Spreader(Ptr<Var> thread, std::int64_t count) : thread_(std::move(thread)), count_(count) {}

  Stmt operator()(const Stmt& stmt) {
    return deep_call([&] { return spread(stmt); });
  }

 private:
  Stmt spread(const Stmt& stmt) {
    if (const auto* all = stmt.as<SeqStmt>()) {
      std::vector<Stmt> parts;
      for (const Stmt& each : all->seq) parts.push_back((*this)(each));
      return seq(std::move(parts));
    }
    if (const auto* loop = stmt.as<For>()) {
      const bool is_shared = is_common(loop->min) && is_common(loop->extent) &&
                             is_common(loop->step) && loop->kind != ForKind::thread_binding &&
                             !leaves_loop(loop->body);
      return is_shared ? around(*loop) : for_each_thread(stmt);
    }
    if (const auto* branch = stmt.as<IfThenElse>()) {
      if (!is_common(branch->condition)) return for_each_thread(stmt);
      IfThenElse copy = *branch;
      copy.then_case = (*this)(branch->then_case);
      if (branch->else_case) copy.else_case = (*this)(branch->else_case);
      return make(std::move(copy));
    }
    if (const auto* let = stmt.as<LetStmt>()) {
      return is_common(let->value) ? around(*let) : for_each_thread(stmt);
    }
    if (const auto* assertion = stmt.as<AssertStmt>()) {
      return is_common(assertion->condition) ? around(*assertion) : for_each_thread(stmt);
    }
    if (const auto* attribute = stmt.as<AttrStmt>()) {
      return is_common(attribute->value) ? around(*attribute) : for_each_thread(stmt);
    }
    if (const auto* allocate = stmt.as<Allocate>()) {
      const Stmt made = with_threads(*allocate);
      return made ? made : for_each_thread(stmt);
    }
    return for_each_thread(stmt);
  }

  /// True when it is the same for all threads, whatever else is run.
  bool is_common(const Expr& expr) const {
    return !uses_variable(expr, thread_) && is_timeless(expr);
  }

  template <class T>
  Stmt around(const T& node) {
    T copy = node;
    copy.body = (*this)(node.body);
    return make(std::move(copy));
  }

  Stmt for_each_thread(const Stmt& stmt) const {
    const DataType type = thread_->dtype;
    if (count_ <= max_copies && !contains<For>(stmt) && !contains<While>(stmt)) {
      std::vector<Stmt> parts;
      for (std::int64_t k = 0; k < count_; ++k) {
        parts.push_back(clone_with(stmt, {{thread_, int_imm(type, k)}}));
      }
      return seq(std::move(parts));
    }
    const Ptr<Var> v = var(thread_->name, type);
    return for_loop(v, int_imm(type, 0), int_imm(type, count_),
                    clone_with(stmt, {{thread_, Expr(v)}}));
  }

  /// Memory for all threads, around what they do; null where its pointer is used.
  Stmt with_threads(const Allocate& allocate) {
    const auto* decl = allocate.body.as<DeclBuffer>();
    const bool is_fixed = std::ranges::all_of(
        allocate.extents, [&](const Expr& extent) { return is_common(extent); });
    if (!decl || !decl->buffer->data.same_as(allocate.buffer_var) || !is_fixed ||
        !is_common(allocate.condition) || !decl->buffer->strides.empty()) {
      return nullptr;
    }
    const Ptr<Buffer>& old = decl->buffer;
    bool is_plain = true;
    pre_order_visit(decl->body, [&](const Ref& ref) {
      const auto* inner = ref.as<DeclBuffer>();
      is_plain =
          is_plain && !ref.same_as(old->data) && !(inner && inner->buffer->data.same_as(old->data));
      return is_plain;
    });
    if (!is_plain) return nullptr;
    Buffer buffer = *old;
    buffer.shape.insert(buffer.shape.begin(), int_imm(thread_->dtype, count_));
    for (std::int64_t& separator : buffer.axis_separators) ++separator;
    const Ptr<Buffer> wide = make(std::move(buffer));
    Rewriter rewrite;
    const auto access = [&](auto node) {
      if (node.buffer.same_as(old)) {
        node.buffer = wide;
        node.indices.insert(node.indices.begin(), thread_);
      }
      return make(std::move(node));
    };
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      return access(BufferLoad(*rewrite.children(node)));
    });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      return access(BufferStore(*rewrite.children(node)));
    });
    Allocate copy = allocate;
    copy.extents = wide->shape;
    copy.annotations = behind_new_dimension(copy.annotations);
    copy.body = make(DeclBuffer{.buffer = wide, .body = (*this)(rewrite(decl->body))});
    return make(std::move(copy));
  }

  Ptr<Var> thread_;
  std::int64_t count_;
};

bool is_virtual(const Ptr<IterVar>& thread) {
  return thread && thread_axis_of(thread->thread_tag) == ThreadAxis::virtual_thread;
}

/// True when the iterations may run in any order, given that memory inside the loop is their own.
bool are_independent(const Ptr<For>& loop) {
  const DependenceAnswer answer = Dependences(loop).parallelizable(loop->loop_var);
  if (!answer) return false;
  std::vector<Ref> own;
  pre_order_visit(loop->body, [&](const Ref& ref) {
    if (const auto* allocate = ref.as<Allocate>()) own.push_back(allocate->buffer_var);
    return !is_expr(*ref.get());
  });
  return !answer.reductions && std::ranges::all_of(answer.private_buffers, [&](const auto& buffer) {
    return std::ranges::any_of(own, [&](const Ref& data) { return data.same_as(buffer->data); });
  });
}

/// The loop, made serial, with its threads side by side, or one after another.
Stmt without_threads(For threads) {
  threads.kind = ForKind::serial;
  threads.thread_binding = nullptr;
  const Ptr<For> loop = make(std::move(threads));
  const std::int64_t* count = as_int(loop->extent);
  if (!count || *count < 1 || !are_independent(loop)) return loop;
  const Ptr<Var> thread = var(loop->loop_var->name, loop->loop_var->dtype);
  const Expr value = loop->min + thread * loop->step;
  return Spreader(thread, *count)(substitute(loop->body, {{loop->loop_var, value}}));
}

}  // namespace

Ptr<PrimFunc> inject_virtual_threads(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    return is_virtual(loop.thread_binding) ? without_threads(*inner) : inner;
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
