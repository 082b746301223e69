// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/in_time.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace loopsmith::tune {
namespace {

using TaskClock = std::chrono::steady_clock;

enum class Stage { waiting, running, done, late };

struct TimedTask {
  std::function<void()> work;
  Stage stage = Stage::waiting;
  TaskClock::time_point deadline = {};
  std::size_t worker = 0;  ///< Which one does it.
  std::exception_ptr failure = {};
};

/// What the threads share, those left behind, too.
struct SharedTasks {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<TimedTask> tasks;
  TaskClock::duration limit;

  /// The first task that waits; none where there is none.
  TimedTask* next() {
    const auto found = std::ranges::find(tasks, Stage::waiting, &TimedTask::stage);
    return found == tasks.end() ? nullptr : &*found;
  }
};

/// Takes up one task after the other, until there is none or it was too late with one.
void do_tasks(SharedTasks& shared, std::size_t worker) {
  std::unique_lock lock(shared.mutex);
  while (TimedTask* task = shared.next()) {
    task->stage = Stage::running;
    task->deadline = TaskClock::now() + shared.limit;
    task->worker = worker;
    const std::function<void()> todo = std::exchange(task->work, {});
    shared.changed.notify_all();
    lock.unlock();
    std::exception_ptr failure;
    try {
      todo();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (task->stage == Stage::late) return;
    task->stage = Stage::done;
    task->failure = failure;
    shared.changed.notify_all();
  }
}

/// Threads that were left behind; the process ends after them, as what they use goes with it.
class LeftBehind {
 public:
  void add(std::thread thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }
  ~LeftBehind() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

LeftBehind& left_behind() {
  static LeftBehind threads;
  return threads;
}

}  // namespace

std::vector<bool> ended_in_time(std::vector<std::function<void()>> tasks, int threads,
                                double seconds) {
  const auto shared = std::make_shared<SharedTasks>();
  const std::chrono::duration<double> limit(std::min(seconds, 1e9));
  shared->limit = std::chrono::duration_cast<TaskClock::duration>(limit);
  for (auto& work : tasks) shared->tasks.push_back({.work = std::move(work)});
  std::vector<std::thread> workers;
  const auto add_worker = [&] {
    workers.emplace_back([shared, number = workers.size()] { do_tasks(*shared, number); });
  };
  const std::size_t wanted = std::min(tasks.size(), static_cast<std::size_t>(std::max(threads, 1)));
  std::unique_lock lock(shared->mutex);
  while (workers.size() < wanted) add_worker();
  std::vector<bool> are_late(workers.size());
  for (;;) {
    auto wake = TaskClock::time_point::max();
    bool has_ended = true;
    for (TimedTask& task : shared->tasks) {
      if (task.stage == Stage::running && task.deadline <= TaskClock::now()) {
        task.stage = Stage::late;
        are_late[task.worker] = true;
        if (shared->next() != nullptr) {  // Somebody has to do the rest.
          add_worker();
          are_late.push_back(false);
        }
      }
      if (task.stage == Stage::running) wake = std::min(wake, task.deadline);
      has_ended = has_ended && (task.stage == Stage::done || task.stage == Stage::late);
    }
    if (has_ended) break;
    if (wake == TaskClock::time_point::max()) {
      shared->changed.wait(lock);
    } else {
      shared->changed.wait_until(lock, wake);
    }
  }
  std::vector<bool> are_done;
  std::exception_ptr failure;
  for (const TimedTask& task : shared->tasks) {
    are_done.push_back(task.stage == Stage::done);
    if (task.failure && !failure) failure = task.failure;
  }
  lock.unlock();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (are_late[i]) {
      left_behind().add(std::move(workers[i]));
    } else {
      workers[i].join();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return are_done;
}

}  // namespace loopsmith::tune
