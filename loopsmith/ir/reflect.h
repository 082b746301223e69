// SPDX-License-Identifier: Apache-2.0
// Fields are declared once, next to the struct; everything else walks them.
#pragma once
#include <cstddef>
#include <type_traits>

namespace loopsmith {

/// What a field is to its node.
enum class Role {
  plain,
  optional,  ///< May be null.
  binds,     ///< Defines a Var, the Var of an IterVar, or a Buffer, visible in the fields after it.
             ///< A vector of them defines each. Elements may be null.
  matches,  ///< `binds` a Buffer whose sizes come from outside: the variables of its shape, strides
            ///< and offset that nothing has defined before it are defined along with it.
  views,    ///< `binds` a Buffer of a pointer that something else has defined.
  thread,   ///< An IterVar here defines its variable; anything else is a plain use. May be null.
  label,    ///< A name or a remark for people: structural equality and hash leave it out.
};

/// True when what stands in a field is defined there; see `FieldInfo::role_of`.
constexpr bool is_definition(Role role) {
  return role == Role::binds || role == Role::matches || role == Role::views;
}

namespace detail {

struct Anything {
  template <class T>
  operator T() const;
};

/// How many initialisers the aggregate takes; its base class counts as one.
template <class T, class... Initialiser>
constexpr std::size_t arity() {
  if constexpr (!requires { T{Initialiser{}..., Anything{}}; }) {
    return sizeof...(Initialiser);
  } else {
    return arity<T, Initialiser..., Anything>();
  }
}

/// Counts the visited members that belong to Node itself, not to its base.
template <class Node>
struct CountOwn {
  std::size_t count = 0;
  template <class Class, class Member>
  constexpr void operator()(const char*, Member Class::*, Role = Role::plain) {
    if (std::is_same_v<Class, Node>) ++count;
  }
};

template <class Node>
constexpr std::size_t declared() {
  CountOwn<Node> counter;
  Node::fields(counter);
  return counter.count;
}

}  // namespace detail

/// True when `fields()` lists every member.
template <class Node>
inline constexpr bool lists_every_member = detail::declared<Node>() + 1 == detail::arity<Node>();

}  // namespace loopsmith
