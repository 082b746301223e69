// SPDX-License-Identifier: Apache-2.0
// Fragments before they are registers: shared out to the threads of a warp, or kept in memory.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/fragments.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/warp_instruction.h"

namespace loopsmith {
namespace {

/// The tile that an instruction shares out by its rows and columns: what it writes, or of a store
/// what it reads.
Ptr<Buffer> shared_out(const BufferStore& store) {
  const auto* source = store.value.as<BufferLoad>();
  if (source && is_fragment(memory_scope(*source->buffer))) return source->buffer;
  return store.buffer;
}

Stmt spread(const AttrStmt& mark) {
  const std::string name = instruction_of(mark);
  const MarkedStore marked = marked_store(mark.body);
  const std::size_t count = is_product(name) ? 3 : 2;
  require_known(marked.store && marked.loops.size() == count, mark);
  for (const Ptr<For>& loop : marked.loops) {
    const std::int64_t* extent = as_int(loop->extent);
    const bool may_be_longer = name == "wgmma" && !loop.same_as(marked.loops[0]);
    require_known(extent && is_const_int(loop->step, 1) &&
                      (*extent == fragment_size ||
                       (may_be_longer && *extent > 0 && *extent % fragment_size == 0)),
                  mark);
  }
  const Ptr<For>& rows = marked.loops[0];
  const Ptr<For>& columns = marked.loops[1];
  const DataType type = rows->loop_var->dtype;
  const Ptr<Var> t = var("t", type), r = var("r", type);
  const Ptr<Buffer> tile = shared_out(*marked.store);
  const FragmentUse use = use_of(*tile);
  const FragmentLayout layout = fragment_layout(use, tile->dtype, name == "load_trans", t, r);
  Stmt body(marked.store);
  if (is_product(name)) {
    For steps = *marked.loops[2];
    steps.body = body;
    body = make(std::move(steps));
  }
  body = substitute(
      body, {{rows->loop_var, rows->min + layout.row},
             {columns->loop_var, columns->min + cast(columns->loop_var->dtype, layout.column)}});
  const auto from_zero = [&](const Ptr<Var>& variable, std::int64_t extent, Stmt inside) {
    return For{.loop_var = variable,
               .min = int_imm(type, 0),
               .extent = int_imm(type, extent),
               .body = std::move(inside)};
  };
  AttrStmt made = mark;
  const std::int64_t fragments = *as_int(columns->extent) / fragment_size;
  made.body = make(from_zero(r, fragments * elements_of_thread, std::move(body)));
  For threads = from_zero(t, threads_of_warp, make(std::move(made)));
  threads.kind = ForKind::thread_binding;
  threads.thread_binding = make(IterVar{.var = var("threadIdx.x", type),
                                        .iter_type = IterType::thread_index,
                                        .thread_tag = std::string(tag_of(ThreadAxis::thread_x))});
  return make(std::move(threads));
}

/// Puts fragments into memory that the threads of a block share. Each warp has a part of its own,
/// whether the program says so by an index or not.
class FragmentMover {
 public:
  FragmentMover() {
    rewrite_.on<For>([&](const For& loop) -> Stmt {
      if (!is_over_warps(loop)) return rewrite_.children(loop);
      warps_.push_back(&loop);
      rewrite_.forget();  // What is inside is that of other warps.
      Stmt made = rewrite_.children(loop);
      rewrite_.forget();
      warps_.pop_back();
      return made;
    });
    rewrite_.on<Allocate>([&](const Allocate& node) -> Stmt {
      const auto* decl = node.body.as<DeclBuffer>();
      if (!decl || !is_fragment(memory_scope(*node.buffer_var))) return rewrite_.children(node);
      return in_shared_memory(node, *decl);
    });
    rewrite_.on<BufferLoad>(
        [&](const BufferLoad& node) -> Expr { return in_place(*rewrite_.children(node), node); });
    rewrite_.on<BufferStore>(
        [&](const BufferStore& node) -> Stmt { return in_place(*rewrite_.children(node), node); });
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  struct Moved {
    Ptr<Buffer> buffer;
    std::map<ThreadAxis, Expr> warps;  ///< How many there are along axes that are indices now.
  };

  static bool is_over_warps(const For& loop) {
    const ThreadAxis axis = thread_axis_of(loop);
    return axis == ThreadAxis::thread_y || axis == ThreadAxis::thread_z;
  }

  Stmt in_shared_memory(const Allocate& node, const DeclBuffer& decl) {
    Moved moved{.warps = untold_warps(node.body, decl.buffer)};
    Buffer made = *decl.buffer;
    made.data = with_scope(*node.buffer_var, MemoryScope::shared);
    for (const auto& [axis, extent] : moved.warps) {
      if (!made.strides.empty()) {
        made.strides.insert(made.strides.begin(), made.strides[0] * made.shape[0]);
      }
      made.shape.insert(made.shape.begin(), extent);
    }
    moved.buffer = make(std::move(made));
    moved_[decl.buffer.get()] = moved;
    Allocate copy = node;
    copy.buffer_var = moved.buffer->data;
    copy.extents = moved.buffer->shape;
    rewrite_.replace_variable(node.buffer_var, copy.buffer_var);
    rewrite_.forget();
    copy.body = make(DeclBuffer{.buffer = moved.buffer, .body = rewrite_(decl.body)});
    return make(std::move(copy));
  }

  /// The loops over warps around an access to the buffer that does not say which warp's it is.
  static std::map<ThreadAxis, Expr> untold_warps(const Stmt& body, const Ptr<Buffer>& buffer) {
    std::map<ThreadAxis, Expr> found;
    pre_order_visit(body, [&](const Ref& ref) {
      const auto* loop = ref.as<For>();
      if (!loop || !is_over_warps(*loop)) return true;
      pre_order_visit(loop->body, [&](const Ref& inside) {
        const auto* load = inside.as<BufferLoad>();
        const auto* store = inside.as<BufferStore>();
        const bool is_access =
            (load && load->buffer.same_as(buffer)) || (store && store->buffer.same_as(buffer));
        if (!is_access) return true;
        const auto& indices = load ? load->indices : store->indices;
        if (std::ranges::none_of(
                indices, [&](const Expr& index) { return uses_variable(index, loop->loop_var); })) {
          Expr& extent = found[thread_axis_of(*loop)];
          extent = extent.defined() ? max(extent, loop->extent) : loop->extent;
        }
        return true;
      });
      return true;
    });
    return found;
  }

  template <class Access>
  Ptr<Access> in_place(const Access& made, const Access& node) const {
    const auto found = moved_.find(node.buffer.get());
    if (found == moved_.end()) return Ptr<Access>(&made);
    Access copy = made;
    copy.buffer = found->second.buffer;
    for (const auto& [axis, extent] : found->second.warps) {
      const auto around = std::ranges::find_if(
          warps_, [&](const For* loop) { return thread_axis_of(*loop) == axis; });
      const Expr first = int_imm(extent.dtype(), 0);
      copy.indices.insert(copy.indices.begin(),
                          around == warps_.end() ? first : Expr((*around)->loop_var));
    }
    return make(std::move(copy));
  }

  Rewriter rewrite_;
  std::vector<const For*> warps_;  ///< The loops over them around a node.
  std::unordered_map<const Object*, Moved> moved_;
};

}  // namespace

Ptr<PrimFunc> fragments_in_shared_memory(const Ptr<PrimFunc>& func, bool has_tensor_cores) {
  if (has_tensor_cores || !has_fragments(func->body)) return func;
  return FragmentMover().run(func);
}

Ptr<PrimFunc> spread_over_warps(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    return node.attr_key == warp_instruction ? spread(node) : Stmt(rewrite.children(node));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
