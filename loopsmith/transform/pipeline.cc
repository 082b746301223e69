// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "loopsmith/ir/buffer_address.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/vector_lanes.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/all.h"

namespace loopsmith {
namespace {

/// A pass that needs no options.
template <Ptr<PrimFunc> (*pass)(const Ptr<PrimFunc>&)>
Ptr<PrimFunc> run(const Ptr<PrimFunc>& func, const LowerOptions&) {
  return pass(func);
}

/// A pass that takes one of the options.
template <class Option>
Option type_of(Option LowerOptions::*);
template <auto option, Ptr<PrimFunc> (*pass)(const Ptr<PrimFunc>&, decltype(type_of(option)))>
Ptr<PrimFunc> run_with(const Ptr<PrimFunc>& func, const LowerOptions& given) {
  return pass(func, given.*option);
}

/// A pass that an option asks for.
template <bool LowerOptions::* option, Ptr<PrimFunc> (*pass)(const Ptr<PrimFunc>&)>
Ptr<PrimFunc> run_if(const Ptr<PrimFunc>& func, const LowerOptions& given) {
  return given.*option ? pass(func) : func;
}

Ptr<PrimFunc> run_lower_math(const Ptr<PrimFunc>& func, const LowerOptions& given) {
  return lower_math(func, {.is_fast = given.fast_math, .has_ldexp = given.has_ldexp});
}

/// Of a pass that makes nothing which could be simpler.
constexpr bool still_simple = true;

/// The function on a machine with vectors of so many bits.
Ptr<PrimFunc> fix_vscale(const Ptr<PrimFunc>& func, int vector_bits) {
  return with_vscale(func, vscale_of(vector_bits));
}

/// From a scheduled function to one that a code generator accepts, in this order.
constexpr Pass lowering[] = {
    // First: how long loops and vectors are, all others may ask.
    {"fix_vscale", run_with<&LowerOptions::vector_bits, fix_vscale>, Form::scheduled},
    // Before anything asks for threads.
    {"loops_of_launches", run<loops_of_launches>, Form::scheduled},
    // Early: what is one statement now may become several, or none.
    {"mark_stages", run<mark_stages>, Form::scheduled},
    // While blocks say what a reduction combines, and how. Threads before others.
    {"thread_reductions", run_with<&LowerOptions::warp_size, thread_reductions>, Form::scheduled},
    // Of programs that come with loops in threads; what follows rests on what is recorded.
    {"record_regroupings", run<record_regroupings>, Form::scheduled},
    {"lower_init", run<lower_init>, Form::no_init},
    // While blocks say which region a view is of.
    {"lower_match_buffer", run<lower_match_buffer>, Form::no_views},
    {"lower_blocks", run<lower_blocks>, Form::loops},
    // Before any pass asks which iterations share memory.
    {"fragments_in_shared_memory",
     run_with<&LowerOptions::tensor_cores, fragments_in_shared_memory>, Form::loops, still_simple},
    // Before loops over threads are taken apart or away.
    {"lower_continue", run<lower_continue>, Form::loops},
    // Before values are simplified into what is no sum by its form; parts before atomic updates.
    {"parallel_reductions", run<parallel_reductions>, Form::loops},
    {"make_updates_atomic", run<make_updates_atomic>, Form::loops},
    {"lower_prefetch", run<lower_prefetch>, Form::loops},
    {"simplify", run<simplify>, Form::loops},
    {"plan_allocations", run<plan_allocations>, Form::loops, still_simple},
    // What has found no place inside of a loop that runs concurrently may be shared by its
    // iterations.
    {"privatize_buffers", run<privatize_buffers>, Form::loops, still_simple},
    // Memory inside a loop is that of a thread, or of an iteration; threads before iterations.
    {"inject_virtual_threads", run<inject_virtual_threads>, Form::loops},
    {"software_pipeline", run<software_pipeline>, Form::loops},
    // Where memory lies decides how much of it is used at a time.
    {"compact_buffers", run<compact_buffers>, Form::loops},
    // Before kernels are made of one launch each: what stands between them is one, too.
    {"launch_statements", run_with<&LowerOptions::is_for_device, launch_statements>, Form::loops},
    // While indices have dimensions, and when it is known which memory is the same.
    {"spread_over_warps", run<spread_over_warps>, Form::loops},
    {"unify_threads", run<unify_threads>, Form::loops},
    {"compact_thread_memory", run<compact_thread_memory>, Form::loops},
    {"shuffles_in_memory", run_with<&LowerOptions::warp_size, shuffles_in_memory>, Form::loops},
    {"insert_barriers", run_with<&LowerOptions::warp_size, insert_barriers>, Form::loops},
    // After it is known where threads wait for what others have copied.
    {"copy_tiles", run_if<&LowerOptions::copy_engine, copy_tiles>, Form::loops},
    {"lower_async_copies", run_with<&LowerOptions::async_copies, lower_async_copies>, Form::loops},
    // After barriers were placed by what the loops of instructions access.
    {"fragments_in_registers", run_if<&LowerOptions::tensor_cores, fragments_in_registers>,
     Form::loops},
    // When all accesses are known by rows and columns.
    {"swizzle_operands", run_if<&LowerOptions::tensor_cores, swizzle_operands>, Form::loops},
    // While indices have dimensions, by which elements of one buffer are told apart.
    {"tiles_in_registers", run<tiles_in_registers>, Form::loops},
    // Before indices lose their dimensions: conditions and indices are related most simply here.
    {"simplify", run<simplify>, Form::loops},
    {"flatten_buffers", run<flatten_buffers>, Form::flat, still_simple},
    // While kernels have no memory but what they declare: what a launch gives them is the device's.
    {"hoist_thread_memory", run<hoist_thread_memory>, Form::flat, still_simple},
    // When it is known how large memory is, and all barriers are there that accesses ask for.
    {"plan_shared_pool", run<plan_shared_pool>, Form::flat, still_simple},
    {"narrow_indices", run<narrow_indices>, Form::flat},
    // Before what is the same for a whole vector is named: vectors start elsewhere then.
    {"stream_stores", run_with<&LowerOptions::vector_bits, stream_stores>, Form::flat},
    {"simplify", run<simplify>, Form::flat},
    // While indices are scalars: vectors of conditions become masks, whose loads cannot fault.
    {"rewrite_unsafe_select", run<rewrite_unsafe_select>, Form::flat},
    // Before loops are cut: a condition that leaves a loop needs no part of its own there.
    {"hoist_invariants", run<hoist_invariants>, Form::flat},
    // While both loops of a tile are there: of two nested ones, the inner one becomes the vector.
    // Before loops are cut: whether a tile is whole, it asks by itself.
    {"transpose_in_registers", run_with<&LowerOptions::vector_bits, transpose_in_registers>,
     Form::flat},
    // Before vectors: what is left of conditions in the main part would become masks.
    {"loop_partition", run_if<&LowerOptions::cut_loops, loop_partition>, Form::flat},
    // Before unrolling, so that a loop inside a vector is unrolled as one of vectors.
    {"vectorize_loops", run_with<&LowerOptions::vector_bits, vectorize_loops>, Form::flat},
    {"interleave_stores", run_with<&LowerOptions::is_for_device, interleave_stores>, Form::flat},
    {"hoist_horizontal_reductions", run<hoist_horizontal_reductions>, Form::flat},
    // While loops that are to be unrolled are loops.
    {"keep_accumulators", run<keep_accumulators>, Form::flat},
    // Before bodies are copied, so that it is done once for all copies.
    {"simplify", run<simplify>, Form::flat},
    // After all that looks at expressions, before copies of them are made.
    {"lower_math", run_lower_math, Form::flat},
    {"unroll_loops", run<unroll_loops>, Form::lowered},
    {"remove_no_op", run<remove_no_op>, Form::lowered},
    // Elements beside each other, in loops that were around unrolled ones.
    {"keep_accumulators", run<keep_accumulators>, Form::lowered},
    // When it is known which loops are innermost, and which run in vectors.
    {"carry_in_registers", run<carry_in_registers>, Form::lowered},
    // After all that makes or removes memory.
    {"storage_rewrite", run<storage_rewrite>, Form::lowered},
    // After all others: names hide the form of indices.
    {"common_subexpressions", run<common_subexpressions>, Form::lowered},
    // Last: what is timed is what runs.
    {"profile_loops", run_if<&LowerOptions::profile, profile_loops>, Form::lowered},
};

/// The names of passes, or `all`, that an environment variable lists, separated by commas.
std::vector<std::string_view> dumped_passes(const char* variable) {
  const char* value = std::getenv(variable);
  std::string_view rest = value ? value : "";
  std::vector<std::string_view> names;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, comma);
    require(name == "all" || std::ranges::count(lowering, name, &Pass::name) > 0, ErrorKind::lower,
            "pass_exists", hint("see lowering_passes()"), {}, "{}: there is no pass '{}'", variable,
            name);
    names.push_back(name);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

bool is_dumped(const std::vector<std::string_view>& names, std::string_view pass) {
  return std::ranges::any_of(names, [&](auto name) { return name == pass || name == "all"; });
}

Form form_of(const Object& node) {
  switch (node.kind) {
    case kind_of<Block>: {
      const auto& block = static_cast<const Block&>(node);
      if (block.init) return Form::scheduled;
      return block.match_buffers.empty() ? Form::no_views : Form::no_init;
    }
    case kind_of<BlockRealize>: return Form::no_views;
    case kind_of<For>: {
      const ForKind kind = static_cast<const For&>(node).kind;
      // Threads are for the code generator to have, or to refuse.
      const bool is_done =
          kind == ForKind::serial || kind == ForKind::parallel || kind == ForKind::thread_binding;
      return is_done ? Form::lowered : Form::flat;
    }
    case kind_of<BufferLoad>:
    case kind_of<BufferStore>: {
      const Buffer& buffer = node.kind == kind_of<BufferLoad>
                                 ? *static_cast<const BufferLoad&>(node).buffer
                                 : *static_cast<const BufferStore&>(node).buffer;
      const bool is_flat = is_of_physical_axes(buffer) &&
                           (buffer.strides.empty() || is_const_int(buffer.strides.back(), 1)) &&
                           (!buffer.elem_offset.defined() || is_const_int(buffer.elem_offset, 0));
      return is_flat ? Form::lowered : Form::loops;
    }
    default: return Form::lowered;
  }
}

}  // namespace

std::span<const Pass> lowering_passes() {
  return lowering;
}

void verify_form(const Ptr<PrimFunc>& func, Form form, std::string_view pass) {
  pre_order_visit(func->body, [&](const Ref& ref) {
    check(form_of(*ref.get()) >= form, pass, "a {} is left that should be gone",
          node_info(*ref.get()).name);
    return true;
  });
  try {
    verify_well_formed(func);
  } catch (const UserError& error) {
    check(false, pass, "what it made is not well formed: {}", error.what());
  }
}

Ptr<PrimFunc> run_pass(const Ptr<PrimFunc>& func, std::string_view name,
                       const LowerOptions& options) {
  const auto* pass = std::ranges::find(lowering, name, &Pass::name);
  require(pass != std::end(lowering), ErrorKind::lower, "pass_exists",
          hint("see lowering_passes()"), {}, "run_pass: there is no pass '{}'", name);
  return pass->run(func, options);
}

Ptr<PrimFunc> lower_function(const Ptr<PrimFunc>& func, const LowerOptions& options) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::string_view> dumps = dumped_passes("LOOPSMITH_DUMP");
  if (options.verify) verify_form(func, Form::scheduled, "lower");
  Ptr<PrimFunc> current = func, simplified;
  for (const Pass& pass : lowering) {
    const auto start = Clock::now();
    Ptr<PrimFunc> next;
    try {
      // What has not changed since it was simplified is simple still.
      const bool simplifies = pass.run == run<simplify>;
      next = simplifies && current.same_as(simplified) ? current : pass.run(current, options);
      if (simplifies || (pass.keeps_simple && current.same_as(simplified))) simplified = next;
    } catch (const UserError& error) {
      throw error.in_phase("lower");
    }
    const std::chrono::duration<double> time = Clock::now() - start;
    if (options.verify) verify_form(next, pass.form, pass.name);
    if (options.after_pass) {
      next = options.after_pass(pass.name, next);
      verify_well_formed(next);
      verify_form(next, pass.form, pass.name);
    }
    if (options.on_pass) {
      options.on_pass(
          {.name = pass.name, .before = current, .after = next, .seconds = time.count()});
    }
    if (is_dumped(dumps, pass.name)) {
      fmt::print(stderr, "# before {}\n{}\n", pass.name, script(current));
      fmt::print(stderr, "# after {}, {:.0f} us\n{}\n", pass.name, time.count() * 1e6,
                 script(next));
    }
    current = std::move(next);
  }
  return current;
}

}  // namespace loopsmith
