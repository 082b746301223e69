// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/mark_stages.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/stages.h"

namespace loopsmith {
namespace {

/// Marks the statements of one loop's body.
class StageMarker {
 public:
  Stmt mark(const Stmt& body) { return sequence(body, true); }
  std::int64_t count() const { return count_; }

 private:
  /// `stmt`, if it is a sequence or around one; null else. `is_body`: of the loop.
  Stmt sequence(const Stmt& stmt, bool is_body) {
    return deep_call([&]() -> Stmt {
      if (const auto* all = stmt.as<SeqStmt>()) {
        std::vector<Stmt> marked;
        for (const Stmt& each : all->seq) {
          const Stmt inside = sequence(each, false);
          marked.push_back(inside ? inside : statement(each));
        }
        return make(SeqStmt{.seq = std::move(marked)});
      }
      if (const auto* realize = stmt.as<BlockRealize>()) {
        const Block& block = *realize->block;
        if (block.init || !is_const_int(realize->predicate, 1)) return nullptr;
        if (!is_body && !block.body.is<SeqStmt>()) return nullptr;
        Block copy = block;
        copy.body = sequence(block.body, is_body);
        if (!copy.body) return nullptr;
        BlockRealize made = *realize;
        made.block = make(std::move(copy));
        return make(std::move(made));
      }
      if (!is_body) return nullptr;
      if (const auto* allocate = stmt.as<Allocate>()) return around(*allocate);
      if (const auto* decl = stmt.as<DeclBuffer>()) return around(*decl);
      return nullptr;
    });
  }

  template <class T>
  Stmt around(const T& node) {
    T copy = node;
    copy.body = sequence(node.body, true);
    return copy.body ? Stmt(make(std::move(copy))) : nullptr;
  }

  Stmt statement(const Stmt& stmt) {
    return make(AttrStmt{
        .attr_key = std::string(statement_key), .value = int_imm(i32, count_++), .body = stmt});
  }

  std::int64_t count_ = 0;
};

bool has_numbers(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* attribute = ref.as<AttrStmt>();
    found = found || (attribute && attribute->attr_key == statement_key);
    return !found && !is_expr(*ref.get());
  });
  return found;
}

}  // namespace

Ptr<PrimFunc> mark_stages(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    const auto stages = stages_of(loop);
    if (!stages || has_numbers(loop.body)) return inner;
    const std::string& name = loop.loop_var->name;
    require(loop.kind == ForKind::serial || loop.kind == ForKind::unrolled, ErrorKind::lower,
            "pipelined_loop_is_serial", hint("pipeline a serial loop inside it"), loop.span,
            "software_pipeline: loop {} is run concurrently, not step by step", name);
    require(!leaves_loop(loop.body) && !contains<Return>(loop.body), ErrorKind::lower,
            "pipelined_loop_runs_to_its_end",
            hint("replace break, continue and return by conditions"), loop.span,
            "software_pipeline: loop {} may be left early", name);
    StageMarker marker;
    For copy = *inner;
    copy.body = marker.mark(inner->body);
    require(copy.body.defined(), ErrorKind::lower, "pipelined_body_is_a_sequence",
            hint("annotate the loop whose body has the stages as its statements"), loop.span,
            "software_pipeline: the body of loop {} is no sequence of statements", name);
    require(marker.count() == static_cast<std::int64_t>(stages->stage.size()), ErrorKind::lower,
            "pipeline_fits_the_body", hint("give each statement of the loop a stage and a place"),
            loop.span, "software_pipeline: loop {} has {} statements, and stages for {}", name,
            marker.count(), stages->stage.size());
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
