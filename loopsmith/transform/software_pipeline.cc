// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/software_pipeline.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/lower_blocks.h"
#include "loopsmith/transform/stages.h"

namespace loopsmith {
namespace {

/// What stands in the body of a loop: memory, and statements.
struct LoopBody {
  std::vector<Ptr<Allocate>> memory;  ///< Each with one buffer, declared directly inside.
  std::vector<Stmt> around;           ///< Other declarations and attributes around statements.
  std::vector<Stmt> statements;
};

/// The buffer that an allocation declares; null where it declares none, or another.
Ptr<Buffer> buffer_of(const Allocate& allocate) {
  const auto* decl = allocate.body.as<DeclBuffer>();
  return decl && decl->buffer->data.same_as(allocate.buffer_var) ? decl->buffer : nullptr;
}

/// Takes a body apart. `is_marked`: its statements are numbered, and may stand further inside.
void take_apart(const Stmt& stmt, bool is_marked, LoopBody& body) {
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

/// Pipelines one loop.
class Pipeliner {
 public:
  Pipeliner(const For& loop, LoopBody body, Stages stages, const Pointers& doubled)
      : loop_(loop), body_(std::move(body)), stages_(std::move(stages)), doubled_(doubled) {
    for (const auto& allocate : body_.memory) own_.insert(allocate->buffer_var.get());
    for (const Stmt& stmt : body_.around) {
      if (const auto* allocate = stmt.as<Allocate>()) own_.insert(allocate->buffer_var.get());
    }
    for (const Stmt& stmt : body_.statements) touched_.push_back(touched_by(stmt));
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
    std::vector<Stmt> steps;
    for (std::int64_t t = 0; t < last; ++t) {
      for (const std::size_t k : stages_.in_order()) {
        if (stages_.stage[k] > t) continue;
        const Expr iteration = int_imm(type, t - stages_.stage[k]);
        const Expr condition = is_long ? Expr(true) : iteration < loop_.extent;
        steps.push_back(guarded_part(k, iteration, condition));
      }
    }
    steps.push_back(steady_loop(depth));
    for (std::int64_t t = 0; t < last; ++t) {
      for (const std::size_t k : stages_.in_order()) {
        if (stages_.stage[k] <= t) continue;
        const Expr iteration = loop_.extent + int_imm(type, t - stages_.stage[k]);
        // Where the loop is shorter than its stages, the steps before it did some of this.
        const Expr condition =
            is_long ? Expr(true)
                    : int_imm(type, 0) <= iteration && depth <= loop_.extent + int_imm(type, t);
        steps.push_back(guarded_part(k, iteration, condition));
      }
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
    Rewriter rewrite;
    std::unordered_map<const Object*, std::pair<Ptr<Buffer>, std::int64_t>> made;
    for (Ptr<Allocate>& allocate : body_.memory) {
      const Object* pointer = allocate->buffer_var.get();
      std::int64_t versions = versions_of(pointer, touched_, stages_);
      if (doubled_.contains(pointer)) versions = std::max<std::int64_t>(versions, 2);
      if (versions == 1) continue;
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
    }
    if (made.empty()) return;
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

  Stmt guarded_part(std::size_t k, const Expr& iteration, const Expr& condition) const {
    if (is_const_int(condition, 0)) return no_op();
    return guarded(condition, part(k, iteration));
  }

  Stmt steady_loop(const Expr& depth) const {
    For steady = loop_;
    steady.annotations = loop_.annotations.with(stage_key, nullptr)
                             .with(order_key, nullptr)
                             .with(async_key, nullptr);
    steady.loop_var = var(loop_.loop_var->name, loop_.loop_var->dtype);
    steady.min = int_imm(steady.loop_var->dtype, 0);
    steady.step = int_imm(steady.loop_var->dtype, 1);
    steady.extent = loop_.extent - depth;
    std::vector<Stmt> parts;
    for (const std::size_t k : stages_.in_order()) {
      const std::int64_t ahead = stages_.last() - stages_.stage[k];
      parts.push_back(part(k, steady.loop_var + int_imm(steady.loop_var->dtype, ahead)));
    }
    steady.body = seq(std::move(parts));
    return make(std::move(steady));
  }

  const For& loop_;
  LoopBody body_;
  Stages stages_;
  const Pointers& doubled_;
  Pointers own_;
  std::vector<Touched> touched_;
  Ptr<Var> iteration_;
};

/// Two stages: what is written into doubled memory with what that needs, and the rest; none where
/// one of them would be empty.
std::optional<Stages> stages_for_doubled(const LoopBody& body, const Pointers& doubled) {
  const std::size_t count = body.statements.size();
  std::vector<Touched> touched;
  for (const Stmt& stmt : body.statements) touched.push_back(touched_by(stmt));
  Stages stages{.stage = std::vector<std::int64_t>(count, 1),
                .order = std::vector<std::int64_t>(count)};
  for (std::size_t k = count; k-- > 0;) {
    stages.order[k] = static_cast<std::int64_t>(k);
    bool is_early = std::ranges::any_of(body.memory, [&](const auto& allocate) {
      const Object* pointer = allocate->buffer_var.get();
      return doubled.contains(pointer) && touched[k].writes.contains(pointer);
    });
    for (std::size_t later = k + 1; later < count; ++later) {
      is_early = is_early || (stages.stage[later] == 0 && depend(touched[k], touched[later]));
    }
    if (is_early) stages.stage[k] = 0;
  }
  const auto [first, last] = std::ranges::minmax_element(stages.stage);
  if (count < 2 || *first == *last) return {};
  return stages;
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

Ptr<PrimFunc> software_pipeline(const Ptr<PrimFunc>& func) {
  const Pointers doubled = find_doubled(func->body);
  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    const Ptr<Allocate> inner = rewrite.children(node);
    if (!inner->annotations.contains(double_buffer)) return inner;
    Allocate copy = *inner;
    copy.annotations = copy.annotations.with(double_buffer, nullptr);
    return make(std::move(copy));
  });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    if (auto stages = stages_of(*inner)) {
      LoopBody body{.statements = std::vector<Stmt>(stages->stage.size(), no_op())};
      take_apart(inner->body, true, body);
      Pipeliner pipeliner(*inner, std::move(body), *std::move(stages), doubled);
      if (const auto found = pipeliner.conflict()) pipeliner.refuse(*found);
      return pipeliner.run();
    }
    if (doubled.empty() || inner->kind != ForKind::serial) return inner;
    LoopBody body;
    take_apart(inner->body, false, body);
    auto stages = stages_for_doubled(body, doubled);
    if (!stages) return inner;
    Pipeliner pipeliner(*inner, std::move(body), *std::move(stages), doubled);
    return pipeliner.conflict() ? Stmt(inner) : pipeliner.run();
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
