// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace loopsmith {
namespace detail {

/// The lowest address that a recursion on the current stack may still reach.
extern thread_local const char* stack_limit;

/// Finds out where the stack of this thread ends; called at the first deep_call in each thread.
void find_stack_limit();

/// Runs `fn(data)` on a fresh segment of stack, on this thread. `fn` must not throw.
void run_on_new_segment(void (*fn)(void*), void* data);

inline bool stack_is_low() {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (!stack_limit) [[unlikely]]
    find_stack_limit();
  return here < stack_limit;
}

}  // namespace detail

/// `fn()`, on a new segment of stack when little of this one is left: wrap each step of a recursion
/// over a tree in it, and no tree is too deep. What `fn` returns or throws arrives here.
template <class Fn>
std::invoke_result_t<Fn&> deep_call(Fn&& fn) {
  using Result = std::invoke_result_t<Fn&>;
  if (!detail::stack_is_low()) [[likely]]
    return fn();

  struct Frame {
    Fn& fn;
    std::conditional_t<std::is_void_v<Result>, char, std::optional<Result>> result{};
    std::exception_ptr error;
  } frame{fn, {}, nullptr};
  detail::run_on_new_segment(
      [](void* data) {
        auto& frame = *static_cast<Frame*>(data);
        try {
          if constexpr (std::is_void_v<Result>) {
            frame.fn();
          } else {
            frame.result.emplace(frame.fn());
          }
        } catch (...) {
          frame.error = std::current_exception();
        }
      },
      &frame);
  if (frame.error) std::rethrow_exception(frame.error);
  if constexpr (!std::is_void_v<Result>) return *std::move(frame.result);
}

}  // namespace loopsmith
