#include "actors/server/nodes/node_service.hpp"

#include <algorithm>
#include <mutex>

#include "actors/server/nodes/earlier_node_methods.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {

struct NodeService::Shared {
  Shared(const actor::Owner& owner, NodeServiceOptions given)
      : options{std::move(given)}, asker{owner} {}

  NodeServiceOptions options;
  actor::Asker asker;
  mutable std::mutex guard;
  NodeSide nodes;
  rpc::Transport transport;

  NodeDoor door_of(door::ServerActor role) const {
    const std::lock_guard lock{guard};
    return nodes.door_of(role);
  }

  /// Notes where the node is to be reached, if the request came from itself.
  void note(const std::string& node_id, const rpc::Inbound& inbound, const rpc::Caller& caller) {
    if (!inbound.connection || inbound.envelope.hops > 0 || caller.is_server()) return;
    rpc::Transport to;
    {
      const std::lock_guard lock{guard};
      to = transport;
    }
    if (to) actor::tell(to, rpc::transport::NoteNode{node_id, inbound.connection});
  }
};

namespace {

namespace wire = schema::rpc;
using rpc::Answer;
using rpc::Caller;
using rpc::Inbound;
using rpc::Method;

/// What an actor may take beyond the time that a question is held.
constexpr std::chrono::seconds answer_slack{60};
constexpr std::chrono::seconds longest_answer{3'600};

/// Under which of Nomad's names a question is counted; it has other questions, which are these.
std::string_view counter_of(door::Question question) {
  using schema::door::Ask;
  switch (question) {
    case Ask::WATCH_ALLOCS:
      return "nomad.rpc.node.list";
    case Ask::AWAIT_PREVIOUS:
      return "nomad.rpc.alloc.read";
    case Ask::WATCH_DATA:
      return "nomad.rpc.variables.read";
    case Ask::REGISTER_SERVICES:
    case Ask::DEREGISTER_SERVICES:
      return "nomad.rpc.service_registration.write";
    default:
      return "nomad.rpc.node.write";
  }
}

/// Whose secret it has, or from where it comes.
std::string identity_of_asker(const Caller& caller) {
  if (caller.node) return "client:" + caller.node->id;
  return ':' + caller.remote.substr(0, caller.remote.rfind(':'));
}

/// How long the answer to `question` is waited for.
std::chrono::seconds patience_of(const door::Ask& question, const rpc::Envelope& envelope) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  if (question.max_wait().count() > 0)
    return duration_cast<seconds>(question.max_wait()) + answer_slack;
  return std::min(duration_cast<seconds>(envelope.time_left()) + seconds{1}, longest_answer);
}

}  // namespace

NodeService::NodeService(const actor::Owner& owner, NodeServiceOptions options)
    : shared_{std::make_shared<Shared>(owner, std::move(options))} {}

void NodeService::open(NodeSide nodes, const rpc::Transport& transport) {
  const std::lock_guard lock{shared_->guard};
  shared_->nodes = std::move(nodes);
  shared_->transport = transport;
}

void NodeService::note(const rpc::Caller& caller, const rpc::Inbound& inbound) const {
  if (caller.node) shared_->note(caller.node->id, inbound, caller);
}

std::string NodeService::secret_of(const std::string& node_id) const {
  const auto node = shared_->options.store->snapshot().node(node_id);
  return node ? copy(node->getSecretId()) : std::string{};
}

void NodeService::stop() {
  shared_->asker.stop();
  const std::lock_guard lock{shared_->guard};
  shared_->nodes = {};
  shared_->transport = rpc::Transport{};
}

/// Whether `caller` may ask as the node. That a node is not known, its question's answer says.
Result<> NodeService::check(const Caller& caller,
                            door::Asker asker,
                            const std::string& node_id) const {
  if (asker == door::Asker::anyone || caller.is_node(node_id)) return {};
  if (asker == door::Asker::node && secret_of(node_id).empty()) return {};
  log::warn("rpc", "refused a request: it does not bear the secret of the node",
            {{"node", node_id}, {"peer", caller.remote}});
  return Error{Errc::permission_denied, "Permission denied"};
}

void NodeService::ask(const Caller& caller,
                      const Inbound& inbound,
                      door::Ask question,
                      std::function<void(Result<door::Reply>)> reply) const {
  const auto* info = door::find_question(question->which());
  if (info == nullptr)
    return reply(Error{Errc::not_found, "this server does not know the node's question"});
  if (shared_->options.count)
    shared_->options.count(counter_of(info->question), identity_of_asker(caller));
  auto node_id = question.subject();
  if (auto allowed = check(caller, info->asker, node_id); !allowed) return reply(allowed.error());
  const bool shows_way
      = info->shows_way && (info->asker == door::Asker::anyone || caller.is_node(node_id));
  const auto door = shared_->door_of(info->actor);
  const auto patience = patience_of(question, inbound.envelope);
  shared_->asker.ask<door::Reply>(
      door, std::move(question), patience,
      [shared = shared_, shows_way, caller, inbound, id = std::move(node_id),
       reply = std::move(reply)](Result<door::Reply> answer) {
        if (answer && shows_way) shared->note(id, inbound, caller);
        reply(std::move(answer));
      },
      rpc::in_mailbox(inbound.envelope.priority));
}

void NodeService::add_to(rpc::MethodRouter& router) {
  add_status(router);
  const auto serve = [service = *this](const Caller& caller, const Inbound& inbound) {
    auto question = door::unpack_ask(inbound.body);
    if (!question) return inbound.reply(question.error());
    service.ask(caller, inbound, std::move(*question),
                [to = inbound.reply](Result<door::Reply> answer) {
                  if (!answer) return to(answer.error());
                  to(door::pack(*answer));
                });
  };
  router.on_raw(Method::node_ask, serve);
  router.on_raw(Method::node_ask_once, serve);
  add_earlier_node_methods(router, *this);
}

void NodeService::add_status(rpc::MethodRouter& router) const {
  const auto shared = shared_;
  router.on<wire::Empty, wire::Empty>(
      Method::status_ping, [](const Caller&, const Object<wire::Empty>&,
                              const Answer<wire::Empty>& answer) { answer.with([](auto&) {}); });
  router.on<wire::Empty, wire::StatusLeaderReply>(
      Method::status_leader, [shared](const Caller&, const Object<wire::Empty>&,
                                      const Answer<wire::StatusLeaderReply>& answer) {
        answer.with([&](auto& reply) {
          for (const auto& server : shared->options.servers())
            if (server.is_leader) reply.setRpcAddress(text(server.rpc_address));
        });
      });
  router.on<wire::Empty, wire::StatusPeersReply>(
      Method::status_peers, [shared](const Caller&, const Object<wire::Empty>&,
                                     const Answer<wire::StatusPeersReply>& answer) {
        answer.with([&](auto& reply) {
          const auto servers = shared->options.servers();
          fill_servers(reply.initServers(static_cast<unsigned>(servers.size())), servers);
        });
      });
}

}  // namespace nomad::server
