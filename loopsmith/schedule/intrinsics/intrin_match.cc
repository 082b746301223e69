// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/intrinsics/intrin_match.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

std::string_view noun_of(const Stmt& stmt) {
  if (stmt.is<For>()) return "a loop";
  if (stmt.is<BlockRealize>()) return "a block";
  if (stmt.is<SeqStmt>()) return "several statements";
  if (stmt.is<BufferStore>()) return "a store";
  if (stmt.is<IfThenElse>()) return "a condition";
  return "another statement";
}

std::string_view noun_of(IterType type) {
  if (type == IterType::data_par) return "spatial";
  return type == IterType::comm_reduce ? "a reduction" : "of another type";
}

bool is_unit_loop(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  return loop && is_const_int(loop->extent, 1);
}

bool is_commutative(std::uint16_t kind) {
  constexpr std::array kinds{kind_of<Add>, kind_of<Mul>, kind_of<Min>, kind_of<Max>,
                             kind_of<EQ>,  kind_of<NE>,  kind_of<And>, kind_of<Or>};
  return std::ranges::find(kinds, kind) != kinds.end();
}

std::vector<Expr> operands_of(const Expr& expr) {
  std::vector<Expr> operands;
  for_each_child(*expr.get(), [&](const Ref& child, Role) {
    if (Expr operand = Expr::from(child); operand.defined()) operands.push_back(operand);
  });
  return operands;
}

/// Walks a program and a description at once.
class Matcher {
 public:
  Matcher(const Block& block, const PrimFunc& description) : description_(description) {
    for (const auto& axis : block.iter_vars) analyzer_.bind(axis->var, axis->dom);
    match_.buffers.resize(description.params.size());
    match_.numbers.resize(description.params.size());
  }

  IntrinMatch run(const Block& block) && {
    const auto* root = description_.body.as<BlockRealize>();
    const Stmt& meant = root ? root->block->body : description_.body;
    const bool is_same = has_no_buffers(block) && statement(block.body, meant);
    for (std::size_t i = 0; is_same && i < match_.buffers.size(); ++i) {
      if (description_.buffer_map[i] && !match_.buffers[i].buffer) {
        differ("the intrinsic does not use its parameter {}", description_.buffer_map[i]->name);
      }
    }
    return std::move(match_);
  }

 private:
  template <class... Args>
  bool differ(fmt::format_string<const Args&...> text, const Args&... args) {
    std::string difference = fmt::format(text, args...);
    auto& all = match_.differences;
    if (std::ranges::find(all, difference) == all.end()) all.push_back(std::move(difference));
    return false;
  }

  Expr in_program(const Expr& expr) const { return substitute(expr, program_values_); }
  Expr in_description(const Expr& expr) const { return substitute(expr, meant_values_); }

  /// True when the tile changes the value.
  bool is_of_tile(const Expr& expr) const {
    const auto used = free_variables(expr);
    return std::ranges::any_of(used, [&](const auto& v) { return tile_.contains(v.get()); });
  }

  // ---- Statements ----

  bool statement(const Stmt& program, const Stmt& meant) {
    return deep_call([&] { return compare(program, meant); });
  }

  bool compare(const Stmt& program, const Stmt& meant) {
    if (is_unit_loop(program) && !is_unit_loop(meant)) {
      const auto& loop = *program.as<For>();
      program_values_[loop.loop_var] = loop.min;
      return statement(loop.body, meant);
    }
    if (is_unit_loop(meant) && !is_unit_loop(program)) {
      const auto& loop = *meant.as<For>();
      meant_values_[loop.loop_var] = loop.min;
      return statement(program, loop.body);
    }
    if (program.get()->kind != meant.get()->kind) {
      return differ("{} stands where the intrinsic has {}", noun_of(program), noun_of(meant));
    }
    if (const auto* loop = program.as<For>()) return loops(*loop, *meant.as<For>());
    if (const auto* realize = program.as<BlockRealize>()) {
      return blocks(*realize, *meant.as<BlockRealize>());
    }
    if (const auto* sequence = program.as<SeqStmt>()) {
      const auto& other = meant.as<SeqStmt>()->seq;
      if (sequence->seq.size() != other.size()) {
        return differ("{} statements stand where the intrinsic has {}", sequence->seq.size(),
                      other.size());
      }
      for (std::size_t i = 0; i < other.size(); ++i) {
        if (!statement(sequence->seq[i], other[i])) return false;
      }
      return true;
    }
    if (const auto* store = program.as<BufferStore>()) {
      // In other loops, indices mean other things.
      if (!match_.differences.empty()) return false;
      const auto* other = meant.as<BufferStore>();
      const bool is_same = access(store->buffer, store->indices, other->buffer, other->indices);
      return expression(store->value, other->value) && is_same;
    }
    if (const auto* branch = program.as<IfThenElse>()) {
      const auto* other = meant.as<IfThenElse>();
      if (branch->else_case.defined() != other->else_case.defined()) {
        return differ("only one of the program and the intrinsic has an else");
      }
      return expression(branch->condition, other->condition) &&
             statement(branch->then_case, other->then_case) &&
             (!branch->else_case || statement(branch->else_case, other->else_case));
    }
    return differ("a statement of a kind that no description may have");
  }

  /// Goes on after a difference: all loops are told at once.
  bool loops(const For& loop, const For& meant) {
    const std::string& name = loop.loop_var->name;
    bool is_same = size_is(meant.extent, loop);
    const Expr wanted = in_description(meant.extent);
    if (is_same && !analyzer_.can_prove_equal(in_program(loop.extent), wanted)) {
      is_same = differ("the extent of loop {} is {}, not {}", name, to_string(loop.extent),
                       to_string(wanted));
    }
    if (loop.kind != meant.kind) {
      const auto text = [](ForKind kind) {
        return EnumNames<ForKind>::names[static_cast<std::size_t>(kind)];
      };
      is_same = differ("loop {} is {}, not {}", name, text(loop.kind), text(meant.kind));
    }
    if (!analyzer_.can_prove_equal(loop.min, meant.min) ||
        !structural_equal(loop.step, meant.step)) {
      is_same = differ("loop {} starts at {} with step {}, not at {} with step {}", name,
                       to_string(loop.min), to_string(loop.step), to_string(meant.min),
                       to_string(meant.step));
    }
    meant_values_[meant.loop_var] = loop.loop_var;
    tile_.insert(loop.loop_var.get());
    analyzer_.bind(loop.loop_var, range(loop.min, loop.extent));
    return statement(loop.body, meant.body) && is_same;
  }

  /// Lets a size that nothing stands for yet stand for the extent of the loop.
  bool size_is(const Expr& meant, const For& loop) {
    const auto size = Ptr<Var>::from(meant);
    if (!size.defined() || meant_values_.contains(meant)) return true;
    const Expr extent = cast(size->dtype, in_program(loop.extent));
    if (is_of_tile(extent)) {
      return differ("the extent of loop {} is {}, which is not one value in all of the tile",
                    loop.loop_var->name, to_string(extent));
    }
    meant_values_[size] = extent;
    const auto param = std::ranges::find_if(
        description_.params, [&](const Ptr<Var>& other) { return other.same_as(size); });
    return param == description_.params.end() ||
           number_is(static_cast<std::size_t>(param - description_.params.begin()), extent);
  }

  /// The implementation takes the place of what is inside, and knows no buffers of the block.
  bool has_no_buffers(const Block& block) {
    return (block.alloc_buffers.empty() && block.match_buffers.empty()) ||
           differ("block {} allocates or views buffers", block.name_hint);
  }

  bool blocks(const BlockRealize& realize, const BlockRealize& meant) {
    const Block& block = *realize.block;
    const Block& other = *meant.block;
    if (!structural_equal(realize.predicate, meant.predicate)) {
      return differ("block {} runs only where {}", block.name_hint, to_string(realize.predicate));
    }
    if (block.init.defined() != other.init.defined()) {
      return differ("block {} has {} init, the intrinsic {}", block.name_hint,
                    block.init.defined() ? "an" : "no", block.init.defined() ? "none" : "one");
    }
    if (!has_no_buffers(block) || !axes(realize, meant)) return false;
    return (!block.init || statement(block.init, other.init)) && statement(block.body, other.body);
  }

  /// Pairs axes that are bound to the same loops.
  bool axes(const BlockRealize& realize, const BlockRealize& meant) {
    const Block& block = *realize.block;
    std::vector<bool> is_paired(block.iter_vars.size(), false);
    bool is_same = true;
    for (std::size_t k = 0; k < meant.iter_values.size(); ++k) {
      const IterVar& wanted = *meant.block->iter_vars[k];
      const Expr value = in_description(meant.iter_values[k]);
      std::size_t i = 0;
      while (
          i < is_paired.size() &&
          (is_paired[i] || !analyzer_.can_prove_equal(in_program(realize.iter_values[i]), value))) {
        ++i;
      }
      if (i == is_paired.size()) {
        if (is_const_int(wanted.dom->extent, 1)) {
          meant_values_[wanted.var] = wanted.dom->min;
          continue;
        }
        return differ("no axis of block {} is {}, as axis {} of the intrinsic is", block.name_hint,
                      to_string(value), wanted.var->name);
      }
      is_paired[i] = true;
      const IterVar& axis = *block.iter_vars[i];
      if (axis.iter_type != wanted.iter_type) {
        is_same = differ("axis {} is {}, not {}", axis.var->name, noun_of(axis.iter_type),
                         noun_of(wanted.iter_type));
      }
      meant_values_[wanted.var] = axis.var;
      tile_.insert(axis.var.get());
      analyzer_.bind(axis.var, axis.dom);
    }
    for (std::size_t i = 0; i < is_paired.size(); ++i) {
      if (is_paired[i]) continue;
      const IterVar& axis = *block.iter_vars[i];
      if (!is_const_int(axis.dom->extent, 1)) {
        return differ("axis {} of block {} has no part in the intrinsic", axis.var->name,
                      block.name_hint);
      }
      program_values_[axis.var] = axis.dom->min;
    }
    return is_same;
  }

  // ---- Accesses ----

  bool access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, const Ptr<Buffer>& meant,
              const std::vector<Expr>& meant_indices) {
    const auto& parameters = description_.buffer_map;
    const auto found = std::ranges::find_if(
        parameters, [&](const Ptr<Buffer>& parameter) { return parameter.same_as(meant); });
    if (found == parameters.end()) {
      return differ("buffer {} of the intrinsic is no parameter", meant->name);
    }
    MatchedBuffer& matched = match_.buffers[static_cast<std::size_t>(found - parameters.begin())];
    if (matched.buffer && !matched.buffer.same_as(buffer)) {
      return differ("buffers {} and {} stand where the intrinsic has {} alone",
                    matched.buffer->name, buffer->name, meant->name);
    }
    if (!matched.buffer && !is_like(*buffer, *meant)) return false;
    const std::size_t more = indices.size() - meant_indices.size();
    std::vector<Expr> start;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Expr index = in_program(indices[d]);
      const Expr wanted =
          d < more ? zero_of(index.dtype()) : in_description(meant_indices[d - more]);
      start.push_back(analyzer_.simplify(index - cast(index.dtype(), wanted)));
      if (is_of_tile(start.back())) {
        return differ("index {} of buffer {} is {}, which is no fixed distance from {}", d,
                      buffer->name, to_string(index), to_string(wanted));
      }
    }
    if (!matched.buffer) {
      matched = {buffer, std::move(start), {}};
      for (const Expr& size : meant->shape) matched.shape.push_back(in_description(size));
      return is_alone(matched, meant);
    }
    for (std::size_t d = 0; d < start.size(); ++d) {
      if (!analyzer_.can_prove_equal(start[d], matched.start[d])) {
        return differ("index {} of buffer {} starts at {} in one place, at {} in another", d,
                      buffer->name, to_string(matched.start[d]), to_string(start[d]));
      }
    }
    return true;
  }

  bool is_like(const Buffer& buffer, const Buffer& meant) {
    if (buffer.dtype != meant.dtype) {
      return differ("the type of buffer {} is {}, not {}", buffer.name, to_string(buffer.dtype),
                    to_string(meant.dtype));
    }
    const auto scope = [](const Buffer& of) { return of.scope().empty() ? "global" : of.scope(); };
    // What works on global memory works on a thread's own, too: caches live there.
    const bool is_own =
        memory_scope(buffer) == MemoryScope::local && memory_scope(meant) == MemoryScope::global;
    if (!is_own && scope(buffer) != scope(meant)) {
      return differ("the scope of buffer {} is {}, not {}", buffer.name, scope(buffer),
                    scope(meant));
    }
    if (buffer.shape.size() < meant.shape.size()) {
      return differ("buffer {} has {} dimensions, not {}", buffer.name, buffer.shape.size(),
                    meant.shape.size());
    }
    const std::vector<Expr> strides = strides_of(buffer);
    const std::size_t more = buffer.shape.size() - meant.shape.size();
    for (std::size_t d = 0; d < meant.strides.size(); ++d) {
      if (!meant.strides[d].is<Var>() &&
          !analyzer_.can_prove_equal(strides[d + more], in_description(meant.strides[d]))) {
        return differ("the stride of dimension {} of buffer {} is {}, not {}", d + more,
                      buffer.name, to_string(strides[d + more]),
                      to_string(in_description(meant.strides[d])));
      }
    }
    return true;
  }

  /// One buffer may not stand for two parameters: the implementation takes them for different.
  bool is_alone(const MatchedBuffer& matched, const Ptr<Buffer>& meant) {
    for (std::size_t i = 0; i < match_.buffers.size(); ++i) {
      const MatchedBuffer& other = match_.buffers[i];
      if (&other != &matched && other.buffer && other.buffer.same_as(matched.buffer)) {
        return differ("buffer {} stands for both {} and {}", matched.buffer->name,
                      description_.buffer_map[i]->name, meant->name);
      }
    }
    return true;
  }

  // ---- Expressions ----

  bool expression(const Expr& program, const Expr& meant) {
    return deep_call([&] { return compare(program, meant); });
  }

  bool other_expression(const Expr& program, const Expr& meant) {
    return differ("{} stands where the intrinsic has {}", to_string(program), to_string(meant));
  }

  bool compare(const Expr& program, const Expr& meant) {
    if (const auto* variable = meant.as<Var>()) {
      const auto& params = description_.params;
      const auto number = std::ranges::find_if(
          params, [&](const Ptr<Var>& param) { return param.get() == variable; });
      if (number != params.end()) {
        return number_is(static_cast<std::size_t>(number - params.begin()), program);
      }
      const auto known = meant_values_.find(meant);
      if (known == meant_values_.end()) {
        return differ("variable {} of the intrinsic has no value", variable->name);
      }
      return structural_equal(in_program(program), known->second) ||
             other_expression(program, meant);
    }
    const std::uint16_t kind = program.get()->kind;
    const auto* call = program.as<Call>();
    if (kind != meant.get()->kind || (call && call->op != meant.as<Call>()->op)) {
      return other_expression(program, meant);
    }
    if (const auto* load = program.as<BufferLoad>()) {
      const auto* other = meant.as<BufferLoad>();
      return access(load->buffer, load->indices, other->buffer, other->indices);
    }
    const std::vector<Expr> a = operands_of(program), b = operands_of(meant);
    if (a.empty() || a.size() != b.size()) {
      return structural_equal(program, meant) || other_expression(program, meant);
    }
    bool is_same = false;
    if (is_commutative(kind)) {
      const IntrinMatch before = match_;
      is_same = expression(a[0], b[0]) && expression(a[1], b[1]);
      if (!is_same) {
        IntrinMatch first = std::exchange(match_, before);
        is_same = expression(a[0], b[1]) && expression(a[1], b[0]);
        if (!is_same) match_ = std::move(first);
      }
    } else {
      is_same =
          std::ranges::equal(a, b, [&](const Expr& x, const Expr& y) { return expression(x, y); });
    }
    if (is_same && program.dtype() != meant.dtype()) return other_expression(program, meant);
    return is_same;
  }

  /// Lets a parameter that is a number stand for an expression of the program.
  bool number_is(std::size_t place, const Expr& program) {
    const std::string& name = description_.params[place]->name;
    const Expr value = in_program(program);
    Expr& known = match_.numbers[place];
    if (known.defined()) {
      return structural_equal(value, known) ||
             differ("{} and {} stand where the intrinsic has {} alone", to_string(known),
                    to_string(value), name);
    }
    if (value.dtype() != description_.params[place]->dtype) {
      return differ("{} is {}, and number {} of the intrinsic {}", to_string(value),
                    to_string(value.dtype()), name, to_string(description_.params[place]->dtype));
    }
    bool reads_memory = false;
    pre_order_visit(value, [&](const Ref& node) {
      reads_memory |= node.is<BufferLoad>();
      return !reads_memory;
    });
    if (is_of_tile(value) || reads_memory) {
      return differ(
          "{}, which is not one value in all of the tile, stands where the intrinsic has "
          "the number {}",
          to_string(value), name);
    }
    known = value;
    return true;
  }

  const PrimFunc& description_;
  Analyzer analyzer_;
  IntrinMatch match_;
  Substitution meant_values_;    ///< Loops and axes of the description in terms of the program.
  Substitution program_values_;  ///< Loops and axes of the program that have one value.
  std::unordered_set<const Object*> tile_;  ///< Loops and axes of the tile.
};

}  // namespace

IntrinMatch match_intrin(const Block& block, const PrimFunc& description) {
  return Matcher(block, description).run(block);
}

}  // namespace loopsmith
