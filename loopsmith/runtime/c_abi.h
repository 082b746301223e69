/* SPDX-License-Identifier: Apache-2.0 */

/* How compiled kernels are called, and what they call: C99 and C++.
 *
 * An exported kernel is `int32_t f(ls_context*, DLTensor* A, ..., int64_t n)`. It returns LS_OK or
 * an ls_status; the details are then in the context's `error`, and ls_error_text() puts them into
 * words. A NULL context means ls_default_context(): then there is the code only.
 *
 * Kernels reach the outside only through the pointers in the context, which a host may replace:
 * they look up no symbol. A context serves one call at a time; several threads use a context each.
 * A kernel may be called again from within (by a function that it calls) with the same context.
 *
 * The data of a tensor starts at `(char*)data + byte_offset`. */
#ifndef LOOPSMITH_RUNTIME_C_ABI_H_
#define LOOPSMITH_RUNTIME_C_ABI_H_

#include "loopsmith/runtime/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one with each change of a structure below. */
#define LS_ABI_VERSION 2

/* What a kernel returns. */
typedef enum ls_status {
  LS_OK = 0,
  LS_ARGUMENT_COUNT = 1, /* expected, actual: how many */
  LS_ARGUMENT_KIND = 2,  /* expected, actual: ls_kind */
  LS_DTYPE = 3,          /* expected, actual: the bytes of a DLDataType */
  LS_RANK = 4,
  LS_SHAPE = 5,        /* of `dimension` */
  LS_EXTENT_RANGE = 6, /* an extent is negative, or above `expected` */
  LS_STRIDES = 7,      /* of `dimension` */
  LS_ALIGNMENT = 8,    /* expected: bytes; actual: the address */
  LS_DEVICE = 9,       /* expected, actual: the bytes of a DLDevice */
  LS_NULL_TENSOR = 10,
  LS_NULL_DATA = 11, /* actual: how many elements there should be */
  LS_READ_ONLY = 12,
  LS_ALIAS = 13,         /* expected: index of the other parameter */
  LS_SCALAR_RANGE = 14,  /* actual: the value; expected: the bytes of the parameter's DLDataType */
  LS_ASSERTION = 15,     /* message: its text */
  LS_OUT_OF_MEMORY = 16, /* expected: bytes */
  LS_EXCEPTION = 17,     /* a host's function threw */
  LS_HOST_FUNCTION = 18  /* message: its name; actual: what its call returned; LS_HOST_FUNCTION: the
                            host has no such function */
} ls_status;

/* What an argument is, and what a parameter takes. */
typedef enum ls_kind {
  LS_TENSOR = 0,
  LS_INT = 1,
  LS_FLOAT = 2,
  LS_BOOL = 3,
  LS_HANDLE = 4,
  /* Only what a kernel passes to a function of the host: */
  LS_UINT = 5, /* of 64 bits, in as_int */
  LS_TEXT = 6,
  LS_NONE = 7 /* of a result: it is not wanted */
} ls_kind;

/* An argument's value. Integers travel as int64_t, floating-point numbers as double. */
typedef union ls_value {
  int64_t as_int; /* LS_INT, LS_BOOL and LS_UINT */
  double as_float;
  DLTensor* as_tensor;
  void* as_handle;
  const char* as_text;
} ls_value;

/* One argument of a packed call. */
typedef struct ls_argument {
  ls_value value;
  int32_t kind;      /* ls_kind */
  int32_t read_only; /* not 0: a tensor that must not be written */
} ls_argument;

/* How an extent or a stride relates to the symbols (symbolic sizes) of a function. */
typedef enum ls_extent_rule {
  LS_CONSTANT = 0, /* equals `value` */
  LS_BIND = 1,     /* gives `symbol` its value, which is in 0..value */
  LS_MATCH = 2,    /* equals `symbol`, which was bound before */
  LS_COMPUTED = 3  /* an expression: the kernel itself checks it */
} ls_extent_rule;

typedef struct ls_extent {
  int64_t value;
  int32_t rule; /* ls_extent_rule */
  int32_t symbol;
} ls_extent;

/* One parameter of a function. */
typedef struct ls_parameter {
  const char* name;
  int32_t kind; /* ls_kind */
  DLDataType dtype;
  int32_t rank;
  int32_t writable;         /* not 0: the kernel writes it */
  int64_t alignment;        /* of a tensor's data in bytes: a power of two */
  const ls_extent* shape;   /* `rank` of them; for an LS_INT that is a symbol: one; else NULL */
  const ls_extent* strides; /* `rank` of them; NULL: compact row-major */
} ls_parameter;

/* What a function takes. */
typedef struct ls_signature {
  const char* name;
  const ls_parameter* parameters;
  const char* const* symbols; /* their names */
  int32_t num_parameters;
  int32_t num_symbols; /* at most LS_MAX_SYMBOLS */
  DLDevice device;     /* where all tensors lie */
  int32_t noalias;     /* not 0: what is written overlaps no other tensor */
} ls_signature;

#define LS_MAX_SYMBOLS 64

/* What went wrong, as data. */
typedef struct ls_error {
  int32_t code;                  /* ls_status */
  int32_t parameter;             /* index of the parameter at fault, or -1 */
  int32_t dimension;             /* which dimension of it, or -1 */
  const ls_signature* signature; /* of the function that failed; may be NULL */
  int64_t expected;
  int64_t actual;
  const char* message; /* of an assertion: its text, alive as long as the kernel; else NULL */
} ls_error;

/* Part of a parallel loop: iterations begin..end-1. It returns LS_OK or an ls_status. */
typedef int32_t (*ls_body)(void* closure, int64_t begin, int64_t end);

/* Runs `body` over begin..end-1 in chunks, in any order and on any threads, and returns when all
 * have ended: LS_OK, or what one of them returned, after which chunks that had not begun are
 * dropped. */
typedef int32_t (*ls_parallel_for)(void* data, int64_t begin, int64_t end, ls_body body,
                                   void* closure);

/* Gives `size` bytes at a multiple of `alignment` (a power of two), or NULL. */
typedef void* (*ls_allocate)(void* data, size_t size, size_t alignment);

/* Takes back what ls_allocate gave for the same size and alignment. */
typedef void (*ls_release)(void* data, void* memory, size_t size, size_t alignment);

/* Calls the function of the host that a kernel calls `name`. The arguments, with the memory of the
 * tensors, are lent for the time of the call. What it returns, a number of the kind in `result`,
 * goes into result->value; of LS_NONE, nothing does. Returns LS_OK, or what the kernel fails with:
 * LS_HOST_FUNCTION where there is no such function. */
typedef int32_t (*ls_call_host)(void* data, const char* name, const ls_argument* arguments,
                                int32_t count, ls_argument* result);

/* What a kernel reaches of the outside. Everything in it but `error` may be used from any thread
 * that runs a body of the kernel's parallel loops. */
typedef struct ls_context {
  uint32_t abi_version; /* LS_ABI_VERSION */
  uint32_t reserved;
  ls_parallel_for parallel_for;
  void* parallel_for_data;
  ls_allocate allocate;
  ls_release release;
  void* allocator_data;
  /* Copies `error` into the context, whichever thread calls it, and returns its code. */
  int32_t (*fail)(struct ls_context* context, const ls_error* error);
  ls_error error;         /* The latest failure. */
  ls_call_host call_host; /* By default there is no function. */
  void* call_host_data;
} ls_context;

/* How every function of a Module is called, whatever its parameters. The arguments were checked. */
typedef int32_t (*ls_packed_function)(ls_context* context, const ls_argument* arguments);

/* Fills `context` with the defaults: our thread pool, aligned memory from the C library. */
void ls_context_init(ls_context* context);

/* The calling thread's own default context. */
ls_context* ls_default_context(void);

/* Checks `count` arguments against `signature`. Returns LS_OK, or fills `error` and returns its
 * code. */
int32_t ls_check_arguments(const ls_signature* signature, const ls_argument* arguments,
                           int64_t count, ls_error* error);

/* Writes what `error` means, and what to do about it, into `text` as snprintf would. */
int ls_error_text(const ls_error* error, char* text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
