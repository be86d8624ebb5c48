#include "actors/client/hooks/network_hook.hpp"

#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "actors/client/hooks/function_hook.hpp"
#include "actors/client/hooks/hook_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/network/name_files.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

using Group = schema::TaskGroup::Reader;

constexpr auto agent_patience = std::chrono::minutes{1};

std::optional<schema::NetworkResource::Reader> network_of(const HookScope& scope) {
  const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
  if (!group || group->getNetworks().size() == 0) return std::nullopt;
  return group->getNetworks()[0];
}

/// Whether tasks get a network of their allocation's own.
bool has_own_network(const HookScope& scope) {
  const auto network = network_of(scope);
  return network && network->getMode().size() > 0 && view(network->getMode()) != "host";
}

void set_texts(auto to, const std::vector<std::string>& from) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, text(from[i]));
}

/// What the plugins say of name servers, or else what the group does.
void write_status(const std::optional<network::NetworkStatus>& from,
                  const HookScope& scope,
                  schema::AllocNetworkStatus::Builder to) {
  if (from) {
    to.setInterfaceName(text(from->interface));
    to.setAddress(text(from->address));
    if (!from->dns_servers.empty() || !from->dns_searches.empty() || !from->dns_options.empty()) {
      auto dns = to.initDns();
      set_texts(dns.initServers(static_cast<unsigned>(from->dns_servers.size())),
                from->dns_servers);
      set_texts(dns.initSearches(static_cast<unsigned>(from->dns_searches.size())),
                from->dns_searches);
      set_texts(dns.initOptions(static_cast<unsigned>(from->dns_options.size())),
                from->dns_options);
      return;
    }
  }
  if (const auto network = network_of(scope); network && network->hasDns())
    to.setDns(network->getDns());
}

class NetworkHookState {
public:
  static constexpr const char* name = "network_hook";

  explicit NetworkHookState(Hook::pointer self) : self_{self} {}

  void init(NetworkHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    if (!parts_.options)
      return Error{Errc::unavailable, "this agent has no place to keep networks of allocations"};
    if (msg.request->getPhase() == HookPhase::PRERUN) return join();
    return leave();
  }

  actor::Answer<hook::Settled> cancel() {
    if (!joining_) return hook::Settled{};
    stop_.request_stop();
    cancelled_.push_back(self_->make_response_promise<hook::Settled>());
    return cancelled_.back();
  }

  /// Tasks that run since before the network was made anew are in another one, or know another
  /// address.
  void tasks_changed(const hook::TasksChanged& msg) {
    if (!left_behind_) return;
    for (const auto task : msg.tasks->getTasks())
      if (task.getState() == schema::TaskRunState::RUNNING) return restart_tasks();
  }

private:
  network::AllocNetworks networks() const {
    return {*parts_.options, parts_.tools_of(*parts_.options)};
  }

  actor::Answer<hook::Answered> join() {
    network::NetworkSpec spec{
        .alloc_id = std::string{scope_.alloc->id()},
        .mode = copy(network_of(scope_)->getMode()),
        .mappings = network::port_mappings(scope_.alloc->resources().getShared(),
                                           parts_.options->every_address)};
    auto promise = self_->make_response_promise<hook::Answered>();
    stop_ = std::stop_source{};
    joining_ = true;
    const auto run = [networks = networks(), spec = std::move(spec), stopped = stop_.get_token()] {
      return networks.join(spec, stopped);
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(run))
        .then(
            [this, promise](blocking::Outcome& outcome) {
              joining_ = false;
              publish(outcome.as<network::Joined>(), promise);
              settle();
            },
            [this, promise](const Error& err) {
              joining_ = false;
              promise.deliver(err);
              settle();
            });
    return promise;
  }

  void settle() {
    for (const auto& promise : std::exchange(cancelled_, {}))
      promise.deliver(hook::Settled{});
  }

  /// What is told comes to the agent before what is asked, so that whoever hears of the end of
  /// prerun knows the status.
  void publish(const network::Joined& joined, const actor::Promise<hook::Answered>& promise) {
    for (const auto& news : joined.news)
      tell_event(news);
    Draft<schema::plugin::Notice> notice;
    notice->setAllocId(scope_.target->getAllocId());
    write_status(joined.status, scope_, notice->initNetwork());
    self_->send(agent_, plugin_agent::Notice{notice.freeze()});
    left_behind_ = joined.is_other && scope_.target->getBegun();

    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(scope_.target->getAllocId());
    auto resource = request->initPutResource();
    resource.setName(text(namespace_resource));
    const auto& path = joined.namespace_path;
    resource.setValue({reinterpret_cast<const capnp::byte*>(path.data()), path.size()});
    self_->request(agent_, agent_patience, plugin_agent::Ask{request.freeze()})
        .then([promise](const plugin_agent::Answered&) { promise.deliver(hook::Answered{}); },
              [promise](const Error& err) { promise.deliver(err); });
  }

  void tell_event(const std::string& message) {
    log::warn("client", "the network of an allocation has news",
              {{"alloc", scope_.alloc->id()}, {"message", message}});
    Draft<schema::plugin::Notice> notice;
    notice->setAllocId(scope_.target->getAllocId());
    auto event = notice->initEvent();
    event.setType("Network");
    event.setTime(parts_.unix_now());
    event.setMessage(text(message));
    self_->send(agent_, plugin_agent::Notice{notice.freeze()});
  }

  void restart_tasks() {
    left_behind_ = false;
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(scope_.target->getAllocId());
    request->initRestart().setReason("the allocation's network was made anew");
    self_->request(agent_, actor::infinite, plugin_agent::Ask{request.freeze()})
        .then([](const plugin_agent::Answered&) {},
              [this](const Error& err) {
                log::warn("client", "tasks go on in a network that is gone",
                          {{"alloc", scope_.alloc->id()}, {"error", err}});
              });
  }

  actor::Answer<hook::Answered> leave() {
    auto promise = self_->make_response_promise<hook::Answered>();
    const auto run = [networks = networks(), id = std::string{scope_.alloc->id()}] {
      return networks.leave(id);
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(run))
        .then([promise](blocking::Outcome&) { promise.deliver(hook::Answered{}); },
              [promise](const Error& err) { promise.deliver(err); });
    return promise;
  }

  Hook::pointer self_;
  NetworkHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
  std::stop_source stop_;
  bool joining_ = false;
  bool left_behind_ = false;  ///< Tasks may run that are to be restarted.
  std::vector<actor::Promise<hook::Settled>> cancelled_;
};

Hook::behavior_type network_hook_actor(Hook::stateful_pointer<NetworkHookState> self,
                                       NetworkHookParts parts,
                                       PluginAgent agent,
                                       HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [self](const hook::TasksChanged& msg) { self->state.tasks_changed(msg); },
  };
}

// -- the files of tasks --------------------------------------------------------------------------

bool shows_name_files(const HookScope& scope) {
  const auto network = network_of(scope);
  return scope.target->getDriver().getMounts() && network
         && (has_own_network(scope) || network->hasDns());
}

bool wants_name_files(const HookScope& scope) {
  const auto network = network_of(scope);
  return shows_name_files(scope) || (network && network->getHostname().size() > 0);
}

/// The name that the task has in its network: the job's, where it can have one, or the
/// allocation's.
Result<std::string> hostname_of(const HookScope& scope, const workload::TaskEnv& env) {
  const auto network = network_of(scope);
  if (!network || network->getHostname().size() == 0)
    return std::string{short_id(scope.alloc->id())};
  if (!has_own_network(scope))
    return Error{Errc::rejected,
                 "hostname cannot be set on task group using \"host\" networking mode"};
  // As in Nomad: with other drivers the task's machine is the host, which has a name.
  if (view(scope.target->getDriver().getFsIsolation()) != "image")
    return Error{
        Errc::rejected,
        "hostname is not supported by the driver of this task; leave it out of the network block"};
  auto hostname = env.replace(view(network->getHostname()));
  NOMAD_TRY(network::check_hostname(hostname));
  return hostname;
}

std::string host_resolvers() {
  return read_whole_file("/etc/resolv.conf").value_or("");
}

Result<HookResult> write_name_files(const HookCall& call) {
  const auto network = network_of(call.scope);
  if (!network) return HookResult{};
  const auto env = call.env();
  const auto hostname = NOMAD_TRY(hostname_of(call.scope, env));
  HookResult result;
  if (!shows_name_files(call.scope)) return result;
  const auto task = copy(call.target().getTask());
  const auto root = NOMAD_TRY(host::Beneath::open(copy(call.target().getAllocRoot()), false));
  const auto show = [&](const char* file, const std::string& content, bool read_only) -> Result<> {
    NOMAD_TRY(root.write_file(fmt::format("{}/{}", task, file), content, 0644));
    result.mounts.push_back(
        {.task_path = fmt::format("/etc/{}", file),
         .host_path = fmt::format("{}/{}/{}", view(call.target().getAllocRoot()), task, file),
         .read_only = read_only,
         .propagation = "private"});
    return {};
  };
  NOMAD_TRY(show("resolv.conf",
                 network::resolver_file(resolvers_of(*network, env), host_resolvers()), true));
  if (!has_own_network(call.scope)) return result;
  const auto address = copy(call.scope.alloc->network_status().getAddress());
  NOMAD_TRY(show("hosts", network::hosts_file(address, hostname), false));
  return result;
}

}  // namespace

HookEntry network_hook(NetworkHookParts parts) {
  return {.name = "network",
          .after = "alloc_health_watcher",
          .phases = {HookPhase::PRERUN, HookPhase::POSTRUN, HookPhase::DESTROY},
          .watches_tasks = true,
          .wanted = has_own_network,
          .spawn = [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                              const HookScope& scope) -> Hook {
            return actor::spawn(owner, network_hook_actor, parts, agent, scope);
          }};
}

HookEntry network_files_hook(BlockingPool steps) {
  return {.name = "network_files",
          .after = "task_dir",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .wanted = wants_name_files,
          .spawn = function_hook(std::move(steps), {{HookPhase::PRESTART, write_name_files}})};
}

}  // namespace nomad::client
