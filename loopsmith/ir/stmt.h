// SPDX-License-Identifier: Apache-2.0
// The statements.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// `body`, in which `var` is `value`; `var` is never assigned again.
struct LetStmt : StmtNode<LetStmt> {
  Expr value;
  Ptr<Var> var;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &LetStmt::value);
    visit("var", &LetStmt::var, Role::binds);
    visit("body", &LetStmt::body);
  }
};
void canonicalize(LetStmt& node);

/// `body`, of which `attr_key` says something about `node`.
struct AttrStmt : StmtNode<AttrStmt> {
  Ref node;  ///< What the attribute is about; may be null.
  std::string attr_key;
  Expr value;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("node", &AttrStmt::node, Role::thread);
    visit("attr_key", &AttrStmt::attr_key);
    visit("value", &AttrStmt::value);
    visit("body", &AttrStmt::body);
  }
};

/// Stops with `message` unless `condition`; then `body`.
struct AssertStmt : StmtNode<AssertStmt> {
  Expr condition;
  Expr message;  ///< A StringImm.
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("condition", &AssertStmt::condition);
    visit("message", &AssertStmt::message);
    visit("body", &AssertStmt::body);
  }
};
void canonicalize(AssertStmt& node);

/// buffer[indices] = value.
struct BufferStore : StmtNode<BufferStore> {
  Ptr<Buffer> buffer;
  Expr value;
  std::vector<Expr> indices;
  Expr predicate;  ///< A bool for each lane; lanes without it are not written. May be null.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("buffer", &BufferStore::buffer);
    visit("value", &BufferStore::value);
    visit("indices", &BufferStore::indices);
    visit("predicate", &BufferStore::predicate, Role::optional);
  }
};
void canonicalize(BufferStore& node);

/// Memory for `body`, behind the pointer `buffer_var`.
struct Allocate : StmtNode<Allocate> {
  DataType dtype;
  std::vector<Expr> extents;
  Expr condition;  ///< Where false, nothing is allocated.
  Attrs annotations;
  Ptr<Var> buffer_var;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("dtype", &Allocate::dtype);
    visit("extents", &Allocate::extents);
    visit("condition", &Allocate::condition);
    visit("annotations", &Allocate::annotations);
    visit("buffer_var", &Allocate::buffer_var, Role::binds);
    visit("body", &Allocate::body);
  }
};
void canonicalize(Allocate& node);

/// Constant memory for `body`: `data` are the elements, integers by value, floats by their value.
struct AllocateConst : StmtNode<AllocateConst> {
  DataType dtype;
  std::vector<std::int64_t> extents;
  std::vector<Expr> data;  ///< Row-major; IntImm or FloatImm of `dtype`.
  Attrs annotations;
  Ptr<Var> buffer_var;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("dtype", &AllocateConst::dtype);
    visit("extents", &AllocateConst::extents);
    visit("data", &AllocateConst::data);
    visit("annotations", &AllocateConst::annotations);
    visit("buffer_var", &AllocateConst::buffer_var, Role::binds);
    visit("body", &AllocateConst::body);
  }
};
void canonicalize(AllocateConst& node);

/// `body`, in which `buffer` is a view of a pointer that exists.
struct DeclBuffer : StmtNode<DeclBuffer> {
  Ptr<Buffer> buffer;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("buffer", &DeclBuffer::buffer, Role::views);
    visit("body", &DeclBuffer::body);
  }
};

/// Statements one after another: at least two; one inside another is joined with it. Use `seq` to
/// build one of any number.
struct SeqStmt : StmtNode<SeqStmt> {
  std::vector<Stmt> seq;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("seq", &SeqStmt::seq);
  }
};
void canonicalize(SeqStmt& node);

/// Evaluates `value` for its effect. `Evaluate(0)` does nothing.
struct Evaluate : StmtNode<Evaluate> {
  Expr value;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &Evaluate::value);
  }
};

struct IfThenElse : StmtNode<IfThenElse> {
  Expr condition;
  Stmt then_case;
  Stmt else_case;  ///< May be null.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("condition", &IfThenElse::condition);
    visit("then_case", &IfThenElse::then_case);
    visit("else_case", &IfThenElse::else_case, Role::optional);
  }
};
void canonicalize(IfThenElse& node);

enum class ForKind : std::int32_t { serial, parallel, vectorized, unrolled, thread_binding };
template <>
struct EnumNames<ForKind> {
  static constexpr std::string_view names[] = {"serial", "parallel", "vectorized", "unrolled",
                                               "thread_binding"};
};

/// Runs `body` once for each loop_var = min + t * step, t = 0, 1, ..., extent - 1.
struct For : StmtNode<For> {
  Ptr<Var> loop_var;  ///< Visible in `body` only.
  Expr min;
  Expr extent;    ///< How many times the body runs; none if negative.
  Expr step = 1;  ///< Never 0. May be negative.
  ForKind kind = ForKind::serial;
  Ptr<IterVar> thread_binding;  ///< The thread, for that kind; else null.
  Attrs annotations;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("loop_var", &For::loop_var, Role::binds);
    visit("min", &For::min);
    visit("extent", &For::extent);
    visit("step", &For::step);
    visit("kind", &For::kind);
    visit("thread_binding", &For::thread_binding, Role::thread);
    visit("annotations", &For::annotations);
    visit("body", &For::body);
  }
};
void canonicalize(For& node);

/// Runs `body` while `condition` holds before it.
struct While : StmtNode<While> {
  Expr condition;
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("condition", &While::condition);
    visit("body", &While::body);
  }
};
void canonicalize(While& node);

/// Leaves the innermost loop.
struct Break : StmtNode<Break> {
  template <class V>
  static constexpr void fields(V&&) {}
};

/// Goes on with the next iteration of the innermost loop.
struct Continue : StmtNode<Continue> {
  template <class V>
  static constexpr void fields(V&&) {}
};

/// Leaves the function.
struct Return : StmtNode<Return> {
  Expr value;  ///< May be null.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &Return::value, Role::optional);
  }
};

/// A hint that the region will be read soon.
struct Prefetch : StmtNode<Prefetch> {
  Ptr<Buffer> buffer;
  std::vector<Ptr<Range>> bounds;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("buffer", &Prefetch::buffer);
    visit("bounds", &Prefetch::bounds);
  }
};
void canonicalize(Prefetch& node);

/// A unit of computation: its axes, what it reads and writes, its body.
struct Block : StmtNode<Block> {
  std::vector<Ptr<IterVar>> iter_vars;
  std::vector<Ptr<BufferRegion>> reads;
  std::vector<Ptr<BufferRegion>> writes;
  std::string name_hint;
  std::vector<Ptr<Buffer>> alloc_buffers;
  std::vector<Ptr<MatchBufferRegion>> match_buffers;
  Attrs annotations;
  Stmt init;  ///< Runs before the first reduction step. May be null.
  Stmt body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("iter_vars", &Block::iter_vars, Role::binds);
    visit("reads", &Block::reads);
    visit("writes", &Block::writes);
    visit("name_hint", &Block::name_hint, Role::label);
    visit("alloc_buffers", &Block::alloc_buffers, Role::binds);
    visit("match_buffers", &Block::match_buffers, Role::binds);
    visit("annotations", &Block::annotations);
    visit("init", &Block::init, Role::optional);
    visit("body", &Block::body);
  }
};

/// Runs a block with values for its axes, where `predicate` holds.
struct BlockRealize : StmtNode<BlockRealize> {
  std::vector<Expr> iter_values;
  Expr predicate = true;
  Ptr<Block> block;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("iter_values", &BlockRealize::iter_values);
    visit("predicate", &BlockRealize::predicate);
    visit("block", &BlockRealize::block);
  }
};
void canonicalize(BlockRealize& node);

/// One statement after another: nested sequences are joined, those that do nothing dropped; none: a
/// statement that does nothing.
Stmt seq(std::vector<Stmt> statements);

/// The statement that does nothing.
Stmt no_op();
bool is_no_op(const Stmt& stmt);

/// A plain loop over [min, min + extent).
Stmt for_loop(Ptr<Var> loop_var, Expr min, Expr extent, Stmt body, ForKind kind = ForKind::serial);

Stmt store(const Ptr<Buffer>& buffer, Expr value, std::vector<Expr> indices);

}  // namespace loopsmith
