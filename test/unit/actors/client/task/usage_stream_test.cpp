// What tasks use: nothing is read that nobody wants, and what drivers stream counts while it is
// new, of the run that runs.
#include "actors/client/task/usage_stream.hpp"

#include <cmath>

#include "test/support/anybody.hpp"
#include "test/support/fake_driver.hpp"
#include "test/support/node_questions.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::UsageStream;
using client::client_api::TaskUsage;
using schema::ClientStatus;

namespace {

TaskUsage uses(std::uint64_t rss) {
  TaskUsage usage;
  usage.memory.rss = rss;
  return usage;
}

/// A driver that says what it is told to say.
struct StreamingDriver : ClientFixture {
  std::vector<Nanoseconds> asked;           ///< Of taskStats, in order.
  std::map<std::string, std::string> runs;  ///< By task.
  client::DriverOptions options_of_newest;
  client::Driver newest;
  bool dies = false;  ///< Over the next signal.

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    const auto entry
        = fake_driver([this](auto, const auto&, auto request) { return answer(request); });
    made.drivers["streams"].spawn
        = [this, real = entry.spawn](const actor::Owner& owner,
                                     const client::DriverOptions& options) {
            options_of_newest = options;
            return newest = real(owner, options);
          };
    return made;
  }

  std::optional<actor::Answer<client::driver::Answered>> answer(DriverRequest::Reader request) {
    if (request.isSignalTask() && std::exchange(dies, false)) throw std::runtime_error{"a bug"};
    if (request.isStartTask()) {
      const auto config = request.getStartTask();
      runs[copy(config.getId().getTask())] = copy(config.getRunId());
    }
    if (!request.isTaskStats()) return std::nullopt;
    asked.emplace_back(request.getTaskStats().getInterval());
    return client::driver::used(uses(1));
  }

  void run(bool telemetry = false, bool keeps = false) {
    if (telemetry) task_metrics = std::make_shared<telemetry::Registry>(telemetry::Options{});
    auto made = options();
    made.keeps_usage = keeps;
    start(true, made);
    const auto job
        = make_job({.tasks = {{.config = "{}", .driver = "streams"}}, .restart_delay = 1s});
    assign(make_alloc(job, 1), job);
    settle();
  }

  client::driver::TaskId id() const { return {alloc_id(1), "web"}; }

  void tell_usage(std::uint64_t rss, const std::string& of_run) {
    tell(options_of_newest.agent, client::driver::told_usage(id(), of_run, uses(rss)));
    settle();
  }

  void tell_usage(std::uint64_t rss) { tell_usage(rss, runs.at("web")); }

  void fail(bool recoverable) {
    tell(options_of_newest.agent,
         client::driver::usage_failed(id(), runs.at("web"), {Errc::unavailable, "no figures"},
                                      recoverable));
    settle();
  }

  void end_run() {
    tell(options_of_newest.agent, client::driver::exited(id(), runs.at("web"), {.code = 1}));
    settle();
  }

  /// The servers want it no more, and its task ends.
  void end_alloc() {
    stop_alloc(1, 9);
    end_run();
  }

  void die() {
    dies = true;
    tell(newest, client::driver::signal_task({"", ""}, ""));
    settle();
  }

  /// What users are shown; nothing: no usage of the task.
  std::optional<std::uint64_t> rss() {
    const auto answer = ask<door::NodeReply>(client, test::read_usage(alloc_id(1)));
    REQUIRE(answer->has_value());
    REQUIRE((*answer)->has_value());
    const auto tasks = (*answer)->value()->getAllocUsage().getTasks();
    if (tasks.size() == 0) return {};
    return tasks[0].getValue().getResourceUsage().getMemoryStats().getRss();
  }

  /// The past of the allocation's task, as users are shown it.
  door::NodeReply history() {
    const auto answer = ask<door::NodeReply>(client, test::read_history(alloc_id(1), "web"));
    REQUIRE((*answer)->has_value());
    REQUIRE((*answer)->value()->getUsageHistory().size() == 1);
    return (*answer)->value();
  }

  /// The slots of 10 seconds of which something is known: their memory in MiB.
  std::vector<int> known_memory() {
    std::vector<int> known;
    const auto reply = history();
    const auto series = reply->getUsageHistory()[0].getSeries();
    if (series.size() == 0) return known;
    for (const auto bytes : series[0].getMemory())
      if (bytes >= 0) known.push_back(static_cast<int>(std::lround(bytes / (1 << 20))));
    return known;
  }

  using Asked = std::vector<Nanoseconds>;
};

constexpr std::uint64_t mib = 1 << 20;

}  // namespace

TEST_CASE("usage_stream: what nobody wants is not streamed") {
  UsageStream stream{1s, false};
  stream.run_is("run");
  CHECK_FALSE(stream.is_to_begin(0s));
  stream.asked(0s);
  CHECK(stream.take_interval(0s) == 0s);
  stream.asked(10s);
  CHECK_MESSAGE(stream.take_interval(10s) == 0s,
                "who comes each ten seconds is answered each time");
  stream.asked(19s);
  CHECK(stream.take_interval(19s) == 1s);
  CHECK(stream.look_in(20s) == 9s);
  CHECK_FALSE(stream.is_to_end(28s));
  CHECK(stream.is_to_end(29s));
  CHECK(stream.take_interval(29s) == 0s);
  CHECK_FALSE(stream.look_in(29s));
}

TEST_CASE("usage_stream: what is older than two intervals, or ten seconds, is no answer") {
  for (const auto& [interval, oldest] :
       std::vector<std::pair<Nanoseconds, Nanoseconds>>{{1s, 2s}, {1h, 10s}}) {
    UsageStream stream{interval, true};
    stream.run_is("run");
    CHECK(stream.is_to_begin(0s));
    CHECK(stream.take_interval(0s) == interval);
    CHECK(stream.newest(0s) == nullptr);
    stream.heard(uses(7), 1s);
    REQUIRE(stream.newest(1s + oldest) != nullptr);
    CHECK(stream.newest(1s + oldest)->memory.rss == 7);
    CHECK(stream.newest(1s + oldest + 1ns) == nullptr);
    CHECK_FALSE(stream.look_in(1s));
  }
}

TEST_CASE("usage_stream: an interval that answers nobody is not streamed for those who ask") {
  UsageStream stream{6s, false};
  stream.run_is("run");
  stream.asked(0s);
  stream.asked(1s);
  CHECK(stream.take_interval(1s) == 0s);
}

TEST_CASE("usage_stream: what is kept is streamed at its slots while nobody wants more") {
  UsageStream stream{1s, false, 10s};
  stream.run_is("run");
  CHECK(stream.is_to_begin(0s));
  CHECK(stream.take_interval(0s) == 10s);
  CHECK_FALSE(stream.is_to_begin(0s));
  CHECK_FALSE(stream.look_in(0s));
  stream.heard(uses(7), 1s);
  CHECK_MESSAGE(stream.newest(1s) == nullptr, "it is no answer: the next comes in ten seconds");
  stream.asked(20s);
  CHECK(stream.take_interval(20s) == 10s);
  stream.asked(21s);
  CHECK(stream.take_interval(21s) == 1s);
  CHECK(stream.look_in(21s) == 10s);
  CHECK(stream.is_to_end(31s));
  CHECK(stream.take_interval(31s) == 10s);
  CHECK_FALSE(stream.is_to_end(31s));
  CHECK_FALSE(stream.look_in(31s));
}

TEST_CASE("usage_stream: a failure that does not pass is of its run") {
  UsageStream stream{1s, true};
  CHECK_FALSE(stream.is_to_begin(0s));
  CHECK_FALSE(stream.listens_to(""));
  stream.run_is("first");
  CHECK(stream.take_interval(0s) == 1s);
  stream.heard(uses(7), 0s);
  stream.failed({Errc::rejected, "never"});
  CHECK(stream.failure());
  CHECK(stream.newest(0s) == nullptr);
  CHECK_FALSE(stream.listens_to("first"));
  CHECK_FALSE(stream.is_to_begin(1s));
  stream.run_is("second");
  CHECK_FALSE(stream.failure());
  CHECK_FALSE(stream.listens_to("first"));
  CHECK(stream.is_to_begin(1s));
}

TEST_CASE_FIXTURE(StreamingDriver, "usage_stream: a task that nobody asks about is not read") {
  run();
  advance(1min);
  CHECK(asked.empty());
  CHECK(rss() == 1);
  advance(1min);
  CHECK(asked == Asked{0s});
}

TEST_CASE_FIXTURE(StreamingDriver, "usage_stream: who asks again is answered by what is streamed") {
  run();
  rss();
  rss();
  CHECK(asked == Asked{0s, 1s});
  tell_usage(7);
  CHECK(rss() == 7);
  advance(1s);
  CHECK(rss() == 7);
  tell_usage(8);
  CHECK(rss() == 8);
  CHECK(asked.size() == 2);
  advance(9s);
  CHECK(asked.size() == 2);
  advance(2s);
  CHECK(asked == Asked{0s, 1s, 0s});
  advance(1min);
  CHECK(asked.size() == 3);
}

TEST_CASE_FIXTURE(StreamingDriver,
                  "usage_stream: a driver that does not stream is asked each time") {
  run();
  for (int i = 0; i < 4; ++i) {
    CHECK(rss() == 1);
    advance(3s);
  }
  CHECK(asked == Asked{0s, 1s, 1s, 1s});
}

TEST_CASE_FIXTURE(StreamingDriver, "usage_stream: telemetry has each run streamed") {
  run(true);
  CHECK(asked == Asked{1s});
  tell_usage(7);
  CHECK(rss() == 7);
  advance(1min);
  CHECK(asked == Asked{1s});
  end_run();
  advance(3s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(asked == Asked{1s, 1s});
}

TEST_CASE_FIXTURE(StreamingDriver,
                  "usage_stream: a driver that dies is followed by one that streams") {
  run(true);
  tell_usage(7);
  die();
  CHECK_FALSE_MESSAGE(rss(), "nobody knows");
  CHECK(asked == Asked{1s});
  advance(10s);
  CHECK(asked == Asked{1s, 1s});
  tell_usage(8);
  CHECK(rss() == 8);
}

TEST_CASE_FIXTURE(
    StreamingDriver,
    "usage_stream: the next driver goes on for who asked, and ends when nobody does") {
  run();
  rss();
  rss();
  die();
  advance(7s);
  CHECK(asked == Asked{0s, 1s, 1s});
  advance(30s);
  CHECK(asked == Asked{0s, 1s, 1s, 0s});
  die();
  advance(1min);
  CHECK(asked.size() == 4);
  CHECK(rss() == 1);
  CHECK(asked.back() == 0s);
}

TEST_CASE_FIXTURE(StreamingDriver, "usage_stream: what is told after the end is not heard") {
  run(true);
  const auto first = runs.at("web");
  tell_usage(7);
  end_run();
  tell_usage(8);
  CHECK_FALSE(rss());
  advance(3s);
  CHECK(runs.at("web") != first);
  tell_usage(9, first);
  tell_usage(9, "");
  CHECK(rss() == 1);  // The answer to the runner's own question.
  tell_usage(10);
  CHECK(rss() == 10);
}

TEST_CASE_FIXTURE(StreamingDriver,
                  "usage_stream: a reading that fails is missed; a last word is heard once") {
  run(true);
  tell_usage(7);
  advance(1s);
  fail(true);
  CHECK(rss() == 7);
  advance(2s);
  CHECK_MESSAGE(rss() == 1, "it is too old, and the driver is asked");
  tell_usage(8);
  CHECK(rss() == 8);
  const auto before = asked.size();
  fail(false);
  fail(false);
  tell_usage(9);
  CHECK_FALSE(rss());
  advance(1min);
  CHECK(asked.size() == before);
  die();
  advance(10s);
  CHECK(asked.size() == before + 1);
  tell_usage(10);
  CHECK(rss() == 10);
}

TEST_CASE_FIXTURE(StreamingDriver,
                  "usage history: what a driver streams is kept, over restarts and past the end") {
  run(false, true);
  CHECK(asked == Asked{10s});
  tell_usage(50 * mib);
  advance(10s);
  tell_usage(80 * mib);
  advance(10s);
  CHECK(known_memory() == std::vector{50, 80});
  end_run();
  advance(3s);
  CHECK(asked == Asked{10s, 10s});
  tell_usage(20 * mib);
  advance(10s);
  CHECK(known_memory() == std::vector{50, 80, 20});
  const auto shown = history();
  CHECK(shown->getUsageHistory()[0].getRestarts() == 1);
  CHECK(shown->getUsageHistory()[0].getRestartTimes().size() == 1);
  const auto until = shown->getUsageHistory()[0].getSeries()[0].getEnd();
  CHECK(until * 1'000'000'000 <= unix_now() + Nanoseconds{10s}.count());
  CHECK(until * 1'000'000'000 >= unix_now() - Nanoseconds{20s}.count());

  end_alloc();

  CHECK(known_memory() == std::vector{50, 80, 20});
  const auto other = ask<door::NodeReply>(client, test::read_history(alloc_id(1), "nobody"));
  CHECK((*other)->error().code == Errc::not_found);
  tell(client, test::collect_alloc(alloc_id(1)));
  settle();
  const auto gone = ask<door::NodeReply>(client, test::read_history(alloc_id(1)));
  CHECK((*gone)->error().code == Errc::not_found);
}

TEST_CASE_FIXTURE(StreamingDriver, "usage history: without it nothing is read and nothing kept") {
  run();
  advance(1min);
  CHECK(asked.empty());
  rss();
  CHECK(known_memory().empty());
}

TEST_CASE_FIXTURE(StreamingDriver,
                  "usage history: the machine is read while something runs on it") {
  const auto slots = [this] {
    const auto answer = ask<door::NodeReply>(client, test::read_host_history());
    REQUIRE((*answer)->has_value());
    const auto series = (*answer)->value()->getUsageHistory()[0].getSeries();
    std::size_t known = 0;
    if (series.size() > 0)
      for (const auto bytes : series[0].getMemory())
        known += bytes >= 0 ? 1 : 0;
    return known;
  };
  run(false, true);
  advance(55s);
  CHECK(slots() == 5);

  end_alloc();
  advance(10s);
  const auto before = slots();
  advance(5min);

  CHECK(slots() == before);
}

TEST_CASE_FIXTURE(ClientFixture, "usage_stream: mock tasks are streamed until they end") {
  task_metrics = std::make_shared<telemetry::Registry>(telemetry::Options{});
  start();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"10s"})"}}});
  assign(make_alloc(job, 1), job);
  const auto timestamp = [this] {
    const auto answer = ask<door::NodeReply>(client, test::read_usage(alloc_id(1)));
    REQUIRE((*answer)->has_value());
    return (*answer)->value()->getAllocUsage().getTimestamp();
  };
  const auto began = unix_now() - 1;  // The clock begins at 1 ns, ticks are at whole seconds.
  advance(3500ms);
  CHECK(timestamp() == began + Nanoseconds{3s}.count());
  advance(4s);
  CHECK(timestamp() == began + Nanoseconds{7s}.count());
  advance(10s);
  CHECK(timestamp() == 0);
  CHECK(status(1) == ClientStatus::COMPLETE);
}
