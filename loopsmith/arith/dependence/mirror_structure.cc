// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/mirror_structure.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/ir/op.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::dependence {
namespace {

class StructureReader {
 public:
  StructureReader(const Versions& versions, std::span<const Mirror> mirrors)
      : versions_(versions), mirrors_(mirrors) {
    for (const Mirror& mirror : mirrors) {
      elements_.push_back(var("element", mirror.buffer->dtype));
    }
  }

  std::string change() const {
    const auto& statements = versions_.program().statements;
    const bool keeps_indices =
        std::ranges::all_of(mirrors_, [](const Mirror& mirror) { return mirror.keeps_indices; });
    int last = -1;
    for (int s = 0; s < versions_.border(); ++s) {
      const Stmt& before = statements[static_cast<std::size_t>(s)].node;
      const std::vector<int>& copies = versions_.copies(s);
      if (copies.size() != 1) return fmt::format("`{}` is not there once", before);
      if (copies[0] < last) return fmt::format("`{}` comes in another place", before);
      last = copies[0];
      if (!keeps_indices && !versions_.is_in_place(s, last)) {
        return fmt::format("`{}` runs under other loops or conditions", before);
      }
      const Stmt& after = statements[static_cast<std::size_t>(last)].node;
      if (!are_alike(before, after)) return fmt::format("`{}` is not what it was", after);
    }
    const int end = static_cast<int>(statements.size());
    for (int s = versions_.border(); s < end; ++s) {
      const Statement& statement = statements[static_cast<std::size_t>(s)];
      if (versions_.original(s) >= 0 || !writes(statement) || copies_element(statement.node)) {
        continue;
      }
      return fmt::format("`{}` is new, and no copy", statement.node);
    }
    return {};
  }

 private:
  bool writes(const Statement& statement) const {
    const auto& accesses = versions_.program().accesses;
    for (int i = 0; i < statement.access_count; ++i) {
      const int access = statement.first_access + i;
      if (accesses[static_cast<std::size_t>(access)].writes) return true;
    }
    return false;
  }

  /// The number of the mirror of which this is one side, or -1.
  std::ptrdiff_t mirror_with(const Ptr<Buffer>& buffer) const {
    const auto found = std::ranges::find_if(mirrors_, [&](const Mirror& mirror) {
      return mirror.buffer.same_as(buffer) || mirror.copy.same_as(buffer);
    });
    return found == mirrors_.end() ? -1 : found - mirrors_.begin();
  }

  /// An expression in which elements of mirrored buffers are those of either side, at any index.
  Expr with_any_side(const Expr& expr) const {
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      const std::ptrdiff_t mirror = mirror_with(load.buffer);
      if (mirror < 0) return rewrite.children(load);
      return elements_[static_cast<std::size_t>(mirror)];
    });
    return rewrite(expr);
  }

  bool are_alike(const Stmt& before, const Stmt& after) const {
    if (before.same_as(after)) return true;
    const auto* a = before.as<BufferStore>();
    const auto* b = after.as<BufferStore>();
    // Of loops and conditions, what they read is compared by their places.
    if (!a || !b) return !before.is<Evaluate>() || structural_equal(before, after);
    const std::ptrdiff_t mirror = mirror_with(a->buffer);
    const bool is_same_buffer = mirror < 0 ? a->buffer.same_as(b->buffer) &&
                                                 std::ranges::equal(a->indices, b->indices, equal)
                                           : mirror == mirror_with(b->buffer);
    return is_same_buffer && structural_equal(with_any_side(a->value), with_any_side(b->value));
  }

  static bool equal(const Expr& a, const Expr& b) { return a.same_as(b) || structural_equal(a, b); }

  /// True for `copy[...] = buffer[...]`, either way, or where that is in bounds and a constant
  /// elsewhere.
  bool copies_element(const Stmt& stmt) const {
    const auto* store = stmt.as<BufferStore>();
    if (!store) return false;
    const Expr* value = &store->value;
    if (const auto* call = value->as<Call>(); call && call->op == op("if_then_else")) {
      if (!call->args[2].is<IntImm>() && !call->args[2].is<FloatImm>()) return false;
      value = &call->args[1];
    }
    const auto* load = value->as<BufferLoad>();
    const std::ptrdiff_t mirror = mirror_with(store->buffer);
    return load && mirror >= 0 && mirror == mirror_with(load->buffer) &&
           !load->buffer.same_as(store->buffer);
  }

  const Versions& versions_;
  const std::span<const Mirror> mirrors_;
  std::vector<Ptr<Var>> elements_;
};

}  // namespace

std::string change_besides_copies(const Versions& versions, std::span<const Mirror> mirrors) {
  return StructureReader(versions, mirrors).change();
}

}  // namespace loopsmith::dependence
