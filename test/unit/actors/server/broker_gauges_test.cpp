// What the metrics show of evaluations that wait.
#include "actors/server/broker_gauges.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;
using cluster::BlockedEval;
using cluster::TimePoint;

namespace {

const TimePoint start{1000s};

cluster::EvalEntry delayed(std::string id, std::string job, std::chrono::seconds delay) {
  cluster::EvalEntry eval;
  eval.id = std::move(id);
  eval.ns = "default";
  eval.job_id = std::move(job);
  eval.type = "service";
  eval.not_before = start + delay;
  return eval;
}

BlockedEval blocked_eval(std::string id, std::string job, std::int64_t cpu, std::int64_t memory) {
  BlockedEval eval;
  eval.id = std::move(id);
  eval.ns = "ops";
  eval.job_id = std::move(job);
  eval.type = "service";
  eval.cpu = cpu;
  eval.memory_mb = memory;
  eval.datacenters = {"dc1", "dc2"};
  eval.node_classes = {"large"};
  return eval;
}

struct Shown {
  cluster::EvalQueue queue;
  cluster::BlockedEvals blocked;

  /// "name{label=value,…}" and the values.
  std::map<std::string, double> gauges(TimePoint now = start) const {
    std::map<std::string, double> all;
    for (const auto& gauge : broker_gauges(queue, blocked, now)) {
      std::string labels;
      for (const auto& [name, value] : gauge.labels)
        labels += (labels.empty() ? "" : ",") + name + "=" + value;
      all[gauge.name + (labels.empty() ? "" : "{" + labels + "}")] = gauge.value;
    }
    return all;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Shown,
                  "gauges: an evaluation that waits for its time shows how long it still does") {
  queue.enqueue(delayed("one", "web", 90s), start);
  auto shown = gauges(start + 30s);
  CHECK(shown.at("broker.total_waiting") == 1);
  CHECK(shown.at("broker.eval_waiting{eval_id=one,job=web,namespace=default}") == 60);

  queue.advance(start + 90s);
  shown = gauges(start + 90s);
  CHECK(shown.at("broker.total_waiting") == 0);
  CHECK(shown.at("broker.service.ready") == 1);
  CHECK_FALSE(shown.contains("broker.eval_waiting{eval_id=one,job=web,namespace=default}"));
}

TEST_CASE_FIXTURE(Shown, "gauges: one that waits after a failed delivery is no delayed one") {
  Random random{1};
  const std::vector<std::string> types{"service"};
  queue.enqueue(delayed("one", "web", 0s), start);
  const auto delivery = queue.dequeue(types, start, random);
  REQUIRE(queue.nack("one", delivery->token, start).has_value());
  const auto shown = gauges();
  CHECK(shown.at("broker.total_waiting") == 1);
  CHECK_FALSE(shown.contains("broker.eval_waiting{eval_id=one,job=web,namespace=default}"));
}

TEST_CASE_FIXTURE(Shown, "gauges: of very many delayed evaluations the first are shown") {
  for (std::size_t i = 0; i < most_shown_waiting + 5; ++i)
    queue.enqueue(delayed("e" + std::to_string(i), "j" + std::to_string(i),
                          std::chrono::seconds{10 + static_cast<int>(i)}),
                  start);
  std::size_t waiting = 0;
  for (const auto& [name, value] : gauges())
    waiting += name.starts_with("broker.eval_waiting") ? 1 : 0;
  CHECK(waiting == most_shown_waiting);
  CHECK(gauges().contains("broker.eval_waiting{eval_id=e0,job=j0,namespace=default}"));
}

TEST_CASE_FIXTURE(Shown, "gauges: what blocked jobs ask for is there as long as they are blocked") {
  blocked.block(blocked_eval("one", "web", 500, 256));
  blocked.block(blocked_eval("two", "db", 300, 64));
  auto shown = gauges();
  CHECK(shown.at("blocked_evals.total_blocked") == 2);
  CHECK(shown.at("blocked_evals.job.cpu{namespace=ops,job=web}") == 500);
  CHECK(shown.at("blocked_evals.job.memory{namespace=ops,job=web}") == 256);
  CHECK(shown.at("blocked_evals.job.cpu{namespace=ops,job=db}") == 300);
  for (const auto* position :
       {"{datacenter=dc1,node_class=large}", "{datacenter=dc2,node_class=large}"}) {
    CHECK(shown.at(std::string{"blocked_evals.cpu"} + position) == 800);
    CHECK(shown.at(std::string{"blocked_evals.memory"} + position) == 320);
  }

  blocked.untrack("ops", "web");
  shown = gauges();
  CHECK_FALSE(shown.contains("blocked_evals.job.cpu{namespace=ops,job=web}"));
  CHECK(shown.at("blocked_evals.cpu{datacenter=dc1,node_class=large}") == 300);
  blocked.unblock_class("small", 10);
  for (const auto& [name, value] : gauges())
    CHECK_FALSE(name.starts_with("blocked_evals.job"));
  CHECK_FALSE(gauges().contains("blocked_evals.cpu{datacenter=dc1,node_class=large}"));
}

TEST_CASE_FIXTURE(Shown, "gauges: a blocked evaluation that displaces another takes its place") {
  blocked.block(blocked_eval("older", "web", 500, 256));
  auto newer = blocked_eval("newer", "web", 100, 32);
  newer.create_index = 5;
  blocked.block(newer);
  const auto shown = gauges();
  CHECK(shown.at("blocked_evals.job.cpu{namespace=ops,job=web}") == 100);
  CHECK(shown.at("blocked_evals.memory{datacenter=dc2,node_class=large}") == 32);
}
