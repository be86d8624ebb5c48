// The servers of the cluster and the log's members: agent members, join, force-leave, operator
// raft, operator autopilot.
#include <algorithm>
#include <map>

#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/cluster/member_json.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/setting_commands.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

using cluster::MemberInfo;
using cluster::ServerHealth;
using raft::RaftStatus;

/// Of an agent that is no server.
Answer no_server() {
  return Answer::text(net::status::not_implemented, "Invalid method");
}

template <class T>
Outcome empty_answer(const Result<T>& done) {
  if (!done) return done.error();
  return Answer::empty();
}

std::vector<MemberInfo> one_of_each_name(const std::vector<MemberInfo>& members) {
  std::map<std::string_view, const MemberInfo*> by_name;
  for (const auto& member : members) {
    auto& shown = by_name[member.name];
    shown = &cluster::bearer_of_name(shown, member);
  }
  std::vector<MemberInfo> all;
  for (const auto& [name, member] : by_name)
    all.push_back(*member);
  return all;
}

Outcome list_members(Call& call, const AgentParts& parts) {
  if (!call.context->state.raft) return Error{Errc::unavailable, "No known servers"};
  const auto& agent = parts.agent;
  const auto members = members_of(parts);
  JsonObject object;
  append_json_list(object.raw("Members"), one_of_each_name(*members),
                   [](std::string& to, const MemberInfo& member) { append_member(to, member); });
  object.text("ServerDC", agent.datacenter)
      .text("ServerName", agent.name)
      .text("ServerRegion", agent.region);
  return Answer::json(object.take());
}

Outcome join_servers(Call& call, const AgentParts& parts) {
  server::membership::Join join;
  for (const auto& [name, value] : call.request().query)
    if (name == "address") join.addresses.push_back(value);
  if (join.addresses.empty()) return bad_request("missing address to join");
  call.is_about(nomad::join(join.addresses, " "));
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  return ask<server::membership::Joined>(
      call, cluster->membership, std::move(join), [](const server::membership::Joined& joined) {
        std::string errors;
        for (const auto& err : joined.errors)
          errors += (errors.empty() ? "" : "; ") + err;
        return Answer::json(
            JsonObject{}.number("num_joined", joined.count).text("error", errors).take());
      });
}

Outcome force_leave(Call& call, const AgentParts& parts) {
  const std::string name{call.request().parameter_or_empty("node")};
  if (name.empty()) return bad_request("missing node to force leave");
  call.is_about(name);
  const auto* text = call.request().parameter("prune");
  const auto prune = parse_bool(text == nullptr || text->empty() ? "false" : *text);
  if (!prune) return bad_request("invalid prune value");
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  const auto context = call.context;
  context->asker.ask<server::membership::Done>(
      cluster->membership, server::membership::ForceLeave{name, *prune}, ask_timeout,
      [shared = share(std::move(call))](const Result<server::membership::Done>& done) {
        // Nomad says nothing of names that nobody has.
        const bool is_unknown = !done && done.error().code == Errc::not_found;
        shared->settle(is_unknown ? Outcome{Answer::empty()} : empty_answer(done));
      });
  return later;
}

/// The address that peers know a server by; ours where the log has none.
std::string address_of(const raft::Member& member, const AgentInfo& agent) {
  return member.address.empty() ? agent.rpc_address : member.address;
}

Outcome raft_configuration(Call& call, const AgentParts& parts) {
  const auto& log = call.context->state.raft;
  if (!log) return no_leader();
  const auto members = members_of(parts);
  return ask<RaftStatus>(call, log, raft::GetStatus{},
                         [agent = parts.agent, members](const RaftStatus& status) {
                           const auto name_of = [&](const std::string& id) -> std::string {
                             for (const auto& member : *members)
                               if (member.id == id) return member.name;
                             return "(unknown)";
                           };
                           auto servers = status.configuration.members;
                           std::ranges::sort(servers, {}, [&](const raft::Member& member) {
                             return std::pair{name_of(member.id), member.id};
                           });
                           JsonObject object;
                           object.number("Index", status.configuration_index);
                           append_json_list(object.raw("Servers"), servers,
                                            [&](std::string& to, const raft::Member& member) {
                                              JsonObject{to}
                                                  .text("Address", address_of(member, agent))
                                                  .text("ID", member.id)
                                                  .boolean("Leader", member.id == status.leader)
                                                  .text("Node", name_of(member.id))
                                                  .text("RaftProtocol", "3")
                                                  .boolean("Voter", member.voter);
                                            });
                           return Answer::json(object.take());
                         });
}

void change_member(const SharedCall& call,
                   const ClusterAccess& cluster,
                   raft::MemberChange change) {
  call->context->asker.ask<raft::Applied>(
      cluster.log, raft::ChangeMember{std::move(change)}, ask_timeout,
      [call](const Result<raft::Applied>& applied) { call->settle(empty_answer(applied)); });
}

Error no_such_peer(std::string_view key, const std::string& value) {
  return not_found(std::string{key} + " \"" + value + "\" was not found in the Raft configuration");
}

Outcome remove_peer(Call& call, const AgentParts& parts) {
  const std::string id{call.request().parameter_or_empty("id")};
  const std::string address{call.request().parameter_or_empty("address")};
  if (id.empty() && address.empty())
    return bad_request(
        "Must specify either ?id with the server's ID or ?address with IP:port of peer to "
        "remove");
  if (!id.empty() && !address.empty())
    return bad_request("Must specify only one of ?id or ?address");
  call.is_about(id.empty() ? address : id);
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  const auto shared = share(std::move(call));
  shared->context->asker.ask<RaftStatus>(
      cluster->log, raft::GetStatus{}, ask_timeout,
      [shared, cluster, id, address](const Result<RaftStatus>& status) {
        if (!status) return shared->fail(status.error());
        for (const auto& member : status->configuration.members)
          if (id.empty() ? member.address == address : member.id == id)
            return change_member(shared, *cluster, {raft::MemberAction::remove, member.id, {}});
        shared->fail(no_such_peer(id.empty() ? "address" : "id", id.empty() ? address : id));
      });
  return later;
}

Outcome transfer_leadership(Call& call, const AgentParts& parts) {
  const std::string id{call.request().parameter_or_empty("id")};
  const std::string address{call.request().parameter_or_empty("address")};
  if (!id.empty() && !address.empty())
    return bad_request("Must specify only one of ?id or ?address");
  call.is_about(id.empty() ? address : id);
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  const auto shared = share(std::move(call));
  shared->context->asker.ask<RaftStatus>(
      cluster->log, raft::GetStatus{}, ask_timeout,
      [shared, cluster, id, address](const Result<RaftStatus>& status) {
        if (!status) return shared->fail(status.error());
        raft::TransferLeadership transfer{.target = id};
        for (const auto& member : status->configuration.members)
          if (!address.empty() && member.address == address) transfer.target = member.id;
        if (!address.empty() && transfer.target.empty())
          return shared->fail(no_such_peer("address", address));
        shared->context->asker.ask<raft::Transferred>(
            cluster->log, transfer, ask_timeout, [shared](const Result<raft::Transferred>& done) {
              shared->settle(empty_answer(done));
            });
      });
  return later;
}

Outcome read_autopilot(Call& call, const AgentParts& parts) {
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  using server::autopilot::Settings;
  return ask<Settings>(
      call, cluster->autopilot, server::autopilot::GetSettings{},
      [](const Settings& settings) { return Answer::json(to_json(*settings.shown)); });
}

Outcome write_autopilot(Call& call) {
  const auto configuration = NOMAD_TRY(read_object<schema::AutopilotConfiguration>(call.request())
                                           .within("Error parsing autopilot config"));
  const auto check = NOMAD_TRY(check_index(call.request()).within("Error parsing cas value"));
  const auto decision = NOMAD_TRY(cluster::decide_autopilot(call.asking, configuration, check));
  const auto context = call.context;
  const auto& writer = context->state.writer;
  if (!writer) return no_leader();
  const auto shared = share(std::move(call));
  writer->propose(decision.allowed, decision.command, shared->turns(),
                  [shared](const Result<server::Committed>& done) {
                    if (done || done.error().code == Errc::conflict)
                      shared->send(Answer::json(done ? "true" : "false"));
                    else
                      shared->fail(done.error());
                  });
  return later;
}

void append_health(std::string& out, const ServerHealth& server, std::int64_t stable_since) {
  JsonObject object{out};
  object.text("Address", server.address)
      .boolean("Healthy", server.healthy)
      .text("ID", server.id)
      .text("LastContact", format_duration(server.last_contact))
      .number("LastIndex", server.last_index)
      .number("LastTerm", server.last_term)
      .boolean("Leader", server.leader)
      .text("Name", server.name)
      .text("SerfStatus", to_string(server.status));
  append_time(object, "StableSince", stable_since);
  object.text("Version", server.version).boolean("Voter", server.voter);
}

Outcome autopilot_health(Call& call, const AgentParts& parts) {
  const auto cluster = parts.cluster;
  if (!cluster) return no_server();
  using server::autopilot::Health;
  return ask<Health>(call, cluster->autopilot, server::autopilot::GetHealth{},
                     [](const Health& health) {
                       JsonObject object;
                       object.number("FailureTolerance", health.cluster.failure_tolerance)
                           .boolean("Healthy", health.cluster.healthy);
                       append_json_list(object.raw("Servers"), health.cluster.servers,
                                        [&](std::string& to, const ServerHealth& server) {
                                          const auto age = health.now - server.stable_since;
                                          append_health(to, server, unix_now() - age.count());
                                        });
                       auto answer = Answer::json(object.take());
                       if (!health.cluster.healthy) answer.status = net::status::too_many_requests;
                       return answer;
                     });
}

}  // namespace

void add_cluster_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/agent/members",
               {{Methods::get, Capability::node_read, with(list_members), Where::server}});
  routes.exact("/v1/agent/join",
               {{Methods::write, Capability::agent_write, with(join_servers), Where::agent}});
  routes.exact("/v1/agent/force-leave",
               {{Methods::write, Capability::agent_write, with(force_leave), Where::agent}});
  routes.exact("/v1/operator/raft/configuration",
               {{Methods::get, Capability::management, with(raft_configuration)}});
  routes.exact("/v1/operator/raft/peer",
               {{Methods::remove, Capability::management, with(remove_peer)}});
  routes.exact("/v1/operator/raft/transfer-leadership",
               {{Methods::write, Capability::management, with(transfer_leadership)}});
  routes.exact("/v1/operator/autopilot/configuration",
               {{Methods::get, Capability::operator_read, with(read_autopilot)},
                {Methods::put, Capability::operator_write, write_autopilot}});
  routes.exact("/v1/operator/autopilot/health",
               {{Methods::get, Capability::operator_read, with(autopilot_health), Where::leader}});
}

}  // namespace nomad::api
