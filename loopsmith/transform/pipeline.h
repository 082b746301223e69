// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "loopsmith/ir/function.h"
#include "loopsmith/transform/pass_record.h"

namespace loopsmith {

/// What may still occur in a function: each form is also all that those before it are.
enum class Form {
  scheduled,  ///< Anything.
  no_init,    ///< No block has an initial statement.
  no_views,   ///< No block has views.
  loops,      ///< No blocks. Memory comes from Allocate, buffers from DeclBuffer.
  flat,       ///< Each access has one index for each physical axis; no strides, no offsets.
  lowered,    ///< Loops are serial or parallel.
};

#ifdef LOOPSMITH_INTERNAL_CHECKS
inline constexpr bool internal_checks = true;
#else
inline constexpr bool internal_checks = false;
#endif

/// What lowering is to know of the target, and its observers.
struct LowerOptions {
  int vector_bits = 512;       ///< Of the vectors that long loops are cut into.
  bool is_for_device = false;  ///< A host launches kernels, and sees no memory of the device.
  int warp_size = 1;           ///< Threads of a GPU that exchange values; 1: none do.
  bool async_copies = false;   ///< Copies into shared memory may be done while threads go on.
  bool copy_engine = false;    ///< It copies boxes of arrays into shared memory; see copy_tiles.h.
  bool tensor_cores = false;   ///< Warps multiply tiles of matrices; see fragments.h.
  bool fast_math = false;      ///< Functions may be approximated; see lower_math.h.
  bool has_ldexp = false;      ///< It is an instruction; see lower_math.h.
  bool cut_loops = true;       ///< Loops are cut where guards come to hold.
  bool profile = false;        ///< Loops are timed; see profile_loops.h.
  bool verify = internal_checks;  ///< Check the form after each pass.
  /// Called after each pass. A dump and a table of times are made of what it gets.
  std::function<void(const PassRecord&)> on_pass = {};
  ExtraPass after_pass = {};
};

/// One row of the table of passes.
struct Pass {
  std::string_view name;
  Ptr<PrimFunc> (*run)(const Ptr<PrimFunc>&, const LowerOptions&);
  Form form;  ///< What the function is in afterwards.
  /// What was simple before it is simple after it.
  bool keeps_simple = false;
};

/// The passes that `lower_function` runs, in order.
std::span<const Pass> lowering_passes();

/// A function after one of these passes alone, in the form that the passes before it leave. Throws
/// a UserError where there is no pass of that name.
Ptr<PrimFunc> run_pass(const Ptr<PrimFunc>& func, std::string_view name,
                       const LowerOptions& options = {});

/// From a scheduled function to one that a code generator accepts.
///
/// The environment variable LOOPSMITH_DUMP, `all` or names of passes separated by commas, prints
/// the function before and after these passes to the standard error, and how long they took.
Ptr<PrimFunc> lower_function(const Ptr<PrimFunc>& func, const LowerOptions& options = {});

/// Throws an InternalError that names `pass` unless `func` is in `form` and well formed.
void verify_form(const Ptr<PrimFunc>& func, Form form, std::string_view pass);

}  // namespace loopsmith
