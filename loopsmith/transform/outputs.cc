// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/outputs.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool has_loads(const std::vector<Expr>& indices) {
  bool found = false;
  for (const Expr& index : indices) {
    pre_order_visit(index, [&](const Ref& ref) {
      found |= ref.is<BufferLoad>();
      return !found;
    });
  }
  return found;
}

bool is_constant(const Expr& expr, std::int64_t wanted) {
  const std::int64_t* value = as_int(expr);
  return value && *value == wanted;
}

bool are_equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!structural_equal(a[i], b[i])) return false;
  }
  return true;
}

/// The stores of a nest of loops around one block or one store, by which elements they reach.
class FullWrite {
 public:
  /// The buffers whose every element the nest writes whenever it runs.
  static std::vector<const Buffer*> of(const Stmt& nest) {
    FullWrite found;
    found.enter(nest);
    return std::move(found.full_);
  }

 private:
  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      if (!is_constant(loop->min, 0) || !is_constant(loop->step, 1)) return;
      extents_[loop->loop_var.get()] = loop->extent;
      enter(loop->body);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      if (!is_constant(realize->predicate, 1)) return;
      const Block& block = *realize->block;
      if (!block.match_buffers.empty()) return;
      for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
        const auto found = extents_.find(realize->iter_values[i].get());
        if (found != extents_.end()) bound_[block.iter_vars[i]->var.get()] = found->first;
      }
      enter(block.body);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      if (covers(*store)) full_.push_back(store->buffer.get());
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& each : sequence->seq) {
        if (each.is<BufferStore>()) enter(each);
      }
    }
  }

  bool covers(const BufferStore& store) const {
    if (store.predicate.defined() || !store.value.dtype().is_scalar()) return false;
    std::unordered_set<const Object*> used;
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      const Object* variable = store.indices[i].get();
      if (const auto found = bound_.find(variable); found != bound_.end()) variable = found->second;
      const auto loop = extents_.find(variable);
      if (loop == extents_.end() || !used.insert(variable).second) return false;
      if (!structural_equal(loop->second, store.buffer->shape[i])) return false;
    }
    for (const auto& [variable, extent] : extents_) {
      const std::int64_t* count = as_int(extent);
      if (!used.contains(variable) && (!count || *count <= 0)) return false;
    }
    return true;
  }

  std::unordered_map<const Object*, Expr> extents_;  ///< Of the loops, by variable.
  std::unordered_map<const Object*, const Object*> bound_;
  std::vector<const Buffer*> full_;
};

/// Walks a function in the order in which it runs, and knows which elements were written.
class Walk {
 public:
  explicit Walk(const PrimFunc& func) {
    for (const Ptr<Buffer>& buffer : func.buffer_map) {
      if (!buffer) continue;
      // Two parameters of one pointer are one array: neither may be made anew.
      if (!state_.emplace(buffer.get(), State{}).second) state_[buffer.get()].is_read = true;
      if (!by_pointer_.emplace(buffer->data.get(), buffer.get()).second) {
        refuse(buffer->data.get());
        state_[buffer.get()].is_read = true;
      }
    }
    visit(func.body);
  }

  bool is_output(const Buffer* buffer) const {
    const auto found = state_.find(buffer);
    return found != state_.end() && found->second.is_written && !found->second.is_read;
  }

 private:
  struct State {
    bool is_written = false;
    bool is_read = false;  ///< Before it was written, or by an unknown statement.
  };
  struct Element {
    const Buffer* buffer;
    const std::vector<Expr>* indices;  ///< Null: all elements.
  };

  void visit(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& each : sequence->seq) visit(each);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      visit_store(*store);
    } else if (const auto* loop = stmt.as<For>()) {
      read(loop->min);
      read(loop->extent);
      inside([&] { visit(loop->body); });
      for (const Buffer* buffer : FullWrite::of(stmt)) written_.push_back({buffer, nullptr});
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      visit_block(*realize);
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      read(branch->condition);
      inside([&] { visit(branch->then_case); });
      inside([&] { visit(branch->else_case); });
    } else {
      // Whatever else: what is inside may be skipped, and may name a buffer anew.
      inside([&] { visit_children(stmt); });
    }
  }

  void visit_children(const Stmt& stmt) {
    if (const auto* named = stmt.as<DeclBuffer>()) refuse(named->buffer->data.get());
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      if (is_stmt(*child.get())) {
        visit(Stmt::from(child));
      } else {
        read(child);
      }
    });
  }

  void visit_store(const BufferStore& store) {
    read(store.value);
    for (const Expr& index : store.indices) read(index);
    const auto found = state_.find(store.buffer.get());
    if (found == state_.end()) {
      refuse(store.buffer->data.get());
      return;
    }
    found->second.is_written = true;
    if (store.predicate.defined()) {
      read(store.predicate);
    } else if (!has_loads(store.indices)) {
      written_.push_back({store.buffer.get(), &store.indices});
    }
  }

  void visit_block(const BlockRealize& realize) {
    for (const Expr& value : realize.iter_values) read(value);
    read(realize.predicate);
    const Block& block = *realize.block;
    for (const auto& view : block.match_buffers) refuse(view->source->buffer->data.get());
    inside([&] {
      visit(block.init);
      visit(block.body);
    });
    // The block around a whole function runs once, whatever it is around of.
    if (block.iter_vars.empty()) visit_again_as_written(block.body);
  }

  /// Keeps what statements directly in a block without axes have written in full.
  void visit_again_as_written(const Stmt& body) {
    const auto keep = [&](const Stmt& stmt) {
      for (const Buffer* buffer : FullWrite::of(stmt)) written_.push_back({buffer, nullptr});
    };
    if (const auto* sequence = body.as<SeqStmt>()) {
      for (const Stmt& each : sequence->seq) keep(each);
    } else {
      keep(body);
    }
  }

  template <class Body>
  void inside(Body&& body) {
    const std::size_t known = written_.size();
    body();
    written_.resize(known);
  }

  void read(const Ref& expr) {
    if (!expr.defined()) return;
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        read_element(*load);
        for (const Expr& index : load->indices) read(index);
        return false;
      }
      if (const auto* call = ref.as<Call>(); call && call->op == op("address_of")) {
        if (const auto* load = call->args[0].as<BufferLoad>()) refuse(load->buffer->data.get());
      }
      if (ref.is<Var>()) refuse(ref.get());
      return true;
    });
  }

  void read_element(const BufferLoad& load) {
    const auto found = state_.find(load.buffer.get());
    if (found == state_.end()) {
      refuse(load.buffer->data.get());
      return;
    }
    for (const Element& known : written_) {
      if (known.buffer != load.buffer.get()) continue;
      if (!known.indices || are_equal(*known.indices, load.indices)) return;
    }
    found->second.is_read = true;
  }

  /// The memory behind a pointer is accessed in a way that is not followed.
  void refuse(const Object* pointer) {
    const auto found = by_pointer_.find(pointer);
    if (found != by_pointer_.end()) state_[found->second].is_read = true;
  }

  std::unordered_map<const Buffer*, State> state_;
  std::unordered_map<const Object*, const Buffer*> by_pointer_;
  std::vector<Element> written_;
};

}  // namespace

std::vector<bool> outputs_of(const PrimFunc& func) {
  const Walk walk(func);
  std::vector<bool> outputs;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    outputs.push_back(buffer.defined() && walk.is_output(buffer.get()));
  }
  return outputs;
}

Ptr<PrimFunc> with_outputs(const Ptr<PrimFunc>& func) {
  if (func->attrs.contains(outputs_attribute)) return func;
  const std::vector<bool> outputs = outputs_of(*func);
  List names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) names.items.push_back(string_imm(func->buffer_map[i]->name));
  }
  return with_attr(func, outputs_attribute, make(std::move(names)));
}

}  // namespace loopsmith
