// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_step.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/testing/random_indices.h"
#include "loopsmith/schedule/testing/scaled_intrin.h"
#include "loopsmith/schedule/testing/sibling_loops.h"

namespace loopsmith::schedule_testing {
namespace {

constexpr LeftOut reasons[] = {
    {"unsafe_set_dtype", "rounds to another type"},
    {"unsafe_hide_buffer_access", "says of a block what is not true"},
    {"annotate_buffer_access", "says of a block what need not be true"},
    {"begin_macro", "marks steps, and changes nothing"},
    {"end_macro", "marks steps, and changes nothing"},
};

/// How often arguments are drawn for a primitive before it is called with what is refused: so that
/// what is seldom possible is taken now and then.
constexpr int max_draws = 3;

std::vector<const PrimitiveBase*> drawn_primitives() {
  std::vector<const PrimitiveBase*> found;
  for (const PrimitiveBase* primitive : all_primitives()) {
    const bool is_left_out = std::ranges::any_of(
        reasons, [&](const LeftOut& one) { return one.primitive == primitive->name; });
    if (!is_left_out && !primitive->pure) found.push_back(primitive);
  }
  return found;
}

class StepDrawer {
 public:
  StepDrawer(Draw& draw, const Schedule& schedule) : draw_(draw), schedule_(schedule) {
    for (const std::string& name : schedule.loop_names(0)) {
      for (const LoopRV loop : schedule.loops_named(0, name)) loops_.push_back(loop);
    }
    for (const std::string& name : schedule.block_names(0)) {
      for (const BlockRV block : schedule.blocks_named(0, name)) {
        (name == "root" ? root_ : blocks_).push_back(block);
      }
    }
    std::ranges::sort(loops_);
    std::ranges::sort(blocks_);
    if (blocks_.empty()) blocks_ = root_;
  }

  DrawnStep draw() {
    static const std::vector<const PrimitiveBase*> primitives = drawn_primitives();
    // One for which there is nothing in the program is not drawn often.
    do {
      primitive_ = draw_.of(primitives);
      choose_subject();
    } while (!is_fit_ && draw_.chance(90));
    // Only what was moved into the loop of its reader may roll.
    const auto& steps = schedule_.steps();
    const bool was_moved = !steps.empty() && steps.back().primitive == &compute_at;
    const auto* moved = was_moved ? steps.back().arguments[0].as<BlockRV>() : nullptr;
    if (moved && draw_.chance(25)) {
      primitive_ = &rolling_buffer;
      if (draw_.chance(50)) primitive_ = &store_at;
      block_ = *moved;
      loop_around_one_of({*block_});
    }
    // In a merged loop, a reader may lag behind.
    if (!steps.empty() && steps.back().primitive == &merge_siblings && draw_.chance(25)) {
      primitive_ = &rolling_buffer;
      if (draw_.chance(50)) primitive_ = &store_at;
      choose_subject();
    }
    DrawnStep step = with_arguments();
    for (int i = 1; i < max_draws && is_refused(step); ++i) {
      if (!moved) choose_subject();
      step = with_arguments();
    }
    return step;
  }

 private:
  DrawnStep with_arguments() {
    DrawnStep step{primitive_};
    for (const ParameterInfo& parameter : infos_of(*primitive_)) {
      const bool is_default = parameter.is_promise || parameter.name == "decision" ||
                              (!parameter.required && draw_.chance(55));
      step.arguments.push_back(is_default ? std::nullopt : value_of(parameter));
    }
    return step;
  }
  bool is_refused(const DrawnStep& step) const {
    try {
      return !step.may_apply(schedule_);
    } catch (const std::exception&) {
      return false;  // Reported where the step is taken.
    }
  }

  static const std::vector<ParameterInfo>& infos_of(const PrimitiveBase& primitive) {
    static auto* known = new std::unordered_map<const PrimitiveBase*, std::vector<ParameterInfo>>;
    const auto [entry, is_new] = known->try_emplace(&primitive);
    if (is_new) entry->second = primitive.parameters();
    return entry->second;
  }

  // ---- What the step is about: a block, loops that go with it ----

  bool is(std::string_view name) const { return primitive_->name == name; }
  Argument name_of(LoopRV loop) const { return Argument(schedule_.name(loop)); }
  Argument name_of(BlockRV block) const { return Argument(schedule_.name(block)); }
  Handles<LoopRV> around(BlockRV block) const {
    return loops_around(schedule_, schedule_.node(block));
  }

  template <class Fits>
  void prefer(Fits&& fits) {
    std::vector<BlockRV> found;
    for (const BlockRV block : blocks_) {
      if (fits(block)) found.push_back(block);
    }
    is_fit_ = !found.empty();
    if (is_fit_ && draw_.chance(90)) block_ = draw_.of(found);
  }

  void choose_subject() {
    is_fit_ = true;
    block_.reset();
    loop_.reset();
    defined_ = nullptr;
    if (!blocks_.empty()) block_ = draw_.of(blocks_);
    if (!loops_.empty()) loop_ = draw_.of(loops_);
    if (!block_) {
      is_fit_ = loop_ && !infos_of(*primitive_).empty() && infos_of(*primitive_)[0].name == "loop";
      return;
    }
    const auto consumers = [&](BlockRV block) { return consumers_of(schedule_, block); };
    const auto producers = [&](BlockRV block) { return producers_of(schedule_, block); };
    const auto has_init = [&](BlockRV block) { return schedule_.get(block).init.defined(); };
    const auto is_inner = [&](BlockRV block) { return !is_output_block(schedule_, block); };
    if (is("compute_at")) {
      prefer([&](BlockRV block) { return is_inner(block) && !consumers(block).empty(); });
      loop_around_one_of(consumers(*block_));
    } else if (is("reverse_compute_at")) {
      prefer([&](BlockRV block) { return !producers(block).empty(); });
      loop_around_one_of(producers(*block_));
    } else if (is("compute_inline") || is("rolling_buffer") || is("store_at")) {
      prefer([&](BlockRV block) {
        return is_inner(block) && !has_init(block) && !consumers(block).empty();
      });
      if (is("store_at")) loop_around_one_of({*block_});
    } else if (is("reverse_compute_inline")) {
      prefer([&](BlockRV block) { return !has_init(block) && !producers(block).empty(); });
    } else if (is("fuse_reduction_epilogue")) {
      prefer([&](BlockRV block) {
        const auto* store = schedule_.get(block).body.as<BufferStore>();
        return store && store->value.is<Add>() && !has_init(block) &&
               std::ranges::any_of(producers(block), has_init);
      });
    } else if (is("decompose_reduction")) {
      prefer(has_init);
      loop_around_one_of({*block_});
    } else if (is("rfactor") || is("tree_reduce")) {
      prefer(has_init);
      loop_of_reduction(*block_);
    } else if (is("pad_einsum") || is("pad_axes")) {
      prefer([&](BlockRV block) { return !schedule_.get(block).iter_vars.empty(); });
    } else if (is("decompose_padding")) {
      prefer([&](BlockRV block) {
        const auto* store = schedule_.get(block).body.as<BufferStore>();
        const auto* call = store ? store->value.as<Call>() : nullptr;
        return call && call->op == op("if_then_else");
      });
      loop_around_one_of({*block_});
    } else if (is("read_at") || is("write_at")) {
      prefer([&](BlockRV block) { return !around(block).empty(); });
      loop_around_one_of({*block_});
    } else if (is("set_scope") || is("storage_align") || is("set_axis_separator")) {
      prefer(is_inner);
    } else if (is("transform_layout")) {
      prefer([&](BlockRV block) {
        const Block& node = schedule_.get(block);
        return is_inner(block) ||
               (std::ranges::any_of(producers(block), is_inner) && !node.reads.empty());
      });
    } else if (is("unannotate")) {
      prefer([&](BlockRV block) { return schedule_.get(block).annotations.contains("note"); });
    } else if (is("merge")) {
      is_fit_ = blocks_.size() > 1;
    } else if (is("tensorize")) {
      prefer([&](BlockRV block) {
        const Handles<LoopRV> loops = around(block);
        return is_scaling(schedule_.get(block)) && !loops.empty() &&
               is_const_int(schedule_.get(loops.back()).extent, 4);
      });
      if (is_fit_ && !around(*block_).empty()) loop_ = around(*block_).back();
    } else if (is("cache_inplace")) {
      prefer([&](BlockRV block) {
        return std::ranges::any_of(schedule_.get(block).writes, [&](const auto& region) {
          return reads_buffer(schedule_.get(block), region->buffer);
        });
      });
    }
  }
  void loop_of_reduction(BlockRV block) {
    const BlockRealize& realize = schedule_.realize(block);
    std::vector<LoopRV> found;
    for (const LoopRV loop : around(block)) {
      for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
        const bool reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
        const Ptr<Var>& var = schedule_.get(loop).loop_var;
        if (reduces && uses_variable(realize.iter_values[i], var)) found.push_back(loop);
      }
    }
    is_fit_ = is_fit_ && !found.empty();
    if (!found.empty() && draw_.chance(95)) loop_ = draw_.of(found);
  }
  void loop_around_one_of(const Handles<BlockRV>& blocks) {
    std::vector<LoopRV> found;
    for (const BlockRV block : blocks) {
      for (const LoopRV loop : around(block)) {
        const bool moves = is("compute_at") || is("reverse_compute_at");
        if (moves && is_inside(schedule_, schedule_.node(*block_), schedule_.node(loop))) continue;
        found.push_back(loop);
      }
    }
    is_fit_ = is_fit_ && !found.empty();
    if (!found.empty() && draw_.chance(95)) loop_ = draw_.of(found);
  }

  // ---- Values ----

  std::optional<Argument> value_of(const ParameterInfo& parameter) {
    const std::string_view name = parameter.name, type = parameter.type;
    if (name == "storage_scope") return draw_.of<const char*>({"global", "local", "shared"});
    if (name == "tensor_intrin") return scaled_intrin();
    if (name == "thread_axis") {
      return draw_.of<const char*>({"blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread.x"});
    }
    if (name == "ann_key") return "note";
    if (name == "ann_val") return Argument(Ref(int_imm(i32, draw_.between(0, 2))));
    if (name == "pad_value") return Argument(Ref(pad_value()));
    if (name == "name" || name == "names") return std::nullopt;
    if (name == "axis_separators") return Argument::List{Argument(draw_.between(0, 2))};
    if (name == "new_order") return new_order();
    if (name == "padding") return padding();
    if (name == "least") return Argument::List{Argument(draw_.between(0, 4))};
    if (name == "reducer") return std::nullopt;
    if (name == "candidates") return Argument::List{Argument(2), Argument(4)};
    if (name == "probs") return Argument::List{Argument(0.5), Argument(0.5)};
    if (name == "n") return draw_.between(1, 3);
    if (is("calculate") && name == "operation") return draw_.of<const char*>({"+", "*", "//"});
    if (is("calculate")) return draw_.between(0, 9);
    if (name == "length") return draw_.between(1, 20);
    if (name == "parts") return draw_.between(1, 5);
    if (name == "outer") return loop_ ? name_of(a_loop_around(*loop_)) : Argument("none");
    if (name == "at") {
      if (loop_ && draw_.chance(60)) return name_of(a_loop_around(*loop_));
      return draw_.between(-1, 9);
    }
    if (name == "second") return a_sibling();
    if (is("expand_scalar") && name == "buffer") return a_local_buffer();
    if (is("substitute_scalar") && name == "buffer") {
      return draw_.chance(80) ? Argument("s") : a_local_buffer();
    }
    if ((is("set_layout") || is("privatize")) && name == "buffer") return any_buffer();
    if (name == "pad" && defined_) {
      return Argument(Ref(const_of(defined_->dtype, draw_.between(0, 1))));
    }
    if (name == "factor") return draw_.of<int>({2, 4, 8});
    if (name == "factor_axis") return draw_.between(-1, 2);
    if (name == "reduction_block") return a_producer();
    if (name == "index") return draw_.between(-2, 2);
    if (name == "axis") return draw_.between(-1, 1);
    if (name == "write_buffer_index" && type == "int") return draw_.chance(90) ? 0 : 1;
    if (type.starts_with("typing.Sequence[ExprRV")) return factors();
    if (type.starts_with("typing.Sequence[LoopRV")) return some_loops();
    if (type.starts_with("typing.Sequence[BlockRV")) return some_blocks();
    if (type.find("LoopRV") != std::string_view::npos &&
        type.find("BlockRV") == std::string_view::npos)
      return loop_ ? name_of(*loop_) : Argument("none");
    const int loops = is("tensorize") ? 90 : 60;
    if (type.find("LoopRV") != std::string_view::npos && loop_ && draw_.chance(loops)) {
      return name_of(*loop_);
    }
    if (type.find("BlockRV") != std::string_view::npos) {
      if (is("blockize") && type.find("Sequence") != std::string_view::npos && draw_.chance(50)) {
        return some_blocks();
      }
      return block_ ? name_of(*block_) : Argument("none");
    }
    if (type.find("Buffer") != std::string_view::npos) return buffer(name);
    if (type.find("IndexMap") != std::string_view::npos) return Argument(Ref(index_map()));
    if (type == "bool") return draw_.chance(50);
    if (type == "int" || type == "int | None") return draw_.between(-1, 2);
    if (type == "float") return 0.5;
    return "something";
  }

  Argument a_producer() {
    if (!block_) return "none";
    Handles<BlockRV> found = producers_of(schedule_, *block_);
    if (draw_.chance(90)) {
      std::erase_if(found, [&](BlockRV block) { return !schedule_.get(block).init; });
    }
    return name_of(found.empty() ? draw_.of(blocks_) : draw_.of<BlockRV>(found));
  }

  Argument factors() {
    Argument::List list;
    const std::int64_t* extent = loop_ ? as_int(schedule_.get(*loop_).extent) : nullptr;
    const int largest = extent ? std::clamp<int>(static_cast<int>(*extent), 1, 5) : 4;
    const int count = draw_.weighted<int>({{1, 2}, {2, 6}, {3, 2}});
    int left = largest;
    for (int i = 0; i < count; ++i) {
      const int factor = draw_.between(1, std::max(1, is("loop_partition") ? left - 1 : largest));
      left -= factor;
      list.emplace_back(factor);
    }
    if (draw_.chance(75)) list[draw_.any() % list.size()] = Argument();
    return list;
  }

  Argument some_loops() {
    std::vector<LoopRV> chain;
    if (is("merge") || is("merge_siblings") || is("merge_online")) {
      const auto found =
          is("merge") ? neighbours(schedule_, loops_) : siblings(draw_, schedule_, loops_);
      if (!found.empty()) chain = draw_.of(found);
    } else if (loop_) {
      chain = loops_around(schedule_, schedule_.node(*loop_));
      chain.push_back(*loop_);
      const std::size_t first = draw_.any() % chain.size();
      chain.erase(chain.begin(), chain.begin() + static_cast<int>(first));
      if (is("reorder")) {
        draw_.shuffle(chain);
      } else if (chain.size() > 2 && draw_.chance(50)) {
        chain.resize(2);
      }
    }
    Argument::List list;
    for (const LoopRV loop : chain) list.push_back(name_of(loop));
    return list;
  }

  LoopRV a_loop_around(LoopRV loop) {
    const Handles<LoopRV> around = loops_around(schedule_, schedule_.node(loop));
    return around.empty() ? loop : draw_.of<LoopRV>(around);
  }

  Argument a_sibling() {
    NodeId node = block_ && draw_.chance(50) ? schedule_.node(*block_) : no_node;
    if (node == no_node && loop_) node = schedule_.node(*loop_);
    const std::vector<Argument> names = sibling_names(schedule_, node);
    return names.empty() ? Argument("none") : draw_.of(names);
  }

  /// A parameter, or what a block allocates. Callers rely on the layout of parameters.
  Argument any_buffer() {
    auto buffers = buffers_of(schedule_, 0);
    std::erase_if(buffers, [&](const DefinedBuffer& one) {
      return is("set_layout") && schedule_.as<PrimFunc>(one.owner);
    });
    if (buffers.empty()) return "none";
    defined_ = draw_.of(buffers).buffer;
    return Argument(defined_->name);
  }

  Argument a_local_buffer() {
    std::vector<Argument> names;
    for (const auto* blocks : {&root_, &blocks_}) {
      for (const BlockRV block : *blocks) {
        for (const auto& buffer : schedule_.get(block).alloc_buffers) {
          names.emplace_back(buffer->name);
        }
      }
    }
    return names.empty() ? Argument("none") : draw_.of(names);
  }

  Argument some_blocks() {
    Argument::List list;
    std::vector<BlockRV> from = blocks_;
    if (is("cache_read") && block_) {
      const Handles<BlockRV> near =
          child_blocks(schedule_, scope_of(schedule_, schedule_.node(*block_)));
      from.assign(near.begin(), near.end());
    }
    if (from.empty()) return list;
    const std::size_t first = draw_.any() % from.size();
    for (std::size_t i = first; i < from.size() && list.size() < 2; ++i)
      list.push_back(name_of(from[i]));
    return list;
  }

  Argument buffer(std::string_view parameter) {
    const bool is_write = parameter.starts_with("write") || is("set_scope") ||
                          is("storage_align") || is("set_axis_separator");
    if (!block_) return 0;
    const Block& block = schedule_.get(*block_);
    const auto& regions = is_write || draw_.chance(30) ? block.writes : block.reads;
    if (regions.empty()) return 0;
    const std::size_t index = draw_.any() % regions.size();
    if (draw_.chance(30)) return Argument(regions[index]->buffer->name);
    if (is("transform_layout") || is("reindex")) {
      return Argument::List{Argument(&regions == &block.writes ? "write" : "read"),
                            Argument(static_cast<int>(index))};
    }
    return static_cast<int>(index);
  }

  Argument new_order() {
    const std::size_t axes = block_ ? schedule_.get(*block_).iter_vars.size() : 2;
    std::vector<Argument> order;
    for (std::size_t i = 0; i < axes; ++i) order.emplace_back(static_cast<int>(i));
    draw_.shuffle(order);
    return order;
  }

  Argument padding() {
    const std::size_t axes = block_ ? schedule_.get(*block_).iter_vars.size() : 2;
    Argument::List list;
    for (std::size_t i = 0; i < axes; ++i) list.emplace_back(draw_.between(1, 5));
    return list;
  }

  Expr pad_value() {
    const bool writes = block_ && !schedule_.get(*block_).writes.empty();
    const DataType type = writes ? schedule_.get(*block_).writes[0]->buffer->dtype : f32;
    return const_of(type, draw_.between(0, 1));
  }

  /// A map of as many indices as the block has axes, or a buffer of it dimensions.
  Ptr<IndexMap> index_map() {
    std::vector<std::int64_t> extents;
    const auto add = [&](const Expr& extent) {
      const std::int64_t* number = as_int(extent);
      extents.push_back(number ? *number : 4);
    };
    if (is("set_layout")) {
      if (defined_) std::ranges::for_each(defined_->shape, add);
    } else if (block_) {
      const Block& block = schedule_.get(*block_);
      if (is("transform_layout")) {
        const auto& regions = draw_.chance(60) || block.reads.empty() ? block.writes : block.reads;
        if (!regions.empty()) std::ranges::for_each(draw_.of(regions)->buffer->shape, add);
      } else {
        for (const auto& axis : block.iter_vars) add(axis->dom->extent);
      }
    }
    const bool may_leave_out =
        is("reindex_cache_read") || is("reindex_cache_write") || is("cache_expression");
    return random_map(draw_, extents, may_leave_out);
  }

  Draw& draw_;
  const Schedule& schedule_;
  const PrimitiveBase* primitive_ = nullptr;
  bool is_fit_ = true;  ///< There is something in the program that the primitive may be for.
  std::vector<LoopRV> loops_;
  std::vector<BlockRV> blocks_, root_;
  std::optional<BlockRV> block_;
  std::optional<LoopRV> loop_;
  Ptr<Buffer> defined_;  ///< By the function: what `set_layout` is about.
};

std::vector<const Argument*> given(const std::vector<std::optional<Argument>>& arguments) {
  std::vector<const Argument*> found;
  for (const auto& argument : arguments) found.push_back(argument ? &*argument : nullptr);
  return found;
}

}  // namespace

std::span<const LeftOut> left_out() {
  return reasons;
}

void DrawnStep::apply(Schedule& schedule) const {
  primitive->call(schedule, given(arguments));
}

bool DrawnStep::may_apply(const Schedule& schedule) const {
  try {
    return !primitive->refuse(schedule, given(arguments));
  } catch (const UserError&) {
    return false;
  }
}

DrawnStep draw_step(Draw& draw, const Schedule& schedule) {
  return StepDrawer(draw, schedule).draw();
}

}  // namespace loopsmith::schedule_testing
