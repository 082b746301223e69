// SPDX-License-Identifier: Apache-2.0
// Implementations of tensor intrinsics in the place of what they do.
#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/moved_pointer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/intrinsics/intrin_match.h"

namespace loopsmith {
namespace {

/// The block that holds the body of a function, whose parameters are not its own.
Block body_block(const PrimFunc& func) {
  const auto* root = func.body.as<BlockRealize>();
  if (root && root->block->iter_vars.empty()) return *root->block;
  Block block{.body = func.body};
  AccessRegions regions = access_regions(block, buffers_by_pointer(func));
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return block;
}

/// The last index of an access that goes on in the next row, of a buffer of several dimensions.
const Ramp* long_index(const Buffer& buffer, const std::vector<Expr>& indices) {
  const auto* ramp = indices.size() > 1 ? indices.back().as<Ramp>() : nullptr;
  const std::int64_t* extent = ramp ? as_int(buffer.shape.back()) : nullptr;
  return extent && ramp->lanes > *extent && is_const_int(ramp->stride, 1) ? ramp : nullptr;
}

/// The same elements by one index: `flat` has the rows of `buffer` one after another.
std::vector<Expr> flat_index(const Buffer& buffer, const std::vector<Expr>& indices,
                             const Ramp& last) {
  const std::vector<Expr> strides = strides_of(buffer);
  Ramp made = last;
  for (std::size_t d = 0; d + 1 < indices.size(); ++d) {
    made.base = made.base + indices[d] * strides[d];
  }
  return {make(std::move(made))};
}

/// Lets vectors that go on in the next row load from and store to a view of one dimension.
///
///     B[0, ramp(0, 1, 64)]  of shape (16, 4)    =>    B_flat[ramp(0, 1, 64)]  of shape (64,)
class RowJoiner {
 public:
  explicit RowJoiner(Ptr<Buffer> view) : view_(std::move(view)) {
    Buffer flat{.data = view_->data, .dtype = view_->dtype, .shape = {element_count(*view_)}};
    flat.elem_offset = view_->elem_offset;
    flat.name = view_->name + "_flat";
    flat.data_alignment = view_->data_alignment;
    flat_ = make(std::move(flat));
  }

  /// True when there was such a vector; then `body` is rewritten.
  bool join(Stmt& body) {
    Rewriter rewrite;
    rewrite.on<BufferLoad>(
        [&](const BufferLoad& load) -> Expr { return renewed(*rewrite.children(load)); });
    rewrite.on<BufferStore>(
        [&](const BufferStore& store) -> Stmt { return renewed(*rewrite.children(store)); });
    Stmt joined = rewrite(body);
    if (found_) body = make(DeclBuffer{.buffer = flat_, .body = std::move(joined)});
    return found_;
  }

 private:
  template <class Access>
  Ptr<Access> renewed(const Access& access) {
    const Ramp* last = access.buffer.same_as(view_) ? long_index(*view_, access.indices) : nullptr;
    if (!last) return Ptr<Access>(&access);
    found_ = true;
    Access copy = access;
    copy.buffer = flat_;
    copy.indices = flat_index(*view_, access.indices, *last);
    return make(std::move(copy));
  }

  Ptr<Buffer> view_;
  Ptr<Buffer> flat_;
  bool found_ = false;
};

Ptr<BufferRegion> region_at(const MatchedBuffer& matched, const std::vector<Ptr<Range>>& part) {
  BufferRegion region{.buffer = matched.buffer};
  const std::size_t more = matched.start.size() - part.size();
  for (std::size_t d = 0; d < matched.start.size(); ++d) {
    const Expr& start = matched.start[d];
    region.region.push_back(d < more ? range(start, int_imm(start.dtype(), 1))
                                     : range(start + part[d - more]->min, part[d - more]->extent));
  }
  return make(std::move(region));
}

/// What a parameter is as a view of `source`: in its memory, wherever it starts.
Ptr<Buffer> view_of(const Buffer& parameter, const Buffer& source) {
  Buffer view = parameter;
  view.data = pointer_var(view.data->name, view.dtype, std::string(source.scope()));
  if (!view.elem_offset.defined()) view.elem_offset = var(view.name + "_elem_offset");
  return make(std::move(view));
}

/// Says where rows do not lie one after another.
void check_rows(const Buffer& view, const MatchedBuffer& matched,
                std::vector<std::string>& differences) {
  Analyzer analyzer;
  const std::vector<Expr> wanted = strides_of(view), strides = strides_of(*matched.buffer);
  const std::size_t more = strides.size() - wanted.size();
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    if (analyzer.can_prove_equal(strides[d + more], wanted[d])) continue;
    differences.push_back(fmt::format("rows of buffer {} lie {} elements apart, not {}",
                                      matched.buffer->name, to_string(strides[d + more]),
                                      to_string(wanted[d])));
    return;
  }
}

/// A copy of an implementation with what its numbers and its sizes stand for. What nothing stands
/// for is added to the differences.
Ptr<PrimFunc> with_values(const Ptr<PrimFunc>& implementation, IntrinMatch& match) {
  const Ptr<PrimFunc> copy = clone(implementation);
  Substitution values;
  for (std::size_t i = 0; i < copy->params.size(); ++i) {
    if (const Ptr<Buffer>& parameter = copy->buffer_map[i]) {
      for (std::size_t d = 0; d < parameter->shape.size(); ++d) {
        const auto size = Ptr<Var>::from(parameter->shape[d]);
        if (size.defined()) values[size] = cast(size->dtype, match.buffers[i].shape[d]);
      }
    } else if (match.numbers[i].defined()) {
      values[copy->params[i]] = match.numbers[i];
    }
  }
  for (std::size_t i = 0; i < copy->params.size(); ++i) {
    const Ptr<Var>& param = copy->params[i];
    if (copy->buffer_map[i] || values.contains(param) || !uses_variable(copy->body, param)) {
      continue;
    }
    match.differences.push_back(
        fmt::format("nothing tells number {} of the intrinsic", param->name));
  }
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto value = values.find(Ref(&variable));
    return value == values.end() ? Expr(&variable) : value->second;
  });
  return rewrite(copy);
}

}  // namespace

Block with_implementation(const Block& block, const Ptr<PrimFunc>& implementation,
                          IntrinMatch& match) {
  const Ptr<PrimFunc> copy = with_values(implementation, match);
  Block inside = body_block(*copy);
  Block made = block;
  made.body = inside.body;
  made.alloc_buffers = inside.alloc_buffers;
  made.match_buffers = inside.match_buffers;
  for (const auto& [key, value] : inside.annotations) {
    if (!made.annotations.contains(key)) made.annotations = made.annotations.with(key, value);
  }
  std::vector<Ptr<Buffer>> views = copy->buffer_map;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!views[i]) continue;
    const MatchedBuffer& matched = match.buffers[i];
    const Ptr<Buffer> parameter = std::exchange(views[i], view_of(*views[i], *matched.buffer));
    Rewriter rewrite;
    rewrite.replace_buffer(parameter, views[i]);
    rewrite.on<Var>([&](const Var& variable) -> Expr {
      return parameter->data.get() == &variable ? Expr(views[i]->data) : Expr(&variable);
    });
    // A pointer of the implementation leads to the first element of its parameter.
    const std::vector<Expr> start(views[i]->shape.size(), 0);
    const MovedPointer moved{views[i]->data, views[i]->elem_offset,
                             call(op("address_of"), {load(views[i], start)})};
    if (!parameter->elem_offset.defined()) {
      move_pointers(rewrite, [&](const Var& variable) {
        return parameter->data.get() == &variable ? &moved : nullptr;
      });
    }
    made.body = rewrite(made.body);
    for (auto* regions : {&inside.reads, &inside.writes}) {
      for (auto& region : *regions) region = rewrite(region);
    }
    if (RowJoiner(views[i]).join(made.body)) check_rows(*views[i], matched, match.differences);
    const Ptr<BufferRegion> whole = whole_region(views[i]);
    made.match_buffers.push_back(
        make(MatchBufferRegion{.source = region_at(matched, whole->region), .buffer = views[i]}));
  }
  const auto in_program = [&](const std::vector<Ptr<BufferRegion>>& regions) {
    std::vector<Ptr<BufferRegion>> mapped;
    for (const auto& region : regions) {
      for (std::size_t i = 0; i < views.size(); ++i) {
        if (!views[i] || !region->buffer.same_as(views[i])) continue;
        mapped.push_back(region_at(match.buffers[i], region->region));
      }
    }
    return mapped;
  };
  made.writes = in_program(inside.writes);
  made.reads = in_program(inside.reads);
  if (made.init) {
    std::erase_if(made.reads, [&](const auto& read) {
      return std::ranges::any_of(
          made.writes, [&](const auto& write) { return write->buffer.same_as(read->buffer); });
    });
  }
  return made;
}

}  // namespace loopsmith
