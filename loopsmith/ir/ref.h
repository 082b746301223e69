// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "loopsmith/support/lifetime.h"
#include "loopsmith/support/span.h"

namespace loopsmith {

/// The span that new nodes of this thread take; see `SpanScope`.
inline constinit thread_local Span current_span;

/// While it lives, nodes made by this thread take `span`.
class SpanScope {
 public:
  explicit SpanScope(const Span& span) : outer_(std::exchange(current_span, span)) {}
  ~SpanScope() { current_span = outer_; }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

 private:
  Span outer_;
};

/// The base of each node: an atomic count, the kind, the span. No virtual functions.
struct Object {
  static constexpr std::uint32_t immortal = 1U << 31;

  mutable std::atomic<std::uint32_t> count{0};
  std::uint16_t kind;
  Span span = current_span;

  explicit Object(std::uint16_t kind) : kind(kind) {}
  Object(const Object& other) : kind(other.kind), span(other.span) {}
  Object& operator=(const Object& other) {
    span = other.span;
    return *this;
  }
  /// Memory of nodes comes from lists of free cells, one for each thread and size.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;
  bool is_unique() const { return count.load(std::memory_order_acquire) == 1; }
};

/// Deletes a node without owners, and all that only it held. Needs no stack.
void destroy(const Object* object) noexcept;

/// A counted reference to an immutable node, or null.
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(const Object* node) : node_(node) { retain(); }
  Ref(const Ref& other) : node_(other.node_) { retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(const Ref& other) {
    Ref copy(other);
    std::swap(node_, copy.node_);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() {
    if (node_) release();
  }

  const Object* get() const LOOPSMITH_LIFETIME_BOUND { return node_; }
  bool defined() const { return node_ != nullptr; }
  bool same_as(const Ref& other) const { return node_ == other.node_; }
  const Span& span() const { return node_->span; }

  /// The node if it is a T, else nullptr (also for a null reference).
  template <class T>
  const T* as() const LOOPSMITH_LIFETIME_BOUND;
  template <class T>
  bool is() const {
    return as<T>() != nullptr;
  }

 private:
  void retain() const {
    if (node_ && !(node_->count.load(std::memory_order_relaxed) & Object::immortal)) {
      node_->count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void release() {
    if (node_->count.load(std::memory_order_relaxed) & Object::immortal) return;
    if (node_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(node_);
  }

  const Object* node_ = nullptr;
};

/// A reference to a node whose type is known: `Ptr<Buffer>`. May be null.
template <class T>
class Ptr : public Ref {
 public:
  using Target = T;

  Ptr() = default;
  Ptr(std::nullptr_t) {}
  explicit Ptr(const T* node) : Ref(node) {}
  /// Null when `ref` is not a T.
  static Ptr from(const Ref& ref) { return Ptr(ref.as<T>()); }

  const T* get() const LOOPSMITH_LIFETIME_BOUND { return static_cast<const T*>(Ref::get()); }
  const T* operator->() const { return get(); }
  const T& operator*() const { return *get(); }
  explicit operator bool() const { return defined(); }
};

/// Hash and equality by identity, for containers.
struct RefHash {
  std::size_t operator()(const Ref& ref) const { return std::hash<const Object*>()(ref.get()); }
};
struct RefEqual {
  bool operator()(const Ref& a, const Ref& b) const { return a.same_as(b); }
};

}  // namespace loopsmith
