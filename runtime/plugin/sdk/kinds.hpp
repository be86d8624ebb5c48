// The kinds of actors that a plugin may bring: hooks, drivers, fingerprinters, schedulers,
// providers of services and background actors. Each is an object that its factory makes when it is
// wanted and that is destroyed when it is not. All of a plugin's objects live on one thread: none
// of them needs a lock, and one that blocks makes all of them wait.
//
// What an author throws is the failure of what was asked (all but actors). An actor
// that throws ends the plugin's process, and the agent starts another.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plugin/sdk/agent.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/plugin.capnp.h"
#include "schema/scheduling.capnp.h"

namespace nomad::plugin {

using Phase = schema::plugin::Phase;

/// A question that is answered once, now or later. One that is destroyed unanswered fails.
template <class Value>
class Reply {
public:
  using Deliver = std::function<void(Result<Value>)>;

  explicit Reply(Deliver deliver) : deliver_(std::make_shared<Deliver>(std::move(deliver))) {}

  /// Copies are the same question; answers behind the first one are dropped.
  void operator()(Result<Value> outcome) const {
    if (auto deliver = std::exchange(*deliver_, {})) deliver(std::move(outcome));
  }

  bool is_open() const { return static_cast<bool>(*deliver_); }

private:
  std::shared_ptr<Deliver> deliver_;
};

// -- hooks ----------------------------------------------------------------------------------------

struct Mount {
  std::string task_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation = "private";
};

struct Device {
  std::string task_path;
  std::string host_path;
  std::string permissions = "rwm";
};

/// What a hook says to a phase; nothing, by default.
struct HookAnswer {
  bool done = false;                          ///< Prestart: not to be run again for this task.
  std::map<std::string, std::string> data{};  ///< Kept for the next prestart and for stop.
  std::map<std::string, std::string> environment{};
  std::vector<Mount> mounts{};
  std::vector<Device> devices{};
};

using HookReply = Reply<HookAnswer>;

/// A phase that has come. The readers are valid until the hook is asked again.
struct HookCall {
  schema::plugin::HookRequest::Reader request;
  schema::Allocation::Reader alloc;
  schema::Job::Reader job;
  schema::plugin::HookTarget::Reader target;
  schema::plugin::HookTarget::Reader place;  ///< As `target`: its name before, for one release.

  Phase phase() const { return request.getPhase(); }

  std::string alloc_id() const { return copy(target.getAllocId()); }

  std::string task() const { return copy(target.getTask()); }

  /// The task's directory as the agent sees it: "<alloc_dir>/<alloc id>/<task>".
  std::string task_dir() const {
    return copy(target.getAllocRoot()) + '/' + copy(target.getTask());
  }

  /// A variable of the task's environment, of a hook that reads it; `instead` if there is none.
  std::string env(std::string_view name, std::string_view instead = {}) const;

  /// What the task's last prestart has left by this name.
  std::string data(std::string_view name) const;

  /// A value of the `meta` blocks of the task, its group or its job, whichever is nearest.
  std::string meta(std::string_view name) const;
};

class Hook {
public:
  virtual ~Hook() = default;

  /// `reply` is to be answered within the phase's deadline (`call.request.getDeadline()`).
  virtual void run(const HookCall& call, const HookReply& reply) = 0;

  /// Give up what is open, and answer it.
  virtual void cancel() {}

  /// Of one that watches: a task's state has changed.
  virtual void tasks_changed(schema::plugin::TaskStates::Reader) {}
};

/// When and how a hook is asked.
struct HookSpec {
  std::string name;     ///< [a-z0-9_-]; no other hook of the agent may have it.
  std::string after{};  ///< The hook that it comes right behind; empty: behind all.
  std::vector<Phase> phases;
  bool watches_tasks = false;
  bool reads_environment = false;  ///< `HookCall::env` works.
  std::string announcement{};      ///< "Task Setup" event before its first prestart; empty: none.
  Nanoseconds patience{0};         ///< Of prerun and prestart; 0: ten minutes.
  /// Wanted only by tasks whose meta has this key (by groups, for an allocation's hook), which
  /// costs the others nothing. Empty: by all.
  std::string meta{};
  std::string devices{};  ///< Wanted only by tasks that have got devices of this "vendor/type".
};

/// `runner` lives as long as the hook.
using HookFactory = std::function<std::unique_ptr<Hook>(HookRunner& runner)>;

/// A hook that is no more than a function, which must not block for long.
using HookFunction = std::function<Result<HookAnswer>(HookRunner& runner, const HookCall& call)>;
HookFactory hook_of(HookFunction function);

// -- drivers --------------------------------------------------------------------------------------

/// An answer is filled by a function, so that it needs no copy.
using FillAnswer = std::function<void(schema::plugin::DriverAnswer::Builder)>;
using DriverReply = Reply<FillAnswer>;

/// How a command beside a task ended.
struct CommandEnd {
  int code = 0;
  int signal = 0;
  std::string error{};  ///< Why it failed beyond these.
};

/// What is told of a command beside a task, on the plugin's thread.
struct CommandTold {
  /// Of output (1, and a terminal's) or errors (2); the last one of each with `last`.
  std::function<void(unsigned stream, std::string_view bytes, bool last)> output;
  std::function<void(std::size_t bytes)> input_taken;
  /// Once, behind all output; nothing follows.
  std::function<void(const CommandEnd& end)> ended;
};

/// A command that runs beside a task, whoever runs it. It tells nothing before the call that began
/// it has returned.
class Command {
public:
  static constexpr std::size_t window = 256 * 1024;

  virtual ~Command() = default;

  virtual void input(std::string_view bytes, bool last) = 0;
  virtual void resize(unsigned rows, unsigned columns) = 0;

  /// Of its output, of which it tells no more than `window` that was not taken.
  virtual void taken(std::size_t bytes) = 0;

  /// Nobody wants it any more: it is to end, and tells nothing.
  virtual void close() = 0;
};

/// A command beside a task, as it is to be started. Its streams, its terminal and its end are the
/// SDK's, and so is that it ends when nobody waits for it any more.
struct ExecPlan {
  std::vector<std::string> command;  ///< The program, by its path or found in $PATH, and arguments.
  std::string directory{};           ///< Empty: the plugin's.
  std::optional<std::vector<std::string>> environment{};  ///< "NAME=value"; nothing: the plugin's.
  /// Called in the new process before it becomes the program: enters namespaces, changes its user.
  /// False, with errno set: it can't be. Only what may follow a fork may be done there.
  std::function<bool()> enter{};
  /// In place of all of these, and of a process of the plugin's: begins a command that somebody
  /// else runs.
  std::function<Result<std::shared_ptr<Command>>(bool tty, CommandTold told)> elsewhere{};
};

/// Serves all tasks of a node that name it. See the part "drivers" of plugin.capnp for the rules.
class Driver {
public:
  virtual ~Driver() = default;

  /// The request is valid during the call.
  virtual void ask(schema::plugin::DriverRequest::Reader request, const DriverReply& reply) = 0;

  /// How a command beside a task is run. A driver that can has `exec` among its capabilities.
  virtual Result<ExecPlan> exec(schema::plugin::ExecTask::Reader order) {
    static_cast<void>(order);
    return Error{Errc::rejected, "this driver runs no commands beside its tasks"};
  }
};

using DriverFactory = std::function<std::unique_ptr<Driver>(Agent& agent)>;

// -- fingerprinters -------------------------------------------------------------------------------

/// Attributes of the node. Called again at the interval.
using Fingerprinter = std::function<Result<std::map<std::string, std::string>>(Agent& agent)>;

// -- devices --------------------------------------------------------------------------------------

struct DeviceInstance {
  std::string id;
  bool healthy = true;  ///< Others are not given out.
  std::string health_description{};
};

/// Devices that are alike.
struct DeviceGroup {
  std::string name;
  std::map<std::string, std::string> attributes{};  ///< "memory": "11 GiB"; constraints read them.
  std::vector<DeviceInstance> instances{};
};

/// Devices of one kind. A job asks for them by `device "vendor/type"` or `device
/// "vendor/type/name"`.
struct DeviceSpec {
  std::string vendor;
  std::string type;
  Nanoseconds interval{0};  ///< Looked for again so often; 0: once.
};

using DeviceFinder = std::function<Result<std::vector<DeviceGroup>>(Agent& agent)>;

/// Some of a group that a task has got: what it needs to use them. Asked before each start.
struct ReservedDevices {
  std::string name;  ///< Of the group.
  std::vector<std::string> ids{};
};

using DeviceReserver = std::function<Result<HookAnswer>(
    HookRunner& runner, const HookCall& call, const ReservedDevices& devices)>;

// -- schedulers -----------------------------------------------------------------------------------

/// What is decided for a job; see scheduling.capnp for what the agent makes of it.
struct Decision {
  struct Stop {
    std::string alloc_id;
    std::string description{};
  };

  struct Placement {
    std::string group;
    std::string node_id;
    std::string replaces{};  ///< An allocation that has ended, or is stopped by this decision.
  };

  struct Unplaced {
    std::string group;
    unsigned count = 1;
    std::string reason{};
  };

  std::vector<Stop> stops{};
  std::vector<Placement> placements{};
  std::vector<Unplaced> unplaced{};
};

using DecisionReply = Reply<Decision>;

struct SchedulerSpec {
  std::string type;  ///< Of jobs: `type = "…"`. No built-in one, and no other plugin's.
  /// What of nodes it decides by, as `${meta.rack}`: facts as in constraints.
  std::vector<std::string> reads{};
};

/// Asked when a job of its type is registered, when its allocations or their nodes change, and when
/// something that did not fit might. To be answered within half a minute. The question is valid
/// during the call.
using Scheduler = std::function<void(
    Agent& agent, schema::plugin::Scheduling::Reader question, const DecisionReply& reply)>;

/// One that decides at once.
using SchedulerFunction
    = std::function<Result<Decision>(Agent& agent, schema::plugin::Scheduling::Reader question)>;
Scheduler scheduler_of(SchedulerFunction function);

/// Whether the allocation counts for its group: it runs, or will.
bool counts(schema::plugin::PlacedAlloc::Reader alloc);

// -- providers of services ------------------------------------------------------------------------

/// A service of an allocation as others are to find it.
struct Service {
  std::string id{};    ///< Of this registration; the same again after a restart of either side.
  std::string name{};  ///< Interpolated, as all that follows.
  std::string address{};
  std::int64_t port = 0;  ///< 0: the job names none.
  std::vector<std::string> tags{};
  std::string job_namespace{};
  std::string job_id{};
  std::string alloc_id{};
  std::string task{};  ///< Empty: it is the group's.
  std::string node_id{};
  std::string datacenter{};
};

/// How a check of a service stands, which the agent runs.
struct ServiceCheck {
  enum class Status : std::uint8_t { pending, passing, failing };

  std::string task{};  ///< Whose service it is of; empty: the group's.
  std::string service{};
  std::string name{};
  Status status = Status::pending;
  std::string output{};  ///< The beginning of what its last run has said.
};

using DoneReply = Reply<void>;

/// Registers services of jobs that name it: `service { provider = "…" }`. An error, or no answer
/// within half a minute, and the agent asks again.
///
/// Whoever is asked does not know what was done before: what is registered takes the place of what
/// was there under its id, and to deregister what is not there is done, too. A process that begins
/// is told all that there is; what was registered elsewhere and is not told again has ended while
/// nobody looked.
class ServiceProvider {
public:
  virtual ~ServiceProvider() = default;

  /// All new or changed services of an allocation's group, or of one of its tasks.
  virtual void register_services(const std::vector<Service>& services, const DoneReply& reply) = 0;

  virtual void deregister_services(const std::vector<std::string>& ids, const DoneReply& reply) = 0;

  /// All checks of an allocation, of a provider that hears of them, whenever one has another
  /// status.
  virtual void checks_changed(const std::string& alloc_id,
                              const std::vector<ServiceCheck>& checks) {
    static_cast<void>(alloc_id), static_cast<void>(checks);
  }
};

struct ServiceProviderSpec {
  std::string name;  ///< [a-z][a-z0-9_-]*; no other plugin's, nor "nomad" or "consul".
  bool hears_checks = false;
};

/// `agent` lives as long as the provider, which is made when it is first asked.
using ServiceProviderFactory = std::function<std::unique_ptr<ServiceProvider>(Agent& agent)>;

// -- actors ---------------------------------------------------------------------------------------

/// Stands by itself. It begins when the agent serves its API, and ends with the process.
class Actor {
public:
  virtual ~Actor() = default;

  virtual void start() = 0;

  /// The agent ends; what is to be done before has a second.
  virtual void stop() {}
};

/// `agent` lives as long as the actor.
using ActorFactory = std::function<std::unique_ptr<Actor>(Agent& agent)>;

}  // namespace nomad::plugin
