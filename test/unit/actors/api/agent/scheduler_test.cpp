// The scheduler workers of a server, by an API that has nothing but them.
#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "actors/server/scheduler_pool.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

server::SchedulerWorker busy_worker(actor::System& system) {
  using Worker = server::SchedulerWorker;
  return actor::spawn(system, [](Worker::pointer) -> Worker::behavior_type {
    return {[](server::GetSchedulerWorkerStats) {
              return server::SchedulerWorkerStats{.since = 1'700'000'000'000'000'000, .works = 1};
            },
            [](server::TypesChanged) {}};
  });
}

/// Two workers, of which only their doors are there.
struct Schedulers {
  actor::SystemConfig config{};
  actor::System system{config};
  std::vector<actor::Any> actors{};
  std::shared_ptr<server::SchedulerPool> pool = std::make_shared<server::SchedulerPool>(
      [this](const server::SchedulerPool::Worker&) {
        auto worker = busy_worker(system);
        actors.emplace_back(worker);
        return worker;
      },
      server::SchedulerSettings{.workers = 2});

  ~Schedulers() {
    for (const auto& each : actors)
      actor::stop(each);
  }
};

}  // namespace

TEST_CASE("schedulers: the workers are listed, and how many there are is changed") {
  Schedulers schedulers;
  ApiFixture fixture{[&](ApiOptions& options) {
    options.agent.name = "a";
    options.server.schedulers = schedulers.pool;
  }};

  const auto list = fixture.json("/v1/agent/schedulers").as_object();
  CHECK(list.at("server_id") == "a.global");
  const auto& workers = list.at("schedulers").as_array();
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].at("started") == "2023-11-14T22:13:20Z");
  CHECK(workers[0].at("status") == "Started");
  CHECK(workers[0].at("workload_status") == "Scheduling");
  CHECK(workers[0].at("id") != workers[1].at("id"));

  const auto answer = fixture.send(
      "PUT", "/v1/agent/schedulers/config",
      R"({"server_id":"x","num_schedulers":1,"enabled_schedulers":["batch","_core"]})");
  CHECK(answer.status == 200);
  const auto settings = json::serialize(fixture.json("/v1/agent/schedulers/config"));
  CHECK(settings
        == R"({"enabled_schedulers":["batch","_core"],"num_schedulers":1,"server_id":"a.global"})");
  CHECK(answer.body == settings);
  CHECK(fixture.json("/v1/agent/schedulers").at("schedulers").as_array().size() == 1);
}

TEST_CASE("schedulers: an agent without a server has none, and nonsense changes nothing") {
  ApiFixture none;
  for (const auto* path : {"/v1/agent/schedulers", "/v1/agent/schedulers/config"})
    CHECK(none.refusal(path) == "400 Server only endpoint");
  CHECK(none.refusal("PUT", "/v1/agent/schedulers/config", "{}") == "400 Server only endpoint");
  Schedulers schedulers;
  ApiFixture fixture{[&](ApiOptions& options) { options.server.schedulers = schedulers.pool; }};
  for (const auto* body :
       {"{}", R"({"num_schedulers":-1,"enabled_schedulers":["_core"]})",
        R"({"num_schedulers":"1"})", R"({"num_schedulers":1,"enabled_schedulers":[1]})"})
    CHECK(fixture.refusal("PUT", "/v1/agent/schedulers/config", body)
              .starts_with("400 Invalid request"));
  CHECK(schedulers.pool->settings() == server::SchedulerSettings{.workers = 2});
}
