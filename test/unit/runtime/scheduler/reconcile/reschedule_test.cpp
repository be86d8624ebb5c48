#include "runtime/scheduler/reconcile/reschedule.hpp"

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
