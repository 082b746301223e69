// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// A pair of nodes, as a key.
struct PairHash {
  std::size_t operator()(const std::pair<const Object*, const Object*>& pair) const {
    const std::hash<const Object*> hash;
    return hash(pair.first) * 0x9E3779B97F4A7C15U + hash(pair.second);
  }
};

/// Walks two trees side by side.
///
/// Definitions are unique, so that a pair of variables, once made, holds for good: the trees are
/// equal when their variables and buffers correspond one to one.
class Comparison {
 public:
  /// Where `explain` is given, it learns where the trees part.
  Comparison(bool map_free, Difference* explain) : map_free_(map_free), explain_(explain) {}

  bool equal(const Ref& a, const Ref& b, Role role = Role::plain) {
    if (!a.defined() || !b.defined()) {
      return (!a.defined() && !b.defined()) || differ(a, b, [] { return "one is missing"; });
    }
    if (a.get()->kind != b.get()->kind) return differ(a, b, [&] { return kinds(a, b); });
    if (a.is<Var>() || a.is<Buffer>()) return equal_named(a, b, role);
    // Nodes that are one object are equal if none of their variables stands for another, nor may.
    if (a.same_as(b) && renamed_ == 0 && !map_free_) return true;
    const bool shared = a.get()->count.load(std::memory_order_relaxed) > 1 &&
                        b.get()->count.load(std::memory_order_relaxed) > 1 &&
                        ++compared_ > compared_without_memory;
    if (shared && equal_pairs_.contains({a.get(), b.get()})) return true;
    if (!deep_call([&] { return equal_fields(a, b); })) return false;
    if (shared) equal_pairs_.emplace(a.get(), b.get());
    return true;
  }

  /// The steps from the roots to the difference, innermost first.
  std::vector<std::string> steps;
  std::vector<Ref> around_a, around_b;  ///< The nodes in which those steps are taken.

 private:
  /// A small tree is compared faster than remembered.
  static constexpr int compared_without_memory = 64;

  bool equal_named(const Ref& a, const Ref& b, Role role) {
    const auto known = partner_.find(a.get());
    const auto reverse = partner_.find(b.get());
    if (known != partner_.end() && known->second.b) {
      return known->second.b == b.get() || differ(a, b, [&] { return names(a, b); });
    }
    if (reverse != partner_.end() && reverse->second.a) {
      return differ(a, b, [&] { return names(a, b); });
    }
    const bool defines = defines_inside(role);
    if (!defines && !map_free_ && a.same_as(b)) return true;
    if (!defines && !map_free_) return differ(a, b, [&] { return names(a, b); });

    const Role outer = std::exchange(buffer_role_, role);
    const bool alike = equal_fields(a, b);
    buffer_role_ = outer;
    if (!alike) return false;
    partner_[a.get()].b = b.get();
    partner_[b.get()].a = a.get();
    if (!a.same_as(b)) ++renamed_;
    return true;
  }

  /// A matched buffer defines all that it is made of, a view not even its pointer.
  bool defines_inside(Role role) const {
    return buffer_role_ == Role::matches || (is_definition(role) && buffer_role_ != Role::views);
  }

  bool equal_fields(const Ref& a, const Ref& b) {
    return std::ranges::all_of(node_info(*a.get()).fields, [&](const FieldInfo& field) {
      return field.role == Role::label || equal_field(field, a, b);
    });
  }

  bool equal_field(const FieldInfo& field, const Ref& a, const Ref& b) {
    const Object& x = *a.get();
    const Object& y = *b.get();
    switch (field.type) {
      case FieldType::ref:
        return equal(field.ref(x), field.ref(y), field.role_of(field.ref(x))) ||
               inside(a, b, [&] { return std::string(field.name); });
      case FieldType::refs: return equal_lists(field, a, b);
      case FieldType::attrs: return equal_attrs(field, a, b);
      case FieldType::integer: return equal_values<std::int64_t>(field, a, b);
      case FieldType::integers: return equal_values<std::vector<std::int64_t>>(field, a, b);
      case FieldType::boolean: return equal_values<bool>(field, a, b);
      case FieldType::text: return equal_values<std::string>(field, a, b);
      case FieldType::enumeration: return equal_values<std::int32_t>(field, a, b);
      case FieldType::data_type: return equal_values<DataType>(field, a, b);
      case FieldType::op: return equal_values<Op>(field, a, b);
      case FieldType::real: {
        const double u = field.at<double>(x);
        const double v = field.at<double>(y);
        const bool same =
            std::isnan(u) ? std::isnan(v) : u == v && std::signbit(u) == std::signbit(v);
        return same || differ(a, b, [&] { return values(field, a, b); });
      }
    }
    return false;
  }

  template <class T>
  bool equal_values(const FieldInfo& field, const Ref& a, const Ref& b) {
    return field.at<T>(*a.get()) == field.at<T>(*b.get()) ||
           differ(a, b, [&] { return values(field, a, b); });
  }

  bool equal_lists(const FieldInfo& field, const Ref& a, const Ref& b) {
    const std::span<const Ref> x = field.refs(*a.get());
    const std::span<const Ref> y = field.refs(*b.get());
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(x[i], y[i], field.role_of(x[i]))) {
        return inside(a, b, [&] { return fmt::format("{}[{}]", field.name, i); });
      }
    }
    return x.size() == y.size() || differ(a, b, [&] {
             return fmt::format("{} elements of {} != {}", x.size(), field.name, y.size());
           });
  }

  bool equal_attrs(const FieldInfo& field, const Ref& a, const Ref& b) {
    const auto& x = field.at<Attrs>(*a.get());
    const auto& y = field.at<Attrs>(*b.get());
    for (const auto& [key, value] : x) {
      const Ref other = y.get(key);
      if (!other.defined()) {
        return differ(a, b,
                      [&] { return fmt::format("{}[\"{}\"] is missing in b", field.name, key); });
      }
      if (!equal(value, other)) {
        return inside(a, b, [&] { return fmt::format("{}[\"{}\"]", field.name, key); });
      }
    }
    for (const auto& [key, value] : y) {
      if (!x.contains(key)) {
        return differ(a, b,
                      [&] { return fmt::format("{}[\"{}\"] is missing in a", field.name, key); });
      }
    }
    return true;
  }

  // ---- What is told of the difference ----

  template <class Text>
  bool differ(const Ref& a, const Ref& b, Text&& text) {
    if (explain_) {
      explain_->a = a;
      explain_->b = b;
      explain_->what = text();
    }
    return false;
  }
  template <class Text>
  bool inside(const Ref& a, const Ref& b, Text&& step) {
    if (!explain_) return false;
    steps.push_back(step());
    around_a.push_back(a);
    around_b.push_back(b);
    return false;
  }

  static std::string named(const Ref& node) {
    return fmt::format("{} {}", node_info(*node.get()).name, node);
  }
  static std::string kinds(const Ref& a, const Ref& b) {
    return fmt::format("{} != {}", named(a), named(b));
  }
  static std::string names(const Ref& a, const Ref& b) {
    return fmt::format("{} is not what {} stands for", named(a), named(b));
  }
  static std::string value_text(const FieldInfo& field, const Object& node) {
    switch (field.type) {
      case FieldType::integer: return fmt::format("{}", field.at<std::int64_t>(node));
      case FieldType::integers:
        return fmt::format("[{}]", fmt::join(field.at<std::vector<std::int64_t>>(node), ", "));
      case FieldType::real: return fmt::format("{}", field.at<double>(node));
      case FieldType::boolean: return field.at<bool>(node) ? "True" : "False";
      case FieldType::text: return fmt::format("\"{}\"", field.at<std::string>(node));
      case FieldType::enumeration:
        return std::string(field.names[static_cast<std::size_t>(field.at<std::int32_t>(node))]);
      case FieldType::data_type: return to_string(field.at<DataType>(node));
      case FieldType::op: return std::string(field.at<Op>(node).name());
      default: return {};
    }
  }
  static std::string values(const FieldInfo& field, const Ref& a, const Ref& b) {
    const NodeInfo& info = node_info(*a.get());
    if (a.is<IntImm>() || a.is<FloatImm>() || a.is<StringImm>()) return kinds(a, b);
    return fmt::format("{}.{} {} != {}", info.name, field.name, value_text(field, *a.get()),
                       value_text(field, *b.get()));
  }

  /// What stands for a node of the left side on the right, and the other way round.
  struct Partners {
    const Object* b = nullptr;
    const Object* a = nullptr;
  };

  bool map_free_;
  Difference* explain_;
  Role buffer_role_ = Role::plain;  ///< Of the buffer that is being compared.
  int renamed_ = 0;
  int compared_ = 0;
  std::unordered_map<const Object*, Partners> partner_;
  std::unordered_set<std::pair<const Object*, const Object*>, PairHash> equal_pairs_;
};

std::string joined(const std::vector<std::string>& steps) {
  std::string path;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!path.empty()) path += '.';
    path += *step;
  }
  return path;
}

/// `root` with `node` underlined, or the innermost node around it that is printed.
std::string picture(const Ref& root, const Ref& node, std::vector<Ref> around) {
  constexpr std::size_t enough = 8;
  if (around.size() > enough) around.resize(enough);
  std::ranges::reverse(around);
  around.push_back(node);
  return script(root, {.header = false, .underline_path = std::move(around), .context_lines = 3});
}

}  // namespace

bool structural_equal(const Ref& a, const Ref& b, bool map_free) {
  return a.same_as(b) || Comparison(map_free, nullptr).equal(a, b);
}

std::optional<Difference> first_difference(const Ref& a, const Ref& b, bool map_free) {
  Difference difference;
  Comparison comparison(map_free, &difference);
  if (a.same_as(b) || comparison.equal(a, b)) return std::nullopt;
  difference.path = joined(comparison.steps);
  difference.picture_a = picture(a, difference.a, std::move(comparison.around_a));
  difference.picture_b = picture(b, difference.b, std::move(comparison.around_b));
  return difference;
}

std::string Difference::text() const {
  return fmt::format("{}{}{}\na:\n{}\nb:\n{}", path, path.empty() ? "" : ": ", what, picture_a,
                     picture_b);
}

void require_structural_equal(const Ref& a, const Ref& b, bool map_free) {
  const auto difference = first_difference(a, b, map_free);
  require(!difference, "structure_is_equal", hint(""), "the two differ at {}",
          difference ? difference->text() : "");
}

}  // namespace loopsmith
