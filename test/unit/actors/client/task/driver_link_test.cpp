// Tasks whose driver dies, answers nothing, or says what makes no sense: none is lost, none runs
// twice, and no end is heard twice.
#include "actors/client/task/driver_link.hpp"

#include "test/support/fake_driver.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::driver::Answered;
using schema::ClientStatus;
using Strings = std::vector<std::string>;

namespace {

using Act = std::optional<actor::Answer<Answered>>;

/// A driver whose processes outlive it, and which dies when the test says.
struct FrailDriver : ClientFixture {
  std::map<std::string, std::string> processes;  ///< Run by task; of all lives.
  Strings log;                                   ///< "start", "recover", "stop", "destroy"
  std::set<std::string> deaths;                  ///< Over these it dies, once.
  std::set<std::string> deadly;                  ///< Over these it dies, always.
  std::set<std::string> drops;                   ///< It forgets to answer these, once.
  std::vector<actor::Promise<Answered>> held;    ///< Starts that are not answered.
  bool holds_starts = false;
  client::DriverOptions options_of_newest;
  client::Driver newest;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    auto entry = fake_driver([this](auto self, const auto& options, auto request) {
      return answer(self, options, request);
    });
    made.drivers["frail"].spawn = [this, real = entry.spawn](const actor::Owner& owner,
                                                             const client::DriverOptions& options) {
      options_of_newest = options;
      return newest = real(owner, options);
    };
    return made;
  }

  static std::string name_of(DriverRequest::Reader request) {
    if (request.isStartTask()) return "start";
    if (request.isRecoverTask()) return "recover";
    if (request.isStopTask()) return "stop";
    if (request.isDestroyTask()) return "destroy";
    if (request.isSignalTask()) return "signal";
    if (request.isDescribe()) return "describe";
    return {};
  }

  Act answer(client::Driver::pointer self,
             const client::DriverOptions& options,
             DriverRequest::Reader request) {
    namespace driver = client::driver;
    const auto what = name_of(request);
    if (what.empty()) return std::nullopt;
    if (!request.isDescribe()) log.push_back(what);
    if (request.isSignalTask() && view(request.getSignalTask().getSignal()) == "answer")
      for (const auto& promise : held) {
        promise.deliver(driver::started({1, "first"}));
        promise.deliver(driver::failed({Errc::rejected, "second"}));
      }
    if (request.isStartTask())  // It begins before it dies.
      processes.emplace(view(request.getStartTask().getId().getTask()),
                        copy(request.getStartTask().getRunId()));
    if (deadly.contains(what) || deaths.erase(what) > 0) throw std::runtime_error{"a bug"};
    if (drops.erase(what) > 0) {
      static_cast<void>(self->make_response_promise<Answered>());
      return actor::Answer<Answered>{actor::Promise<Answered>{}};
    }
    if (request.isStartTask()) {
      const auto config = request.getStartTask();
      if (processes.at(copy(config.getId().getTask())) != view(config.getRunId()))
        return driver::failed({Errc::conflict, "it runs as another"});
      if (!holds_starts) return std::nullopt;
      held.push_back(self->make_response_promise<Answered>());
      return held.back();
    }
    if (request.isRecoverTask()
        && !processes.contains(copy(request.getRecoverTask().getId().getTask())))
      return driver::failed({Errc::not_found, "it was never started"});
    if (request.isStopTask()) tell_end(options, driver::read_id(request.getStopTask().getId()));
    if (request.isDestroyTask()) processes.erase(copy(request.getDestroyTask().getTask()));
    return std::nullopt;
  }

  void tell_end(const client::DriverOptions& options, const client::driver::TaskId& id) {
    if (const auto found = processes.find(id.task); found != processes.end())
      actor::tell_urgent(options.agent, client::driver::exited(id, found->second, {}));
  }

  /// As a bug would end it.
  void die() {
    deaths.insert("signal");
    tell(newest, client::driver::signal_task({"", ""}, ""));
  }

  /// Answers what is held, twice.
  void answer_held() { tell(newest, client::driver::signal_task({"", ""}, "answer")); }

  void run(const std::string& type = "service") {
    start(true);
    const auto job = make_job(
        {.type = type, .tasks = {{.config = "{}", .driver = "frail"}}, .restart_delay = 1s});
    assign(make_alloc(job, 1), job);
    settle();
  }

  int count(const std::string& what) const {
    return static_cast<int>(std::ranges::count(log, what));
  }

  client::driver::TaskId id() const { return {alloc_id(1), "web"}; }
};

}  // namespace

TEST_CASE_FIXTURE(FrailDriver, "driver_link: a running task is recovered by the next driver") {
  run();
  advance(1s);
  CHECK(status(1) == ClientStatus::RUNNING);
  die();
  advance(10s);
  CHECK(log == Strings{"start", "signal", "recover"});
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: a start that a driver took into its grave is repeated") {
  deaths = {"start"};
  run();
  advance(10s);
  CHECK(log == Strings{"start", "start"});
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: one that two drivers died over has failed, and leaves nothing") {
  deadly = {"start"};
  run("batch");
  advance(4s);
  CHECK(count("start") == 1);
  advance(20s);
  deadly.clear();
  CHECK(count("start") >= 2);
  CHECK(count("destroy") >= 1);
  advance(1min);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(processes.size() == 1);
  const auto seen = events(1);
  CHECK(std::ranges::count(seen, "Driver Failure") == 1);
  CHECK(std::ranges::count(seen, "Restarting") == 1);
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: what is to start while there is no driver is tried again") {
  start(true);
  die();
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "frail"}}, .restart_delay = 10s});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Driver Failure", "Restarting"});
  CHECK(view(task(1).getEvents()[2].getDisplayMessage())
            .starts_with("task driver \"frail\" does not answer"));
  advance(20s);
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: so is what is to start before a driver said what it is") {
  deadly = {"describe"};
  start(true);
  const auto job = make_job(
      {.tasks = {{.config = R"({"any":"thing"})", .driver = "frail"}}, .restart_delay = 30s});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Driver Failure", "Restarting"});
  deadly.clear();
  advance(1min);
  CHECK_MESSAGE(events(1).back() == "Not Restarting", "this driver has no such argument");
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: an order to stop waits for the next driver") {
  run();
  die();
  stop_alloc(1, 2);
  advance(4s);
  CHECK(count("stop") == 0);
  CHECK(status(1) == ClientStatus::RUNNING);
  advance(10s);
  CHECK(log == Strings{"start", "signal", "recover", "stop", "destroy"});
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(processes.empty());
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: a driver that dies over a stop is followed by one that stops") {
  run();
  deaths = {"stop"};
  stop_alloc(1, 2);
  advance(20s);
  CHECK(log == Strings{"start", "stop", "recover", "stop", "destroy"});
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(std::ranges::count(events(1), "Terminated") == 1);
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: an end that was heard is not heard again") {
  run("batch");
  deaths = {"destroy"};
  tell_end(options_of_newest, id());
  settle();
  advance(20s);
  CHECK(log == Strings{"start", "destroy", "destroy"});
  CHECK(status(1) == ClientStatus::COMPLETE);
  tell_end(options_of_newest, id());
  advance(1s);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started", "Terminated"});
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: a driver that forgets to answer, and lives, has failed the order") {
  drops = {"start"};
  run();
  advance(4s);
  CHECK(count("start") == 1);
  advance(10s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Driver Failure", "Restarting", "Started"});
  CHECK(processes.size() == 1);
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: an answer that comes twice counts once") {
  holds_starts = true;
  run();
  REQUIRE(held.size() == 1);
  answer_held();
  advance(1s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
}

TEST_CASE_FIXTURE(FrailDriver,
                  "driver_link: a kill ends a task whose start is never answered, once it is") {
  holds_starts = true;
  run();
  stop_alloc(1, 2);
  advance(1min);
  REQUIRE(held.size() == 1);
  answer_held();
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(processes.empty());
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: ends of runs that are not this one change nothing") {
  run();
  const auto& agent = options_of_newest.agent;
  tell(agent, client::driver::exited(id(), "another run", {.code = 1}));
  tell(agent, client::driver::exited(id(), "", {.code = 1}));
  tell(agent, client::driver::exited({alloc_id(9), "web"}, "run", {.code = 1}));
  tell(agent, client::driver::felt("frail", client::driver::make_fingerprint(true, true, "")));
  Draft<schema::plugin::Notice> draft;
  draft->setAllocId(text(alloc_id(1)));
  draft->setTask("web");
  draft->initHealth().setHealthy(true);
  tell(agent, client::plugin_agent::Notice{draft.freeze()});
  advance(2s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: what a driver has to say is in the task's history") {
  run();
  tell(options_of_newest.agent, client::driver::message(id(), 1, "Downloading image"));
  advance(2s);
  REQUIRE(events(1) == Strings{"Received", "Task Setup", "Started", "Driver"});
  CHECK(view(task(1).getEvents()[3].getDisplayMessage()) == "Downloading image");
}

TEST_CASE_FIXTURE(FrailDriver, "driver_link: the node shows that a driver is away") {
  run();
  const auto healthy = [this] {
    for (const auto entry : node->getDrivers())
      if (view(entry.getKey()) == "frail") return entry.getValue().getHealthy();
    return false;
  };
  CHECK(healthy());
  for (int i = 0; i < 3; ++i) {  // The third wait is long enough to be registered.
    die();
    advance(4s);
    advance(i == 2 ? 10s : 30s);
  }
  CHECK_FALSE(healthy());
  advance(30s);
  CHECK(healthy());
}
