// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_match_buffer.h"

#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/moved_pointer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// What a view is a view of: `source`, from `start` on; its dimensions are the last ones of it.
struct View {
  Ptr<Buffer> source;
  std::vector<Expr> start;
};

/// The variables that are defined in `func` by anything but a view.
std::unordered_set<const Object*> variables_defined_in(const PrimFunc& func) {
  std::unordered_set<const Object*> defined;
  for (const auto& param : func.params) defined.insert(param.get());
  const auto define_symbols = [&](const Buffer& buffer) {
    for (const Expr& e : buffer.shape) defined.insert(e.get());
    for (const Expr& e : buffer.strides) defined.insert(e.get());
    if (buffer.elem_offset.defined()) defined.insert(buffer.elem_offset.get());
  };
  for (const auto& buffer : func.buffer_map) {
    if (buffer) define_symbols(*buffer);
  }
  pre_order_visit(func.body, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) defined.insert(loop->loop_var.get());
    if (const auto* let = ref.as<LetStmt>()) defined.insert(let->var.get());
    if (const auto* axis = ref.as<IterVar>()) defined.insert(axis->var.get());
    return true;
  });
  return defined;
}

bool has_views(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    found = found || (block && !block->match_buffers.empty());
    return !found && !is_expr(*ref.get());
  });
  return found;
}

class ViewLowering {
 public:
  explicit ViewLowering(const PrimFunc& func) : defined_(variables_defined_in(func)) {
    set_rules();
  }
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  void set_rules();
  Stmt block(const Block& block);
  void add_view(const MatchBufferRegion& match);
  void bind(const Buffer& view, const Expr& symbol, const Expr& value);
  template <class Access>
  Ptr<Access> access(const Access& node);
  Ptr<BufferRegion> region(const BufferRegion& node);

  Rewriter rewrite_;
  Analyzer analyzer_;
  std::unordered_set<const Object*> defined_;
  Substitution values_;  // Of the symbols of views, and of their pointers.
  std::unordered_map<Ref, View, RefHash, RefEqual> views_;
  // By the pointers of views that name no offset: these lead to their first element.
  std::unordered_map<const Object*, MovedPointer> moved_;
  std::vector<Expr> unproved_;  // Conditions that only the run can decide.
};

void ViewLowering::bind(const Buffer& view, const Expr& symbol, const Expr& value) {
  if (symbol.is<Var>() && !defined_.contains(symbol.get()) && !values_.contains(symbol)) {
    values_[symbol] = cast(symbol.dtype(), value);
    return;
  }
  const Expr same = analyzer_.simplify(rewrite_(symbol) == value);
  require(!is_const_int(same, 0), ErrorKind::lower, "view_fits_its_region",
          hint("match the region that the view describes"), view.span,
          "lower_match_buffer: the match constraint of buffer {} does not hold", view.name);
  if (!is_const_int(same, 1)) unproved_.push_back(same);
}

/// Finds out what a view stands for, and gives its symbols their values.
void ViewLowering::add_view(const MatchBufferRegion& match) {
  const Ptr<BufferRegion> of = region(*match.source);
  const Buffer& source = *of->buffer;
  const Buffer& view = *match.buffer;
  View result{.source = of->buffer};
  Expr offset = source.elem_offset.defined() ? source.elem_offset : Expr(0);
  const std::vector<Expr> strides = strides_of(source);
  for (std::size_t d = 0; d < of->region.size(); ++d) {
    result.start.push_back(of->region[d]->min);
    offset = offset + result.start[d] * strides[d];
  }

  const std::size_t skip = source.shape.size() - view.shape.size();
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    bind(view, view.shape[d], of->region[d + skip]->extent);
    if (!view.strides.empty()) bind(view, view.strides[d], strides[d + skip]);
  }
  values_[view.data] = source.data;
  if (view.elem_offset.defined()) {
    bind(view, view.elem_offset, offset);
  } else if (offset = analyzer_.simplify(offset); !is_const_int(offset, 0)) {
    const Expr first = call(op("address_of"), {load(of->buffer, result.start)});
    moved_[view.data.get()] = {source.data, offset, first};
  }
  views_[match.buffer] = std::move(result);
}

Stmt ViewLowering::block(const Block& node) {
  if (node.match_buffers.empty()) return rewrite_.children(node);
  // Outer blocks state their own conditions.
  std::vector<Expr> outer = std::exchange(unproved_, {});
  for (const auto& match : node.match_buffers) add_view(*match);
  const std::vector<Expr> conditions = std::exchange(unproved_, std::move(outer));
  Block copy = node;
  copy.match_buffers.clear();
  for (const Expr& condition : conditions) {
    copy.body = make(AssertStmt{.condition = condition,
                                .message = string_imm("a matched buffer does not fit its region"),
                                .body = copy.body});
  }
  return rewrite_.children(*make(std::move(copy)));
}

template <class Access>
Ptr<Access> ViewLowering::access(const Access& node) {
  const Ptr<Access> inner = rewrite_.children(node);
  const auto view = views_.find(inner->buffer);
  if (view == views_.end()) return inner;
  Access copy = *inner;
  copy.buffer = view->second.source;
  copy.indices = view->second.start;
  const std::size_t skip = copy.indices.size() - inner->indices.size();
  for (std::size_t d = 0; d < inner->indices.size(); ++d) {
    copy.indices[d + skip] = copy.indices[d + skip] + inner->indices[d];
  }
  return make(std::move(copy));
}

Ptr<BufferRegion> ViewLowering::region(const BufferRegion& node) {
  const Ptr<BufferRegion> inner = rewrite_.children(node);
  const auto view = views_.find(inner->buffer);
  if (view == views_.end()) return inner;
  BufferRegion copy{.buffer = view->second.source};
  for (const Expr& start : view->second.start) {
    copy.region.push_back(range(start, int_imm(start.dtype(), 1)));
  }
  const std::size_t skip = copy.region.size() - inner->region.size();
  for (std::size_t d = 0; d < inner->region.size(); ++d) {
    const Range& part = *inner->region[d];
    copy.region[d + skip] = range(copy.region[d + skip]->min + part.min, part.extent);
  }
  return make(std::move(copy));
}

void ViewLowering::set_rules() {
  rewrite_.on<Var>([this](const Var& variable) -> Expr {
    const auto value = values_.find(Ref(&variable));
    return value == values_.end() ? Expr(&variable) : value->second;
  });
  move_pointers(rewrite_, [this](const Var& pointer) {
    const auto moved = moved_.find(&pointer);
    return moved == moved_.end() ? nullptr : &moved->second;
  });
  rewrite_.on<Block>([this](const Block& node) { return block(node); });
  rewrite_.on<BufferLoad>([this](const BufferLoad& node) { return access(node); });
  rewrite_.on<BufferStore>([this](const BufferStore& node) { return access(node); });
  rewrite_.on<BufferRegion>([this](const BufferRegion& node) { return region(node); });
}

}  // namespace

Ptr<PrimFunc> lower_match_buffer(const Ptr<PrimFunc>& func) {
  return has_views(func->body) ? ViewLowering(*func).run(func) : func;
}

}  // namespace loopsmith
