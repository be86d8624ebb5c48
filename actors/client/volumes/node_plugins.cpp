#include "actors/client/volumes/node_plugins.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "actors/core/turns.hpp"
#include "runtime/csi/explain.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

namespace {

using namespace std::chrono_literals;
using workload::PluginMachine;
using workload::VolumeMachine;
namespace plugin_action = workload::plugin_action;

constexpr auto controller_patience = 2min;  ///< As Nomad's.
constexpr auto probe_patience = 5s;         ///< Likewise.
constexpr auto retry_pause = 100ms;
constexpr unsigned most_controller_tries = 3;

}  // namespace

Errc code_for_servers(csi::Cause cause, schema::csi::Method method) {
  using csi::Cause;
  switch (cause) {
    case Cause::no_socket:
    case Cause::not_asked:
    case Cause::unavailable:
      return Errc::unavailable;
    case Cause::deadline:
    case Cause::cancelled:
      return Errc::timeout;
    case Cause::exhausted:
      return method == schema::csi::Method::CREATE_VOLUME
                     || method == schema::csi::Method::CONTROLLER_EXPAND_VOLUME
                 ? Errc::too_large
                 : Errc::overloaded;
    case Cause::failed_precondition:
    case Cause::aborted:
      return Errc::conflict;
    case Cause::invalid_argument:
    case Cause::out_of_range:
      return Errc::invalid_argument;
    default:
      return Errc::rejected;
  }
}

/// Tells the machine something, and carries out what it wants.
template <class Event>
void NodePlugins::on(Event event) {
  event();
  if (std::exchange(performing_, true)) return;  // What follows from an action comes after it.
  for (auto actions = machine_.take(); !actions.empty(); actions = machine_.take())
    for (auto& action : actions)
      std::visit([this](auto& it) { this->perform(it); }, action);
  performing_ = false;
}

void NodePlugins::restore(std::vector<workload::PluginTask> plugins,
                          const std::set<std::string>& allocs) {
  on([&] { machine_.restore(std::move(plugins), allocs, now()); });
}

void NodePlugins::started(const volume_manager::Started& msg) {
  agents_[msg.plugin.key()] = msg.agent;
  on([&] { machine_.started(msg.plugin, now()); });
}

void NodePlugins::exited(const std::string& key) {
  on([&] { machine_.exited(key, now()); });
}

void NodePlugins::stopped(const std::string& key) {
  on([&] { machine_.stopped(key, now()); });
  agents_.erase(key);
}

// -- what plugins need ---------------------------------------------------------------------------

void NodePlugins::perform(const plugin_action::Ask& it) {
  constexpr schema::csi::Method methods[] = {schema::csi::Method::PROBE,
                                             schema::csi::Method::GET_PLUGIN_INFO,
                                             schema::csi::Method::GET_PLUGIN_CAPABILITIES,
                                             schema::csi::Method::NODE_GET_INFO,
                                             schema::csi::Method::NODE_GET_CAPABILITIES,
                                             schema::csi::Method::CONTROLLER_GET_CAPABILITIES};
  options_.calls->ask(
      methods[static_cast<std::size_t>(it.question)], it.socket, probe_patience,
      [](schema::csi::Call::Builder) {}, actor::turns_of(self_),
      [this, it](const csi::Outcome& outcome) {
        Result<PluginMachine::Said> said = csi::error_of(outcome.failure);
        if (outcome) {
          const auto from = outcome.answer.reader();
          PluginMachine::Said heard{.ready = from.getReady()};
          heard.facts = {.provider = copy(from.getName()),
                         .version = copy(from.getVersion()),
                         .plugin_capabilities = from.getCapabilities(),
                         .controller_capabilities = from.getCapabilities(),
                         .node_capabilities = from.getCapabilities(),
                         .node_id = copy(from.getNodeId()),
                         .max_volumes = from.getMaxVolumes()};
          for (const auto entry : from.getTopology())
            heard.facts.topology.emplace(copy(entry.getKey()), copy(entry.getValue()));
          said = std::move(heard);
        }
        on([&] { machine_.answered(it.operation, said, now()); });
      });
}

void NodePlugins::perform(const plugin_action::Save& it) {
  storage::ClientBatch batch;
  client_db::put_csi_plugin(batch, it.plugin);
  self_->send(options_.db, client_db::SaveLater{std::move(batch)});
}

void NodePlugins::perform(const plugin_action::Erase& it) {
  storage::ClientBatch batch;
  client_db::erase_csi_plugin(batch, it.key);
  self_->send(options_.db, client_db::SaveLater{std::move(batch)});
}

PluginAgent NodePlugins::agent_of(const workload::PluginTask& plugin) const {
  const auto found = agents_.find(plugin.key());
  return found == agents_.end() ? PluginAgent{} : found->second;
}

void NodePlugins::perform(const plugin_action::Event& it) {
  const auto agent = agent_of(it.plugin);
  if (!agent) return;
  Draft<schema::plugin::Notice> notice;
  notice->setAllocId(text(it.plugin.alloc));
  notice->setTask(text(it.plugin.task));
  auto event = notice->initEvent();
  event.setType(it.healthy ? "Plugin became healthy" : "Plugin became unhealthy");
  event.setTime(options_.unix_now());
  event.setMessage(text(it.message));
  self_->send(agent, plugin_agent::Notice{notice.freeze()});
}

void NodePlugins::perform(const plugin_action::Kill& it) {
  const auto agent = agent_of(it.plugin);
  if (!agent) return;
  Draft<schema::plugin::AgentRequest> request;
  request->setAllocId(text(it.plugin.alloc));
  request->setTask(text(it.plugin.task));
  auto event = request->initKill();
  event.setType("Killing");
  event.setTime(options_.unix_now());
  event.setMessage(text(it.why));
  event.setFailsTask(true);
  self_->request(agent, 1min, plugin_agent::Ask{request.freeze()})
      .then([](const plugin_agent::Answered&) {}, [](const Error&) {});  // it has ended
}

void NodePlugins::perform(const plugin_action::Wait& it) {
  self_->cancel(timer_);
  timer_ = actor::post_after(self_, std::max<PluginMachine::Time>(it.until - now(), 0ns),
                             [this] { on([&] { machine_.look(now()); }); });
}

/// What servers hear, and what the volumes do: each only of what has changed.
void NodePlugins::standings_changed() {
  auto next = std::make_shared<CsiStandings>(
      CsiStandings{.nodes = machine_.nodes(), .controllers = machine_.controllers()});
  const auto before = standings_;
  next->changed_at = options_.unix_now();
  const auto date = [&](const std::string& kind, const auto& now_all, const auto& then_all) {
    for (const auto& [id, standing] : now_all) {
      const auto then = then_all.find(id);
      const bool is_same = then != then_all.end() && then->second == standing;
      const auto since = before->since.find(kind + id);
      next->since[kind + id]
          = is_same && since != before->since.end() ? since->second : next->changed_at;
    }
  };
  date("n/", next->nodes, before->nodes);
  date("c/", next->controllers, before->controllers);
  const bool is_same = next->nodes == before->nodes && next->controllers == before->controllers;
  if (is_same) return;
  standings_ = next;
  self_->send(options_.parent, volume_manager::Changed{next});
  const auto usable
      = [](const workload::PluginStanding& one) -> std::optional<VolumeMachine::Plugin> {
    if (!one.healthy) return std::nullopt;
    return VolumeMachine::Plugin{one.plugin.directory, one.facts.stages()};
  };
  for (const auto& [id, standing] : next->nodes) {
    const auto then = before->nodes.find(id);
    if (then == before->nodes.end() || !(then->second == standing)) stands_(id, usable(standing));
  }
  for (const auto& [id, standing] : before->nodes)
    if (!next->nodes.contains(id)) stands_(id, std::nullopt);
}

// -- what servers ask of controllers
// ----------------------------------------------------------------

void NodePlugins::ask_controller(const door::NodeAsk& msg,
                                 const actor::Promise<door::NodeReply>& promise) {
  ask_controller(msg, promise, 0);
}

void NodePlugins::ask_controller(const door::NodeAsk& msg,
                                 const actor::Promise<door::NodeReply>& promise,
                                 unsigned tries) {
  const auto call = msg->getCsiController();
  const auto all = machine_.controllers();
  const auto plugin = all.find(copy(call.getPluginId()));
  if (plugin == all.end() || !plugin->second.healthy)
    return promise.deliver(
        Error{Errc::not_found,
              fmt::format("no healthy controller {} on this node", view(call.getPluginId()))});
  const auto question = question_of(call);
  options_.calls->ask(
      question.method, plugin->second.plugin.socket, controller_patience,
      [&call](schema::csi::Call::Builder to) { fill_controller(to, call); }, actor::turns_of(self_),
      [this, msg, promise, question, tries](const csi::Outcome& outcome) {
        const auto asked = msg->getCsiController();
        using Kind = schema::door::CsiControllerCall;
        const auto cause = outcome.failure.cause;
        const bool removes = asked.which() == Kind::DELETE || asked.which() == Kind::DETACH
                             || asked.which() == Kind::DELETE_SNAPSHOT;
        if (outcome || (removes && cause == csi::Cause::not_found)) {
          Result<> written;
          auto reply = door::make_node_reply([&](auto& to) {
            auto result = to.initCsiController();
            if (outcome)
              written = write_result(asked, *outcome.answer, result);
            else
              result.setDone();
          });
          if (!written)
            return promise.deliver(written.error().within(fmt::format("CSI.{}", question.name)));
          return promise.deliver(std::move(reply));
        }
        if (cause == csi::Cause::unavailable && tries + 1 < most_controller_tries) {
          actor::post_after(self_, retry_pause * (1U << tries), [this, msg, promise, tries] {
            ask_controller(msg, promise, tries + 1);
          });
          return;
        }
        promise.deliver(
            Error{code_for_servers(cause, question.method),
                  fmt::format("CSI.{}: {}", question.name,
                              csi::explain(question.method, question.about, outcome.failure))});
      });
}

void NodePlugins::expand(const workload::VolumeRow& row,
                         const door::NodeAsk& msg,
                         const actor::Promise<door::NodeReply>& promise) {
  constexpr auto method = schema::csi::Method::NODE_EXPAND_VOLUME;
  const auto call = msg->getCsiNode();
  const auto all = machine_.nodes();
  const auto plugin = all.find(copy(call.getPluginId()));
  if (plugin == all.end() || !plugin->second.healthy)
    return promise.deliver(
        Error{Errc::unavailable,
              fmt::format("no healthy node plugin {} on this node", view(call.getPluginId()))});
  options_.calls->ask(
      method, plugin->second.plugin.socket, controller_patience,
      [&](schema::csi::Call::Builder to) {
        fill_expand(to, call.getExpand(), row, plugin->second.plugin.base, call.getSecrets());
      },
      actor::turns_of(self_),
      [promise, about = row.external](const csi::Outcome& outcome) {
        if (!outcome)
          return promise.deliver(Error{code_for_servers(outcome.failure.cause, method),
                                       fmt::format("CSI.NodeExpandVolume: {}",
                                                   csi::explain(method, about, outcome.failure))});
        promise.deliver(door::make_node_reply([&](auto& reply) {
          reply.initCsiNode().setCapacity(outcome.answer->getCapacityBytes());
        }));
      });
}

}  // namespace nomad::client
