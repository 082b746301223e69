// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/source.h"

namespace loopsmith {
namespace {

using namespace std::string_literals;

/// Reads what was written, and writes it again: the text must be the same.
Ref round_trip(const Ref& node) {
  const std::string text = to_json(node);
  const Ref read = from_json(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_TRUE(structural_equal(node, read, true));
  EXPECT_EQ(structural_hash(node), structural_hash(read));
  return read;
}

/// A document of nodes, its root the last one.
std::string document(const std::string& nodes, int root, const std::string& more = {}) {
  return fmt::format(
      R"({{"format": "loopsmith", "version": 1, "sources": [{{"name": "a.py"}}], "nodes": [{}], )"
      R"("root": {}{}}})",
      nodes, root, more);
}

std::string message_of(const std::string& text) {
  try {
    from_json(text);
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::format);
    return e.problem();
  }
  return "no error";
}

const std::string var_x = R"({"type": "Var", "name": "x", "dtype": "int32"})";

// ---- Round trips ----

TEST(json, the_text_is_a_table_of_nodes) {
  const auto x = var("x");
  EXPECT_EQ(to_json(x + x), R"({"format": "loopsmith", "version": 1,
"sources": [],
"nodes": [
{"type": "Var", "name": "x", "dtype": "int32"},
{"type": "Add", "a": 0, "b": 0}],
"root": 1}
)");
}

TEST(json, constants_are_exact) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, -0.0, 0.1, Limits::max(), Limits::denorm_min(),
                             Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    const Ref read = round_trip(float_imm(f64, value));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read.as<FloatImm>()->value),
              std::bit_cast<std::uint64_t>(value));
  }
  for (const std::int64_t value : {min_int(i64), max_int(i64), std::int64_t{0}}) {
    EXPECT_EQ(round_trip(int_imm(i64, value)).as<IntImm>()->value, value);
  }
  EXPECT_EQ(round_trip(int_imm(u64, -1)).as<IntImm>()->value, -1);
  EXPECT_NE(to_json(int_imm(u64, -1)).find("18446744073709551615"), std::string::npos);
  for (const std::string& text : {""s, "a\"b"s, "\xFF\x01"s, "\xC3\xA4"s}) {
    EXPECT_EQ(round_trip(string_imm(text)).as<StringImm>()->value, text);
  }
}

TEST(json, spans_and_sources_come_along) {
  const std::uint32_t source = source_id("<json test>", "a = 1\nb = x + 1\n");
  const SpanScope scope({.source = source, .line = 2, .column = 5, .length = 5, .step = 3});
  const Expr sum = var("x") + 1;
  EXPECT_EQ(round_trip(sum).span(), sum.span());
  EXPECT_EQ(to_json(sum, {.spans = false}).find("<json test>"), std::string::npos);
  EXPECT_EQ(from_json(to_json(sum, {.spans = false})).span(), Span());
  // In a process that knows another text under that name, the text that was written is quoted.
  std::string other = to_json(sum);
  other.replace(other.find("b = x"), 5, "c = x");
  const Span span = from_json(other).span();
  EXPECT_EQ(source_line(span.source, span.line), "c = x + 1");
  EXPECT_EQ(source_line(source, 2), "b = x + 1");
}

TEST(json, blocks_of_sources_come_along) {
  const std::uint32_t source = source_id("<json block test>", "a = 1\n");
  const SpanScope scope({.source = block_source(source, "C"), .line = 1});
  const Expr sum = var("x") + 1;
  EXPECT_EQ(round_trip(sum).span(), sum.span());
  std::string wrong = to_json(sum);
  wrong.replace(wrong.find("\"whole\": 1"), 10, "\"whole\": 2");
  EXPECT_EQ(message_of(wrong), "from_json: /sources/1: is a block of no source before it");
}

TEST(json, functions_and_modules) {
  const auto n = size_var("n");
  const auto A = decl_buffer({n, 4}, bf16, "A");
  const auto i = var("i");
  const Stmt body = for_loop(i, 0, n, store(A, load(A, {i, 0}), {i, 1}), ForKind::parallel);
  const auto func =
      make(PrimFunc{.params = {var("a", handle_type), n},
                    .buffer_map = {A, nullptr},
                    .attrs = {{"global_symbol", string_imm("f")}, {"tir.noalias", Expr(true)}},
                    .body = body});
  const auto read = Ptr<PrimFunc>::from(round_trip(func));
  EXPECT_EQ(read->name(), "f");
  EXPECT_FALSE(read->buffer_map[1]);
  EXPECT_TRUE(read->buffer_map[0]->shape[0].same_as(read->params[1]));
  round_trip(make(IRModule{.names = {make(GlobalVar{.name_hint = "f"})},
                           .functions = {func},
                           .attrs = {{"list", make(List{.items = {Expr(1), string_imm("x")}})}}}));
}

/// Makes random nodes of every type from their fields.
class NodeMaker {
 public:
  explicit NodeMaker(unsigned seed) : random_(seed) {}

  /// A node of that kind, or null when its rules refuse the fields that were drawn.
  Ref make_one(std::uint16_t kind) {
    const NodeInfo& info = node_info(kind);
    Object* node = info.create();
    const Ref holder(node);
    node->span =
        one_in(3) ? Span{source_id("<random>"), pick<std::uint32_t>({1, 70'000}), 3, 4, 5} : Span();
    for (const FieldInfo& field : info.fields) fill(*node, field);
    try {
      info.canonicalize(*node);
    } catch (const UserError&) {
      return nullptr;
    }
    add(holder);
    return holder;
  }

  void add(const Ref& node) {
    made_[node_info(*node.get()).name].push_back(node);
    all_.push_back(node);
  }

  bool has_made(std::string_view type) const { return made_.contains(type); }
  const std::vector<Ref>& all() const { return all_; }

 private:
  bool one_in(int n) { return random_() % static_cast<unsigned>(n) == 0; }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }

  void fill(Object& node, const FieldInfo& field) {
    switch (field.type) {
      case FieldType::ref:
        if (field.role != Role::optional || one_in(2)) field.ref(node) = reference(field.target);
        return;
      case FieldType::refs:
        for (unsigned n = random_() % 3; n > 0; --n) {
          if (Ref ref = reference(field.target); ref.defined()) {
            field.at<std::vector<Ref>>(node).push_back(ref);
          }
        }
        return;
      case FieldType::attrs:
        for (unsigned n = random_() % 3; n > 0; --n) {
          auto& attrs = field.at<Attrs>(node);
          attrs = attrs.with(pick<std::string>({"a", "b c", "\xFF", "tir.x"}), reference("Ref"));
        }
        return;
      case FieldType::integer:
        field.at<std::int64_t>(node) = pick<std::int64_t>({0, 1, 2, 64, -1, max_int(i64)});
        return;
      case FieldType::integers:
        field.at<std::vector<std::int64_t>>(node) = {pick<std::int64_t>({0, 1, 2})};
        return;
      case FieldType::real: field.at<double>(node) = pick({0.5, -0.0, 1e30}); return;
      case FieldType::boolean: field.at<bool>(node) = one_in(2); return;
      case FieldType::text:
        field.at<std::string>(node) = pick<std::string>({"", "x", "\xE2"});
        return;
      case FieldType::enumeration:
        field.at<std::int32_t>(node) = static_cast<std::int32_t>(random_() % field.names.size());
        return;
      case FieldType::data_type:
        field.at<DataType>(node) = pick({i32, i32, i32, boolean, f32, u64, handle_type, f8e4m3});
        return;
      case FieldType::op:
        field.at<Op>(node) = Op(static_cast<std::uint16_t>(random_() % detail::op_count));
        return;
    }
  }

  Ref reference(std::string_view target) {
    const auto fits = [&](const Ref& ref) {
      return target == "Ref" || (target == "Expr" && Expr::from(ref).defined()) ||
             (target == "Stmt" && Stmt::from(ref).defined());
    };
    if (const auto known = made_.find(target); known != made_.end()) {
      return known->second[random_() % known->second.size()];
    }
    for (int attempt = 0; attempt < 20 && !all_.empty(); ++attempt) {
      const Ref& ref = all_[random_() % all_.size()];
      if (fits(ref)) return ref;
    }
    return nullptr;
  }

  std::mt19937 random_;
  std::map<std::string_view, std::vector<Ref>> made_;
  std::vector<Ref> all_;
};

NodeMaker random_nodes(unsigned seed, int attempts) {
  NodeMaker maker(seed);
  // What is seldom right by chance.
  const auto x = var("x"), y = var("y");
  maker.add(make(CommReducer{.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity_element = {0}}));
  maker.add(make(Shuffle{.vectors = {x, y}, .indices = {1}}));
  maker.add(make(Reduce{
      .combiner = Ptr<CommReducer>::from(maker.all()[0]), .source = {x}, .condition = Expr(true)}));
  const auto A = decl_buffer({8}, i32, "A");
  for (const Ref& node :
       {Ref(for_loop(x, 0, y, store(A, load(A, {x}), {y}))), Ref(A), Ref(whole_region(A))}) {
    post_order_visit(node, [&](const Ref& ref) { maker.add(ref); });
  }
  maker.add(make(MatchBufferRegion{.source = whole_region(A), .buffer = decl_buffer({8}, i32)}));
  for (int i = 0; i < attempts; ++i) {
    maker.make_one(static_cast<std::uint16_t>(i % static_cast<int>(node_count)));
  }
  return maker;
}

TEST(json, nodes_of_every_type_read_back) {
  const NodeMaker maker = random_nodes(1, 30'000);
  for (std::uint16_t kind = 0; kind < node_count; ++kind) {
    EXPECT_TRUE(maker.has_made(node_info(kind).name)) << node_info(kind).name;
  }
  // One document with all of them; then the last ones by themselves, which hold the earlier ones.
  round_trip(make(List{.items = maker.all()}));
  const std::size_t count = maker.all().size();
  for (std::size_t i = count - 30; i < count; ++i) round_trip(maker.all()[i]);
}

// ---- Large graphs ----

TEST(json, a_shared_graph_costs_its_nodes) {
  Expr e = var("x");
  for (int i = 0; i < 60; ++i) e = e * e;
  EXPECT_LT(to_json(e).size(), 5'000U);
  round_trip(e);
}

TEST(json, a_tree_of_100000_levels) {
  Expr e = var("x");
  for (int i = 0; i < 100'000; ++i) e = make(Add{.a = e, .b = Expr(i % 200)});
  round_trip(e);
}

TEST(json, many_attributes_take_no_square) {
  std::string items;
  for (int i = 0; i < 100'000; ++i) items += fmt::format(R"({}"k{}": 0)", i ? ", " : "", i);
  const Ref dict = from_json(
      document(var_x + fmt::format(R"(, {{"type": "Dict", "items": {{{}}}}})", items), 1));
  EXPECT_EQ(dict.as<Dict>()->items.size(), 100'000U);
  EXPECT_TRUE(dict.as<Dict>()->items.contains("k77777"));
}

// ---- Versions ----

/// Written by version 1, and to be read by every later one.
constexpr const char* of_version_1 = R"({"format": "loopsmith", "version": 1,
"sources": [{"name": "add.py", "text": "for i in range(8):\n  A[i] = 1.5\n"}],
"nodes": [
{"type": "Var", "name": "a", "dtype": "handle"},
{"type": "PointerType", "element": "float32", "storage_scope": "global"},
{"type": "Var", "name": "A", "dtype": "handle", "pointer": 1},
{"type": "IntImm", "value": 8, "dtype": "int32"},
{"type": "Buffer", "data": 2, "dtype": "float32", "shape": [3], "name": "A", "data_alignment": 64,
 "offset_factor": 1},
{"type": "StringImm", "value": "add"},
{"type": "Var", "name": "i", "dtype": "int32"},
{"type": "IntImm", "value": 0, "dtype": "int32"},
{"type": "IntImm", "value": 1, "dtype": "int32"},
{"type": "FloatImm", "value": 1.5, "dtype": "float32"},
{"type": "BufferStore", "buffer": 4, "value": 9, "indices": [6], "span": [1, 2, 3, 10]},
{"type": "For", "loop_var": 6, "min": 7, "extent": 3, "step": 8, "kind": "serial", "body": 10,
 "span": [1, 1]},
{"type": "PrimFunc", "params": [0], "buffer_map": [4], "attrs": {"global_symbol": 5}, "body": 11}],
"root": 12}
)";

TEST(json, version_1_is_read) {
  const auto func = Ptr<PrimFunc>::from(from_json(of_version_1));
  EXPECT_EQ(func->name(), "add");
  const auto* loop = func->body.as<For>();
  EXPECT_EQ(source_line(loop->body.span().source, loop->body.span().line), "  A[i] = 1.5");
}

TEST(json, names_of_old_versions_are_understood) {
  constexpr detail::JsonRename renames[] = {
      {2, "Plus", "", "Add"}, {1, "Add", "left", "a"}, {3, "Add", "right", "b"}};
  const auto read = [&](int version, std::string_view type, std::string_view a) {
    std::string text =
        document(fmt::format(R"({}, {{"type": "{}", "{}": 0, "right": 0}})", var_x, type, a), 1);
    text.replace(text.find("\"version\": 1"), 12, fmt::format("\"version\": {}", version));
    return detail::from_json(text, 4, renames);
  };
  EXPECT_TRUE(read(1, "Plus", "left").is<Add>());
  EXPECT_TRUE(read(2, "Plus", "a").is<Add>());
  EXPECT_TRUE(read(3, "Add", "a").is<Add>());
  EXPECT_THROW(read(2, "Plus", "left"), UserError);
  EXPECT_THROW(read(4, "Add", "a"), UserError);
}

// ---- Refusals ----

TEST(json, refuses_what_is_no_document) {
  EXPECT_TRUE(message_of("{").starts_with("from_json: no JSON at offset 2: "));
  EXPECT_EQ(message_of("[]"), "from_json: /format: is missing");
  EXPECT_EQ(message_of(R"({"format": "x"})"), "from_json: /format: is not \"loopsmith\"");
  EXPECT_EQ(message_of(R"({"format": "loopsmith", "version": 0})"),
            "from_json: /version: is no version");
  EXPECT_EQ(message_of(R"({"format": "loopsmith", "version": 7})"),
            "from_json: /version: is 7, this release reads 1 to 1");
  EXPECT_EQ(message_of(R"({"format": "loopsmith", "version": 1, "sources": 1})"),
            "from_json: /sources: is no list");
  EXPECT_EQ(message_of(R"({"format": "loopsmith", "version": 1, "sources": [3]})"),
            "from_json: /sources/0: is no source with a name");
  EXPECT_EQ(message_of(R"({"format": "loopsmith", "version": 1, "sources": [], "nodes": 1})"),
            "from_json: /nodes: is no list");
  EXPECT_EQ(message_of(document("", 0)), "from_json: /root: is not the number of a node before it");
  EXPECT_EQ(message_of(document("[[[]]]", 0)), "from_json: values nest deeper than 4 levels");
  EXPECT_EQ(message_of(document(var_x, 0)), "no error");
}

TEST(json, refuses_what_is_no_node) {
  const auto refused = [](const std::string& node) {
    return message_of(document(var_x + ", " + node, 1));
  };
  EXPECT_EQ(refused("3"), "from_json: /nodes/1: is no object with a type");
  EXPECT_EQ(refused(R"({"type": "Nothing"})"), "from_json: /nodes/1: there is no node 'Nothing'");
  EXPECT_EQ(refused(R"({"type": "Add", "c": 0})"), "from_json: /nodes/1/c: Add has no such field");
  EXPECT_EQ(refused(R"({"type": "Add", "a": 0})"),
            "from_json: /nodes/1: Add: the field 'b' is missing");
  EXPECT_EQ(refused(R"({"type": "Add", "a": 0, "b": 1})"),
            "from_json: /nodes/1/b: is not the number of a node before it");
  EXPECT_EQ(refused(R"({"type": "Add", "a": 0, "b": null})"),
            "from_json: /nodes/1/b: is not the number of a node before it");
  EXPECT_EQ(refused(R"({"type": "Not", "a": 0})"),
            "from_json: /nodes/1: Not: the operand is int32, not bool");
  EXPECT_EQ(refused(R"({"type": "SeqStmt", "seq": [0]})"),
            "from_json: /nodes/1/seq/0: node 0 is a Var, expected Stmt");
  EXPECT_EQ(refused(R"({"type": "Evaluate", "value": 0}, {"type": "SeqStmt", "seq": [1, 1]},
                       {"type": "SeqStmt", "seq": [2, 2]})"),
            "from_json: /nodes/3: holds a SeqStmt itself");
  EXPECT_EQ(refused(R"({"type": "SeqStmt", "seq": 0})"), "from_json: /nodes/1/seq: is no list");
  EXPECT_EQ(refused(R"({"type": "IntImm", "value": 1.0})"),
            "from_json: /nodes/1/value: is no integer of 64 bits");
  EXPECT_EQ(refused(R"({"type": "IntImm", "value": 300, "dtype": "int8"})"),
            "from_json: /nodes/1: constant 300 is out of the range of int8");
  EXPECT_EQ(refused(R"({"type": "Ramp", "lanes": 18446744073709551615})"),
            "from_json: /nodes/1/lanes: is no integer of 64 bits");
  EXPECT_EQ(refused(R"({"type": "FloatImm", "value": "x"})"),
            "from_json: /nodes/1/value: is no number");
  EXPECT_EQ(refused(R"({"type": "Var", "name": 3})"), "from_json: /nodes/1/name: is no text");
  EXPECT_EQ(refused(R"({"type": "Var", "dtype": "int3x"})"),
            "from_json: /nodes/1/dtype: 'int3x' is not a data type");
  EXPECT_EQ(refused(R"({"type": "Var", "is_size": 1})"),
            "from_json: /nodes/1/is_size: is neither true nor false");
  EXPECT_EQ(refused(R"({"type": "For", "kind": "fast"})"),
            "from_json: /nodes/1/kind: is not one of serial, parallel, vectorized, unrolled, "
            "thread_binding");
  EXPECT_EQ(refused(R"({"type": "Call", "op": "f"})"),
            "from_json: /nodes/1/op: there is no intrinsic 'f'");
  EXPECT_EQ(refused(R"({"type": "Dict", "items": []})"), "from_json: /nodes/1/items: is no object");
  EXPECT_EQ(refused(R"({"type": "Dict", "items": {"\u0000": 0, "\u0000q": 0}})"),
            "from_json: /nodes/1/items/\0q: its name is no text"s);
}

TEST(json, refuses_what_is_no_span) {
  const auto refused = [](const std::string& span) {
    return message_of(document(fmt::format(R"({{"type": "StringImm", "span": {}}})", span), 0));
  };
  EXPECT_EQ(refused("3"), "from_json: /nodes/0/span: is no list of at most five numbers");
  EXPECT_EQ(refused("[1, 2, 3, 4, 5, 6]"),
            "from_json: /nodes/0/span: is no list of at most five numbers");
  EXPECT_EQ(refused("[2]"), "from_json: /nodes/0/span: number 0 is not in [0, 1]");
  EXPECT_EQ(refused("[1, -1]"), "from_json: /nodes/0/span: number 1 is not in [0, 4294967295]");
  EXPECT_EQ(refused("[1, 1, 65536]"), "from_json: /nodes/0/span: number 2 is not in [0, 65535]");
}

TEST(json, there_must_be_a_node_to_write) {
  try {
    to_json(nullptr);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.problem(), "to_json: there is no node");
  }
}

TEST(json, corrupted_texts_are_refused_or_another_program) {
  const NodeMaker maker = random_nodes(2, 300);
  const std::string text = to_json(make(List{.items = maker.all()}));
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int read = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::string bad = text;
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const std::size_t at = below(bad.size());
      switch (below(4)) {
        case 0: bad[at] = static_cast<char>(random()); break;
        case 1: bad[at] = "0123456789,:[]{}\"-"[below(18)]; break;
        case 2: bad.erase(at, 1 + below(20)); break;
        default: bad.insert(at, bad.substr(below(bad.size()), below(40)));
      }
    }
    if (round % 10 == 0) bad.resize(below(bad.size()));
    try {
      to_json(from_json(bad));
      ++read;
    } catch (const UserError& e) {
      EXPECT_EQ(e.kind(), ErrorKind::format);
    }
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace loopsmith
