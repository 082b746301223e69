// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_shared_pool.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// An allocation, the statements from the first to the last that use it, and its place.
struct PoolPart {
  const Allocate* allocate;
  std::int64_t bytes;
  std::size_t first = 0, last = 0;
  std::int64_t offset = 0;

  std::int64_t end() const { return offset + bytes; }
  bool is_beside(const PoolPart& other) const { return first <= other.last && other.first <= last; }
  bool shares_with(const PoolPart& other) const {
    return offset < other.end() && other.offset < end();
  }
};

/// The body of memory, a name or an attribute, whose parts run one after another; null of others.
Stmt body_in_line(const Stmt& stmt) {
  const bool is_around =
      stmt.is<Allocate>() || stmt.is<DeclBuffer>() || stmt.is<LetStmt>() || stmt.is<AttrStmt>();
  return is_around ? body_of(stmt) : Stmt();
}

/// Calls `visit` with the statements of a launch that run one after another, in their order.
template <class Visit>
void for_each_in_line(const Stmt& stmt, const Visit& visit) {
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& each : sequence->seq) for_each_in_line(each, visit);
  } else if (const Stmt body = body_in_line(stmt)) {
    for_each_in_line(body, visit);
  } else {
    visit(stmt);
  }
}

class PoolPlanner {
 public:
  explicit PoolPlanner(Launch& launch) : launch_(launch) {}

  void run() {
    for (const Stmt& memory : launch_.memory) {
      const auto* allocate = memory.as<Allocate>();
      if (!allocate || memory_scope(*allocate->buffer_var) != MemoryScope::shared_dynamic) continue;
      parts_.push_back({.allocate = allocate, .bytes = bytes_in_shared_pool(*allocate)});
    }
    if (parts_.size() > 1) {
      for_each_in_line(launch_.body, [&](const Stmt& stmt) { line_.push_back(stmt); });
      find_uses();
      for (std::size_t i = 0; i < parts_.size(); ++i) place(i);
      separate();
    }
    annotate();
  }

 private:
  void find_uses() {
    std::unordered_map<const Object*, PoolPart*> part_of;
    for (PoolPart& part : parts_) {
      part_of[part.allocate->buffer_var.get()] = &part;
      part.first = line_.size();
    }
    const auto use = [&](const Object* memory, std::size_t first, std::size_t last) {
      const auto found = part_of.find(memory);
      if (found == part_of.end()) return;
      found->second->first = std::min(found->second->first, first);
      found->second->last = std::max(found->second->last, last);
    };
    // What has a name of its own may be used anywhere.
    pre_order_visit(launch_.body, [&](const Ref& ref) {
      const auto* let = ref.as<LetStmt>();
      if (!let) return true;
      pre_order_visit(let->value, [&](const Ref& named) {
        use(named.get(), 0, line_.size() - 1);
        return true;
      });
      return true;
    });
    for (std::size_t at = 0; at < line_.size(); ++at) {
      pre_order_visit(line_[at], [&](const Ref& ref) {
        use(ref.get(), at, at);
        if (const auto* load = ref.as<BufferLoad>()) use(load->buffer->data.get(), at, at);
        if (const auto* store = ref.as<BufferStore>()) use(store->buffer->data.get(), at, at);
        return true;
      });
    }
    for (PoolPart& part : parts_) part.first = std::min(part.first, part.last);
  }

  /// The first place where no part lies that is used beside it.
  void place(std::size_t number) {
    PoolPart& part = parts_[number];
    std::vector<const PoolPart*> beside;
    for (std::size_t i = 0; i < number; ++i) {
      if (parts_[i].is_beside(part)) beside.push_back(&parts_[i]);
    }
    std::ranges::sort(beside, {}, [](const PoolPart* other) { return other->offset; });
    const std::int64_t alignment = part.allocate->annotations.get_int(pool_alignment_key, 1);
    for (const PoolPart* other : beside) {
      if (!part.shares_with(*other)) continue;
      part.offset = (other->end() + alignment - 1) / alignment * alignment;
    }
  }

  /// Threads wait before memory becomes another buffer's.
  void separate() {
    std::vector<bool> waits_before(line_.size());
    for (const PoolPart& part : parts_) {
      for (const PoolPart& before : parts_) {
        if (before.last >= part.first || !part.shares_with(before)) continue;
        bool waits = false;
        for (std::size_t at = before.last + 1; at <= part.first; ++at) {
          const auto* evaluate = line_[at].as<Evaluate>();
          waits = waits || waits_before[at] || (evaluate && is_block_barrier(evaluate->value));
        }
        if (!waits) waits_before[part.first] = true;
      }
    }
    std::size_t at = 0;
    launch_.body = with_barriers(launch_.body, waits_before, at);
  }

  /// `at` counts the statements in line.
  static Stmt with_barriers(const Stmt& stmt, const std::vector<bool>& waits_before,
                            std::size_t& at) {
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      std::vector<Stmt> made;
      for (const Stmt& each : sequence->seq) made.push_back(with_barriers(each, waits_before, at));
      return seq(std::move(made));
    }
    if (const Stmt body = body_in_line(stmt)) {
      return with_body(stmt, with_barriers(body, waits_before, at));
    }
    return waits_before[at++] ? seq({barrier(MemoryScope::shared), stmt}) : stmt;
  }

  void annotate() {
    for (Stmt& memory : launch_.memory) {
      const auto* allocate = memory.as<Allocate>();
      const auto part = std::ranges::find(parts_, allocate, &PoolPart::allocate);
      if (!allocate || part == parts_.end()) continue;
      Allocate placed = *allocate;
      placed.annotations = placed.annotations.with(pool_offset_key, int_imm(i64, part->offset));
      memory = make(std::move(placed));
    }
  }

  Launch& launch_;
  std::vector<PoolPart> parts_;
  std::vector<Stmt> line_;  ///< What runs one after another.
};

}  // namespace

Ptr<PrimFunc> plan_shared_pool(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    Launch launch = launch_of(stmt);
    PoolPlanner(launch).run();
    return launch_stmt(launch);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
