// TestAgent: an agent for tests of plugins: it asks a plugin what an agent would, and shows what
// the plugin has said. Nothing is started, no thread, no socket; the time is the test's. All goes
// through the same frames as in life.
//
//     nomad::plugin::TestAgent agent{describe};
//     REQUIRE(agent.configure(R"({"file":"stamp"})"));
//     const auto answer = agent.run_hook("stamp", Phase::PRESTART, {.task = "web"});
//     CHECK(agent.events().at(0).message == "stamped");
//
// Threads: one.
#pragma once

#include <memory>

#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin {

/// Whom a hook is asked for.
struct TestTask {
  std::string alloc_id = "11111111-2222-3333-4444-555555555555";
  std::string alloc_root = "/tmp";
  std::string job = "job";
  std::string group = "group";
  std::string task = "task";                  ///< Empty: the hook is the allocation's.
  std::map<std::string, std::string> meta{};  ///< The task's.
  std::map<std::string, std::string> environment{};
  std::map<std::string, std::string> data{};
  DeviceSpec kind{};  ///< Of the devices that it has got.
  std::vector<ReservedDevices> devices{};
};

class TestAgent {
public:
  struct Event {
    std::string type, message;
    std::map<std::string, std::string> details;
  };

  struct Asked {
    std::uint64_t number = 0;
    std::string method, path, body;
    bool is_subscription = false;
  };

  explicit TestAgent(const std::function<void(Plugin&)>& describe);
  ~TestAgent();
  TestAgent(const TestAgent&) = delete;
  TestAgent& operator=(const TestAgent&) = delete;

  const Plugin& plugin() const;

  /// `json` as the configuration has it: checked against the plugin's fields as an agent does.
  /// Durations are texts ("10s"), or nanoseconds.
  Result<> configure(const std::string& json = "{}", const Surroundings& around = {});

  /// The error of a phase that is not answered yet is `timeout`; a later `take_answer` may have it.
  Result<HookAnswer> run_hook(const std::string& hook, Phase phase, const TestTask& task = {});
  Result<HookAnswer> take_answer();

  /// As `run_hook`. `fill` makes the request, `read` looks at the answer. The configuration of a
  /// task that is to start is checked against the driver's fields, as an agent does.
  Result<> ask_driver(const std::string& driver,
                      const std::function<void(schema::plugin::DriverRequest::Builder)>& fill,
                      const std::function<void(schema::plugin::DriverAnswer::Reader)>& read = {});

  Result<std::map<std::string, std::string>> gather_facts(const std::string& fingerprinter);

  /// What the plugin finds by this name. Devices are reserved by `run_hook`, for a task that has
  /// some (`TestTask::devices`).
  Result<std::vector<DeviceGroup>> find_devices(const std::string& name);

  /// As `run_hook`. `fill` makes the question; `type` is in it already.
  Result<Decision> decide(const std::string& type,
                          const std::function<void(schema::plugin::Scheduling::Builder)>& fill);

  /// As `run_hook`, of a provider of services: those of one allocation's group or task.
  Result<> register_services(const std::string& provider, const std::vector<Service>& services);
  Result<> deregister_services(const std::string& provider, const std::vector<std::string>& ids);
  Result<> take_done();

  Result<> change_checks(const std::string& provider,
                         const std::string& alloc_id,
                         const std::vector<ServiceCheck>& checks);

  /// The API answers from now on.
  Result<> start_actors();

  /// Runs what is due until then.
  Result<> advance(Nanoseconds time);

  // -- commands beside tasks, which are real processes

  struct Command {
    std::string output, errors;
    bool ended = false;
    int code = 0;  ///< 128 + signal when a signal ended it.
    std::size_t input_taken = 0;
  };

  /// Begins one; its number. The error is the driver's refusal.
  Result<std::uint64_t> run_beside(const std::string& driver,
                                   const std::vector<std::string>& command,
                                   bool tty = false);
  Result<> send_input(std::uint64_t number, const std::string& bytes, bool last = false);
  Result<> resize(std::uint64_t number, unsigned rows, unsigned columns);
  Result<> close_command(std::uint64_t number);

  /// Waits so long for a descriptor that the plugin watches, and lets it work. All that a command
  /// writes is taken at once.
  Result<> wait(std::chrono::milliseconds real_time);
  const Command& command(std::uint64_t number) const;

  // -- what the plugin has asked of the API and waits for, and what it is told

  const std::vector<Asked>& open_requests() const;
  Result<> answer(std::uint64_t number, unsigned status, const std::string& body);
  Result<> send_line(std::uint64_t subscription, const std::string& line);
  Result<> end_stream(std::uint64_t subscription);

  // -- what it has told

  const std::vector<Event>& events() const;       ///< Of tasks.
  const std::vector<Event>& node_events() const;  ///< `type` is empty.
  const std::vector<std::string>& logs() const;   ///< "warn: text"
  double counted(const std::string& name) const;  ///< The sum.
  const std::vector<std::string>& exits() const;  ///< Runs that drivers have told the ends of.

private:
  class Core;

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::plugin
