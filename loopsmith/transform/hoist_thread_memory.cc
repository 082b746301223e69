// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_thread_memory.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

Expr element_count(const Allocate& allocate) {
  Expr count = int_imm(i64, 1);
  for (const Expr& extent : allocate.extents) count = count * cast(i64, extent);
  return count;
}

/// Memory of a launch's threads, with a part for each of them.
class ThreadMemory {
 public:
  explicit ThreadMemory(const Stmt& root) : launch_(launch_of(root)), known_(free_variables(root)) {
    for (const auto* loops : {&launch_.blocks, &launch_.threads}) {
      for (const Ptr<For>& loop : *loops) {
        const Expr extent = cast(i64, loop->extent);
        thread_ = thread_ * extent + cast(i64, loop->loop_var - loop->min);
        threads_ = threads_ * extent;
      }
    }
    find(launch_.body);
  }

  /// The launch with that memory around it; null where there is none.
  Stmt hoisted() {
    if (memory_.empty()) return nullptr;
    Rewriter rewrite;
    rewrite.on<Allocate>([&](const Allocate& allocate) -> Stmt {
      return is_hoisted(allocate.buffer_var) ? rewrite(allocate.body) : rewrite.children(allocate);
    });
    rewrite.on<DeclBuffer>([&](const DeclBuffer& decl) -> Stmt {
      return is_hoisted(decl.buffer->data) ? rewrite(decl.body) : rewrite.children(decl);
    });
    rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      Ptr<BufferLoad> inside = rewrite.children(load);
      return is_hoisted(load.buffer->data) ? in_part(*inside) : inside;
    });
    rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
      Ptr<BufferStore> inside = rewrite.children(store);
      return is_hoisted(store.buffer->data) ? in_part(*inside) : inside;
    });
    launch_.body = rewrite(launch_.body);
    Stmt result = launch_stmt(launch_);
    for (const auto& [old, buffer] : buffers_) {
      result = make(DeclBuffer{.buffer = buffer, .body = std::move(result)});
    }
    for (const Allocate* allocate : memory_) {
      Allocate copy = *allocate;
      copy.buffer_var = memory_of_all_.at(allocate->buffer_var);
      copy.extents = {element_count(*allocate) * threads_};
      copy.body = std::move(result);
      result = make(std::move(copy));
    }
    return result;
  }

 private:
  void find(const Stmt& body) {
    std::vector<const Allocate*> found;
    pre_order_visit(body, [&](const Ref& ref) {
      const auto* allocate = ref.as<Allocate>();
      if (allocate && is_of_unknown_size(*allocate)) found.push_back(allocate);
      return !is_expr(*ref.get());
    });
    std::ranges::copy_if(found, std::back_inserter(memory_), [&](const Allocate* allocate) {
      return has_loads_and_stores_alone(*allocate);
    });
    for (const Allocate* allocate : memory_) {
      memory_of_all_[allocate->buffer_var] =
          with_scope(*allocate->buffer_var.get(), MemoryScope::global);
    }
  }

  bool is_of_unknown_size(const Allocate& allocate) const {
    const MemoryScope scope = memory_scope(*allocate.buffer_var.get());
    if (!is_global(scope) && !is_local(scope)) return false;
    const bool is_constant = std::ranges::all_of(
        allocate.extents, [](const Expr& extent) { return as_int(extent) != nullptr; });
    const auto is_known = [&](const Expr& extent) {
      bool is_computable = true;
      pre_order_visit(extent, [&](const Ref& ref) {
        const bool is_inside = ref.is<Var>() && std::ranges::none_of(known_, [&](const auto& each) {
                                 return each.same_as(ref);
                               });
        is_computable = is_computable && !is_inside && !ref.is<BufferLoad>() && !ref.is<Call>();
        return is_computable;
      });
      return is_computable;
    };
    return !is_constant && std::ranges::all_of(allocate.extents, is_known);
  }

  static bool has_loads_and_stores_alone(const Allocate& allocate) {
    bool is_alone = true;
    const auto is_other = [&](const Ptr<Buffer>& buffer) {
      return buffer->data.same_as(allocate.buffer_var) && buffer->dtype != allocate.dtype;
    };
    pre_order_visit(allocate.body, [&](const Ref& ref) {
      if (const auto* decl = ref.as<DeclBuffer>()) is_alone = is_alone && !is_other(decl->buffer);
      // Buffers lead to it; the pointer by itself may go anywhere.
      if (ref.is<Buffer>()) return false;
      is_alone = is_alone && !ref.same_as(allocate.buffer_var);
      return is_alone;
    });
    return is_alone;
  }

  bool is_hoisted(const Ptr<Var>& memory) const { return memory_of_all_.contains(memory); }

  /// A load or a store of the part of a thread.
  template <class Access>
  Ptr<Access> in_part(Access access) {
    const auto allocate = std::ranges::find_if(memory_, [&](const Allocate* each) {
      return each->buffer_var.same_as(access.buffer->data);
    });
    const Expr count = element_count(**allocate);
    auto known = std::ranges::find_if(
        buffers_, [&](const auto& each) { return each.first.same_as(access.buffer); });
    if (known == buffers_.end()) {
      Buffer whole = *access.buffer;
      whole.data = memory_of_all_.at(whole.data);
      whole.shape = {count * threads_};
      known = buffers_.insert(buffers_.end(), {access.buffer, make(std::move(whole))});
    }
    const Expr start = thread_ * count;
    const Expr& index = access.indices[0];
    access.indices[0] = cast(i64.with_lanes(index.dtype().lanes), index) + start;
    access.buffer = known->second;
    return make(std::move(access));
  }

  Launch launch_;
  std::vector<Ptr<Var>> known_;  ///< Before the launch.
  Expr thread_ = int_imm(i64, 0), threads_ = int_imm(i64, 1);
  std::vector<const Allocate*> memory_;
  std::unordered_map<Ptr<Var>, Ptr<Var>, RefHash, RefEqual> memory_of_all_;  ///< By its pointer.
  std::vector<std::pair<Ptr<Buffer>, Ptr<Buffer>>> buffers_;  ///< In the order of their uses.
};

}  // namespace

Ptr<PrimFunc> hoist_thread_memory(const Ptr<PrimFunc>& func) {
  if (!has_launch(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    Stmt hoisted = ThreadMemory(stmt).hoisted();
    return hoisted ? hoisted : stmt;
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
