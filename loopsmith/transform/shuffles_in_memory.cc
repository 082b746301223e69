// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/shuffles_in_memory.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

bool is_shuffle(const Call& call) {
  return call.op.name().starts_with("tvm_warp_shuffle");
}

bool has_shuffle(const Ref& root) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || (call && is_shuffle(*call));
    return !found;
  });
  return found;
}

/// One launch.
class Exchanger {
 public:
  explicit Exchanger(Launch launch) : launch_(std::move(launch)) {
    count_ = int_imm(i32, 1);
    number_ = int_imm(i32, 0);
    for (std::size_t i = launch_.threads.size(); i-- > 0;) {
      const For& loop = *launch_.threads[i];
      number_ = number_ + cast(i32, loop.loop_var) * count_;
      count_ = count_ * cast(i32, loop.extent);
    }
  }

  Stmt run() {
    require(as_int(count_), ErrorKind::lower, "lanes_are_counted",
            hint("split the loop over threads by a constant, and bind the inner part"),
            launch_.threads.empty() ? Span() : launch_.threads[0]->span,
            "threads exchange values by warp shuffles, and how many there are is not a constant");
    rewrite_.on<BufferStore>([&](const BufferStore& store) -> Stmt {
      return with_publications([&] { return Stmt(rewrite_.children(store)); });
    });
    rewrite_.on<Evaluate>([&](const Evaluate& evaluate) -> Stmt {
      return with_publications([&] { return Stmt(rewrite_.children(evaluate)); });
    });
    rewrite_.on<LetStmt>([&](const LetStmt& let) -> Stmt {
      LetStmt copy = let;
      const Stmt body = rewrite_(let.body);
      return with_publications([&] {
        copy.value = rewrite_(let.value);
        copy.body = body;
        return Stmt(make(std::move(copy)));
      });
    });
    rewrite_.on<Call>([&](const Call& call) -> Expr {
      const Ptr<Call> made = rewrite_.children(call);
      return is_shuffle(call) ? exchanged(*made) : Expr(made);
    });
    launch_.body = rewrite_(launch_.body);
    launch_.memory.insert(launch_.memory.end(), memory_.begin(), memory_.end());
    return launch_stmt(launch_);
  }

 private:
  /// A statement, after what it takes from others is given.
  template <class Make>
  Stmt with_publications(Make&& make_stmt) {
    std::vector<Stmt> outer = std::exchange(publications_, {});
    const Stmt made = make_stmt();
    std::vector<Stmt> statements = std::exchange(publications_, std::move(outer));
    if (statements.empty()) return made;
    statements.push_back(made);
    return seq(std::move(statements));
  }

  Expr exchanged(const Call& call) {
    const DataType dtype = call.args[1].dtype();
    const Ptr<Buffer> given = decl_buffer({count_}, dtype, "given", "shared");
    memory_.push_back(make(Allocate{.dtype = dtype,
                                    .extents = given->shape,
                                    .condition = true,
                                    .buffer_var = given->data,
                                    .body = no_op()}));
    memory_.push_back(make(DeclBuffer{.buffer = given, .body = no_op()}));
    publications_.push_back(store(given, call.args[1], {number_}));
    return load(given, {giver(call)});
  }

  /// The number of the thread whose value a shuffle takes.
  Expr giver(const Call& call) const {
    const Expr by = cast(i32, call.args[2]), width = cast(i32, call.args[3]);
    const Expr lane = floormod(number_, width), first = number_ - lane;
    if (call.op == op("tvm_warp_shuffle_up")) return select(lane >= by, number_ - by, number_);
    if (call.op == op("tvm_warp_shuffle_down")) {
      return select(lane + by < width, number_ + by, number_);
    }
    return first + floormod(by, width);
  }

  Launch launch_;
  Expr count_, number_;  ///< Of the threads; of one of them.
  std::vector<Stmt> memory_, publications_;
  Rewriter rewrite_;
};

}  // namespace

Ptr<PrimFunc> shuffles_in_memory(const Ptr<PrimFunc>& func, int warp_size) {
  if (warp_size > 1 || !has_shuffle(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    return has_shuffle(stmt) ? Exchanger(launch_of(stmt)).run() : stmt;
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
