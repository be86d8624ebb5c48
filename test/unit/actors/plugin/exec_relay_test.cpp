// Commands beside tasks of a plugin's driver, from the question to the end, by way of the link.
#include "actors/plugin/exec_relay.hpp"

#include <doctest/doctest.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "runtime/plugin/sdk/task_driver.hpp"
#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;

namespace {

class Beside final : public plugin::TaskDriver {
public:
  explicit Beside(plugin::Agent& agent) : TaskDriver{agent, {.name = "d", .exec = true}} {}

private:
  Result<std::string> start(schema::plugin::TaskConfig::Reader) override { return std::string{}; }

  Result<std::string> recover(const plugin::TaskId&, std::string_view, std::string_view) override {
    return Error{Errc::not_found, "none"};
  }

  Result<> stop(const plugin::TaskId&, std::string_view, plugin::Nanoseconds) override {
    return {};
  }

  void destroy(const plugin::TaskId&) override {}

  Result<plugin::ExecPlan> run_beside(const plugin::TaskId&,
                                      std::vector<std::string> command) override {
    return plugin::ExecPlan{.command = std::move(command)};
  }
};

/// What a session has told.
struct Heard {
  std::string output, errors;
  int ends = 0;
  int writable = 0;
  std::optional<host::ExecResult> result;
};

struct CommandFixture : test::LinkFixture {
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  bool takes = true;  ///< What it hears.

  std::shared_ptr<host::ExecSession> begin(std::vector<std::string> command, bool tty = false) {
    const auto link = start([](plugin::Plugin& plugin) {
      plugin.is("p", "1").driver(
          "d", [](plugin::Agent& agent) { return std::make_unique<Beside>(agent); });
    });
    const auto answer = ask<client::driver::Answered>(
        link, plugin::plugin_link::AskDriver{
                  "d", client::driver::exec_task({"a1", "t"}, {std::move(command), tty}).request});
    REQUIRE((answer->has_value() && (*answer)->has_value()));
    REQUIRE((**answer)->session != nullptr);
    return std::move((**answer)->session);
  }

  void listen(const std::shared_ptr<host::ExecSession>& session) {
    const std::weak_ptr<host::ExecSession> weak = session;
    session->start({.output =
                        [this, weak](host::ExecEvents::Output which, std::string_view bytes) {
                          if (bytes.empty()) ++heard->ends;
                          (which == host::ExecEvents::Output::err ? heard->errors : heard->output)
                              += bytes;
                          if (const auto to = weak.lock(); to && takes) to->taken(bytes.size());
                        },
                    .writable = [this] { ++heard->writable; },
                    .exited = [this](host::ExecResult result) { heard->result = result; }});
    settle();
  }

  void run(const std::function<bool()>& until) {
    for (int tries = 0; tries < 500 && !until(); ++tries) {
      plugin.poll(10);
      settle();
    }
    REQUIRE(until());
  }
};

}  // namespace

TEST_CASE_FIXTURE(CommandFixture, "exec relay: bytes go both ways, and the end comes last") {
  const auto session = begin({"sh", "-c", "cat; echo oops >&2; exit 7"});
  listen(session);
  CHECK(session->write_input("one\n"));
  session->end_input();
  settle();
  run([this] { return heard->result.has_value(); });
  CHECK(heard->output == "one\n");
  CHECK(heard->errors == "oops\n");
  CHECK(heard->ends == 2);
  CHECK(heard->result->exit_code == 7);
  CHECK(session->write_input("too late"));
}

TEST_CASE_FIXTURE(CommandFixture, "exec relay: what comes before anybody listens is kept") {
  const auto session = begin({"sh", "-c", "echo early; kill -15 $$"});
  for (int i = 0; i < 50; ++i) {
    plugin.poll(10);
    settle();
  }
  listen(session);
  CHECK(heard->output == "early\n");
  REQUIRE(heard->result);
  CHECK(heard->result->exit_code == 128 + 15);
}

TEST_CASE_FIXTURE(CommandFixture, "exec relay: who takes nothing is sent no more than the window") {
  const auto session = begin({"head", "-c", "1000000", "/dev/zero"});
  takes = false;
  listen(session);
  run([this] { return heard->output.size() >= host::ExecSession::output_window; });
  for (int i = 0; i < 20; ++i) {
    plugin.poll(10);
    settle();
  }
  CHECK(heard->output.size() == host::ExecSession::output_window);
  takes = true;
  session->taken(heard->output.size());
  settle();
  run([this] { return heard->result.has_value(); });
  CHECK(heard->output.size() == 1'000'000);
}

TEST_CASE_FIXTURE(CommandFixture,
                  "exec relay: input that is not read is refused, and wanted later") {
  const auto session = begin({"sh", "-c", "read line; cat >/dev/null"});
  listen(session);
  const std::string much(200'000, 'x');
  int sent = 0;
  while (session->write_input(much)) {
    settle();
    REQUIRE(++sent < 20);
  }
  CHECK(heard->writable == 0);
  CHECK(session->write_input(much) == false);
  plugin.poll(0);
  session->resize(1, 2);  // no terminal: passed over
  settle();
  session->write_input("\n");
  settle();
  run([this] { return heard->writable == 1; });
}

TEST_CASE_FIXTURE(CommandFixture, "exec relay: the end of the plugin's process is the command's") {
  const auto session = begin({"sleep", "1000"});
  listen(session);
  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();
  REQUIRE(heard->result);
  CHECK(heard->result->error == "plugin p has ended");
}

TEST_CASE_FIXTURE(CommandFixture, "exec relay: a plugin that sends too much ends its command") {
  const auto session = begin({"sleep", "1000"});
  listen(session);
  takes = false;
  const std::string much(200'000, 'x');
  for (int i = 0; i < 2; ++i) {
    say([&](schema::plugin::Frame::Builder frame) {
      auto to = frame.initExecBytes();
      to.setNumber(2);  // the configuration was the first question
      to.setStream(1);
      to.setBytes({reinterpret_cast<const kj::byte*>(much.data()), much.size()});
    });
    settle();
  }
  REQUIRE(heard->result);
  CHECK(heard->result->error == "the plugin sent more than was taken");
}

TEST_CASE_FIXTURE(CommandFixture, "exec relay: frames about no command are passed over") {
  auto session = begin({"sleep", "1000"});
  listen(session);
  session.reset();  // nobody waits for it any more
  settle();
  for (const std::uint64_t number : {2U, 99U}) {
    say([&](schema::plugin::Frame::Builder frame) { frame.initExecBytes().setNumber(number); });
    say([&](schema::plugin::Frame::Builder frame) { frame.initExecTaken().setNumber(number); });
    say([&](schema::plugin::Frame::Builder frame) { frame.initExecEnded().setNumber(number); });
  }
  settle();
  CHECK_FALSE(heard->result);
  CHECK(status().state == plugin::PluginState::running);
}
