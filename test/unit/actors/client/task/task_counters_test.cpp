// What tasks go through, as metrics: counted with their labels, and gone with their allocation.
#include "actors/client/task/task_counters.hpp"

#include "test/support/anybody.hpp"
#include "test/support/node_questions.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct CountedTasks : ClientFixture {
  CountedTasks() { task_metrics = std::make_shared<telemetry::Registry>(telemetry::Options{}); }

  /// The value of a task's counter; "" when it is not shown.
  std::string count(const std::string& what, int number) {
    const auto text = task_metrics->prometheus(unix_now());
    const auto line = "nomad_client_allocs_" + what + "{alloc_id=\"" + alloc_id(number)
                      + R"(",job="job",namespace="default",task="web",task_group="group"} )";
    const auto at = text.find(line);
    if (at == text.npos) return "";
    return text.substr(at + line.size(), text.find('\n', at) - at - line.size());
  }
};

}  // namespace

TEST_CASE_FIXTURE(CountedTasks, "task counters: what tasks went through, while they are here") {
  start();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"3s"})"}}});
  assign(make_alloc(job, 1), job);
  CHECK(count("running", 1) == "1");
  CHECK(count("complete", 1) == "0");
  advance(4s);
  CHECK(count("complete", 1) == "1");
  CHECK(count("failed", 1) == "0");

  const auto failing = make_job({.tasks = {{.config = R"({"run_for":"1s","exit_code":1})"}},
                                 .restart_attempts = 1,
                                 .restart_delay = 1s});
  assign(make_alloc(failing, 2), failing);
  advance(30s);
  CHECK(count("running", 2) == "2");
  CHECK(count("restart", 2) == "1");
  CHECK(count("failed", 2) == "1");

  const auto gone = ask<door::NodeReply>(client, test::collect_alloc(alloc_id(1)));
  advance(30s);
  REQUIRE(gone->has_value());
  count("running", 1);
  advance(20s);
  CHECK(count("running", 1) == "");
  CHECK(count("running", 2) == "2");
}

TEST_CASE_FIXTURE(CountedTasks, "task counters: labels of instances of other jobs") {
  Draft<schema::Job> job{make_job({.id = "pay/dispatch-1700-abc"})};
  job->setParentId("pay");
  const auto instance = job.freeze();
  const auto labels = client::task_labels(*make_alloc(instance, 1), *instance, "web");
  const auto has = [&labels](const std::string& name, const std::string& value) {
    return std::ranges::find(labels, std::pair{name, value}) != labels.end();
  };
  CHECK(has("parent_id", "pay"));
  CHECK(has("dispatch_id", "1700-abc"));
  CHECK(labels.size() == 7);
}
