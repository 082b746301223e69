// SPDX-License-Identifier: Apache-2.0
// How random programs are written; private to random_program.h.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/schedule/testing/draw.h"
#include "loopsmith/schedule/testing/random_program.h"

namespace loopsmith::schedule_testing {

/// How long something is: a number, or a symbol.
struct Size {
  int value = 1;
  std::string symbol = {};  ///< Empty: the number.

  std::string text() const { return symbol.empty() ? std::to_string(value) : symbol; }
};

struct DrawnTensor {
  std::string name;
  std::string type;
  std::vector<Size> shape;
  bool is_local = false;
  bool is_written = false;
};

/// An expression of loop variables or axes, with the least and the largest value that it has.
struct Index {
  std::string text;
  int low = 0;
  int high = 0;
  std::string symbol = {};  ///< Not empty: it runs to this size, and `high` is unknown.
  std::string range = {};   ///< Of a loop, as it is written.

  bool fits(const Size& size) const {
    if (!symbol.empty() || !size.symbol.empty()) return symbol == size.symbol && low >= 0;
    return low >= 0 && high < size.value;
  }
};

enum class AxisKind { spatial, reduction };
struct Axis {
  Index value;       ///< What the body of the block reads.
  std::string name;  ///< Of the loop.
  AxisKind kind = AxisKind::spatial;
  bool is_loop = false;  ///< Of a block without axes, whose body reads the loop itself.
};

/// Draws one program, line by line.
class ProgramWriter {
 public:
  ProgramWriter(std::uint64_t seed, IndexTypes types)
      : draw_(seed),
        types_(types),
        wide_(~seed),
        scalars_(seed ^ 0x5ca1a5),
        families_(seed ^ 0xfa311) {}

  std::string write();

 private:
  // ---- Sizes and tensors ----

  /// A size where loops end, or as a dimension: of 64 bits here and there.
  std::string extent(const Size& size);
  void draw_sizes();
  Size draw_size();
  std::vector<Size> draw_shape();
  std::size_t new_tensor(std::vector<Size> shape, bool is_local, bool is_written);
  std::string text(const std::vector<Size>& shape);
  /// Another name for the memory of a tensor, which starts later in it.
  void write_view();

  // ---- Lines ----

  void line(const std::string& text);
  std::string finished();

  // ---- Loops (random_loops.cc) ----

  /// Plain loops over all of the tensor that was written last, and sometimes one more, around one
  /// block: how most people write.
  void stage();
  /// What combines each element of the tensor that was written last with another one.
  void epilogue();
  /// What the intrinsic does for which steps tensorize.
  void scaling();
  /// What reads neighbours in the tensor that was written last.
  void window();
  /// A block that stores what `value` gives for its axes into a new tensor of that shape.
  void pointwise(const std::vector<Size>& shape,
                 const std::function<std::string(const std::vector<Index>&)>& value);
  /// Loops around what `leaf` writes, with more beside it here and there.
  void nest(int levels);
  /// Leaves the iteration, the loop or the program in one iteration, late ones more often.
  void jump();
  void open_loop();
  /// A block around all that follows in the nest, in which its axes stand for the loops.
  void nested_block(int levels);
  static std::string domain(const Index& loop);
  /// That of an axis: of a reduction also what its loop says, which may be nothing.
  std::string domain_of(const Axis& axis);

  // ---- Expressions (random_expressions.cc) ----

  std::string condition(const std::vector<Index>& loops, bool keeps_least);
  /// The condition of a block: on loops, or, at times, on what memory holds.
  std::string predicate(bool has_init);
  /// An index into a dimension; nullopt where none was found that stays in bounds.
  std::optional<Index> index_for(const Size& size, const std::vector<Index>& from);
  /// An index that is read from a parameter.
  std::optional<Index> gathered_index(const Size& size, const std::vector<Index>& from);
  std::optional<Index> constant_index(const Size& size);
  Index changed(const Index& a, const Index& b, const Size& size);
  std::optional<std::string> indices_for(const DrawnTensor& tensor, const std::vector<Index>& from);
  static std::string literal(const std::string& type, int value);
  static std::string converted(const std::string& from, const std::string& to, std::string value);
  /// A load as a value of `type`; a literal where nothing can be loaded.
  std::string load(const std::vector<Index>& from, const std::string& type);
  std::string value(const std::vector<Index>& from, const std::string& type);

  // ---- Variables (random_scalars.cc) ----

  void declare_scalars();
  /// A statement that reads or stores one of them, or none.
  void use_scalars();
  std::string element_by_scalars(const DrawnTensor& tensor);
  /// A loop that keeps the place of an extreme, or of the last element for which something holds.
  void search_by_scalars(const DrawnTensor& tensor);

  // ---- What is no product (random_families.cc) ----

  /// A loop or nest of its own, on tensors of its own.
  void write_family();
  std::string parameter(const std::string& type, std::vector<Size> shape);
  void recurrence(const std::string& type, const std::string& i, int n);
  void sweep(const std::string& type, const std::string& i, const std::string& j, int n, int m);
  void scatter(const std::string& type, const std::string& i, int n, int m);

  // ---- Stores and blocks (random_blocks.cc) ----

  /// A store, mostly in a block.
  void leaf();
  void opaque_store();
  void block();
  /// Axes for the loops around, each spatial or of a reduction.
  std::vector<Axis> draw_axes();
  /// Which tensor is written, by which of the indices: a new one whose shape is theirs, or another.
  struct Target {
    std::size_t tensor;
    std::string access;
  };
  Target target(const std::vector<Index>& by, bool uses_all, bool is_read = false);
  Target new_target(std::vector<Index> by, bool uses_all, bool is_read);
  void was_written(const Target& target);
  void store(const std::vector<Index>& by, const std::vector<Index>& from);
  std::string combined(const std::string& type, const std::string& old, const std::string& by);
  void reduction(const std::vector<Index>& spatial, const std::vector<Index>& from);
  void accumulation(const std::vector<Index>& spatial, const std::vector<Index>& from);

  Draw draw_;
  IndexTypes types_;
  Draw wide_;      ///< Apart, so that a seed gives the same program in all types.
  Draw scalars_;   ///< Apart, so that variables come to programs that are the same without.
  Draw families_;  ///< Apart, for the same reason.
  bool has_scalars_ = false;
  std::vector<Size> sizes_;
  bool has_symbol_ = false;
  std::string type_;
  bool is_tame_ = false;   ///< Stages after each other, mostly over whole tensors.
  bool is_plain_ = false;  ///< And each makes a tensor of its own.
  std::vector<DrawnTensor> tensors_;
  std::size_t view_ = ~std::size_t{0};
  std::optional<std::size_t> last_written_;
  bool last_is_reduction_ = false;
  std::vector<Index> loops_;
  int statements_left_ = 0;
  int names_ = 0;
  int blocks_ = 0;
  int indent_ = 1;
  std::string views_;
  std::string body_;
};

}  // namespace loopsmith::schedule_testing
