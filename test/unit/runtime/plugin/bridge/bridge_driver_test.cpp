// With a driver whose program is in this process, and a clock that is fifty times faster.
#include "runtime/plugin/bridge/bridge_driver.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>

#include <capnp/message.h>
#include <doctest/doctest.h>

#include "runtime/base/threads/turn_queue.hpp"
#include "runtime/plugin/sdk/wire.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"
#include "test/unit/runtime/plugin/bridge/fake_program.hpp"
#include "test/unit/runtime/plugin/bridge/few_agent.hpp"

using namespace nomad;
using namespace nomad::plugin;
using namespace nomad::plugin::bridge;

namespace {

using DriverRequest = schema::plugin::DriverRequest;
using DriverAnswer = schema::plugin::DriverAnswer;

/// What a driver has answered.
struct Said {
  DriverAnswer::Which which{};
  std::string text{};    ///< Why it failed, or the run that is recovered.
  std::string handle{};  ///< Of a run that is started.
  bool recoverable = false;
};

using SaidPtr = std::shared_ptr<std::optional<Said>>;

ConfigSpec empty_spec() {
  hclspec::Spec spec;
  spec.mutable_object();
  auto read = ConfigSpec::read("its tasks' configuration", spec);
  REQUIRE_MESSAGE(read, read.error().what);
  return *read;
}

/// The bridge's process. One that is not served any more is as good as dead.
struct Process {
  FewAgent agent;
  std::shared_ptr<TurnQueue> turns = std::make_shared<TurnQueue>(TurnQueue::Limits{});
  Remote remote;
  BridgeDriver driver;

  Process(int speed,
          const FakeProgram& program,
          const std::string& directory,
          const drivers::DriverCapabilities& capabilities,
          const ConfigSpec& spec)
      : agent{speed},
        remote{program.target(), Turns{turns}},
        driver{in(directory), Served{.remote = remote,
                                     .capabilities = capabilities,
                                     .task_config = spec,
                                     .name = "naps",
                                     .executor = "/no/executor"}} {
    agent.watch(turns->descriptor(), POLLIN, [this](short) { turns->run(); });
  }

  FewAgent& in(const std::string& directory) {
    agent.stay_in(directory);
    return agent;
  }
};

struct BridgeFixture {
  host::TempDir location;
  FakeProgram program{location.path()};
  drivers::DriverCapabilities capabilities;
  ConfigSpec spec = empty_spec();
  std::vector<std::unique_ptr<Process>> processes;

  BridgeFixture() { begin(); }

  ~BridgeFixture() {
    program.stop();
    // As a process's end leaves it: what nobody waits for any more is not taken apart.
    static auto& dead = *new std::vector<std::unique_ptr<Process>>;
    for (auto& process : processes)
      dead.push_back(std::move(process));
  }

  void begin(int speed = 50) {
    processes.push_back(
        std::make_unique<Process>(speed, program, location.path(), capabilities, spec));
  }

  FewAgent& agent() const { return processes.back()->agent; }

  SaidPtr ask(const std::function<void(DriverRequest::Builder)>& fill) const {
    capnp::MallocMessageBuilder message;
    auto request = message.initRoot<DriverRequest>();
    fill(request);
    const auto said = std::make_shared<std::optional<Said>>();
    processes.back()->driver.ask(
        request.asReader(), DriverReply{[said](const Result<FillAnswer>& fills) {
          REQUIRE(fills);
          capnp::MallocMessageBuilder made;
          auto answer = made.initRoot<DriverAnswer>();
          (*fills)(answer);
          Said what{.which = answer.which()};
          if (answer.isFailed()) {
            what.text = copy(answer.getFailed().getMessage().asReader());
            what.recoverable = answer.getFailed().getRecoverable();
          }
          if (answer.isRecovered()) what.text = copy(answer.getRecovered().asReader());
          if (answer.isStarted()) {
            const auto data = answer.getStarted().getHandle().getData().asReader();
            what.handle = {reinterpret_cast<const char*>(data.begin()), data.size()};
          }
          *said = std::move(what);
        }});
    return said;
  }

  Said answer_to(const std::function<void(DriverRequest::Builder)>& fill) {
    const auto said = ask(fill);
    REQUIRE(agent().serve([&] { return said->has_value(); }));
    return **said;
  }

  static void fill_start(DriverRequest::Builder request, const std::string& task) {
    auto config = request.initStartTask();
    config.initId().setAllocId("alloc1");
    config.getId().setTask(text_of(task));
    config.setRunId("run1");
    config.setConfig("{}");
    config.initLogs().setDisabled(true);
  }

  /// Of "run1". Returns its handle.
  std::string start() {
    const auto said = answer_to([](auto request) { fill_start(request, "web"); });
    REQUIRE_MESSAGE(said.which == DriverAnswer::STARTED, said.text);
    return said.handle;
  }

  static void fill_recover(DriverRequest::Builder request, const std::string& handle) {
    auto order = request.initRecoverTask();
    order.initId().setAllocId("alloc1");
    order.getId().setTask("web");
    order.setRunId("run1");
    order.initHandle().setVersion(1);
    order.getHandle().setData({reinterpret_cast<const kj::byte*>(handle.data()), handle.size()});
  }

  Said recover(const std::string& handle) {
    return answer_to([&](auto request) { fill_recover(request, handle); });
  }

  Said stop() {
    return answer_to([](auto request) {
      auto order = request.initStopTask();
      order.initId().setAllocId("alloc1");
      order.getId().setTask("web");
      order.setGrace(1'000'000'000);
    });
  }

  SaidPtr destroy() const {
    return ask([](auto request) {
      auto id = request.initDestroyTask();
      id.setAllocId("alloc1");
      id.setTask("web");
    });
  }

  /// Asks for usage every so many seconds; 0: once.
  Said usage(int seconds) {
    return answer_to([&](auto request) {
      auto order = request.initTaskStats();
      order.initId().setAllocId("alloc1");
      order.getId().setTask("web");
      order.setInterval(Nanoseconds{std::chrono::seconds{seconds}}.count());
    });
  }

  /// As another process of the bridge would.
  std::string start_and_begin_anew() {
    const auto handle = start();
    begin();
    return handle;
  }

  std::size_t files(const std::string& directory) const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each :
         std::filesystem::directory_iterator{location / directory})
      ++count;
    return count;
  }
};

}  // namespace

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a driver that is away is asked again whether it has a task") {
  const auto handle = start_and_begin_anew();
  program.answers("RecoverTask",
                  [](int before) { return before < 3 ? FakeProgram::away() : grpc::Status::OK; });
  const auto said = recover(handle);
  CHECK_MESSAGE(said.which == DriverAnswer::RECOVERED, said.text);
  CHECK(said.text == "run1");
  CHECK(program.asked("RecoverTask") == 4);
  CHECK(agent().heard("event the driver does not say whether it has the task") == 1);
  CHECK(files("runs") == 1);
  CHECK(program.asked("DestroyTask") == 0);
  program.end_tasks();
  CHECK(agent().serve([&] { return agent().heard("exited 3") == 1; }));
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a task that is not found in time is destroyed when it can be") {
  const auto handle = start_and_begin_anew();
  std::atomic<bool> is_away{true};
  program.answers("RecoverTask",
                  [&](int) { return is_away ? FakeProgram::away() : grpc::Status::OK; });
  const auto begun = agent().now();
  const auto said = recover(handle);
  CHECK(said.which == DriverAnswer::FAILED);
  CHECK(said.recoverable);
  CHECK(agent().now() - begun < std::chrono::minutes{1});  // or the agent has given it up
  CHECK(files("runs") == 0);
  CHECK(files("left") == 1);
  is_away = false;
  CHECK(agent().serve([&] { return files("left") == 0; }));
  CHECK(program.asked("DestroyTask") == 1);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a task that can't be found again is destroyed, and forgotten") {
  const auto handle = start_and_begin_anew();
  program.answers("RecoverTask", [](int) { return FakeProgram::no(); });
  SUBCASE("it is not there") {
    program.answers("DestroyTask", [](int) { return FakeProgram::unknown(); });
  }
  SUBCASE("it is there all the same") {}
  const auto said = recover(handle);
  CHECK(said.which == DriverAnswer::FAILED);
  CHECK(said.text == "the process is gone");
  CHECK(agent().serve([&] { return files("left") == 0; }));
  CHECK(files("runs") == 0);
  CHECK(program.asked("DestroyTask") == 1);
}

TEST_CASE_FIXTURE(BridgeFixture, "bridge driver: what a driver has not destroyed is tried again") {
  start();
  SUBCASE("it is away") {
    program.answers("DestroyTask",
                    [](int before) { return before < 2 ? FakeProgram::away() : grpc::Status::OK; });
  }
  SUBCASE("it fails") {
    program.answers("DestroyTask", [](int before) {
      return before < 2 ? FakeProgram::no() : FakeProgram::unknown();
    });
  }
  const auto said = destroy();
  REQUIRE(agent().serve([&] { return said->has_value(); }));
  CHECK((*said)->which == DriverAnswer::DONE);
  CHECK(files("runs") + files("left") == 1);
  CHECK(agent().serve([&] { return files("left") == 0; }));
  CHECK(program.asked("DestroyTask") == 3);
  CHECK(agent().heard("is not gone, and tried again: ") == 1);
  CHECK(agent().heard("is gone by now") == 1);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: what is not destroyed is tried a number of times, and again by "
                  "the next process") {
  begin(1000);
  start();
  program.answers("DestroyTask", [](int) { return FakeProgram::no(); });
  destroy();
  REQUIRE(
      agent().serve([&] { return agent().heard("is not destroyed, and not tried again") == 1; }));
  CHECK(program.asked("DestroyTask") == static_cast<int>(LeftTasks::most_tries));
  CHECK(files("left") == 1);
  program.answers("DestroyTask", [](int) { return grpc::Status::OK; });
  begin();
  CHECK(agent().serve([&] { return files("left") == 0; }));
  CHECK(program.asked("RecoverTask") == 1);  // it does not know it before
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a task that nobody asked for is found before it is destroyed") {
  start_and_begin_anew();
  const auto said = destroy();
  REQUIRE(agent().serve([&] { return said->has_value(); }));
  CHECK(program.asked("RecoverTask") == 1);
  CHECK(program.asked("DestroyTask") == 1);
  CHECK(files("runs") + files("left") == 0);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: what was to be destroyed and is wanted again is let be") {
  const auto handle = start();
  program.answers("DestroyTask", [](int) { return FakeProgram::away(); });
  const auto said = destroy();
  REQUIRE(agent().serve([&] { return said->has_value(); }));
  begin();
  REQUIRE(files("left") == 1);
  CHECK(recover(handle).which == DriverAnswer::RECOVERED);
  CHECK(files("left") == 0);
  CHECK(files("runs") == 1);
  const auto later = agent().now() + std::chrono::seconds{20};
  CHECK(agent().serve([&] { return agent().now() > later; }));
  CHECK(program.asked("DestroyTask") == 1);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a driver that is away is asked again how a task ends") {
  program.answers("WaitTask",
                  [](int before) { return before < 3 ? FakeProgram::away() : grpc::Status::OK; });
  program.end_tasks();
  start();
  CHECK(agent().serve([&] { return agent().heard("exited") > 0; }));
  CHECK(agent().heard("exited 3") == 1);
  CHECK(agent().heard("does not say how task") == 1);
  CHECK(program.asked("WaitTask") == 4);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a task that is not stopped is ended by force, however often it "
                  "takes") {
  start();
  program.answers("DestroyTask", [&](int before) {
    if (before < 2) return before == 0 ? FakeProgram::away() : FakeProgram::no();
    program.end_tasks();
    return grpc::Status::OK;
  });
  CHECK(stop().which == DriverAnswer::DONE);
  CHECK(agent().serve([&] { return agent().heard("exited 3") == 1; }));
  CHECK(program.asked("DestroyTask") == 3);
  CHECK(agent().heard("event the driver has not ended the task by force, and is asked again") == 2);
}

TEST_CASE_FIXTURE(BridgeFixture,
                  "bridge driver: a task is not stopped before it is there, and is after its end") {
  const auto handle = start_and_begin_anew();
  program.answers("RecoverTask",
                  [](int before) { return before < 1 ? FakeProgram::away() : grpc::Status::OK; });
  const auto recovered = ask([&](auto request) { fill_recover(request, handle); });
  const auto early = stop();
  CHECK(early.which == DriverAnswer::FAILED);
  CHECK(early.text == "the driver has no such task");
  REQUIRE(agent().serve([&] { return recovered->has_value(); }));
  program.end_tasks();
  REQUIRE(agent().serve([&] { return agent().heard("exited 3") == 1; }));
  CHECK(stop().which == DriverAnswer::DONE);
}

TEST_CASE_FIXTURE(BridgeFixture, "bridge driver: usage is told again and again until the end") {
  start();
  CHECK(usage(0).which == DriverAnswer::USAGE);
  CHECK(usage(1).which == DriverAnswer::USAGE);
  CHECK(agent().serve([&] { return agent().heard("usage run1") >= 3; }));
  CHECK(program.asked("TaskStats") == 2);
  program.end_tasks();
  REQUIRE(agent().serve([&] { return agent().heard("exited 3") == 1; }));
  const auto told = agent().heard("usage run1");
  const auto later = agent().now() + std::chrono::seconds{3};
  CHECK(agent().serve([&] { return agent().now() > later; }));
  CHECK(agent().heard("usage run1") == told);
  CHECK(agent().heard("no usage") == 0);
}

TEST_CASE_FIXTURE(BridgeFixture, "bridge driver: a reading that fails is told, and tried again") {
  start();
  program.answers("TaskStats", [](int before) {
    return before == 1 ? FakeProgram::away() : before > 2 ? FakeProgram::no() : grpc::Status::OK;
  });
  CHECK(usage(0).which == DriverAnswer::USAGE);
  CHECK(usage(1).recoverable);
  CHECK(agent().serve([&] { return agent().heard("usage run1") >= 2; }));
  CHECK(program.asked("TaskStats") == 3);
  CHECK(usage(2).which == DriverAnswer::FAILED);
  CHECK(agent().serve([&] { return agent().heard("no usage: ") == 1; }));
}

TEST_CASE_FIXTURE(BridgeFixture, "bridge driver: starts that wait for a driver have a bound") {
  program.be_silent(true);
  begin();
  std::vector<SaidPtr> held;
  const auto start = [&](std::size_t number) {
    return ask([&](auto request) { fill_start(request, "task" + std::to_string(number)); });
  };
  for (std::size_t i = 0; i < BridgeDriver::most_held_starts; ++i)
    held.push_back(start(i));
  const auto refused = start(held.size());
  REQUIRE(refused->has_value());
  CHECK((*refused)->recoverable);
  CHECK((*refused)->text
        == "the driver has not said yet how it feels, and 200 starts wait for that: try again in "
           "some seconds");
  program.be_silent(false);
  CHECK(agent().serve([&] {
    return std::ranges::all_of(held, [](const SaidPtr& said) {
      return said->has_value() && (*said)->which == DriverAnswer::STARTED;
    });
  }));
}

TEST_CASE_FIXTURE(BridgeFixture, "answer stream: who takes an answer may cancel") {
  using Stream = AnswerStream<drivers::FingerprintRequest, drivers::FingerprintResponse>;
  std::shared_ptr<Stream> stream;
  const auto token = std::make_shared<int>(1);
  bool is_cancelled = false;
  long holders = 0;
  Stream::Told told;
  told.answer = [&, kept = token](const drivers::FingerprintResponse&) {
    auto& count = holders;  // this function may be gone behind the call
    auto& done = is_cancelled;
    const auto& known = token;
    stream->cancel();
    count = known.use_count();
    done = true;
  };
  stream = Stream::open(Turns{processes.back()->turns}, {}, std::move(told),
                        [this](auto* context, auto* request, auto* reactor) {
                          processes.back()->remote.driver().async()->Fingerprint(context, request,
                                                                                 reactor);
                        });
  CHECK(agent().serve([&] { return is_cancelled; }));
  CHECK(holders == 2);
  CHECK(agent().serve([&] { return stream.use_count() == 1; }));
  CHECK(token.use_count() == 1);
}
