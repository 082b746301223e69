// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace loopsmith {

/// What a call may do beside giving a value.
enum class Effect : std::uint8_t {
  annotation,  ///< Nothing: a remark to the compiler.
  pure,        ///< Nothing.
  reads,       ///< Reads memory.
  updates,     ///< Reads and writes memory, or anything else.
  control,     ///< Leaves its place.
};

/// The type of a call, unless another one is given.
enum class Result : std::uint8_t {
  first,    ///< That of its first argument.
  second,   ///< That of its second argument.
  element,  ///< That of a lane of its first argument.
  boolean,  ///< bool, with the lanes of its first argument.
  int32,    ///< int32: calls for their effect.
  handle,   ///< A pointer.
  given,    ///< Said at each call; scripts write it as the first argument.
};

/// One intrinsic: a row of the table in op.cc.
struct OpInfo {
  std::string_view name;
  Effect effect = Effect::pure;
  int arity = -1;             ///< How many arguments; -1: any number.
  bool element_wise = false;  ///< On vectors it works lane by lane, so that it vectorises.
  Result result = Result::first;
};

namespace detail {
/// All intrinsics, by what they are about (spec of the script language).
inline constexpr OpInfo op_table[] = {
    // Control.
    {"if_then_else", Effect::pure, 3, false, Result::second},
    {"likely", Effect::annotation, 1, true},
    {"assume", Effect::annotation, 1, false},
    {"undef", Effect::pure, 0, false, Result::given},
    {"ret", Effect::control, 1, false},
    {"tvm_throw_last_error", Effect::control, 0, false, Result::int32},
    // Bits.
    {"bitwise_and", Effect::pure, 2, true},
    {"bitwise_or", Effect::pure, 2, true},
    {"bitwise_xor", Effect::pure, 2, true},
    {"bitwise_not", Effect::pure, 1, true},
    {"shift_left", Effect::pure, 2, true},
    {"shift_right", Effect::pure, 2, true},
    {"popcount", Effect::pure, 1, true},
    {"clz", Effect::pure, 1, true},
    {"reinterpret", Effect::pure, 1, true, Result::given},
    {"large_uint_imm", Effect::pure, 2, false, Result::given},
    {"q_multiply_shift", Effect::pure, 4, true},
    {"q_multiply_shift_per_axis", Effect::pure, 6, true},
    // Mathematics.
    {"exp", Effect::pure, 1, true},
    {"exp2", Effect::pure, 1, true},
    {"exp10", Effect::pure, 1, true},
    {"expm1", Effect::pure, 1, true},
    {"log", Effect::pure, 1, true},
    {"log2", Effect::pure, 1, true},
    {"log10", Effect::pure, 1, true},
    {"log1p", Effect::pure, 1, true},
    {"sqrt", Effect::pure, 1, true},
    {"rsqrt", Effect::pure, 1, true},
    {"pow", Effect::pure, 2, true},
    {"sin", Effect::pure, 1, true},
    {"cos", Effect::pure, 1, true},
    {"tan", Effect::pure, 1, true},
    {"sinh", Effect::pure, 1, true},
    {"cosh", Effect::pure, 1, true},
    {"tanh", Effect::pure, 1, true},
    {"asin", Effect::pure, 1, true},
    {"acos", Effect::pure, 1, true},
    {"atan", Effect::pure, 1, true},
    {"asinh", Effect::pure, 1, true},
    {"acosh", Effect::pure, 1, true},
    {"atanh", Effect::pure, 1, true},
    {"atan2", Effect::pure, 2, true},
    {"erf", Effect::pure, 1, true},
    {"sigmoid", Effect::pure, 1, true},
    {"floor", Effect::pure, 1, true},
    {"ceil", Effect::pure, 1, true},
    {"round", Effect::pure, 1, true},
    {"trunc", Effect::pure, 1, true},
    {"nearbyint", Effect::pure, 1, true},
    {"fabs", Effect::pure, 1, true},
    {"fmod", Effect::pure, 2, true},
    {"hypot", Effect::pure, 2, true},
    {"copysign", Effect::pure, 2, true},
    {"nextafter", Effect::pure, 2, true},
    {"ldexp", Effect::pure, 2, true},
    {"fma", Effect::pure, 3, true},
    {"isnan", Effect::pure, 1, true, Result::boolean},
    {"isinf", Effect::pure, 1, true, Result::boolean},
    {"isfinite", Effect::pure, 1, true, Result::boolean},
    {"isnullptr", Effect::pure, 1, false, Result::boolean},
    // Its argument, computed as written whatever `fast_math` and contraction allow elsewhere.
    {"precise", Effect::pure, 1, true},
    // Memory.
    {"address_of", Effect::pure, 1, false, Result::handle},
    {"tvm_access_ptr", Effect::reads, 5, false, Result::handle},
    {"prefetch", Effect::updates, 4, false, Result::int32},
    {"tvm_static_handle", Effect::updates, 0, false, Result::handle},
    {"tvm_context_id", Effect::reads, 0, false, Result::handle},
    {"tvm_tuple", Effect::pure, -1, false, Result::handle},
    {"tvm_struct_get", Effect::reads, 3, false, Result::given},
    {"tvm_struct_set", Effect::updates, 4, false, Result::int32},
    {"tvm_stack_alloca", Effect::updates, 2, false, Result::handle},
    {"tvm_stack_make_shape", Effect::updates, -1, false, Result::handle},
    {"tvm_stack_make_array", Effect::updates, 6, false, Result::handle},
    {"nd_mem_alloc_with_scope", Effect::updates, -1, false, Result::handle},
    {"texture2d_load", Effect::reads, 4, false, Result::given},
    {"texture2d_store", Effect::updates, 4, false, Result::int32},
    {"lookup_param", Effect::pure, 1, false, Result::handle},
    {"masked_load", Effect::reads, -1, false, Result::given},
    {"type_annotation", Effect::annotation, 0, false, Result::given},
    // Calls.
    {"call_global", Effect::updates, -1, false, Result::given},
    {"call_extern", Effect::updates, -1, false, Result::given},
    {"call_pure_extern", Effect::pure, -1, true, Result::given},
    {"call_llvm_intrin", Effect::updates, -1, true, Result::given},
    {"call_llvm_pure_intrin", Effect::pure, -1, true, Result::given},
    {"call_spirv_pure_glsl450", Effect::pure, -1, true, Result::given},
    {"tvm_call_packed", Effect::updates, -1, false, Result::int32},
    {"tvm_call_cpacked", Effect::updates, -1, false, Result::int32},
    {"tvm_call_trace_packed", Effect::updates, -1, false, Result::int32},
    {"tvm_check_return", Effect::updates, 3, false, Result::int32},
    // Threads.
    {"tvm_storage_sync", Effect::updates, -1, false, Result::int32},
    {"tvm_thread_allreduce", Effect::updates, -1, false, Result::int32},
    {"tvm_warp_shuffle", Effect::updates, 5, false, Result::second},
    {"tvm_warp_shuffle_up", Effect::updates, 5, false, Result::second},
    {"tvm_warp_shuffle_down", Effect::updates, 5, false, Result::second},
    {"tvm_warp_activemask", Effect::updates, 0, false, Result::int32},
    {"tvm_global_barrier_kinit", Effect::updates, 0, false, Result::int32},
    {"tvm_thread_context", Effect::pure, 1, false, Result::handle},
    {"tvm_thread_invariant", Effect::pure, 1, false},
    {"atomic_add", Effect::updates, 2, false, Result::second},
    {"atomic_min", Effect::updates, 2, false, Result::second},
    {"atomic_max", Effect::updates, 2, false, Result::second},
    {"atomic_and", Effect::updates, 2, false, Result::second},
    {"atomic_or", Effect::updates, 2, false, Result::second},
    {"atomic_xor", Effect::updates, 2, false, Result::second},
    // Matrix units.
    {"tvm_load_matrix_sync", Effect::updates, 8, false, Result::int32},
    {"tvm_mma_sync", Effect::updates, 8, false, Result::int32},
    {"tvm_bmma_sync", Effect::updates, 8, false, Result::int32},
    {"tvm_fill_fragment", Effect::updates, 6, false, Result::int32},
    {"tvm_store_matrix_sync", Effect::updates, 8, false, Result::int32},
    {"ptx_mma", Effect::updates, -1, false, Result::given},
    {"ptx_mma_sp", Effect::updates, -1, false, Result::given},
    {"ptx_ldmatrix", Effect::updates, 7, false, Result::given},
    {"ptx_cp_async", Effect::updates, 5, false, Result::given},
    {"ptx_cp_async_bulk", Effect::updates, 6, false, Result::given},
    {"ptx_commit_group", Effect::updates, 0, false, Result::int32},
    {"ptx_wait_group", Effect::updates, 1, false, Result::int32},
    {"ptx_cp_async_barrier", Effect::updates, 1, false, Result::int32},
    {"ptx_init_barrier_thread_count", Effect::updates, 2, false, Result::int32},
    {"ptx_arrive_barrier", Effect::updates, 1, false, Result::int32},
    {"ptx_arrive_barrier_expect_tx", Effect::updates, 2, false, Result::int32},
    {"ptx_wait_barrier", Effect::updates, 1, false, Result::int32},
    {"create_barriers", Effect::updates, 1, false, Result::int32},
    {"mma_store", Effect::updates, 6, false, Result::given},
    {"mma_fill", Effect::updates, 3, false, Result::given},
    {"ptx_ldg32", Effect::pure, 4, false, Result::given},
    {"make_filled_simdgroup_matrix", Effect::updates, -1, false, Result::int32},
    {"simdgroup_load", Effect::updates, -1, false, Result::int32},
    {"simdgroup_store", Effect::updates, -1, false, Result::int32},
    {"simdgroup_multiply_accumulate", Effect::updates, -1, false, Result::int32},
    // Vectors.
    {"vectorlow", Effect::pure, 1, false, Result::given},
    {"vectorhigh", Effect::pure, 1, false, Result::given},
    {"vectorcombine", Effect::pure, 2, false, Result::given},
    {"vector_reduce_add", Effect::pure, 1, false, Result::element},
    {"vector_reduce_mul", Effect::pure, 1, false, Result::element},
    {"vector_reduce_min", Effect::pure, 1, false, Result::element},
    {"vector_reduce_max", Effect::pure, 1, false, Result::element},
    {"dp4a", Effect::pure, -1, true, Result::given},
    {"vscale", Effect::pure, 0, false, Result::int32},
    {"get_active_lane_mask", Effect::pure, 2, false, Result::given},
    // Copies, profiling.
    {"dma_copy", Effect::updates, -1, false, Result::int32},
    {"dma_wait", Effect::updates, 2, false, Result::int32},
    {"dma_start_group", Effect::updates, 1, false, Result::int32},
    {"dma_end_group", Effect::updates, 0, false, Result::int32},
    {"start_profile_intrinsic", Effect::updates, 1, false, Result::int32},
    {"end_profile_intrinsic", Effect::updates, 1, false, Result::int32},
};
inline constexpr std::size_t op_count = sizeof(op_table) / sizeof(op_table[0]);
}  // namespace detail

/// An intrinsic that a Call names: an index into the table.
class Op {
 public:
  constexpr Op() = default;
  constexpr explicit Op(std::uint16_t index) : index_(index) {}

  constexpr const OpInfo& info() const { return detail::op_table[index_]; }
  constexpr std::string_view name() const { return info().name; }
  constexpr std::uint16_t index() const { return index_; }
  constexpr bool is_pure() const { return info().effect <= Effect::pure; }
  constexpr bool operator==(const Op&) const = default;

 private:
  std::uint16_t index_ = 0;
};

/// The intrinsic of that name: `op("exp")`. An unknown name does not compile.
consteval Op op(std::string_view name) {
  for (std::uint16_t i = 0; i < detail::op_count; ++i) {
    if (detail::op_table[i].name == name) return Op(i);
  }
  throw "no such intrinsic";
}

/// The intrinsic of that name at run time, or nullptr.
const OpInfo* find_op(std::string_view name);
inline Op op_of(const OpInfo* info) {
  return Op(static_cast<std::uint16_t>(info - detail::op_table));
}

}  // namespace loopsmith
