// PluginLink: one plugin: its process (or a thread, for one that is trusted with the agent), which
// it starts, watches and starts again, and the conversation with it.
//
// Owns:   the process, the questions that are open in either direction, the instances of the
//         plugin's hooks.
// Takes:  RunHook, CancelHook, CloseHook, TasksChanged of the actors that stand for hooks
//         (plugin_hook); AskDriver of those that stand for drivers (plugin_driver), which say who
//         they are by ServeDriver; ExecOrder of sessions of commands; Decide of the scheduler
//         workers; what a ServiceProvider takes, of hooks of the client; Serve once the agent
//         answers; Reconfigure; Refuse; Stop.
// Parent: root, restart: a new process follows. What was asked of the old one is answered with
//         `unavailable`, and those that stand for drivers are ended, so that others recover tasks.
// Ends:   with the agent, after Stop.
//
//     starting ──declaration──▶ configuring ──done──▶ running ──hung up──▶ restarting ──▶ starting
//         └───────── says nonsense, or its configuration is wrong ────▶ refused ──time──▶ starting
//
// Refused for what time can mend, as silence on a busy machine, it is tried again, later and with
// more patience each time; for what it says, when its file or its block is another one.
//
// Another file or another configuration (Reconfigure) is another process: it is started beside the
// old one, and when it has said what it is nothing more is asked of the old one, which ends when it
// has answered. The new one is told of the drivers' tasks, and asked what has come meanwhile. One
// that does not get so far changes nothing: the old one goes on, or begins anew.
//
// A plugin can hurt nobody but itself. What comes is checked before it is read (frames.hpp); who
// talks too much waits (`Allowance`); who does not answer a ping is killed; what it says of tasks
// goes to the runner of the allocation whose hook, or to the driver_manager whose driver, it is.
// Questions that come while there is no process wait for the next one, as long as whoever asks has
// patience.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/driver.hpp"
#include "actors/client/hooks/hook.hpp"
#include "actors/core/actor.hpp"
#include "actors/plugin/api_calls.hpp"
#include "actors/plugin/body/plugin_peer.hpp"
#include "actors/plugin/exec_relay.hpp"
#include "actors/plugin/plugin_facts.hpp"
#include "actors/plugin/plugin_states.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/service_providers.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::plugin {

namespace plugin_link {

/// A hook's phase. The instance is made with its first one.
struct RunHook {
  using is_message = void;
  std::uint64_t instance = 0;
  std::string hook;
  client::hook::Run run;
  Object<schema::plugin::HookTarget> target;
  client::PluginAgent agent;  ///< Hears what the hook says.
};

struct CancelHook {
  using is_message = void;
  std::uint64_t instance = 0;
};

struct CloseHook {
  using is_message = void;
  std::uint64_t instance = 0;
};

struct TasksChanged {
  using is_message = void;
  std::uint64_t instance = 0;
  Object<schema::plugin::TaskStates> tasks;
};

/// Who stands for a driver, and is ended when the process is: another one follows, and recovers.
struct ServeDriver {
  using is_message = void;
  std::string driver;
  actor::Any actor;
  client::PluginAgent agent;
};

struct AskDriver {
  using is_message = void;
  std::string driver;
  Object<schema::plugin::DriverRequest> request;
};

/// The agent answers from now on; without a gate, no more.
struct Serve {
  using is_message = void;
  std::shared_ptr<ApiGate> gate;
  /// Shows an event of the node; empty without a client.
  std::function<void(std::string message, std::map<std::string, std::string> details)> node_event;
};

/// A Reconfigure is answered within so much time.
inline constexpr std::chrono::seconds longest_upgrade{60};

/// Goes on with another file or configuration: in another process. One that does not run is started
/// at once. Answered when the other one has its configuration; an error says why it has not, and
/// then all is as it was. Of one that has never worked, at once.
struct Reconfigure {
  using is_message = void;
  MakePeer make_peer;
  std::string config;
  std::map<std::string, std::string> locations;
  ApiUse api{};  ///< What it may do by the agent's API.
  /// Whether what it says it brings can be used here. On the link's thread. Empty: anything can.
  std::function<Result<>(schema::plugin::Declaration::Reader)> check{};
};

struct Reconfigured {
  using is_message = void;
};

/// It is not used, and why.
struct Refuse {
  using is_message = void;
  std::string why;
};

/// Asks it to end; answered when it has, or its time is over.
struct Stop {
  using is_message = void;
};

struct Stopped {
  using is_message = void;
};

/// Of ended processes, of which tests have short ones.
struct Patience {
  std::chrono::nanoseconds declaration = std::chrono::seconds{3};
  std::chrono::nanoseconds configuration = std::chrono::seconds{10};
  std::chrono::nanoseconds ping_interval = std::chrono::seconds{10};
  std::chrono::nanoseconds ping = std::chrono::seconds{30};
  std::chrono::nanoseconds stop = std::chrono::seconds{2};
};

}  // namespace plugin_link

using PluginLink
    = actor::Interface<client::hook::Answered(plugin_link::RunHook),
                       client::hook::Settled(plugin_link::CancelHook),
                       void(plugin_link::CloseHook),
                       void(plugin_link::TasksChanged),
                       void(plugin_link::ServeDriver),
                       client::driver::Answered(plugin_link::AskDriver),
                       server::decider::Decided(server::decider::Decide),
                       client::service_provider::Done(client::service_provider::Register),
                       client::service_provider::Done(client::service_provider::Deregister),
                       void(client::service_provider::ChecksChanged),
                       void(plugin_link::ExecOrder),
                       void(plugin_link::Serve),
                       plugin_link::Reconfigured(plugin_link::Reconfigure),
                       void(plugin_link::Refuse),
                       plugin_link::Stopped(plugin_link::Stop)>;

struct LinkOptions {
  std::string name;
  MakePeer make_peer;
  std::string config = "{}";  ///< As it was configured; a JSON object.
  /// Where a key of it stands, "start.hcl:7"; "" is the block itself.
  std::map<std::string, std::string> locations{};
  ApiUse api{};  ///< What of the agent's API it may use.
  std::string data_dir{};
  std::string node{};
  bool has_client = false;
  bool has_server = false;
  Turns api_turns;  ///< Of a thread that may serve the API.
  std::shared_ptr<PluginStates> states;
  std::shared_ptr<PluginFacts> facts;
  std::shared_ptr<telemetry::Registry> metrics;
  std::shared_ptr<server::JobTypes> job_types{};          ///< Null: its schedulers are not asked.
  std::shared_ptr<client::ServiceProviders> providers{};  ///< Null: nor are its providers.
  std::function<std::int64_t()> unix_now;
  plugin_link::Patience patience{};
};

PluginLink spawn_plugin_link(const actor::Owner& owner, LinkOptions options);

}  // namespace nomad::plugin
