#include "runtime/scheduler/reconcile/reschedule.hpp"

#include <limits>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Failed {
  Draft<schema::Allocation> alloc;
  Draft<schema::ReschedulePolicy> policy;

  void set_delays(std::vector<std::int64_t> delays, std::int64_t last_time) {
    auto events = alloc->initRescheduleTracker().initEvents(static_cast<unsigned>(delays.size()));
    for (unsigned i = 0; i < events.size(); ++i) {
      events[i].setDelay(delays[i]);
      events[i].setRescheduleTime(last_time);
    }
  }

  std::int64_t delay() { return next_delay(alloc.reader(), policy.reader()); }
};

}  // namespace

TEST_CASE_FIXTURE(Failed, "reschedule delays: constant, exponential, fibonacci, capped, healed") {
  alloc->setModifyTime(1000 * second);
  policy->setDelay(5 * second);
  policy->setDelayFunction("constant");
  policy->setMaxDelay(60 * second);
  CHECK(delay() == 5 * second);
  set_delays({5 * second, 10 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  policy->setDelayFunction("exponential");
  CHECK(delay() == 20 * second);
  policy->setDelayFunction("fibonacci");
  CHECK(delay() == 15 * second);
  set_delays({5 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  set_delays({60 * second, 5 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  policy->setDelayFunction("exponential");
  set_delays({40 * second}, 990 * second);
  CHECK(delay() == 60 * second);
  set_delays({40 * second}, 900 * second);  // it ran for longer than max_delay
  CHECK(delay() == 5 * second);
}

TEST_CASE_FIXTURE(Failed, "reschedule delays: one of centuries ends never, not at once") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  policy->setDelay(most);
  policy->setMaxDelay(most);
  policy->setUnlimited(true);
  for (const char* function : {"constant", "exponential", "fibonacci"}) {
    CAPTURE(function);
    policy->setDelayFunction(function);
    set_delays({most, most}, 990 * second);
    CHECK(delay() == most);
    CHECK(reschedule_time(alloc.reader(), policy.reader(), 1'700'000'000 * second).time == most);
  }
}

TEST_CASE_FIXTURE(Failed, "attempts are counted within the interval") {
  policy->setAttempts(2);
  policy->setInterval(100 * second);
  policy->setDelay(5 * second);
  policy->setDelayFunction("constant");
  const auto eligible = [this](std::int64_t failed_at) {
    return reschedule_time(alloc.reader(), policy.reader(), failed_at).eligible;
  };
  CHECK(eligible(1000 * second));
  set_delays({5 * second, 5 * second}, 950 * second);
  CHECK_FALSE(eligible(1000 * second));
  CHECK(eligible(1060 * second));
  policy->setAttempts(0);
  CHECK_FALSE(eligible(1060 * second));
  policy->setUnlimited(true);
  CHECK(eligible(1000 * second));
}

TEST_CASE_FIXTURE(Failed, "reschedule delays: the cap, and when a new series begins") {
  alloc->setModifyTime(1000 * second);
  policy->setDelay(5 * second);
  policy->setMaxDelay(60 * second);
  policy->setDelayFunction("exponential");
  set_delays({30 * second}, 990 * second);
  CHECK(delay() == 60 * second);
  set_delays({31 * second}, 940 * second);  // it ran for just as long as max_delay
  CHECK(delay() == 60 * second);
  set_delays({31 * second}, 940 * second - 1);
  CHECK(delay() == 5 * second);
  policy->setMaxDelay(0);  // no cap
  set_delays({31 * second}, 990 * second);
  CHECK(delay() == 62 * second);
  policy->setMaxDelay(60 * second);
  policy->setDelayFunction("fibonacci");
  set_delays({60 * second, 8 * second}, 990 * second);
  CHECK(delay() == 60 * second);
  set_delays({10 * second, 5 * second}, 990 * second);
  CHECK(delay() == 15 * second);
}

TEST_CASE_FIXTURE(Failed, "attempts: only those within the interval, and a delay that fits in it") {
  policy->setAttempts(1);
  policy->setInterval(100 * second);
  policy->setDelay(5 * second);
  policy->setDelayFunction("constant");
  const auto eligible
      = [this] { return reschedule_time(alloc.reader(), policy.reader(), 1000 * second).eligible; };
  set_delays({5 * second}, 900 * second + 1);
  CHECK_FALSE(eligible());
  set_delays({5 * second}, 900 * second);
  CHECK(eligible());
  policy->setDelay(100 * second);
  CHECK_FALSE(eligible());
  policy->setDelay(100 * second - 1);
  CHECK(eligible());
  alloc->disownRescheduleTracker();
  policy->setDelay(200 * second);
  CHECK(eligible());  // the first one always is
  policy->setAttempts(-1);
  CHECK_FALSE(eligible());
}

TEST_CASE_FIXTURE(Failed, "the failure was when the last task ended, else the last change") {
  alloc->setModifyTime(50);
  CHECK(fail_time(alloc.reader()) == 50);
  auto tasks = alloc->initTaskStates(2);
  CHECK(fail_time(alloc.reader()) == 50);
  tasks[0].initValue().setFinishedAt(40);
  tasks[1].initValue().setFinishedAt(30);
  CHECK(fail_time(alloc.reader()) == 40);
}

TEST_CASE_FIXTURE(Harness, "rescheduling is for what failed and is wanted, by its group's policy") {
  const auto job = make_job(1);
  Draft<schema::Allocation> alloc;
  alloc->setTaskGroup("api");
  alloc->setClientStatus(schema::ClientStatus::FAILED);
  alloc->setDesiredStatus(schema::DesiredStatus::RUN);
  alloc->setModifyTime(now);
  CHECK(reschedule_time(alloc.reader(), *job).eligible);
  CHECK(reschedule_time(alloc.reader(), *job).time == now + 30 * second);
  alloc->setDesiredStatus(schema::DesiredStatus::STOP);
  CHECK_FALSE(reschedule_time(alloc.reader(), *job).eligible);
  alloc->setDesiredStatus(schema::DesiredStatus::RUN);
  alloc->setClientStatus(schema::ClientStatus::COMPLETE);
  CHECK_FALSE(reschedule_time(alloc.reader(), *job).eligible);
  alloc->setClientStatus(schema::ClientStatus::FAILED);
  alloc->setTaskGroup("gone");
  CHECK_FALSE(reschedule_time(alloc.reader(), *job).eligible);
}

TEST_CASE_FIXTURE(Harness, "a replacement carries on what its policy looks at") {
  const auto with_policy = [this](std::int64_t attempts) {
    return make_job(1, [attempts](schema::Job::Builder job) {
      auto policy = job.getTaskGroups()[0].getReschedulePolicy();
      policy.setAttempts(attempts);
      policy.setInterval(100 * second);
    });
  };
  Draft<schema::Allocation> alloc;
  alloc->setId("previous");
  alloc->setNodeId("node");
  alloc->setTaskGroup("api");
  auto events = alloc->initRescheduleTracker().initEvents(7);
  for (unsigned i = 0; i < events.size(); ++i) {
    events[i].setRescheduleTime(now - (7 - i) * 50 * second);
    events[i].setDelay(i + 1);
  }
  const auto delays = [&](std::int64_t attempts) {
    const auto job = with_policy(attempts);
    std::string joined;
    for (const auto& event : reschedule_history(alloc.reader(), *job, now))
      joined += (joined.empty() ? "" : " ") + std::to_string(event.delay);
    return joined;
  };
  CHECK(delays(0) == "3 4 5 6 7 14");  // without a limit the last five, and this one
  CHECK(delays(3) == "6 7 14");        // else those within the interval
  const auto job = with_policy(0);
  const auto last = reschedule_history(alloc.reader(), *job, now).back();
  CHECK(last.time == now);
  CHECK(last.prev_alloc_id == "previous");
  CHECK(last.prev_node_id == "node");
  alloc->getRescheduleTracker().initEvents(5);
  CHECK(reschedule_history(alloc.reader(), *job, now).size() == 6);
}
