// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// Takes in words of 64 bits, gives out 128. What it computes is part of every recorded hash.
class Mixer {
 public:
  void add(std::uint64_t word) {
    a_ = fold(a_ ^ word, 0xA4093822299F31D1) + 0x243F6A8885A308D3;
    b_ = fold(b_ + std::rotl(word, 32), 0x082EFA98EC4E6C89) ^ 0x13198A2E03707344;
  }
  void add(const Digest& digest) {
    add(digest.high);
    add(digest.low);
  }
  void add(std::string_view text) {
    add(text.size());
    for (std::size_t start = 0; start < text.size(); start += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = start; i < std::min(start + 8, text.size()); ++i) {
        word = (word << 8) | static_cast<unsigned char>(text[i]);
      }
      add(word);
    }
  }
  Digest digest() const {
    return {fold(a_ ^ std::rotl(b_, 17), 0x452821E638D01377),
            fold(b_ ^ std::rotl(a_, 41), 0xBE5466CF34E90C6D)};
  }

 private:
  /// The two halves of the product, joined.
  static std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
    const auto product = static_cast<unsigned __int128>(x) * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  // The fraction of pi, in hexadecimal, here and above.
  std::uint64_t a_ = 0x3F84D5B5B5470917;
  std::uint64_t b_ = 0x9216D5D98979FB1B;
};

std::uint64_t text_word(std::string_view text) {
  Mixer mixer;
  mixer.add(text);
  return mixer.digest().low;
}

/// The names of a node type and of its fields as words, made once.
struct NodeWords {
  std::uint64_t name;
  std::vector<std::uint64_t> fields;
};

const NodeWords& words_of(std::uint16_t kind) {
  static const auto* table = [] {
    auto* all = new std::vector<NodeWords>;
    for (std::uint16_t k = 0; k < node_count; ++k) {
      NodeWords words{text_word(node_info(k).name), {}};
      for (const FieldInfo& field : node_info(k).fields) {
        words.fields.push_back(text_word(field.name));
      }
      all->push_back(std::move(words));
    }
    return all;
  }();
  return (*table)[kind];
}

std::uint64_t real_word(double value) {
  return std::isnan(value) ? 0x7FF8000000000000 : std::bit_cast<std::uint64_t>(value);
}

std::uint64_t type_word(DataType type) {
  return (static_cast<std::uint64_t>(type.code) << 32) | (std::uint64_t{type.bits} << 16) |
         type.lanes;
}

class Hasher {
 public:
  /// How free variables and buffers count: by first occurrence, or as the objects that they are.
  enum class Free { by_order, by_identity };
  explicit Hasher(Free free) : free_(free) {}

  Digest hash(const Ref& ref, Role role = Role::plain) {
    if (!ref.defined()) return {};
    const Object& node = *ref.get();
    if (node.kind == kind_of<Var> || node.kind == kind_of<Buffer>) return hash_named(node, role);
    const bool shared = node.count.load(std::memory_order_relaxed) > 1 &&
                        node.kind != kind_of<IntImm> && node.kind != kind_of<FloatImm>;
    if (shared) {
      if (const auto done = done_.find(&node); done != done_.end()) return done->second;
    }
    const Digest digest = deep_call([&] { return hash_fields(node); });
    if (shared) done_.emplace(&node, digest);
    return digest;
  }

 private:
  /// Variables and buffers: their content, and a number that identifies each.
  Digest hash_named(const Object& node, Role role) {
    if (const auto known = done_.find(&node); known != done_.end()) return known->second;
    const bool free = !defines_inside(role);
    Mixer mixer;
    if (free && free_ == Free::by_identity) {
      mixer.add(reinterpret_cast<std::uintptr_t>(&node));
    } else {
      const Role outer = std::exchange(buffer_role_, role);
      mixer.add(hash_fields(node));
      buffer_role_ = outer;
      mixer.add(++defined_);
    }
    const Digest digest = mixer.digest();
    done_.emplace(&node, digest);
    return digest;
  }

  /// A matched buffer defines all that it is made of, a view not even its pointer.
  bool defines_inside(Role role) const {
    return buffer_role_ == Role::matches || (is_definition(role) && buffer_role_ != Role::views);
  }

  Digest hash_fields(const Object& node) {
    const NodeInfo& info = node_info(node);
    const NodeWords& words = words_of(node.kind);
    Mixer mixer;
    mixer.add(words.name);
    for (std::size_t i = 0; i < info.fields.size(); ++i) {
      if (info.fields[i].role != Role::label) {
        hash_field(mixer, info.fields[i], words.fields[i], node);
      }
    }
    return mixer.digest();
  }

  /// An empty field adds nothing, so that a new field whose default is empty changes no hash.
  void hash_field(Mixer& mixer, const FieldInfo& field, std::uint64_t name, const Object& node) {
    const auto word = [&](std::uint64_t value) {
      if (value == 0) return;
      mixer.add(name);
      mixer.add(value);
    };
    const auto count = [&](std::size_t n) {
      word(n);
      return n != 0;
    };
    switch (field.type) {
      case FieldType::ref:
        if (!field.ref(node).defined()) return;
        mixer.add(name);
        mixer.add(hash(field.ref(node), field.role_of(field.ref(node))));
        return;
      case FieldType::refs:
        count(field.refs(node).size());
        for (const Ref& ref : field.refs(node)) mixer.add(hash(ref, field.role_of(ref)));
        return;
      case FieldType::attrs:
        count(field.at<Attrs>(node).size());
        for (const auto& [key, value] : field.at<Attrs>(node)) {
          mixer.add(key);
          mixer.add(hash(value));
        }
        return;
      case FieldType::integers:
        count(field.at<std::vector<std::int64_t>>(node).size());
        for (const std::int64_t value : field.at<std::vector<std::int64_t>>(node)) {
          mixer.add(static_cast<std::uint64_t>(value));
        }
        return;
      case FieldType::text:
        if (!count(field.at<std::string>(node).size())) return;
        mixer.add(field.at<std::string>(node));
        return;
      case FieldType::integer:
        return word(static_cast<std::uint64_t>(field.at<std::int64_t>(node)));
      case FieldType::real: return word(real_word(field.at<double>(node)));
      case FieldType::boolean: return word(field.at<bool>(node) ? 1 : 0);
      case FieldType::enumeration:
        if (const auto value = field.at<std::int32_t>(node); value != 0) {
          word(text_word(field.names[static_cast<std::size_t>(value)]));
        }
        return;
      case FieldType::data_type:
        if (field.at<DataType>(node) != DataType{}) word(type_word(field.at<DataType>(node)));
        return;
      case FieldType::op: return word(text_word(field.at<Op>(node).name()));
    }
  }

  Free free_;
  Role buffer_role_ = Role::plain;  ///< Of the buffer that is being hashed.
  std::uint64_t defined_ = 0;
  std::unordered_map<const Object*, Digest> done_;
};

}  // namespace

Digest structural_hash(const Ref& node) {
  return Hasher(Hasher::Free::by_order).hash(node);
}

std::size_t StructuralHash::operator()(const Ref& ref) const {
  return static_cast<std::size_t>(Hasher(Hasher::Free::by_identity).hash(ref).low);
}

std::string to_string(const Digest& digest) {
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

}  // namespace loopsmith
