// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace loopsmith {

/// A growing list whose copies share it, in chunks, until one of them changes an element: then that
/// copy gets a chunk of its own. Elements keep their place in memory while nothing is shared.
template <class T>
class CowVector {
  static constexpr std::size_t chunk_size = 32;
  using Chunk = std::array<T, chunk_size>;

 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return (*chunks_[i / chunk_size])[i % chunk_size]; }
  const T& back() const { return (*this)[size_ - 1]; }

  /// An element to change. References to it from before may be to what the copies share.
  T& edit(std::size_t i) { return own(i / chunk_size)[i % chunk_size]; }
  T& edit_back() { return edit(size_ - 1); }

  T& push_back(T value) {
    if (size_ == chunks_.size() * chunk_size) chunks_.push_back(std::make_shared<Chunk>());
    T& place = edit(size_++);
    place = std::move(value);
    return place;
  }
  void pop_back() {
    edit_back() = T();
    if (--size_ % chunk_size == 0) chunks_.pop_back();
  }
  void clear() {
    chunks_.clear();
    size_ = 0;
  }

  /// Walks the elements.
  class Iterator {
   public:
    Iterator(const CowVector& of, std::size_t place) : of_(&of), place_(place) {}
    const T& operator*() const { return (*of_)[place_]; }
    Iterator& operator++() { return ++place_, *this; }
    bool operator!=(const Iterator& other) const { return place_ != other.place_; }

   private:
    const CowVector* of_;
    std::size_t place_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  Chunk& own(std::size_t i) {
    std::shared_ptr<Chunk>& chunk = chunks_[i];
    if (chunk.use_count() != 1) {
      chunk = std::make_shared<Chunk>(*chunk);
    } else {
      // What another thread did with it before it let go has happened.
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *chunk;
  }

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace loopsmith
