/* SPDX-License-Identifier: Apache-2.0 */

/* The contexts of exported kernels, their threads, and errors in words. libloopsmith has its own. */
#include "loopsmith/runtime/c_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LS_RUNTIME_FUNCTION
#define LS_RUNTIME_FUNCTION
#endif

/* ---- Threads ---- */

/* A parallel loop: threads take chunks of it until none is left. */
typedef struct ls_loop {
  ls_body body;
  void* closure;
  int64_t next, end, chunk;
  int32_t status;
  int32_t helpers; /* that are inside; guarded by the pool's mutex */
} ls_loop;

/* Workers only help: a loop ends when its chunks have, on any thread. So a worker that is late or
 * missing (after a fork, or where no thread can be made) costs speed and nothing else. */
static struct {
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  ls_loop* loop; /* the one that is offered; NULL: none */
  pid_t owner;   /* the process whose workers they are */
  int workers;
} ls_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
             0, 0};

static void ls_run_chunks(ls_loop* loop) {
  for (;;) {
    const int64_t begin = __atomic_fetch_add(&loop->next, loop->chunk, __ATOMIC_RELAXED);
    const int64_t left = loop->end - begin;
    int32_t status;
    if (left <= 0 || __atomic_load_n(&loop->status, __ATOMIC_RELAXED) != LS_OK) return;
    status = loop->body(loop->closure, begin, left < loop->chunk ? loop->end : begin + loop->chunk);
    if (status != LS_OK) __atomic_store_n(&loop->status, status, __ATOMIC_RELAXED);
  }
}

static void* ls_worker(void* unused) {
  (void)unused;
  pthread_mutex_lock(&ls_pool.mutex);
  for (;;) {
    ls_loop* loop = ls_pool.loop;
    if (!loop || __atomic_load_n(&loop->next, __ATOMIC_RELAXED) >= loop->end) {
      pthread_cond_wait(&ls_pool.work, &ls_pool.mutex);
      continue;
    }
    ++loop->helpers;
    pthread_mutex_unlock(&ls_pool.mutex);
    ls_run_chunks(loop);
    pthread_mutex_lock(&ls_pool.mutex);
    if (--loop->helpers == 0) pthread_cond_broadcast(&ls_pool.done);
  }
  return NULL;
}

/* Starts this process' workers; the mutex is held. */
static void ls_start_workers(void) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  pthread_attr_t attributes;
  if (ls_pool.owner == getpid()) return;
  ls_pool.owner = getpid();
  ls_pool.workers = 0;
  ls_pool.loop = NULL;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (long i = 1; i < processors && i < 256; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, ls_worker, NULL) != 0) break;
    ++ls_pool.workers;
  }
  pthread_attr_destroy(&attributes);
}

static int32_t ls_run_parallel(void* data, int64_t begin, int64_t end, ls_body body,
                               void* closure) {
  ls_loop loop = {body, closure, begin, end, end - begin, LS_OK, 0};
  int offered = 0;
  (void)data;
  if (end <= begin) return LS_OK;
  /* A loop that comes while another one is offered runs on its caller alone. */
  if (end - begin > 1 && pthread_mutex_trylock(&ls_pool.mutex) == 0) {
    ls_start_workers();
    if (!ls_pool.loop && ls_pool.workers > 0) {
      const int64_t chunks = 4 * ((int64_t)ls_pool.workers + 1);
      loop.chunk = (end - begin + chunks - 1) / chunks;
      ls_pool.loop = &loop;
      offered = 1;
      pthread_cond_broadcast(&ls_pool.work);
    }
    pthread_mutex_unlock(&ls_pool.mutex);
  }
  ls_run_chunks(&loop);
  if (offered) {
    pthread_mutex_lock(&ls_pool.mutex);
    ls_pool.loop = NULL;
    while (loop.helpers > 0) pthread_cond_wait(&ls_pool.done, &ls_pool.mutex);
    pthread_mutex_unlock(&ls_pool.mutex);
  }
  return loop.status;
}

/* ---- Contexts ---- */

static void* ls_take_memory(void* data, size_t size, size_t alignment) {
  void* memory = NULL;
  (void)data;
  if (alignment < sizeof memory) alignment = sizeof memory;
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}

static void ls_release_memory(void* data, void* memory, size_t size, size_t alignment) {
  (void)data;
  (void)size;
  (void)alignment;
  free(memory);
}

static int32_t ls_note_failure(ls_context* context, const ls_error* error) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* threads of a loop fail together */
  pthread_mutex_lock(&mutex);
  context->error = *error;
  pthread_mutex_unlock(&mutex);
  return error->code;
}

static int32_t ls_without_functions(void* data, const char* name, const ls_argument* arguments,
                                    int32_t count, ls_argument* result) {
  (void)data;
  (void)name;
  (void)arguments;
  (void)count;
  (void)result;
  return LS_HOST_FUNCTION;
}

LS_RUNTIME_FUNCTION void ls_context_init(ls_context* context) {
  memset(context, 0, sizeof *context);
  context->abi_version = LS_ABI_VERSION;
  context->parallel_for = ls_run_parallel;
  context->allocate = ls_take_memory;
  context->release = ls_release_memory;
  context->fail = ls_note_failure;
  context->call_host = ls_without_functions;
}

LS_RUNTIME_FUNCTION ls_context* ls_default_context(void) {
  static __thread ls_context context;
  if (context.abi_version == 0) ls_context_init(&context);
  return &context;
}

/* ---- Errors in words ---- */

LS_RUNTIME_FUNCTION int ls_error_text(const ls_error* error, char* text, size_t size) {
  static const char* const what[] = {
      "no error",           "number of arguments",  "kind of argument", "data type",
      "number of dimensions", "size",               "range of sizes",   "strides",
      "alignment",          "device",               "null tensor",      "null data",
      "read-only array",    "overlap",              "range of values",  "assertion",
      "out of memory",      "exception",            "function of the host"};
  const int count = (int)(sizeof what / sizeof *what);
  const ls_signature* signature = error->signature;
  const char* rule = error->code >= 0 && error->code < count ? what[error->code] : "failure";
  const char* function = signature ? signature->name : "kernel";
  if (error->code == LS_ASSERTION && error->message) {
    return snprintf(text, size, "%s", error->message);
  }
  if (error->code == LS_HOST_FUNCTION && error->message) {
    return snprintf(text, size, "%s: the host's function '%s' %s (%lld)", function, error->message,
                    error->actual == LS_HOST_FUNCTION ? "was not given" : "failed",
                    (long long)error->actual);
  }
  if (signature && error->parameter >= 0 && error->parameter < signature->num_parameters) {
    const char* parameter = signature->parameters[error->parameter].name;
    if (error->dimension >= 0) {
      return snprintf(text, size, "%s: %s: %s of dimension %d is %lld, not %lld", function,
                      parameter, rule, (int)error->dimension, (long long)error->actual,
                      (long long)error->expected);
    }
    return snprintf(text, size, "%s: %s: wrong %s (%lld, not %lld)", function, parameter, rule,
                    (long long)error->actual, (long long)error->expected);
  }
  return snprintf(text, size, "%s: %s (%lld, not %lld)", function, rule, (long long)error->actual,
                  (long long)error->expected);
}
