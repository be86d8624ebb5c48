// The client node: registration, heartbeats, what it does about the servers' wishes, collection.
#include "actors/client/client.hpp"

#include "client_fixture.hpp"
#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using Strings = std::vector<std::string>;

TEST_CASE_FIXTURE(ClientFixture, "client: registers what it found and keeps its lease alive") {
  start();
  CHECK(registrations == 1);
  REQUIRE(node);
  CHECK(view(node->getName()) == "test");
  CHECK(node->getNodeResources().getCpu().getCpuShares() == 1000);
  bool mock = false;
  for (const auto driver : node->getDrivers())
    mock = mock || (view(driver.getKey()) == "mock_driver" && driver.getValue().getHealthy());
  CHECK(mock);

  advance(1min);
  CHECK(heartbeats >= 5);
  CHECK(heartbeats <= 8);
  CHECK(registrations == 1);
}

TEST_CASE_FIXTURE(ClientFixture, "client: a node the servers do not know registers again") {
  start();
  heartbeat_refusal = Error{Errc::not_found, "node not found"};
  advance(10s);
  const auto so_far = registrations;
  CHECK(so_far >= 2);
  heartbeat_refusal.reset();
  advance(1min);
  CHECK(registrations == so_far);
}

TEST_CASE_FIXTURE(ClientFixture, "client: registers soon after a server's disk has room again") {
  register_refusal = Error{Errc::io, "server \"s\" is read-only: no space left on its disk"};
  start();
  advance(10min);
  const auto so_far = registrations;
  register_refusal.reset();
  advance(2s);
  CHECK(registrations == so_far + 1);
}

TEST_CASE_FIXTURE(ClientFixture, "client: servers with too much to do are asked less and less") {
  register_refusal = Error{Errc::overloaded, "too many writes are waiting for the log"};
  start();
  advance(2s);
  CHECK(registrations >= 2);
  advance(10min);
  const auto so_far = registrations;
  advance(2min);
  CHECK(registrations - so_far <= 15);
  register_refusal.reset();
  advance(25s);
  CHECK(registrations > so_far);
}

TEST_CASE_FIXTURE(ClientFixture, "client: an assigned allocation runs and is reported at once") {
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);

  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(task(1).getState() == schema::TaskRunState::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
  CHECK(view(task(1).getEvents()[1].getDisplayMessage()) == "Building Task Directory");
  CHECK(std::filesystem::is_directory(dir.file("allocs/" + alloc_id(1) + "/alloc/logs")));
  CHECK(std::filesystem::is_directory(dir.file("allocs/" + alloc_id(1) + "/web/local")));
}

TEST_CASE_FIXTURE(ClientFixture, "client: stopping kills the task, says so, and completes") {
  start();
  const auto job = make_job({.tasks = {{.config = R"({"run_for":"1h","kill_after":"2s"})"}}});
  assign(make_alloc(job, 1), job);
  stop_alloc(1, 2);
  advance(1s);
  CHECK(status(1) == ClientStatus::RUNNING);
  advance(2s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"});
  CHECK(view(task(1).getEvents()[3].getDisplayMessage())
        == "Sent interrupt. Waiting 5s before force killing");
  CHECK_FALSE(task(1).getFailed());
}

TEST_CASE_FIXTURE(ClientFixture, "client: a batch task that succeeds completes its allocation") {
  start();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"3s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(4s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started", "Terminated"});
}

TEST_CASE_FIXTURE(ClientFixture, "client: what cannot run here is reported once as failed") {
  start();
  const auto job = make_job({.tasks = {{.driver = "nope"}}});
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(heard[alloc_id(1)]->client_description()
        == "Unable to add allocation due to error: failed creating runner for task \"web\": driver "
           "\"nope\" not found");
  const auto sent = batches.size();
  push();
  advance(10s);
  CHECK(batches.size() == sent);
}

TEST_CASE_FIXTURE(ClientFixture, "client: what cannot run here is told again to who asks for all") {
  start();
  const auto job = make_job({});
  const auto impossible = make_job({.id = "impossible", .tasks = {{.driver = "nope"}}});
  assign(make_alloc(job, 1), job);
  assign(make_alloc(impossible, 2), impossible);
  crash_runner(1);
  advance(1s);
  heard.clear();

  give_up();
  advance(20s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(status(2) == ClientStatus::FAILED);
}

TEST_CASE_FIXTURE(ClientFixture, "client: a runner that crashes fails its allocation") {
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  crash_runner(1);
  advance(1s);

  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(heard[alloc_id(1)]->client_description().find("its runner failed")
        != std::string_view::npos);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
}

TEST_CASE_FIXTURE(ClientFixture, "client: a runner that crashes when all is over changes nothing") {
  start();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"3s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(5s);
  REQUIRE(status(1) == ClientStatus::COMPLETE);
  crash_runner(1);
  advance(5s);

  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(ask<door::NodeReply>(client, test::collect_garbage())->has_value());
}

TEST_CASE_FIXTURE(ClientFixture, "client: an older state of an allocation changes nothing") {
  start();
  const auto job = make_job({});
  const auto alloc = make_alloc(job, 1, 10);
  assign(alloc, job);
  assign(
      changed(alloc, 9, [](auto& draft) { draft.setDesiredStatus(schema::DesiredStatus::STOP); }),
      job);
  advance(30s);
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ClientFixture, "client: an allocation that ended elsewhere is not run again") {
  start();
  const auto job = make_job({});
  assign(changed(make_alloc(job, 1), 5,
                 [](auto& draft) { draft.setClientStatus(ClientStatus::COMPLETE); }),
         job);
  advance(10s);
  CHECK_FALSE(heard.contains(alloc_id(1)));
}

TEST_CASE_FIXTURE(ClientFixture, "client: a forgotten allocation is killed and leaves nothing") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));

  SUBCASE("at once") {}
  SUBCASE("while what was acknowledged waits for the disk") {
    advance(2s);
    hold("client_db");
    for (int i = 0; i < 3; ++i) {
      tell(client, test::signal_tasks(alloc_id(1), "web", "SIGHUP"));
      advance(2s);
    }
  }
  forget(1);
  advance(10s);
  hold("");
  advance(1min);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  int rows = 0;
  for (const auto bucket :
       {storage::Bucket::alloc, storage::Bucket::task_state, storage::Bucket::acknowledged,
        storage::Bucket::job, storage::Bucket::deployment})
    REQUIRE(store
                ->scan(bucket, "",
                       [&rows](std::string_view, Result<std::string_view>) -> Result<> {
                         ++rows;
                         return {};
                       })
                .has_value());
  CHECK(rows == 0);
}

TEST_CASE_FIXTURE(ClientFixture, "client: one that is wanted again while it ends begins anew") {
  start(true);
  const auto job = make_job({.tasks = {{.config = R"({"run_for":"1h","kill_after":"2s"})"}}});
  assign(make_alloc(job, 1), job);
  const auto directory = dir.file("allocs/" + alloc_id(1));
  forget(1);
  advance(1s);
  assign(make_alloc(job, 1, 5), job);
  advance(10s);
  CHECK_FALSE(std::filesystem::exists(directory));
  heard.clear();

  // The servers answer what they were asked before, of which it is no part; then they are asked for
  // everything.
  const auto wanted = std::exchange(assigned, {});
  actor::tell(servers, Push{});
  run_steps(1);
  assigned = wanted;
  advance(1s);

  CHECK(std::filesystem::exists(directory));
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
}

TEST_CASE_FIXTURE(ClientFixture, "client: too many ended allocations are collected, oldest first") {
  auto with = options();
  with.gc.max_allocs = 2;
  start(false, with);
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  for (int number = 1; number <= 4; ++number) {
    assign(make_alloc(job, number), job);
    advance(2s);
  }
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(2))));
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(3))));
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(4))));
}

TEST_CASE_FIXTURE(ClientFixture,
                  "client: servers that forgot how one ended are told, even of a collected one") {
  auto with = options();
  with.gc.max_allocs = 1;
  start(false, with);
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  const auto first = make_alloc(job, 1);
  assign(first, job);
  advance(2s);
  assign(make_alloc(job, 2), job);
  advance(2s);
  REQUIRE_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  heard.clear();

  assign(changed(first, 9, [](auto& alloc) { alloc.setClientStatus(ClientStatus::RUNNING); }), job);
  advance(1s);

  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ClientFixture, "client: garbage is collected on request, live ones never") {
  start();
  const auto batch = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  const auto service = make_job({.id = "service"});
  assign(make_alloc(batch, 1), batch);
  assign(make_alloc(service, 2), service);
  advance(5s);

  auto live = ask<door::NodeReply>(client, test::collect_alloc(alloc_id(2)));
  REQUIRE(live->has_value());
  CHECK((*live)->error().code == Errc::rejected);
  auto missing = ask<door::NodeReply>(client, test::collect_alloc(alloc_id(9)));
  CHECK((*missing)->error().what == "Unknown allocation \"" + alloc_id(9) + "\"");

  const auto kept = [this] {
    return (*ask<client::client_api::AllocCounts>(client, client::client_api::CountAllocs{}))
        ->value()
        .kept;
  };
  const auto before = kept();
  auto all = ask<door::NodeReply>(client, test::collect_garbage());
  REQUIRE(all->has_value());
  CHECK((*all)->has_value());
  CHECK(kept() == before - 1);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(2))));
}

TEST_CASE_FIXTURE(ClientFixture, "client: answers where files are and what runs") {
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  auto found = ask<client::client_api::AllocDir>(
      client, client::client_api::AllocDirOf{alloc_id(1), nomad::test::anybody()});
  REQUIRE(found->has_value());
  CHECK((*found)->value().path == dir.file("allocs/" + alloc_id(1)));
  REQUIRE((*found)->value().tasks.size() == 1);
  CHECK((*found)->value().tasks[0].running);

  auto counts = ask<client::client_api::AllocCounts>(client, client::client_api::CountAllocs{});
  CHECK((*counts)->value().running == 1);
  auto usage = ask<door::NodeReply>(client, test::read_usage(alloc_id(1)));
  REQUIRE((*usage)->has_value());
  CHECK((*usage)->value()->getAllocUsage().getTasks().size() == 1);
  CHECK((*ask<door::NodeReply>(client, test::read_usage(alloc_id(1), "nobody")))->error()
        == Error{Errc::not_found, "Unknown task name \"nobody\""});
  CHECK((*ask<door::NodeReply>(client, test::read_host_usage()))->value()->isHostUsage());
}

TEST_CASE_FIXTURE(ClientFixture, "client: judges who asks by the namespace of its allocation") {
  using namespace client::client_api;
  start();
  const auto job = make_job({});  // of namespace "default"
  assign(make_alloc(job, 1), job);
  const auto refused = Error{Errc::permission_denied, "Permission denied"};
  const auto asking
      = [](const std::string& token) { return asking_with(token, access::Capability::read_job); };
  const auto id = alloc_id(1);

  CHECK((*ask<AllocDir>(client, AllocDirOf{id, asking(a_only)}))->error() == refused);
  const auto stranger = asking(a_only).who;
  for (const auto& question :
       {test::restart_tasks(id, "web", false, stranger),
        test::signal_tasks(id, "web", "SIGHUP", stranger), test::collect_alloc(id, stranger),
        test::collect_garbage(stranger), test::read_usage(id, "", stranger),
        test::read_checks(id, stranger), test::read_identities(id, stranger),
        test::read_host_usage(asking(test::nothing).who)})
    CHECK((*ask<door::NodeReply>(client, question))->error() == refused);
  CHECK((*ask<ExecStarted>(client, Exec{id, "web", {{"ls"}, false}, asking(a_only)}))->error()
        == refused);
  CHECK((*ask<AllocDir>(client, AllocDirOf{id, asking("owner")}))->has_value());
  const auto owner = asking("owner").who;
  CHECK((*ask<door::NodeReply>(client, test::read_checks(id, owner)))->value()->getChecks().size()
        == 0);
  for (const auto& question :
       {test::read_checks(alloc_id(2), owner), test::read_usage(alloc_id(2), "", owner)})
    CHECK((*ask<door::NodeReply>(client, question))->error().code == Errc::not_found);
}

TEST_CASE_FIXTURE(ClientFixture,
                  "client: a graceful stop leaves tasks alone, dev mode kills them") {
  const auto job = make_job({});
  SUBCASE("graceful") {
    start(true);
    assign(make_alloc(job, 1), job);
    auto stopped = ask<client::client_actor::Stopped>(client, client::client_actor::Stop{});
    CHECK(stopped->has_value());
    CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
    CHECK(status(1) == ClientStatus::RUNNING);
  }
  SUBCASE("dev") {
    auto with = options();
    with.dev = true;
    start(false, with);
    assign(make_alloc(job, 1), job);
    auto stopped = ask<client::client_actor::Stopped>(client, client::client_actor::Stop{});
    advance(30s);
    CHECK(stopped->has_value());
    CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  }
}
