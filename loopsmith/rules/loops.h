// SPDX-License-Identifier: Apache-2.0
// How the rules write loops.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// What stands in a loop, for the value of its variable.
using BodyOf = std::function<Stmt(const Expr&)>;

/// for name in extent: body(name). No loop for an extent of 1, nothing for 0.
Stmt loop(const std::string& name, const Expr& extent, ForKind kind, const BodyOf& body);

/// for name in [axis.min, axis.min + axis.extent): body(name)
Stmt loop_over(const Axis& axis, ForKind kind, const BodyOf& body);

/// Serial loops over `axes`, outermost first, that put their values into `values`.
Stmt loops_over(const std::vector<Axis>& axes, Substitution values,
                const std::function<Stmt(const Substitution&)>& body);

/// How many points there are of axes with these extents: in 64 bits, unless that is known to fit
/// the type of all.
Expr number_of_points(std::span<const Expr> extents);
Expr number_of_points(const std::vector<Axis>& axes);

/// One parallel loop over all points of `axes`; each axis' value comes from the loop variable by
/// division.
Stmt fused_parallel_loop(const std::vector<Axis>& axes,
                         const std::function<Stmt(const Substitution&)>& body);

/// Puts the values of `axes` into `values` that point `number` has, counted with the last axis
/// fastest.
Substitution values_of(const std::vector<Axis>& axes, const Expr& number, Substitution values);

/// for o in extent // lanes:                 for l in lanes: (vectorized)  body(o * lanes + l)
/// for l in lanes: (vectorized)  if (extent // lanes) * lanes + l < extent: body(...)
///
/// The second, masked, part is left out when `lanes` divides the extent.
Stmt vectorized_loop(const Axis& axis, std::int64_t lanes, const BodyOf& body);

/// `body` only where `condition` holds; decided here when it is constant.
Stmt guarded(const Expr& condition, const Stmt& body);

/// Consecutive points of something.
struct Section {
  Expr first;
  Expr count;
};
/// The section of this number where `all` points are cut into sections of `size`; the last has
/// fewer unless it is known to be full.
Section section_of(const Expr& all, std::int64_t size, const Expr& number);

/// One of two, decided here when `condition` is constant.
Stmt either(const Expr& condition, const Stmt& yes, const Stmt& no);

/// So many of the first axes that there are enough points for all threads.
std::size_t parallel_prefix(const std::vector<Axis>& axes, const CpuModel& machine);

/// The axes but for the first `count`.
std::vector<Axis> drop(const std::vector<Axis>& axes, std::size_t count);

/// `body` with `buffers` allocated around it.
Stmt with_buffers(const std::string& name, std::vector<Ptr<Buffer>> buffers, Stmt body);

}  // namespace loopsmith
