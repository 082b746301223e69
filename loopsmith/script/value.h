// SPDX-License-Identifier: Apache-2.0
// What expressions of a script amount to while it is read.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

namespace parsing {
struct Word;
struct Frame;
struct MacroDefinition;
struct Expression;
}  // namespace parsing

/// A value that only the resolver understands: a Python object.
struct ForeignValue {
  virtual ~ForeignValue() = default;
};

/// A value while a script is read: a number, text or container as in Python, a node of the IR, or
/// something of the language that becomes IR where it is used.
struct ScriptValue {
  struct None {};
  struct Dots {};  ///< `...`
  /// As in Python, but of 128 bits.
  struct Integer {
    __int128 value;
  };
  struct List {
    std::vector<ScriptValue> items;
    bool is_tuple = false;
  };
  struct Dict {
    std::vector<std::pair<ScriptValue, ScriptValue>> items;
  };
  struct Slice {
    std::vector<ScriptValue> parts;  ///< Start, stop, step; None where left out.
  };
  /// `A[...]`: a load, or a region, as its place asks for.
  struct Access {
    Ptr<Buffer> buffer;
    std::vector<ScriptValue> indices;
    Span span;
  };
  /// `A.vload`: a function that belongs to a value.
  struct Method {
    std::vector<ScriptValue> self;  ///< One.
    std::string name;
  };
  /// What becomes definite when it gets its name: `n = T.int32()`, `A = T.alloc_buffer(...)`.
  struct Definition {
    struct Opened {
      std::vector<ScriptValue> value;       ///< One: what the name means.
      std::function<Stmt(Stmt)> wrap = {};  ///< Around the rest of the scope; may be empty.
    };
    std::function<Opened(const std::string& name)> open;
    std::string default_name;
    bool is_axis = false;
  };
  /// A variable that is assigned again: a buffer without dimensions.
  struct Scalar {
    Ptr<Buffer> buffer;
  };
  /// `T.meta_var(x)`: a name for x that leaves no trace in the program.
  struct Meta {
    std::vector<ScriptValue> value;  ///< One.
  };
  /// `T`, `I`, `T.axis`; `module` for the module that is read.
  struct Namespace {
    std::string_view name;
  };
  /// A lambda, not called yet.
  struct Lambda {
    const parsing::Expression* expression;
  };

  using Data =
      std::variant<None, bool, Integer, double, std::string, Dots, Ref, DataType, Namespace,
                   const parsing::Word*, Scalar, Lambda, std::shared_ptr<const List>,
                   std::shared_ptr<const Dict>, std::shared_ptr<const Slice>,
                   std::shared_ptr<const Access>, std::shared_ptr<const Method>,
                   std::shared_ptr<const Definition>, std::shared_ptr<const Meta>,
                   std::shared_ptr<parsing::Frame>, std::shared_ptr<const parsing::MacroDefinition>,
                   std::shared_ptr<ForeignValue>>;
  Data data;

  ScriptValue() = default;
  ScriptValue(Data value) : data(std::move(value)) {}

  static ScriptValue integer(__int128 value) { return Data(Integer{value}); }
  static ScriptValue real(double value) { return Data(value); }
  static ScriptValue truth(bool value) { return Data(value); }
  static ScriptValue text(std::string value) { return Data(std::move(value)); }
  static ScriptValue node(Ref value) { return Data(std::move(value)); }
  static ScriptValue list(std::vector<ScriptValue> items, bool is_tuple = false) {
    return Data(std::make_shared<const List>(List{std::move(items), is_tuple}));
  }
  static ScriptValue definition(std::function<Definition::Opened(const std::string&)> open,
                                std::string default_name) {
    return Data(std::make_shared<const Definition>(
        Definition{.open = std::move(open), .default_name = std::move(default_name)}));
  }

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  /// The same for what is held behind a pointer: List, Dict, ...
  template <class T>
  const T* as_shared() const {
    const auto* pointer = std::get_if<std::shared_ptr<const T>>(&data);
    return pointer ? pointer->get() : nullptr;
  }
  bool is_none() const { return as<None>() != nullptr; }
  /// The node, if it is a T; else null.
  template <class T>
  Ptr<T> node_as() const {
    const Ref* ref = as<Ref>();
    return ref ? Ptr<T>::from(*ref) : nullptr;
  }
};

}  // namespace loopsmith
