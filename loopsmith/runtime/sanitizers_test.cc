// SPDX-License-Identifier: Apache-2.0

// Under a sanitizer, memory that is refused is null as it is elsewhere: tests ask for more than
// there is.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
#endif
