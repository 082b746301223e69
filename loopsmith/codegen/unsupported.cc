// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/support/error.h"

#include <algorithm>
#include <bit>

namespace loopsmith {
namespace {

/// What to do about an intrinsic, by how its name begins; the first that fits.
struct Advice {
  std::string_view prefix;
  std::string_view hint;
};
constexpr Advice advice[] = {
    {"tvm_call_", "call a function of the host by T.call_packed, one of C by T.call_extern"},
    {"tvm_check_return", "an exported function checks what it calls by itself"},
    {"tvm_struct_", "pass a tensor as a parameter: its fields are read for you"},
    {"tvm_stack_", "allocate memory by T.alloc_buffer, and pass its pointer"},
    {"tvm_static_handle", "pass a pointer as a parameter"},
    {"tvm_throw_last_error", "write an assert"},
    {"tvm_", "threads of this kind are those of a GPU: write loops, T.parallel for those at once"},
    {"ptx_", "this is an instruction of a GPU: build for one"},
    {"mma_", "this is an instruction of a GPU: build for one"},
    {"simdgroup_", "this is an instruction of a GPU: build for one"},
    {"make_filled_simdgroup", "this is an instruction of a GPU: build for one"},
    {"texture2d_", "this is an instruction of a GPU: build for one"},
    {"create_barriers", "this is an instruction of a GPU: build for one"},
    {"dma_", "write the copy as a loop"},
    {"call_llvm_", "build for llvm, or call a function of C"},
    {"dp4a", "multiply vectors int8x4 or uint8x4, or numbers of 32 bits, into int32 or uint32"},
    {"q_multiply_shift", "write it out: multiply as int64, add a half, shift right"},
    {"masked_load", "load with a predicate: A.vload([i], predicate=...)"},
};

}  // namespace

void refuse_call(const Call& call, std::string_view target) {
  const OpInfo& info = call.op.info();
  const auto* found = std::ranges::find_if(
      advice, [&](const Advice& each) { return info.name.starts_with(each.prefix); });
  const bool is_known = found != std::end(advice);
  check(is_known || !info.element_wise || info.result != Result::first, "codegen",
        "the intrinsic {} was not lowered", info.name);
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  fail(ErrorKind::lower, "intrinsic_has_code",
       hint(is_known ? found->hint : "run the program by ls.interp.run"), call.span,
       "target {} has no code for {}{}", target, info.name,
       name ? fmt::format(" of '{}'", name->value) : "");
}

void require_atomic(const Call& call) {
  const DataType type = call.args[1].dtype();
  const bool is_word = type.bits >= 8 && type.bits <= 64 && std::has_single_bit(type.bits);
  const bool is_added = call.op == op("atomic_add") && type.is_float() && type.bits >= 32;
  require(is_added || (type.is_integer() && is_word), ErrorKind::type_mismatch, "atomic_type",
          hint("use integers of 8, 16, 32 or 64 bits; float32 and float64 can be added"), call.span,
          "{}: {} cannot be updated atomically", call.op.name(), to_string(type));
}

void require_no_thread(const For& loop) {
  require(loop.kind != ForKind::thread_binding, ErrorKind::lower, "thread_on_cpu",
          hint("build for a GPU, or make the loop parallel"), loop.span,
          "loop {} is bound to {}, which a CPU does not have", loop.loop_var->name,
          loop.thread_binding ? loop.thread_binding->thread_tag : "a thread");
}

void require_few_loops(const For& loop, int depth) {
  constexpr int max_nested_loops = 1000;
  require(depth < max_nested_loops, "too_many_nested_loops",
          hint("fuse loops, or unroll the inner ones"),
          "loop {} is inside {} others, more than code is generated for", loop.loop_var->name,
          max_nested_loops);
}

}  // namespace loopsmith
