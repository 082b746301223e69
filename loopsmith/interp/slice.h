// SPDX-License-Identifier: Apache-2.0
// The part of a program that one element of its results depends on. Private to the floor.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "loopsmith/interp/loop_ranges.h"
#include "loopsmith/ir/function.h"

namespace loopsmith::interp {

/// Between which constants the index of each dimension lies.
using Box = std::vector<ConstIntBound>;

/// What decides an element: the same program with fewer iterations and stores.
struct Slice {
  Ptr<PrimFunc> func;
  /// What it may write of each parameter, in one dimension where that is seen as several shapes;
  /// nothing of those that it does not write.
  std::vector<std::optional<Box>> written;
};

/// For `Slicer::slice`: memory stays where it was allocated.
inline constexpr std::size_t all_loops = std::numeric_limits<std::size_t>::max();

/// Cuts slices out of a function of constant sizes.
///
/// The elements that a result depends on are found backwards, as a box of each piece of memory:
/// from the stores that may reach the box to all that these load, until nothing is added. Memory
/// that is used inside a loop alone counts for each of its iterations apart, and is allocated
/// there, so that what an earlier iteration left would be seen as never written.
///
/// A `while`, and a loop with a `break` or `continue` of its own, is a region: values decide how
/// far it runs. It is needed as it stands, or not at all.
class Slicer {
 public:
  explicit Slicer(const Ptr<PrimFunc>& func);

  /// What keeps the function from being cut; empty when nothing does.
  const std::string& obstacle() const { return obstacle_; }
  /// How long the whole function runs, about, in the time of a store.
  double work() const { return work_; }
  /// How many elements the memory of the function has, its parameters apart.
  double elements() const;
  /// True when the function may write the parameter.
  bool writes(std::size_t parameter) const;
  /// The slice for an element of a parameter. The innermost `kept` loops around the uses of memory
  /// do not count apart: it may keep values from one iteration to the next, and the slice is
  /// larger.
  Slice slice(std::size_t parameter, const std::vector<std::int64_t>& element,
              std::size_t kept) const;

  struct Loop {
    const For* loop;
    ConstIntBound range;  ///< Of its variable, whatever the outer loops do.
    bool can_be_cut;
    bool is_in_region;
  };
  /// Memory, known by its pointer, and all uses of it.
  struct Memory {
    Ptr<Buffer> buffer;
    bool is_whole = false;  ///< Viewed by a region: no box of it is known.
    /// Seen as several shapes: its boxes are of one dimension, elements in row-major order.
    bool is_flat = false;
    bool can_move = false;
    std::optional<std::size_t> parameter = {};
    std::size_t depth = 0;                               ///< Of loops around its allocation.
    std::optional<std::vector<std::size_t>> loops = {};  ///< Around all its uses.
    std::unordered_set<std::size_t> reduced = {};        ///< Loops over which it is reduced.
  };
  /// A scalar that lies in a box where a store reaches one, for an index or the first of its lanes.
  struct Place {
    Expr base;
    ConstIntBound span;  ///< Of the lanes, relative to the base.
  };
  struct Store {
    const BufferStore* node;
    std::size_t memory;
    std::vector<std::size_t> loops;
    std::vector<std::size_t> path;             ///< Of what is evaluated on the way to it.
    std::vector<std::optional<Place>> places;  ///< For each dimension, where it is simple.
    std::optional<std::size_t> region = {};
  };
  /// What is evaluated, whether a store behind it happens or not.
  struct PathValue {
    Expr value;
    std::vector<std::size_t> loops;
  };

  /// Stores and path values from a first to a last, that one excluded.
  struct Region {
    std::vector<std::size_t> loops;  ///< Around it.
    std::size_t first_store, last_store = 0;
    std::size_t first_value, last_value = 0;
  };

  // What was found, for the slicer.
  const std::vector<Loop>& loops() const { return loops_; }
  const std::vector<Memory>& memories() const { return memories_; }
  const std::vector<Store>& all_stores() const { return stores_found_; }
  const std::vector<PathValue>& path_values() const { return path_values_; }
  const std::vector<Region>& regions() const { return regions_; }
  const KnownVariables& known() const { return known_; }
  std::size_t known_memory(const Buffer& buffer) const { return memory_ids_.at(buffer.data.get()); }
  /// What an access to the memory depends on: its indices, or its place in row-major order.
  Box box_of(const Memory& memory, const Buffer& buffer,
             const std::vector<ConstIntBound>& indices) const;
  /// The loops each iteration of which counts apart for a piece of memory.
  std::vector<std::size_t> loops_apart(const Memory& memory, std::size_t kept) const;

 private:
  void look_for_obstacles();
  void look_for_views();
  void visit(const Stmt& stmt);
  void visit_loop(const For& loop);
  void in_region(const std::function<void()>& body);
  void visit_block(const BlockRealize& realize);
  void visit_store(const BufferStore& store);
  void in_path(const std::vector<Expr>& values, const std::function<void()>& body);
  void define(const Ptr<Buffer>& buffer, bool can_move);
  std::size_t memory_of(const Ptr<Buffer>& buffer);
  void use(const Ptr<Buffer>& buffer);
  void use_loads(const Expr& value);

  Ptr<PrimFunc> func_;
  std::string obstacle_;
  std::unordered_set<const Object*> flat_;  ///< Pointers that are seen as several shapes.
  double work_ = 0;
  KnownVariables known_;
  std::vector<Loop> loops_;
  std::vector<Memory> memories_;
  std::unordered_map<const Object*, std::size_t> memory_ids_;
  std::vector<Store> stores_found_;
  std::unordered_map<const Object*, std::size_t> store_ids_;
  std::vector<PathValue> path_values_;
  std::vector<Region> regions_;
  bool is_in_region_ = false;
  // Around the statement that is visited.
  std::vector<std::size_t> open_loops_;
  std::vector<std::size_t> open_path_;
  std::vector<std::size_t> open_reductions_;
  double open_iterations_ = 1;
};

}  // namespace loopsmith::interp
