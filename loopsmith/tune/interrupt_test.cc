// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loopsmith/tune/testing/product.h"
#include "loopsmith/tune/tuner.h"

namespace loopsmith::tune {
namespace {

int own_interrupts = 0;

/// How a process ends that is interrupted after its first trial; 0 is for a best of few trials,
/// after which the handler that was there before is there again.
int status_of_interrupted(bool ends_at_interrupt) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (ends_at_interrupt) std::signal(SIGINT, [](int) { ++own_interrupts; });
    SearchOptions options{.trials = 100'000, .seconds = 60};
    options.ends_at_interrupt = ends_at_interrupt;
    options.runner = [](const Ptr<PrimFunc>&) {
      ::usleep(1000);
      return std::vector{1.0};
    };
    // The end of the pipe for reading stays open here: writing goes on.
    options.on_trial = [&, told = false](const Trial&) mutable {
      if (!told && ::write(ends[1], "t", 1) != 1) ::_exit(2);
      told = true;
    };
    const Best best = search(testing::product(), options);
    const bool is_early = !best.trials.empty() && best.trials.size() < 10'000;
    const bool is_noted = own_interrupts == 0 && best.was_interrupted;
    ::raise(SIGINT);
    ::_exit(is_early && is_noted && own_interrupts == 1 ? 0 : 1);
  }
  ::close(ends[1]);
  char told = 0;
  EXPECT_EQ(::read(ends[0], &told, 1), 1);
  ::kill(child, SIGINT);
  int status = 0;
  ::close(ends[0]);
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Interrupt, ends_a_search_with_the_best_so_far_where_that_is_asked_for) {
  const int status = status_of_interrupted(true);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Interrupt, ends_the_process_else) {
  const int status = status_of_interrupted(false);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace loopsmith::tune
