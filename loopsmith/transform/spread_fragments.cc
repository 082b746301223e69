// SPDX-License-Identifier: Apache-2.0
// Fragments before they are registers: shared out to the threads of a warp, or kept in memory.
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

}  // namespace

Ptr<PrimFunc> fragments_in_shared_memory(const Ptr<PrimFunc>& func, bool has_tensor_cores) {
  if (has_tensor_cores || !has_fragments(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    if (!is_fragment(memory_scope(*node.buffer_var))) return rewrite.children(node);
    Allocate copy = node;
    copy.buffer_var = with_scope(*node.buffer_var, MemoryScope::shared);
    rewrite.replace_variable(node.buffer_var, copy.buffer_var);
    rewrite.forget();
    if (const auto* decl = node.body.as<DeclBuffer>()) {
      Buffer moved = *decl->buffer;
      moved.data = copy.buffer_var;
      const Ptr<Buffer> buffer = make(std::move(moved));
      rewrite.replace_buffer(decl->buffer, buffer);
      rewrite.forget();
      copy.body = make(DeclBuffer{.buffer = buffer, .body = rewrite(decl->body)});
    } else {
      copy.body = rewrite(node.body);
    }
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

Ptr<PrimFunc> spread_over_warps(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    return node.attr_key == warp_instruction ? spread(node) : Stmt(rewrite.children(node));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
