#include "actors/agent/cluster_part.hpp"

#include "actors/agent/api_setup.hpp"
#include "actors/agent/gossip_keyring.hpp"
#include "actors/agent/rpc_setup.hpp"
#include "actors/core/supervise.hpp"
#include "actors/server/members/raft_carrier.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "runtime/config/join_address.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::agent {
namespace {

constexpr std::chrono::seconds answer_patience{10};
constexpr std::chrono::seconds leave_patience{2};

const Error& not_ready() {
  static const Error error{Errc::unavailable, "the server is starting"};
  return error;
}

/// `advertise.rpc` may leave the port out.
std::string advertised_address(const config::AgentConfig& config, const std::string& bound) {
  const auto& given = config.advertise.rpc;
  if (given.empty()) return bound;
  return config::join_address(given, config.ports.rpc);
}

cluster::AutopilotConfig autopilot_config(const config::Autopilot& from) {
  return {.cleanup_dead_servers = from.cleanup_dead_servers,
          .last_contact_threshold = from.last_contact_threshold,
          .max_trailing_logs = static_cast<std::uint64_t>(from.max_trailing_logs),
          .min_quorum = static_cast<std::uint64_t>(from.min_quorum),
          .server_stabilization_time = from.server_stabilization_time};
}

cluster::MemberInfo member_info(const config::AgentConfig& config,
                                const ClusterOptions& options,
                                const std::string& rpc_address) {
  return {.id = options.server_id,
          .name = config.name + '.' + config.region,
          .region = config.region,
          .datacenter = config.datacenter,
          .rpc_address = rpc_address,
          .http_address = options.http_address,
          .serf_address = config.advertise.serf,
          .build = "1.6.5",
          .expect = static_cast<std::uint32_t>(config.server.bootstrap_expect),
          .non_voter = config.server.non_voting_server};
}

/// Names of servers to join may leave the port out.
std::vector<std::string> join_addresses(const config::Join& join, std::int64_t port) {
  std::vector<std::string> addresses;
  for (const auto* list : {&join.start_join, &join.retry_join})
    for (const auto& name : *list)
      addresses.push_back(config::join_address(name, port));
  return addresses;
}

Bytes aligned(const Bytes& bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) == 0) return bytes;
  return Bytes::copy(bytes.view());
}

using schema::membership::Envelope;
using schema::membership::ProbeReply;
using schema::membership::ProbeRequest;

using SharedAsker = std::shared_ptr<actor::Asker>;

void serve_raft(rpc::MethodRouter& router,
                const actor::Latest<std::optional<raft::RaftInbox>>& inbox) {
  router.on_one_way(rpc::Method::raft_message, [inbox](const rpc::Caller& caller, Bytes bytes) {
    const auto open = inbox.get();
    if (!open) return;
    const auto taken = open->deliver(aligned(bytes));
    if (taken || taken.error().code == Errc::overloaded) return;
    log::warn("raft", "refused a message", {{"peer", caller.describe()}, {"error", taken.error()}});
  });
}

void serve_membership(rpc::MethodRouter& router,
                      const SharedAsker& asker,
                      const actor::Latest<server::Membership>& membership) {
  router.on<Envelope, Envelope>(rpc::Method::member_exchange, [asker, membership](
                                                                  const rpc::Caller& caller,
                                                                  Object<Envelope> envelope,
                                                                  rpc::Answer<Envelope> answer) {
    const auto open = membership.get();
    if (!open) return answer(not_ready());
    asker->ask<server::membership::Exchanged>(
        open,
        server::membership::Exchange{caller.peer ? caller.peer->region : std::string{},
                                     std::move(envelope)},
        answer_patience,
        [answer, who = caller.describe()](const Result<server::membership::Exchanged>& exchanged) {
          if (exchanged) return answer(exchanged->envelope);
          if (exchanged.error().code == Errc::permission_denied)
            log::warn("membership", "refused an exchange of members",
                      {{"peer", who}, {"error", exchanged.error()}});
          answer(exchanged.error());
        });
  });
  router.on<ProbeRequest, ProbeReply>(
      rpc::Method::member_probe,
      [asker, membership](const rpc::Caller&, const Object<ProbeRequest>& request,
                          rpc::Answer<ProbeReply> answer) {
        const auto open = membership.get();
        if (!open) return answer(not_ready());
        asker->ask<server::membership::Probed>(
            open,
            server::membership::Probe{copy(request->getAddress()), copy(request->getRegion())},
            answer_patience, [answer](const Result<server::membership::Probed>& probed) {
              if (!probed) return answer(probed.error());
              answer.with([&](auto reply) { reply.setReached(probed->reached); });
            });
      });
}

void serve_keyring(rpc::MethodRouter& router,
                   const SharedAsker& asker,
                   const actor::Latest<server::Membership>& membership) {
  using schema::membership::Sealed;
  router.on<Sealed, Sealed>(rpc::Method::member_keyring, [asker, membership](
                                                             const rpc::Caller& caller,
                                                             Object<Sealed> order,
                                                             rpc::Answer<Sealed> answer) {
    const auto open = membership.get();
    if (!open) return answer(not_ready());
    asker->ask<server::membership::KeyringReport>(
        open, server::membership::KeyringOrder{std::move(order)}, answer_patience,
        [answer, who = caller.describe()](const Result<server::membership::KeyringReport>& report) {
          if (report) return answer(report->sealed);
          if (report.error().code == Errc::permission_denied)
            log::warn("membership", "refused a change of the keyring",
                      {{"peer", who}, {"error", report.error()}});
          answer(report.error());
        });
  });
}

/// Whether client nodes can be reached through this server. `own`: the node in this process.
void serve_has_node(rpc::MethodRouter& router,
                    const SharedAsker& asker,
                    const actor::Latest<rpc::OwnNode>& own,
                    const actor::Latest<rpc::Transport>& transport) {
  using rpc::transport::NodeConnected;
  using schema::rpc::HasNodeReply;
  router.on<schema::rpc::HasNodeRequest, HasNodeReply>(
      rpc::Method::server_has_node,
      [asker, own, transport](const rpc::Caller&,
                              const Object<schema::rpc::HasNodeRequest>& request,
                              rpc::Answer<HasNodeReply> answer) {
        auto node_id = copy(request->getNodeId());
        if (!node_id.empty() && own.get().id == node_id)
          return answer.with([](auto reply) { reply.setConnected(true); });
        const auto open = transport.get();
        if (!open) return answer(not_ready());
        asker->ask<NodeConnected>(
            open, rpc::transport::HasNode{std::move(node_id)}, answer_patience,
            [answer](const Result<NodeConnected>& has) {
              if (!has) return answer(has.error());
              answer.with([&](auto reply) { reply.setConnected(has->connected); });
            });
      });
}

/// What another server must serve goes there by the forwarder. A client node is reached over the
/// connection on which it speaks to us, whoever answers it.
void forward_elsewhere(rpc::MethodRouter& router,
                       const SharedAsker& asker,
                       const actor::Latest<std::shared_ptr<const raft::LeaderLease>>& lease,
                       const actor::Latest<rpc::Forwarder>& forwarder,
                       const server::NodeService& nodes) {
  router.set_is_leader([lease] {
    const auto held = lease.get();
    return held && held->holds();
  });
  router.set_forward(
      [asker, forwarder, nodes](const rpc::Caller& caller, const rpc::Inbound& inbound) {
        nodes.note(caller, inbound);
        const auto open = forwarder.get();
        if (!open) return inbound.reply(not_ready());
        rpc::send_on(*asker, open, caller, inbound);
      });
}

/// For the forwarder and the API; a leader that is not ready yet, or silent, counts as none.
rpc::LeaderAddress ready_leader(const std::shared_ptr<const raft::LeaderView>& leader) {
  if (!leader) return {};
  auto known = leader->known();
  if (known.leads ? !known.ready : leader->is_silent()) return {};
  return {.is_self = known.leads, .rpc_address = std::move(known.leader_address)};
}

/// Whom to ask for what has not come here yet; empty: nobody leads, or this server does.
std::vector<std::string> other_leader(const std::shared_ptr<const raft::LeaderView>& leader) {
  auto known = ready_leader(leader);
  if (known.is_self || known.rpc_address.empty()) return {};
  return {std::move(known.rpc_address)};
}

/// Who leads knows all tokens; any other server asks him for those that it does not find.
access::Lookup lookup_of(const std::shared_ptr<const state::Store>& store,
                         const actor::Latest<std::shared_ptr<const raft::LeaderLease>>& lease,
                         const actor::Latest<identity::KeyOf>& keys,
                         const rpc::RightsLink& link) {
  const auto leads = [lease] {
    const auto held = lease.get();
    return held && held->holds();
  };
  const auto key_of = [keys](const Object<schema::RootKey>& row) {
    const auto opened = keys.get();
    return opened ? opened(row) : Result<std::shared_ptr<const identity::SigningKey>>{not_ready()};
  };
  auto lookup = identity::with_identities(cluster::lookup_in(store, leads), store, key_of, leads);
  lookup.elsewhere = link.lookup().elsewhere;
  return lookup;
}

/// The servers of our region that are alive, for client nodes and `Status.Peers`.
std::vector<server::KnownServer> alive_servers(const server::MemberView& members,
                                               const std::string& region,
                                               const std::string& leader) {
  std::vector<server::KnownServer> servers;
  for (const auto& each : *members.members())
    if (each.is_usable() && each.region == region)
      servers.push_back(
          {each.id, each.rpc_address, each.region, each.datacenter, each.rpc_address == leader});
  return servers;
}

/// What counts nodes' questions: without names unless `names`.
std::function<void(std::string_view counter, std::string_view identity)> count_nodes(
    const std::shared_ptr<telemetry::IdentityCounters>& callers, bool names) {
  if (!callers) return {};
  return [callers, names](std::string_view counter, std::string_view identity) {
    callers->count(counter, names ? identity : std::string_view{},
                   std::chrono::steady_clock::now());
  };
}

/// Of a server that is told to join none.
void warn_of_no_cluster(const config::AgentConfig& config) {
  if (config.server.bootstrap_expect == 0)
    log::warn("agent",
              "this server neither founds a cluster nor joins one: `nomadctl server join "
              "<a server's address>` lets it join, server.bootstrap_expect found one");
}

/// Where the keys are that membership is sealed by. As in Nomad, once it is there the
/// configuration's `encrypt` counts no more for membership; it still wraps root keys
/// (server_part.cpp).
std::string keyring_path(const config::AgentConfig& config) {
  return config.data_dir + "/server/serf.keyring";
}

void warn_of_encrypt(const cluster::MemberKeyring& keyring,
                     const std::string& path,
                     const std::string& encrypt) {
  if (const auto remark = remark_on_encrypt(keyring, path, encrypt); !remark.empty())
    log::warn("membership", remark);
}

/// Those that the last start left, or the configuration's; changes are kept beside the state.
Result<> use_keyring(server::MembershipActorOptions& options, const config::AgentConfig& config) {
  const auto path = keyring_path(config);
  const auto& encrypt = config.server.encrypt;
  options.keyring = NOMAD_TRY(open_gossip_keyring(path, encrypt));
  warn_of_encrypt(options.keyring, path, encrypt);
  options.keep = [path, encrypt](const cluster::MemberKeyring& keyring) -> Result<> {
    NOMAD_TRY(keep_gossip_keyring(path, keyring.text()));
    warn_of_encrypt(keyring, path, encrypt);
    return {};
  };
  return {};
}

}  // namespace

ClusterPart::ClusterPart() = default;
ClusterPart::ClusterPart(ClusterPart&&) noexcept = default;
ClusterPart::~ClusterPart() = default;

Result<ClusterPart> ClusterPart::listen(const actor::Owner& owner,
                                        const config::AgentConfig& config,
                                        const ClusterOptions& options,
                                        const api::RemoteRequests& requests,
                                        std::shared_ptr<state::Store> store,
                                        const MakeLink& make_link) {
  ClusterPart part;
  part.random_ = Random{options.random_seed};
  part.store_ = store;
  NOMAD_TRY(use_keyring(part.membership_options_, config));
  part.asker_ = std::make_shared<actor::Asker>(owner, 1);
  part.rights_.emplace(
      owner, rpc::RightsLinkOptions{.region = config.region, .servers = [leader = part.leader_] {
                                      return other_leader(leader.get());
                                    }});
  part.authenticator_ = access::Authenticator::make(
      {.enforces = config.acl.enabled,
       .lookup = lookup_of(part.store_, part.lease_, part.identity_keys_, *part.rights_)});
  auto router = std::make_shared<rpc::MethodRouter>(config.region, part.authenticator_);
  if (proves_roles(config)) router->require_proof();
  serve_raft(*router, part.inbox_);
  serve_membership(*router, part.asker_, part.served_membership_);
  serve_keyring(*router, part.asker_, part.served_membership_);
  serve_has_node(*router, part.asker_, part.own_node_, part.served_transport_);
  rpc::serve_node_questions(*router, rpc::Method::server_ask_node, part.asker_, part.asked_nodes_);
  rpc::serve_rights(*router);
  const auto& authority = config.server.authoritative_region;
  server::serve_region_rows(*router, part.authenticator_, part.asker_, part.served_rows_,
                            authority == config.region ? std::string{} : authority);
  requests.add_to_server(*router);
  part.known_servers_ = [leader = part.leader_, members = part.members_, region = config.region] {
    const auto known = leader.get();
    return alive_servers(*members, region, known ? known->known().leader_address : "");
  };
  part.nodes_.emplace(
      owner, server::NodeServiceOptions{std::move(store), part.known_servers_,
                                        count_nodes(options.callers, names_callers(config))});
  part.nodes_->add_to(*router);
  part.sealed_.emplace();
  part.sealed_->add_to(*router);
  forward_elsewhere(*router, part.asker_, part.lease_, part.served_forwarder_, *part.nodes_);

  part.link_ = NOMAD_TRY(make_link(std::move(router)));
  auto& view = part.view_;
  view.region = config.region;
  view.leader_address = [leader = part.leader_] { return ready_leader(leader.get()); };
  view.servers_in = [members = part.members_](const std::string& region) {
    return members->servers_in(region);
  };
  part.forwarder_
      = rpc::spawn_forwarder(owner, part.transport(), view, {.random_seed = part.random_.next()});
  part.rights_->open(part.transport());
  part.address_ = advertised_address(config, part.link_.address);
  part.node_caller_
      = rpc::spawn_node_caller(owner, part.transport(), view, part.address_, part.own_node_);
  part.carrier_ = server::make_raft_carrier(part.transport(), config.region);
  part.membership_options_.self = member_info(config, options, part.address_);
  part.membership_options_.retry_join = join_addresses(config.server.join, config.ports.rpc);
  if (part.membership_options_.retry_join.empty()) warn_of_no_cluster(config);
  part.membership_options_.retry_interval
      = std::chrono::duration_cast<std::chrono::milliseconds>(config.server.join.retry_interval);
  part.membership_options_.retry_max = config.server.join.retry_max;
  part.autopilot_options_ = {.self = options.server_id,
                             .region = config.region,
                             .config = autopilot_config(config.autopilot),
                             .store = part.store_,
                             .dead_after = options.dead_after};
  return part;
}

void ClusterPart::attach(const actor::Owner& owner, const raft::StartedRaft& raft) {
  membership_options_.random_seed = random_.next();
  membership_
      = server::spawn_membership(owner, transport(), members_, std::move(membership_options_));
  autopilot_
      = server::spawn_autopilot(owner, raft.node, membership_, std::move(autopilot_options_));
  inbox_.set(raft.inbox);
  served_membership_.set(membership_);
  leader_.set(raft.leader);
  lease_.set(raft.lease);
  served_forwarder_.set(forwarder_);
  asked_nodes_.set(node_caller_);
  served_transport_.set(transport());
}

void ClusterPart::set_own_node(rpc::OwnNode node) {
  own_node_.set(std::move(node));
}

void ClusterPart::serve_nodes(const server::NodeSide& nodes) {
  nodes_->open(nodes, transport());
}

void ClusterPart::leave(actor::System& system, cluster::MemberStatus status) {
  if (!membership_) return;
  actor::BlockingAsker self{system};
  self.request(membership_, leave_patience, server::membership::Leave{status})
      .receive([](server::membership::Done) {},
               [](const Error& err) {
                 log::warn("membership", "could not tell the other servers of leaving",
                           {{"error", err}});
               });
}

void ClusterPart::stop() {
  actor::stop(autopilot_);
  actor::stop(membership_);
  autopilot_ = server::Autopilot{};
  membership_ = server::Membership{};
  carrier_ = raft::Carrier{};
  inbox_.set({});
  served_membership_.set({});
  served_forwarder_.set({});
  asked_nodes_.set({});
  served_rows_.set({});
  own_node_.set({});
  served_transport_.set({});
  actor::stop(forwarder_);
  forwarder_ = rpc::Forwarder{};
  actor::stop(node_caller_);
  node_caller_ = rpc::NodeCaller{};
  if (nodes_) nodes_->stop();
  if (sealed_) sealed_->stop();
  if (rights_) rights_->stop();
  if (link_.stop) link_.stop();
  if (asker_) asker_->stop();
  link_ = {};
}

}  // namespace nomad::agent
