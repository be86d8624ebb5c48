// Which of two stays by each strategy; what follows from it: group_absence_test.cpp.
#include "runtime/scheduler/reconcile/reconnecting.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"
#include "test/unit/runtime/scheduler/reconcile/running_alloc.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Strategies : Harness {
  Object<schema::Job> job = make_job(1);

  AllocEntry begun(std::int64_t at, std::uint64_t version = 0) const {
    return running_alloc(job, now, [=](schema::Allocation::Builder alloc) {
      alloc.setJobVersion(version);
      auto state = alloc.initTaskStates(1)[0];
      state.setKey("server");
      state.initValue().setStartedAt(at);
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Strategies, "strategies: the word decides between two of one version") {
  const auto old = begun(10);
  const auto young = begun(20);
  CHECK_FALSE(prefers_replacement(old, young, Reconcile::keep_original));
  CHECK(prefers_replacement(old, young, Reconcile::keep_replacement));
  CHECK_FALSE(prefers_replacement(old, young, Reconcile::longest_running));
  CHECK(prefers_replacement(young, old, Reconcile::longest_running));
  CHECK_FALSE(prefers_replacement(old, young, Reconcile::best_score));  // neither has one
}

TEST_CASE_FIXTURE(Strategies, "strategies: none keeps an older version") {
  for (const auto word : reconcile_words)
    CHECK(prefers_replacement(begun(10), begun(20, 1), *reconcile_named(word)));
}
