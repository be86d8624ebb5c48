// A command beside a task (`alloc exec`) on its way to the driver: what each actor refuses, and
// that the driver's session comes back.
#include "client_fixture.hpp"
#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::test;
using client::client_api::Exec;
using client::client_api::ExecStarted;

namespace {

class SilentSession final : public host::ExecSession {
public:
  void start(host::ExecEvents) override {}

  bool write_input(std::string_view) override { return true; }

  void end_input() override {}

  void resize(std::uint16_t, std::uint16_t) override {}

  void taken(std::size_t) override {}
};

/// A driver whose tasks never end by themselves, and which runs commands.
struct ExecFixture : ClientFixture {
  std::shared_ptr<host::ExecSession> session = std::make_shared<SilentSession>();
  std::vector<client::driver::ExecTask> asked;
  std::optional<Error> refusal_of_exec;
  client::TaskListener listener;
  std::string run_id;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace(
        "able",
        client::DriverEntry{.capabilities = {.secrets_in_memory = false, .exec = true},
                            .spawn = [this](const actor::Owner&, const client::DriverOptions&) {
                              return spawn_driver();
                            }});
    return made;
  }

  client::Driver spawn_driver() {
    namespace driver = client::driver;
    return actor::spawn(
        system(), [this](client::Driver::pointer self) -> client::Driver::behavior_type {
          return {[this](const driver::StartTask& msg) {
                    listener = msg.listener;
                    run_id = msg.config->run_id;
                    return driver::Started{};
                  },
                  [](const driver::RecoverTask&) { return driver::Recovered{}; },
                  [this, self](const driver::StopTask& msg) {
                    self->send(listener, driver::Exited{msg.id, run_id, {}});
                    return driver::Done{};
                  },
                  [](const driver::DestroyTask&) { return driver::Done{}; },
                  [](const driver::EndOthers&) { return driver::Done{}; },
                  [](const driver::SignalTask&) { return driver::Done{}; },
                  [](const driver::TaskStats&) { return client::client_api::TaskUsage{}; },
                  [this](const driver::ExecTask& msg) -> actor::Answer<ExecStarted> {
                    asked.push_back(msg);
                    if (refusal_of_exec) return *refusal_of_exec;
                    return ExecStarted{session};
                  },
                  [](driver::Fingerprint) {
                    return driver::Health{
                        .detected = true, .healthy = true, .description = {}, .attributes = {}};
                  }};
        });
  }

  Result<ExecStarted> exec(const std::string& task,
                           std::vector<std::string> command = {"ls", "-l"},
                           int alloc = 1) {
    auto answer = ask<ExecStarted>(
        client, Exec{alloc_id(alloc), task, {std::move(command), true}, nomad::test::anybody()});
    REQUIRE(answer->has_value());
    return **answer;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ExecFixture, "exec: the driver's session comes back") {
  start();
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "able"}}});
  assign(make_alloc(job, 1), job);

  const auto started = exec("web");

  REQUIRE(started.has_value());
  CHECK(started->session == session);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].id == client::driver::TaskId{alloc_id(1), "web"});
  CHECK(asked[0].command.command == std::vector<std::string>{"ls", "-l"});
  CHECK(asked[0].command.tty);
  refusal_of_exec = Error{Errc::rejected, "failed to start command: no"};
  CHECK(exec("web").error() == *refusal_of_exec);
}

TEST_CASE_FIXTURE(ExecFixture, "exec: what makes no sense is refused on the way") {
  start();
  const auto job = make_job({.type = "batch",
                             .tasks = {{.name = "able", .config = "{}", .driver = "able"},
                                       {.name = "mock"},
                                       {.name = "brief", .config = R"({"run_for":"1s"})"},
                                       {.name = "later", .hook = "poststop"}}});
  assign(make_alloc(job, 1), job);
  advance(3s);

  CHECK(exec("able", {"ls"}, 9).error()
        == Error{Errc::not_found, "Unknown allocation \"" + alloc_id(9) + "\""});
  CHECK(exec("").error() == Error{Errc::invalid_argument, "must provide task name"});
  CHECK(exec("able", {}).error() == Error{Errc::invalid_argument, "command is not present"});
  CHECK(exec("nope").error() == Error{Errc::rejected, "task not found"});
  CHECK(exec("mock").error() == Error{Errc::rejected, "task driver does not support exec"});
  CHECK(exec("later").error() == Error{Errc::not_found, "task \"later\" not started yet."});
  CHECK(exec("brief").error() == Error{Errc::not_found, "task \"brief\" is not running."});
  CHECK(asked.empty());
}

TEST_CASE_FIXTURE(ExecFixture, "exec: a client that forbids it says no more than that") {
  auto forbidding = options();
  forbidding.disable_remote_exec = true;
  start(false, forbidding);
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "able"}}});
  assign(make_alloc(job, 1), job);

  CHECK(exec("web").error() == Error{Errc::permission_denied, "Permission denied"});
  CHECK(asked.empty());
}
