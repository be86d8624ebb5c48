// DockerFixture: the driver docker over an engine of the test's own, which is slow, dies, forgets
// and answers twice when the test says so.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/client/drivers/docker/docker.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "runtime/docker/container_body.hpp"
#include "runtime/net/socket.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/fake_engine.hpp"
#include "test/support/temp_dir.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using client::driver::Answered;
using client::driver::TaskId;
using Which = schema::plugin::DriverAnswer::Which;
using Notice = client::plugin_agent::Notice;
using Fate = FakeEngineCalls::Fate;

struct DockerFixture : ActorFixture {
  TempDir dir;
  FakeEngineCalls calls;
  FakeEngine& engine = calls.engine;
  std::map<std::string, std::string> config{{"endpoint", "unix:///"}};  // a path that is there
  std::vector<Notice> told;
  client::PluginAgent agent = adopt(actor::spawn(
      system(), [this](client::PluginAgent::pointer) -> client::PluginAgent::behavior_type {
        return {[this](const Notice& msg) { told.push_back(msg); },
                [](const client::plugin_agent::Ask&) { return client::plugin_agent::Answered{}; }};
      }));
  bool holds_steps = false;
  std::vector<std::function<void()>> held_steps;
  client::BlockingPool steps = adopt(actor::spawn(
      system(), [this](client::BlockingPool::pointer self) -> client::BlockingPool::behavior_type {
        return {[this, self](const client::blocking::RunBlocking& msg)
                    -> actor::Answer<client::blocking::Outcome> {
          if (!msg.run) {  // The order to run the last one.
            const auto step = std::move(held_steps.back());
            held_steps.pop_back();
            step();
            return client::blocking::Outcome{};
          }
          const auto run = [of = msg.run]() -> Result<client::blocking::Outcome> {
            return *NOMAD_TRY(of({}));
          };
          if (!holds_steps) return actor::answer(run());
          auto promise = self->make_response_promise<client::blocking::Outcome>();
          held_steps.push_back([promise, run] { actor::answer(promise, run()); });
          return promise;
        }};
      }));
  client::Driver driver;
  bool keeps_logs = false;
  std::string network;
  std::string volumes = "[]";
  std::int64_t seconds = 1'700'000'000;

  DockerFixture() {
    engine.images = {"busybox:1"};
    start_agent();
  }

  ~DockerFixture() { end_agent(); }

  void start_agent() {
    driver = client::docker_entry([this](const auto&, const auto&) { return calls.connect(); })
                 .spawn(system(), {.state_dir = dir.path(),
                                   .executor_path = {},
                                   .cgroup_parent = {},
                                   .usage_reader = {},
                                   .steps = steps,
                                   .unix_now = [this] { return seconds * 1'000'000'000; },
                                   .agent = agent,
                                   .name = "docker",
                                   .config = config,
                                   .alloc_dir = dir.file("allocs")});
    settle();
  }

  void end_agent() {
    actor::kill(driver);
    driver = {};
    settle();
  }

  void start_later_agent() {
    end_agent();
    ++seconds;
    start_agent();
  }

  /// Steps run on threads, so that a later one may come first.
  void run_held_steps_from_the_last() {
    while (!held_steps.empty())
      tell(steps, client::blocking::RunBlocking{});
  }

  client::driver::Ask start_of(const std::string& run_id,
                               const std::string& image,
                               const std::string& task) {
    Draft<schema::plugin::DriverRequest> draft;
    auto config = draft->initStartTask();
    client::driver::write_id({"alloc", task}, config.initId());
    config.setRunId(text(run_id));
    config.setConfig(text(fmt::format(R"({{"image":"{}","volumes":{}}})", image, volumes)));
    config.setAllocRoot(text(dir.path()));
    config.setTaskDirectory(text(dir.file(task)));
    config.setNetworkNamespace(text(network));
    auto logs = config.initLogs();
    logs.setDisabled(!keeps_logs);
    logs.setMaxFiles(2);
    logs.setMaxFileBytes(1'000'000);
    return {draft.freeze()};
  }

  using Reply = Answer<Answered>;

  Reply start(const std::string& run_id,
              const std::string& image = "busybox:1",
              const std::string& task = "web") {
    return ask<Answered>(driver, start_of(run_id, image, task));
  }

  Reply recover(const std::string& run_id) {
    workload::TaskRecord record;
    record.run_id = run_id;
    return ask<Answered>(driver, client::driver::recover_task({"alloc", "web"}, record));
  }

  Reply stop(const std::string& signal = "") {
    return ask<Answered>(driver, client::driver::stop_task({"alloc", "web"}, signal, 5s));
  }

  void tell_end_others(const std::vector<TaskId>& kept) {
    ask<Answered>(driver, client::driver::end_others(kept));
  }

  Reply destroy(const std::string& task = "web") {
    return ask<Answered>(driver, client::driver::destroy_task({"alloc", task}));
  }

  static bool is(const Reply& reply, Which which) {
    return reply->has_value() && **reply && !client::driver::refusal_of(***reply, which);
  }

  static std::string refusal(const Reply& reply) {
    if (!reply->has_value() || !**reply) return "no answer";
    const auto why = client::driver::refusal_of(***reply, Which::STARTED);
    return why ? why->error.what + (why->recoverable ? " (recoverable)" : "") : "none";
  }

  /// "run-1: 3": the ends that the agent has been told.
  std::vector<std::string> ends() const {
    std::vector<std::string> all;
    for (const auto& notice : told)
      if (notice.notice->isExited()) {
        const auto told = notice.notice->getExited();
        all.push_back(fmt::format("{}: {}", view(told.getRunId()), told.getResult().getCode()));
      }
    return all;
  }

  int events(std::string_view about) const {
    return static_cast<int>(std::ranges::count_if(told, [about](const Notice& notice) {
      return notice.notice->isEvent()
             && view(notice.notice->getEvent().getMessage()).starts_with(about);
    }));
  }

  bool is_healthy() {
    const auto reply = ask<Answered>(driver, client::driver::fingerprint());
    return (**reply)->answer->getFingerprint().getHealthy();
  }

  /// Questions with this method and words in their targets wait until `release`.
  void hold(const std::string& method, const std::string& words) {
    calls.holds = [method, words](const docker::EngineRequest& request) {
      return request.method == method && request.target.find(words) != std::string::npos;
    };
  }

  void release() {
    calls.holds = [](const docker::EngineRequest&) { return false; };
    calls.look_again();
    settle();
  }

  void fate_of(const std::string& words, Fate fate) {
    calls.fate = [words, fate](const docker::EngineRequest& request) {
      return request.target.find(words) != std::string::npos ? fate : Fate::answered;
    };
  }

  /// The engine is this process, which sees what is mounted.
  net::Descriptor listen_as_engine() {
    config["endpoint"] = "unix://" + dir.file("engine");
    auto socket = net::listen_unix(dir.file("engine"));
    REQUIRE(socket.has_value());
    start_later_agent();
    return std::move(*socket);
  }

  /// How many binds are held, of whatever agent.
  int held_binds() const {
    int count = 0;
    std::error_code failure;
    const std::filesystem::path folder{dir.file("docker-binds")};
    for (const auto& life : std::filesystem::directory_iterator{folder, failure})
      for (const auto& location : std::filesystem::directory_iterator{life})
        for (const auto& target : std::filesystem::directory_iterator{location})
          count += target.exists() ? 1 : 0;
    return count;
  }

  std::vector<std::string> log_records() const {
    std::vector<std::string> names;
    std::error_code failure;
    for (const auto& record : std::filesystem::directory_iterator{dir.file("docker"), failure})
      names.push_back(record.path());
    return names;
  }

  FakeContainer& container() { return engine.containers.at(0); }

  void end(int code) {
    engine.end("web-alloc", code);
    calls.look_again();
    settle();
  }
};

/// As the engine gives out what a container has said.
inline std::string log_frame(const std::string& text) {
  const auto said = "2026-01-02T03:04:05.000000006Z " + text;
  return std::string{"\1\0\0\0\0\0\0", 7} + static_cast<char>(said.size()) + said;
}

}  // namespace nomad::test
