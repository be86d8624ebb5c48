#include "actors/server/volumes/volume_endpoint.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/volumes/claim_question.hpp"
#include "runtime/cluster/volumes/volume_answers.hpp"
#include "runtime/cluster/volumes/volume_commands.hpp"
#include "runtime/cluster/volumes/volume_releases.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using cluster::VolumeReleases;
using Step = VolumeReleases::Step;
using Action = VolumeReleases::Action;
using ClaimState = schema::CsiClaimState;

/// So many steps are taken in one turn.
constexpr std::size_t steps_at_once = 256;

/// What comes meanwhile is looked at together.
constexpr auto look_delay = 50ms;

/// Until what waits for a call that is out is looked at again.
constexpr auto overdue_delay = 1s;

/// Questions that wait for controllers: a plugin that hangs must not fill the memory.
constexpr std::size_t most_waiting = 1'000;

/// Something may be due.
struct LookAtVolumes {
  using is_message = void;
  std::uint64_t round;
};

using VolumeEndpointSelf = actor::WithInternal<VolumeEndpoint, void(LookAtVolumes)>;

/// A call of a controller, of whichever of the plugin's has it.
struct ControllerCall {
  using Then = std::function<void(const Result<door::NodeReply>&)>;

  Object<schema::door::CsiControllerCall> order;
  Then then;
  std::vector<std::string> nodes = {};  ///< That are still to be asked, the next one last.
};

struct VolumeEndpointState {
  static constexpr const char* name = "volume_endpoint";

  using Self = VolumeEndpointSelf::stateful_pointer<VolumeEndpointState>;

  Self self = nullptr;
  std::optional<VolumeEndpointParts> parts;
  std::optional<ActorProposer> writes;
  VolumeReleases releases;
  bool leads = false;
  bool looks_soon = false;
  std::uint64_t round = 0;                                  ///< Of the newest LookAtVolumes.
  actor::Timer timer{};                                     ///< That one; there is no other.
  std::map<std::string, std::deque<ControllerCall>> calls;  ///< By plugin; the first one is out.
  std::size_t turn = 0;     ///< So that a plugin's controllers take turns.
  std::size_t waiting = 0;  ///< Of all of them.

  // -- leadership and looks

  void lead(bool now_leads) {
    leads = now_leads;
    releases.clear();
    look_after(0ms);
  }

  void changed() {
    if (!leads || std::exchange(looks_soon, true)) return;
    look_after(look_delay);
  }

  void look_after(std::chrono::nanoseconds delay) {
    self->cancel(timer);
    ++round;
    if (leads) timer = actor::send_self_after(self, delay, LookAtVolumes{round});
  }

  void look() {
    looks_soon = false;
    for (const auto& step : releases.take_due(parts->store->snapshot(), self->now(), steps_at_once))
      take(step);
    if (looks_soon) return;  // a step has asked for it
    const auto next = releases.next();
    if (!next) return;
    // What is due and was not taken waits for another call of its plugin, whose end is told.
    const auto left = std::chrono::nanoseconds{*next - self->now()};
    look_after(left > 0ns ? left : overdue_delay);
  }

  // -- giving back

  void take(const Step& step) {
    switch (step.action) {
      case Action::none:
        return;
      case Action::give_up:
        return write(step, ClaimState::UNPUBLISHING);
      case Action::skip_node:
        return write(step, ClaimState::NODE_DETACHED);
      case Action::free:
        return write(step, ClaimState::CONTROLLER_DETACHED);
      case Action::detach_node:
        return detach_node(step);
      case Action::detach_controller:
        return detach_controller(step);
    }
  }

  /// Notes that the claim is as far as that.
  void write(const Step& step, ClaimState state) {
    Draft<schema::CsiClaim> claim{step.claim};
    claim->setState(state);
    writes->propose(cluster::claim_command(view(step.volume->getNamespace()),
                                           view(step.volume->getId()), claim.reader()),
                    [this, step](const Result<Committed>& done) {
                      if (!done) return failed(step, done.error());
                      releases.done(step);
                      changed();
                    });
  }

  void failed(const Step& step, const Error& why) {
    releases.failed(step, self->now());
    changed();
    if (!leads || why.code == Errc::no_leader) return;
    log::warn("server", "a volume is not given back yet, and is tried again",
              {{"namespace", view(step.volume->getNamespace())},
               {"volume", view(step.volume->getId())},
               {"alloc", view(step.claim.getAllocId())},
               {"node", view(step.claim.getNodeId())},
               {"error", why}});
  }

  void detach_node(const Step& step) {
    const auto nodes = parts->nodes.get();
    if (!nodes) return failed(step, {Errc::unavailable, "the agent is starting"});
    const auto& volume = step.volume;
    auto question = door::make_node_ask(view(step.claim.getNodeId()),
                                        access::Principal::cluster(name), [&](auto& ask) {
                                          auto order = ask.initCsiNode();
                                          order.setPluginId(volume->getPluginId());
                                          order.setVolumeId(volume->getId());
                                          order.setExternalId(text(cluster::external_id(*volume)));
                                          order.setNamespace(volume->getNamespace());
                                          order.setClaim(step.claim);
                                          order.setDetach();
                                        });
    self->request(nodes, door::csi_patience + 10s, std::move(question))
        .then([this, step](const door::NodeReply&) { write(step, ClaimState::NODE_DETACHED); },
              // Also when nobody reaches the node: what is mounted there stays until it is gone.
              [this, step](const Error& why) { failed(step, why); });
  }

  void detach_controller(const Step& step) {
    const auto& volume = step.volume;
    const auto snapshot = parts->store->snapshot();
    const auto node_id = cluster::external_node_id(snapshot, *volume, step.claim);
    const auto secrets = secrets_of(snapshot, volume);
    if (!secrets) return failed(step, secrets.error());
    if (node_id.empty()) return write(step, ClaimState::CONTROLLER_DETACHED);
    Draft<schema::door::CsiControllerCall> order;
    order->setPluginId(volume->getPluginId());
    if (*secrets) order->setSecrets((*secrets)->getEntries());
    auto detach = order->initDetach();
    detach.setExternalId(text(cluster::external_id(*volume)));
    detach.setExternalNodeId(text(node_id));
    enqueue({order.freeze(), [this, step](const Result<door::NodeReply>& reply) {
               if (!reply) return failed(step, reply.error());
               write(step, ClaimState::CONTROLLER_DETACHED);
             }});
  }

  // -- controllers

  void enqueue(ControllerCall call) {
    if (waiting >= most_waiting)
      return call.then(Error{Errc::overloaded, "too many calls of CSI plugins are waiting"});
    ++waiting;
    auto& queue = calls[copy(call.order->getPluginId())];
    queue.push_back(std::move(call));
    if (queue.size() == 1) begin_call(queue.front());
  }

  void begin_call(ControllerCall& call) {
    const auto id = copy(call.order->getPluginId());
    call.nodes = cluster::healthy_controllers(parts->store->snapshot(), id);
    if (!call.nodes.empty())
      std::rotate(call.nodes.begin(),
                  call.nodes.begin() + static_cast<std::ptrdiff_t>(turn++ % call.nodes.size()),
                  call.nodes.end());
    ask_next(id, {Errc::unavailable, "no healthy controllers for CSI plugin: " + id});
  }

  /// Asks the next node for the call that is out; `last` is what the one before has said.
  void ask_next(const std::string& plugin, const Error& last) {
    auto& call = calls.at(plugin).front();
    const auto nodes = parts->nodes.get();
    if (!nodes || call.nodes.empty()) return end_call(plugin, last);
    auto question = door::make_node_ask(call.nodes.back(), access::Principal::cluster(name),
                                        [&](auto& ask) { ask.setCsiController(*call.order); });
    call.nodes.pop_back();
    self->request(nodes, door::csi_patience + 10s, std::move(question))
        .then([this, plugin](door::NodeReply& reply) { end_call(plugin, std::move(reply)); },
              [this, plugin](const Error& why) {
                // Nothing was done: another one may have it.
                if (why.code == Errc::not_found)
                  return ask_next(plugin, {Errc::unavailable, why.what});
                end_call(plugin, why);
              });
  }

  void end_call(const std::string& plugin, const Result<door::NodeReply>& reply) {
    auto& queue = calls.at(plugin);
    const auto then = std::move(queue.front().then);
    queue.pop_front();
    --waiting;
    if (queue.empty())
      calls.erase(plugin);
    else
      begin_call(queue.front());
    then(reply);
  }

  /// Empty: it has none.
  Result<Object<schema::CsiSecrets>> secrets_of(const state::Snapshot& snapshot,
                                                const Object<schema::CsiVolume>& volume) {
    if (volume->getKeyId().size() == 0) return Object<schema::CsiSecrets>{};
    const auto secret = NOMAD_TRY(parts->keyring->open_secret(
        snapshot.root_key(view(volume->getKeyId())),
        {security::csi_volume_seal, state::kind::CsiVolumes::key(*volume)}, volume->getSealed()));
    return Object<schema::CsiSecrets>::from_bytes(secret.bytes());
  }

  // -- questions of nodes

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    if (msg->isClaimVolume()) return claim(msg);
    if (msg->isUnpublishVolume()) return unpublish(msg);
    return Error{Errc::not_found, "this server does not know the question"};
  }

  bool is_leader() const { return !parts->lease || parts->lease->holds(); }

  actor::Answer<door::Reply> claim(const door::Ask& msg) {
    const auto wanted = cluster::judge_claim_question(parts->store->snapshot(), msg.subject(),
                                                      msg->getClaimVolume());
    if (!is_leader()) return no_leader();
    if (!wanted) return wanted.error();
    auto promise = self->make_response_promise<door::Reply>();
    writes->propose(cluster::claim_command(wanted->ns, wanted->volume_id, *wanted->claim),
                    [this, promise, wanted = *wanted](const Result<Committed>& done) mutable {
                      if (!done) return promise.deliver(done.error());
                      attach(wanted, promise);
                    });
    return promise;
  }

  /// The claim is in the log: has the controller bring the volume to the node.
  void attach(const cluster::WantedClaim& wanted, actor::Promise<door::Reply> promise) {
    const auto snapshot = parts->store->snapshot();
    const auto volume = snapshot.csi_volume(wanted.ns, wanted.volume_id);
    if (!volume)
      return promise.deliver(Error{Errc::not_found, "volume not found: " + wanted.volume_id});
    const auto secrets = secrets_of(snapshot, volume);
    if (!secrets) return promise.deliver(secrets.error());
    if (!wanted.attaches) return claimed(wanted, *secrets, {}, promise);
    Draft<schema::door::CsiControllerCall> order;
    order->setPluginId(volume->getPluginId());
    if (*secrets) order->setSecrets((*secrets)->getEntries());
    auto attaching = order->initAttach();
    attaching.setExternalId(text(cluster::external_id(*volume)));
    attaching.setExternalNodeId(wanted.claim->getExternalNodeId());
    attaching.getCapability().setAccessMode(wanted.claim->getAccessMode());
    attaching.getCapability().setAttachmentMode(wanted.claim->getAttachmentMode());
    if (volume->hasMountOptions()) attaching.setMountOptions(volume->getMountOptions());
    attaching.setReadOnly(wanted.claim->getMode() == schema::CsiClaimMode::READ);
    attaching.setContext(volume->getContext());
    enqueue({order.freeze(), [this, wanted, secrets = *secrets,
                              promise](const Result<door::NodeReply>& reply) mutable {
               if (!reply) return promise.deliver(reply.error().within("controller publish"));
               claimed(wanted, secrets, *reply, promise);
             }});
  }

  /// Tells the node, if the claim is still its own: it may have been given back meanwhile.
  void claimed(const cluster::WantedClaim& wanted,
               const Object<schema::CsiSecrets>& secrets,
               const std::optional<door::NodeReply>& attached,
               actor::Promise<door::Reply> promise) {
    const auto snapshot = parts->store->snapshot();
    const auto volume = snapshot.csi_volume(wanted.ns, wanted.volume_id);
    if (!is_leader()) return promise.deliver(no_leader());
    if (!volume || !cluster::has_claim(*volume, view(wanted.claim->getAllocId())))
      return promise.deliver(
          Error{Errc::conflict, "the claim was given back while the volume was attached"});
    auto reply = door::make_reply(
        snapshot.index(),
        [&](auto& to) {
          auto answer = to.initClaimedVolume();
          if (attached)
            answer.setPublishContext((*attached)->getCsiController().getPublishContext());
        },
        {AnyObject{cluster::volume_for_node(volume)}});
    if (secrets)
      reply.secret
          = std::make_shared<const security::Secret>(security::Secret::copy_of(secrets.bytes()));
    promise.deliver(std::move(reply));
  }

  actor::Answer<door::Reply> unpublish(const door::Ask& msg) {
    const auto snapshot = parts->store->snapshot();
    if (!is_leader()) return no_leader();
    const auto told = msg->getUnpublishVolume();
    const auto volume = snapshot.csi_volume(view(told.getNamespace()), view(told.getVolumeId()));
    const auto own = volume
                         ? cluster::claim_of_node(*volume, view(told.getAllocId()), msg.subject())
                         : std::nullopt;
    if (!own) return door::done(snapshot.index());  // it is free already
    Draft<schema::CsiClaim> claim{*own};
    claim->setState(told.getDetached() ? ClaimState::NODE_DETACHED : ClaimState::UNPUBLISHING);
    auto promise = self->make_response_promise<door::Reply>();
    writes->propose(
        cluster::claim_command(view(told.getNamespace()), view(told.getVolumeId()), claim.reader()),
        [this, promise](const Result<Committed>& done) mutable {
          if (!done) return promise.deliver(done.error());
          promise.deliver(door::done(done->index));
          changed();
        });
    return promise;
  }
};

VolumeEndpointSelf::behavior_type volume_endpoint(VolumeEndpointState::Self self,
                                                  VolumeEndpointParts parts) {
  auto& state = self->state;
  state.self = self;
  state.writes.emplace(self, parts.proposer, access::own_work("volume_endpoint"));
  state.parts = std::move(parts);
  return {
      [self](const door::Ask& msg) { return self->state.answer(msg); },
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](VolumesChanged) { self->state.changed(); },
      [self](LookAtVolumes msg) {
        if (msg.round == self->state.round) self->state.look();
      },
  };
}

}  // namespace

VolumeEndpoint spawn_volume_endpoint(const actor::Owner& owner, VolumeEndpointParts parts) {
  return actor::spawn<actor::Policy::restart>(owner, volume_endpoint, std::move(parts));
}

}  // namespace nomad::server
