// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/software_pipeline.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/compact_buffers.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/lower_blocks.h"
#include "loopsmith/transform/mark_stages.h"
#include "loopsmith/transform/stages.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/warp_instruction.h"

namespace loopsmith {
namespace {

/// What stands in the body of a loop: memory, and statements.
struct PipelinedBody {
  std::vector<Ptr<Allocate>> memory;  ///< Each with one buffer, declared directly inside.
  std::vector<Stmt> around;           ///< Other declarations and attributes around statements.
  std::vector<Stmt> statements;
  Pointers outside = {};  ///< Memory around the loop that each iteration has for itself.
};

/// The buffer that an allocation declares; null where it declares none, or another.
Ptr<Buffer> buffer_of(const Allocate& allocate) {
  const auto* decl = allocate.body.as<DeclBuffer>();
  return decl && decl->buffer->data.same_as(allocate.buffer_var) ? decl->buffer : nullptr;
}

/// Takes a body apart. `is_marked`: its statements are numbered, and may stand further inside.
void take_apart(const Stmt& stmt, bool is_marked, PipelinedBody& body) {
  deep_call([&] {
    const auto* attribute = stmt.as<AttrStmt>();
    if (const auto* allocate = stmt.as<Allocate>()) {
      const bool is_plain = buffer_of(*allocate).defined();
      if (is_plain) {
        body.memory.push_back(Ptr<Allocate>(allocate));
      } else {
        body.around.push_back(stmt);
      }
      take_apart(is_plain ? allocate->body.as<DeclBuffer>()->body : allocate->body, is_marked,
                 body);
    } else if (const auto* decl = stmt.as<DeclBuffer>()) {
      body.around.push_back(stmt);
      take_apart(decl->body, is_marked, body);
    } else if (const auto* all = stmt.as<SeqStmt>()) {
      if (!is_marked) return void(body.statements = all->seq);
      for (const Stmt& each : all->seq) take_apart(each, is_marked, body);
    } else if (attribute && attribute->attr_key == statement_key) {
      const auto number = static_cast<std::size_t>(*as_int(attribute->value));
      body.statements[number] = attribute->body;
    } else if (attribute && is_marked) {
      body.around.push_back(stmt);
      take_apart(attribute->body, is_marked, body);
    } else {
      check(!is_marked || is_no_op(stmt), "software_pipeline", "a statement has no number");
    }
  });
}

/// A node like `stmt`, an Allocate, DeclBuffer or AttrStmt, around another body.
Stmt with_inner(const Stmt& stmt, Stmt body) {
  const auto copied = [&](const auto& node) -> Stmt {
    auto copy = node;
    copy.body = std::move(body);
    return make(std::move(copy));
  };
  if (const auto* allocate = stmt.as<Allocate>()) return copied(*allocate);
  if (const auto* decl = stmt.as<DeclBuffer>()) return copied(*decl);
  return copied(*stmt.as<AttrStmt>());
}

/// `statement 1, which writes C`
std::string name_of(std::size_t number, const Stmt& stmt) {
  std::string written;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (store && written.empty()) written = store->buffer->name;
    return !is_expr(*ref.get());
  });
  return written.empty() ? fmt::format("statement {}", number)
                         : fmt::format("statement {}, which writes {},", number, written);
}

/// The allocations of a function, by their pointers, as they are by now.
using Allocates = std::unordered_map<const Object*, Ptr<Allocate>>;

/// Pipelines one loop.
class Pipeliner {
 public:
  /// `outside`: memory that is allocated around the loop, and that each iteration has for itself.
  Pipeliner(const For& loop, PipelinedBody body, Stages stages, const Pointers& doubled,
            const Pointers& outside, Allocates& allocates)
      : loop_(loop),
        body_(std::move(body)),
        stages_(std::move(stages)),
        doubled_(doubled),
        outside_(outside),
        allocates_(allocates),
        own_(outside) {
    for (const auto& allocate : body_.memory) own_.insert(allocate->buffer_var.get());
    for (const Stmt& stmt : body_.around) {
      if (const auto* allocate = stmt.as<Allocate>()) own_.insert(allocate->buffer_var.get());
    }
    for (const Stmt& stmt : body_.statements) {
      accessed_.push_back(accessed_by(stmt));
      multiplies_.push_back(stages_.products_in_flight > 0 && has_products_of_four_warps(stmt));
    }
    may_wait_ = statements_that_may_wait(body_.statements, accessed_, stages_, own_);
    for (std::size_t k = 0; k < may_wait_.size(); ++k) {
      if (!may_wait_[k]) continue;
      const std::int64_t steps = first_use(k, accessed_, stages_) - stages_.stage[k] - 1;
      groups_under_way_ = std::min(groups_under_way_.value_or(steps), steps);
    }
  }

  /// What stands against it.
  std::optional<OutOfOrder> conflict() const {
    return find_out_of_order(loop_, body_.statements, stages_, own_);
  }

  void refuse(const OutOfOrder& found) const {
    const std::string first = name_of(found.first, body_.statements[found.first]);
    const std::string second = name_of(found.second, body_.statements[found.second]);
    const std::string where = found.distance == 0
                                  ? "in the same iteration"
                                  : fmt::format("{} iterations later", found.distance);
    fail(ErrorKind::lower, "pipeline_keeps_order",
         hint("give what comes later a later stage, or the same stage and a later place"),
         loop_.span,
         "software_pipeline: in loop {}, {} would not be done before {} {}, which depends on it{}",
         loop_.loop_var->name, first, second, where, found.why);
  }

  Stmt run() {
    name_iterations();
    make_versions();
    const std::int64_t last = stages_.last();
    const DataType type = loop_.extent.dtype();
    const Expr depth = int_imm(type, last);
    Analyzer analyzer;
    const bool is_long = analyzer.can_prove(loop_.extent >= depth);
    // Where a step may be empty, it is not known how many products are under way.
    if (!is_long) stages_.products_in_flight = 0;
    std::vector<Stmt> steps;
    for (std::int64_t t = 0; t < last; ++t) {
      add_step(steps, [&](std::int64_t stage) -> Part {
        if (stage > t) return {};
        const Expr iteration = int_imm(type, t - stage);
        return {iteration, is_long ? Expr(true) : iteration < loop_.extent};
      });
    }
    steps.push_back(steady_loop(depth));
    for (std::int64_t t = 0; t < last; ++t) {
      // The statements that read the results stand behind the last step.
      if (t + 1 == last) stages_.products_in_flight = 0;
      add_step(steps, [&](std::int64_t stage) -> Part {
        if (stage <= t) return {};
        const Expr iteration = loop_.extent + int_imm(type, t - stage);
        // Where the loop is shorter than its stages, the steps before it did some of this.
        const Expr is_left =
            int_imm(type, 0) <= iteration && depth <= loop_.extent + int_imm(type, t);
        return {iteration, is_long ? Expr(true) : is_left};
      });
    }
    Stmt result = seq(std::move(steps));
    for (std::size_t i = body_.around.size(); i-- > 0;) {
      result = with_inner(body_.around[i], std::move(result));
    }
    for (std::size_t i = body_.memory.size(); i-- > 0;) {
      const Allocate& allocate = *body_.memory[i];
      result = with_inner(body_.memory[i], with_inner(allocate.body, std::move(result)));
    }
    return result;
  }

 private:
  /// Lets the statements count iterations from 0.
  void name_iterations() {
    const DataType type = loop_.loop_var->dtype;
    iteration_ = var(loop_.loop_var->name, type);
    const Expr value = loop_.min + iteration_ * loop_.step;
    for (Stmt& stmt : body_.statements) stmt = substitute(stmt, {{loop_.loop_var, value}});
  }

  /// Gives a leading dimension to the memory of which several versions live at a time.
  void make_versions() {
    std::unordered_map<const Object*, std::pair<Ptr<Buffer>, std::int64_t>> made;
    const auto add_versions = [&](Ptr<Allocate>& allocate) {
      const Object* pointer = allocate->buffer_var.get();
      std::int64_t versions = versions_of(pointer, accessed_, stages_);
      if (doubled_.contains(pointer)) versions = std::max<std::int64_t>(versions, 2);
      if (versions > 1 && is_multiplied(pointer)) versions += stages_.products_in_flight;
      if (versions == 1) return;
      const Ptr<Buffer> old = buffer_of(*allocate);
      refuse_pointer(old, versions);
      Buffer buffer = *old;
      const DataType type = old->shape.empty() ? i32 : old->shape[0].dtype();
      if (!buffer.strides.empty()) {
        buffer.strides.insert(buffer.strides.begin(), old->strides[0] * old->shape[0]);
      }
      buffer.shape.insert(buffer.shape.begin(), int_imm(type, versions));
      for (std::int64_t& separator : buffer.axis_separators) ++separator;
      made[old.get()] = {make(std::move(buffer)), versions};
      Allocate copy = *allocate;
      copy.extents = made[old.get()].first->shape;
      copy.annotations = behind_new_dimension(copy.annotations);
      copy.body = make(DeclBuffer{.buffer = made[old.get()].first, .body = no_op()});
      allocate = make(std::move(copy));
    };
    for (Ptr<Allocate>& allocate : body_.memory) add_versions(allocate);
    for (const Object* pointer : outside_) add_versions(allocates_.at(pointer));
    if (made.empty()) return;
    Rewriter rewrite;
    const auto access = [&](auto node) {
      const auto found = made.find(node.buffer.get());
      if (found == made.end()) return make(std::move(node));
      const auto& [buffer, versions] = found->second;
      const DataType type = iteration_->dtype;
      const Expr version = floormod(Expr(iteration_), int_imm(type, versions));
      node.buffer = buffer;
      node.indices.insert(node.indices.begin(), cast(buffer->shape[0].dtype(), version));
      return make(std::move(node));
    };
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      return access(BufferLoad(*rewrite.children(node)));
    });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      return access(BufferStore(*rewrite.children(node)));
    });
    for (Stmt& stmt : body_.statements) stmt = rewrite(stmt);
  }

  /// True of what products in flight read.
  bool is_multiplied(const Object* pointer) const {
    for (std::size_t k = 0; k < accessed_.size(); ++k) {
      if (multiplies_[k] && accessed_[k].reads.contains(pointer)) return true;
    }
    return false;
  }

  /// What is reached in other ways than by the indices of its buffer has no versions.
  void refuse_pointer(const Ptr<Buffer>& buffer, std::int64_t versions) const {
    bool is_plain = true;
    for (const Stmt& stmt : body_.statements) {
      pre_order_visit(stmt, [&](const Ref& ref) {
        const auto* load = ref.as<BufferLoad>();
        const auto* store = ref.as<BufferStore>();
        const Buffer* used = load ? load->buffer.get() : store ? store->buffer.get() : nullptr;
        const bool is_view = used && used != buffer.get() && used->data.same_as(buffer->data);
        is_plain = is_plain && !is_view && !ref.same_as(buffer->data);
        return is_plain;
      });
    }
    require(is_plain, ErrorKind::lower, "versions_are_indexed",
            hint("give the statements that use it the same stage"), loop_.span,
            "software_pipeline: loop {} needs {} versions of buffer {}, which is reached through "
            "its pointer",
            loop_.loop_var->name, versions, buffer->name);
  }

  /// What statement k does in an iteration, with definitions of its own.
  Stmt part(std::size_t k, const Expr& iteration) const {
    return clone_with(body_.statements[k], {{iteration_, cast(iteration_->dtype, iteration)}});
  }

  /// Which iteration a stage is at in a step, and whether there is one; null where there is none.
  struct Part {
    Expr iteration, exists;
  };
  Stmt guarded_part(std::size_t k, const Part& of_step) const {
    if (!of_step.iteration.defined() || is_const_int(of_step.exists, 0)) return no_op();
    return guarded(of_step.exists, part(k, of_step.iteration));
  }

  /// What is done in a step. `part_of(stage)` says which iteration a stage is at.
  ///
  /// What is copied asynchronously in a step is one group. A step begins with waiting until all
  /// but the last few groups are done, so that threads that wait for each other afterwards see the
  /// copies. Each step commits a group, if an empty one, so that these are always as many.
  template <class PartOf>
  void add_step(std::vector<Stmt>& statements, PartOf&& part_of) const {
    if (groups_under_way_) {
      std::vector<Stmt> done;
      for (std::size_t k = 0; k < may_wait_.size(); ++k) {
        // The group that is done by now was begun so many steps before.
        const std::int64_t stage = stages_.stage[k] + *groups_under_way_ + 1;
        if (may_wait_[k]) done.push_back(guarded_part(k, part_of(stage)));
      }
      Stmt copies = seq(std::move(done));
      if (!is_no_op(copies)) {
        statements.push_back(make(AttrStmt{.attr_key = std::string(async_done),
                                           .value = int_imm(i32, *groups_under_way_),
                                           .body = std::move(copies)}));
      }
    }
    // What products in flight read is written anew in the step after the next: all threads have
    // waited then for those that they started before the last.
    if (std::ranges::find(multiplies_, true) != multiplies_.end()) {
      statements.push_back(barrier(MemoryScope::shared));
    }
    std::vector<std::size_t> waiting;
    for (const std::size_t k : stages_.in_order()) {
      if (may_wait_[k]) waiting.push_back(k);
    }
    for (const std::size_t k : stages_.in_order()) {
      Stmt done = guarded_part(k, part_of(stages_.stage[k]));
      const bool is_copy = may_wait_[k] && !is_no_op(done);
      if (is_copy) {
        done = make(
            AttrStmt{.attr_key = std::string(async_scope), .value = int_imm(i32, 1), .body = done});
      }
      if (multiplies_[k] && !is_no_op(done)) {
        done = make(AttrStmt{.attr_key = std::string(products_in_flight),
                             .value = int_imm(i32, stages_.products_in_flight),
                             .body = done});
      }
      statements.push_back(std::move(done));
      if (!waiting.empty() && waiting.back() == k) {
        statements.push_back(make(Evaluate{.value = call(i32, op("ptx_commit_group"), {})}));
      }
    }
  }

  Stmt steady_loop(const Expr& depth) const {
    For steady = loop_;
    steady.annotations = loop_.annotations.with(stage_key, nullptr)
                             .with(order_key, nullptr)
                             .with(async_key, nullptr)
                             .with(in_flight_key, nullptr);
    steady.loop_var = var(loop_.loop_var->name, loop_.loop_var->dtype);
    steady.min = int_imm(steady.loop_var->dtype, 0);
    steady.step = int_imm(steady.loop_var->dtype, 1);
    steady.extent = loop_.extent - depth;
    std::vector<Stmt> parts;
    add_step(parts, [&](std::int64_t stage) -> Part {
      const std::int64_t ahead = stages_.last() - stage;
      return {steady.loop_var + int_imm(steady.loop_var->dtype, ahead), true};
    });
    steady.body = seq(std::move(parts));
    return make(std::move(steady));
  }

  const For& loop_;
  PipelinedBody body_;
  Stages stages_;
  const Pointers& doubled_;
  const Pointers& outside_;
  Allocates& allocates_;
  Pointers own_;
  std::vector<AccessedMemory> accessed_;
  std::vector<bool> may_wait_;    ///< Of each statement, whether it is done while threads go on.
  std::vector<bool> multiplies_;  ///< Whether it is a product that may be in flight.
  /// How many groups of copies may be under way when a step begins; none: there are no such copies.
  std::optional<std::int64_t> groups_under_way_;
  Ptr<Var> iteration_;
};

/// Two stages: what is written into doubled memory with what that needs, and the rest; none where
/// one of them would be empty.
std::optional<Stages> stages_for_doubled(const PipelinedBody& body, const Pointers& doubled) {
  const std::size_t count = body.statements.size();
  std::vector<AccessedMemory> accessed;
  for (const Stmt& stmt : body.statements) accessed.push_back(accessed_by(stmt));
  Stages stages{.stage = std::vector<std::int64_t>(count, 1),
                .order = std::vector<std::int64_t>(count)};
  for (std::size_t k = count; k-- > 0;) {
    stages.order[k] = static_cast<std::int64_t>(k);
    const auto is_filled = [&](const Object* pointer) {
      return doubled.contains(pointer) && accessed[k].writes.contains(pointer);
    };
    bool is_early = std::ranges::any_of(body.outside, is_filled) ||
                    std::ranges::any_of(body.memory, [&](const auto& allocate) {
                      return is_filled(allocate->buffer_var.get());
                    });
    for (std::size_t later = k + 1; later < count; ++later) {
      is_early = is_early || (stages.stage[later] == 0 && depend(accessed[k], accessed[later]));
    }
    if (is_early) stages.stage[k] = 0;
  }
  const auto [first, last] = std::ranges::minmax_element(stages.stage);
  if (count < 2 || *first == *last) return {};
  return stages;
}

/// What loops have stages, or may get them for memory that is to be doubled.
bool may_be_pipelined(const For& loop, const Pointers& doubled) {
  return loop.annotations.contains(stage_key) || (!doubled.empty() && loop.kind == ForKind::serial);
}

/// The memory around each pipelined loop that its iterations have for themselves, by the loop's
/// variable.
std::unordered_map<const Object*, Pointers> find_outside(const PrimFunc& func,
                                                         const Pointers& doubled) {
  std::unordered_map<const Object*, Pointers> outside;
  AccessTable table(func);
  for (const Allocation& allocation : table.allocations()) {
    if (!allocation.buffer || allocation.is_opaque || !allocation.common) continue;
    for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
      const auto* loop = s->stmt.as<For>();
      const bool is_own = loop && may_be_pipelined(*loop, doubled) &&
                          buffer_of(*allocation.allocate) &&
                          is_of_each_iteration(table, allocation, s);
      if (is_own) outside[loop->loop_var.get()].insert(allocation.allocate->buffer_var.get());
    }
  }
  return outside;
}

Allocates allocates_in(const PrimFunc& func) {
  Allocates found;
  pre_order_visit(func.body, [&](const Ref& ref) {
    if (const auto* allocate = ref.as<Allocate>()) {
      found[allocate->buffer_var.get()] = Ptr<Allocate>(allocate);
    }
    return !is_expr(*ref.get());
  });
  return found;
}

bool has_pipelines(const PrimFunc& func, const Pointers& doubled) {
  bool found = false;
  pre_order_visit(func.body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    found = found || (loop && may_be_pipelined(*loop, doubled));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// The pointers of memory that is to be doubled.
Pointers find_doubled(const Stmt& body) {
  Pointers doubled;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* allocate = ref.as<Allocate>();
    if (allocate && allocate->annotations.contains(double_buffer)) {
      doubled.insert(allocate->buffer_var.get());
    }
    return !is_expr(*ref.get());
  });
  return doubled;
}

}  // namespace

Ptr<PrimFunc> software_pipeline(const Ptr<PrimFunc>& original) {
  const Ptr<PrimFunc> given = mark_stages(original);  // Where no pass before it did.
  const Pointers doubled = find_doubled(given->body);
  if (!has_pipelines(*given, doubled)) return given;
  const auto outside = find_outside(*given, doubled);
  // Versions are of what one iteration uses.
  const Ptr<PrimFunc> func = compact_buffers(given);
  Allocates allocates = allocates_in(*func);
  static const Pointers none;
  const auto outside_of = [&](const For& loop) -> const Pointers& {
    const auto found = outside.find(loop.loop_var.get());
    return found == outside.end() ? none : found->second;
  };
  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    const Ptr<Allocate> inner = rewrite.children(node);
    // Loops inside may have made versions of it.
    const Ptr<Allocate>& now = allocates.at(node.buffer_var.get());
    const bool is_same = now.get() == &node;
    Allocate copy = is_same ? *inner : *now;
    if (!is_same) copy.body = with_inner(now->body, inner->body.as<DeclBuffer>()->body);
    copy.annotations = copy.annotations.with(double_buffer, nullptr);
    return make(std::move(copy));
  });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    if (auto stages = stages_of(*inner)) {
      PipelinedBody body{.statements = std::vector<Stmt>(stages->stage.size(), no_op())};
      take_apart(inner->body, true, body);
      Pipeliner pipeliner(*inner, std::move(body), *std::move(stages), doubled, outside_of(loop),
                          allocates);
      if (const auto found = pipeliner.conflict()) pipeliner.refuse(*found);
      return pipeliner.run();
    }
    if (doubled.empty() || inner->kind != ForKind::serial) return inner;
    PipelinedBody body;
    take_apart(inner->body, false, body);
    body.outside = outside_of(loop);
    auto stages = stages_for_doubled(body, doubled);
    if (!stages) return inner;
    Pipeliner pipeliner(*inner, std::move(body), *std::move(stages), doubled, outside_of(loop),
                        allocates);
    return pipeliner.conflict() ? Stmt(inner) : pipeliner.run();
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
