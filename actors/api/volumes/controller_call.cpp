#include "actors/api/volumes/controller_call.hpp"

#include <algorithm>
#include <map>

#include "actors/roles/no_leader.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {
namespace {

/// One order on its way from controller to controller.
struct ControllerAsk : std::enable_shared_from_this<ControllerAsk> {
  SharedCall call;
  AskedNode nodes;
  std::vector<std::string> controllers;  ///< Ids of their nodes; the next one last.
  ControllerOrder order;
  std::string_view attempt;
  ControllerDone then;

  void go_on(const Error& last) {
    if (controllers.empty()) return then(last.within(attempt));
    auto question = door::make_node_ask(controllers.back(), access::Principal::cluster("volumes"),
                                        [this](auto& ask) { ask.setCsiController(*order); });
    controllers.pop_back();
    call->context->asker.ask<door::NodeReply>(
        nodes, std::move(question), door::csi_patience + std::chrono::seconds{10},
        [self = shared_from_this()](const Result<door::NodeReply>& reply) {
          // Nothing was done: another one may have it.
          if (!reply && reply.error().code == Errc::not_found) return self->go_on(reply.error());
          if (!reply) return self->then(reply.error().within(self->attempt));
          self->then(reply);
        });
  }
};

Error no_controllers(std::string_view plugin) {
  return {Errc::rejected, "no healthy controllers for CSI plugin: " + std::string{plugin}};
}

}  // namespace

void ask_controller(const SharedCall& call,
                    const VolumeParts& parts,
                    const state::CsiPlugin& plugin,
                    const ControllerOrder& order,
                    std::string_view attempt,
                    const ControllerDone& then) {
  const auto ask = std::make_shared<ControllerAsk>();
  ask->call = call;
  ask->nodes = parts.nodes;
  for (const auto& one : plugin.controllers)
    if (one.info.getHealthy()) ask->controllers.push_back(copy(one.node->getId()));
  if (!ask->controllers.empty()) {
    const auto first = call->context->random_below(ask->controllers.size());
    std::rotate(ask->controllers.begin(),
                ask->controllers.begin() + static_cast<std::ptrdiff_t>(first),
                ask->controllers.end());
  }
  ask->order = order;
  ask->attempt = attempt;
  ask->then = then;
  ask->go_on(no_controllers(plugin.id));
}

Result<Secrets> secrets_of_header(const net::Request& request) {
  auto rest = request.header("X-Nomad-CSI-Secrets");
  if (rest.empty()) return Secrets{};
  std::map<std::string, std::string> found;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto pair = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return bad_request("X-Nomad-CSI-Secrets must be key=value pairs with commas between them");
    found.insert_or_assign(std::string{pair.substr(0, equals)},
                           std::string{pair.substr(equals + 1)});
  }
  Draft<schema::CsiSecrets> draft;
  fill_entries(draft->initEntries(static_cast<unsigned>(found.size())), found);
  return draft.freeze();
}

Result<Secrets> stored_secrets(const VolumeParts& parts,
                               const state::Snapshot& snapshot,
                               const Object<schema::CsiVolume>& volume) {
  if (volume->getKeyId().size() == 0) return Secrets{};
  if (!parts.keyring) return no_leader();
  const auto secret = NOMAD_TRY(parts.keyring->open_secret(
      snapshot.root_key(view(volume->getKeyId())),
      {security::csi_volume_seal, state::kind::CsiVolumes::key(*volume)}, volume->getSealed()));
  return Secrets::from_bytes(secret.bytes());
}

Result<state::CsiPlugin> plugin_that(const state::Snapshot& snapshot,
                                     std::string_view id,
                                     bool (schema::CsiControllerInfo::Reader::*supports)() const) {
  auto plugin = state::find_csi_plugin(snapshot, id);
  if (!plugin) return not_found("no such plugin: " + std::string{id});
  if (plugin->controllers.empty() && plugin->controllers_expected == 0)
    return Error{Errc::rejected, "plugin has no controller"};
  if (plugin->controllers_healthy == 0) return no_controllers(id);
  for (const auto& one : plugin->controllers)
    if (one.info.getHealthy() && (one.info.getControllerInfo().*supports)())
      return *std::move(plugin);
  return Error{Errc::rejected, "unimplemented for this plugin: " + std::string{id}};
}

}  // namespace nomad::api
