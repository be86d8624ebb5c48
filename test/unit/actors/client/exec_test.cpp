// A command beside a task (`alloc exec`) on its way to the driver: what each actor refuses, and
// that the driver's session comes back.
#include <future>
#include <set>

#include <sys/socket.h>
#include <unistd.h>

#include "client_fixture.hpp"
#include "test/support/anybody.hpp"
#include "test/support/fake_driver.hpp"

using namespace nomad;
using namespace nomad::test;
using client::client_api::Exec;
using client::client_api::ExecStarted;

namespace {

/// A driver whose tasks never end by themselves, and which runs commands.
struct ExecFixture : ClientFixture {
  struct Asked {
    client::driver::TaskId id;
    std::vector<std::string> command;
    bool tty = false;
  };

  std::vector<Asked> asked;
  std::optional<Error> refusal_of_exec;
  std::size_t streams = 2;                  ///< How many descriptors an answer brings.
  std::vector<host::UniqueFd> driver_ends;  ///< The socket, and the terminal's other side.
  std::string run_id;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace(
        "able", fake_driver([this](auto self, const auto& options,
                                   auto request) { return answer(self, options, request); },
                            /*exec=*/true));
    return made;
  }

  std::optional<actor::Answer<client::driver::Answered>> answer(
      client::Driver::pointer self,
      const client::DriverOptions& options,
      DriverRequest::Reader request) {
    namespace driver = client::driver;
    if (request.isStartTask()) run_id = copy(request.getStartTask().getRunId());
    if (request.isStopTask())
      self->send(options.agent,
                 driver::exited(driver::read_id(request.getStopTask().getId()), run_id, {}));
    if (!request.isExecTask()) return std::nullopt;
    auto& order = asked.emplace_back(
        Asked{driver::read_id(request.getExecTask().getId()), {}, request.getExecTask().getTty()});
    for (const auto word : request.getExecTask().getCommand())
      order.command.push_back(copy(word));
    if (refusal_of_exec) return driver::failed(*refusal_of_exec);
    return driver::exec_started(make_streams());
  }

  client::driver::Descriptors make_streams() {
    const auto ends = std::make_shared<std::vector<host::UniqueFd>>();
    driver_ends.clear();
    for (std::size_t i = 0; i < streams; ++i) {
      int pair[2] = {};
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
      ends->emplace_back(pair[0]);
      driver_ends.emplace_back(pair[1]);
    }
    return ends;
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

TEST_CASE_FIXTURE(ExecFixture, "exec: what the driver's streams bring comes back") {
  start();
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "able"}}});
  assign(make_alloc(job, 1), job);

  auto started = exec("web");

  REQUIRE(started.has_value());
  std::promise<std::string> said;
  started->session->start({.output =
                               [&said](auto, std::string_view bytes) {
                                 if (!bytes.empty()) said.set_value(std::string{bytes});
                               },
                           .writable = [] {},
                           .exited = [](const host::ExecResult&) {}});
  REQUIRE(::write(driver_ends[1].get(), "hello", 5) == 5);
  CHECK(said.get_future().get() == "hello");
  started->session.reset();
  char byte = 0;
  CHECK_MESSAGE(::read(driver_ends[0].get(), &byte, 1) == 0, "who lets go of it kills the command");
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].id == client::driver::TaskId{alloc_id(1), "web"});
  CHECK(asked[0].command == std::vector<std::string>{"ls", "-l"});
  CHECK(asked[0].tty);
  refusal_of_exec = Error{Errc::rejected, "failed to start command: no"};
  CHECK(exec("web").error() == *refusal_of_exec);
}

TEST_CASE_FIXTURE(ExecFixture, "exec: a task that nothing keeps from its node needs more") {
  using access::Capability;
  start();
  const auto job = make_job({.tasks = {{.name = "mock"}}});
  assign(make_alloc(job, 1), job);
  const auto exec_as = [&](const std::set<Capability>& given) {
    const auto who = nomad::test::somebody(
        [given](Capability needed, const access::Target&) { return given.contains(needed); });
    auto answer = ask<ExecStarted>(
        client, Exec{alloc_id(1), "mock", {{"ls"}, false}, {who, Capability::alloc_exec}});
    REQUIRE(answer->has_value());
    // Whether he may goes by the same, while a command runs, too.
    auto allowed = ask<client::client_api::ExecAllowed>(
        client, client::client_api::MayExec{alloc_id(1), "mock", who});
    REQUIRE(allowed->has_value());
    CHECK((*allowed)->has_value() == ((*answer)->error().what != "Permission denied"));
    return (*answer)->error().what;
  };
  CHECK(exec_as({Capability::alloc_exec}) == "Permission denied");
  CHECK(exec_as({Capability::alloc_node_exec}) == "Permission denied");
  CHECK(exec_as({Capability::alloc_exec, Capability::alloc_node_exec})
        == "task driver does not support exec");
}

TEST_CASE_FIXTURE(ExecFixture, "exec: a driver that forgets the streams is no crash") {
  start();
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "able"}}});
  assign(make_alloc(job, 1), job);
  for (const std::size_t count : {0, 1, 3}) {
    streams = count;
    CHECK(exec("web").error().code == Errc::io);
  }
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

TEST_CASE_FIXTURE(ExecFixture, "exec: the command of an action is the job's") {
  start();
  Draft<schema::Job> draft{make_job({.tasks = {{.config = "{}", .driver = "able"}}})};
  auto actions = draft->getTaskGroups()[0].getTasks()[0].initActions(2);
  actions[0].setName("quit");
  actions[0].setCommand("/bin/quit");
  actions[1].setName("say");
  actions[1].setCommand("/bin/echo");
  actions[1].initArgs(1).set(0, "${NOMAD_TASK_NAME}");
  const auto job = draft.freeze();
  assign(make_alloc(job, 1), job);
  const auto run = [this](const std::string& action, const std::string& task = "web",
                          const std::string& job_id = "job", int alloc = 1) {
    auto answer = ask<ExecStarted>(
        client, Exec{alloc_id(alloc), task, {}, nomad::test::anybody(), action, job_id});
    REQUIRE(answer->has_value());
    return (*answer)->has_value() ? Error{} : (*answer)->error();
  };
  const auto refused = [](std::string what) {
    return Error{Errc::invalid_argument, std::move(what)};
  };

  run("say");
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].command == std::vector<std::string>{"/bin/echo", "${NOMAD_TASK_NAME}"});
  run("quit");
  REQUIRE(asked.size() == 2);
  CHECK(asked[1].command == std::vector<std::string>{"/bin/quit"});
  CHECK(run("gone") == refused("action gone not found in task web"));
  CHECK(run("say", "nope") == refused("task nope not found in allocation " + alloc_id(1)));
  CHECK(run("say", "web", "other") == refused("job other does not have allocation " + alloc_id(1)));
  CHECK(run("say", "web", "job", 9)
        == Error{Errc::not_found, "Unknown allocation \"" + alloc_id(9) + "\""});
  CHECK(asked.size() == 2);
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
