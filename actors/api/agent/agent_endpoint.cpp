// /v1/agent/self, members, servers and health: what this agent says of itself.
#include <algorithm>
#include <thread>

#include <sys/utsname.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/cluster/member_json.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/config/join_address.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

using client::client_api::AllocCounts;
using client::client_api::LocalNode;
using raft::RaftStatus;

std::string_view role_name(raft::Role role) {
  switch (role) {
    case raft::Role::follower:
      return "Follower";
    case raft::Role::pre_candidate:
    case raft::Role::candidate:
      return "Candidate";
    case raft::Role::leader:
      return "Leader";
  }
  return "Follower";
}

/// This agent's own row.
void append_self(std::string& out, const AgentParts& parts) {
  const auto& agent = parts.agent;
  if (parts.cluster)
    for (const auto& member : *parts.cluster->members->members())
      if (member.id == agent.server_id) return append_member(out, member);
  append_member(out, member_of(agent));
}

/// What the health and self pages need to know, asked for one after the other. Empty where this
/// agent has no such part, or it does not answer.
struct SelfReport {
  std::optional<RaftStatus> raft;
  std::optional<LocalNode> node;
  std::optional<AllocCounts> allocs;
};

using Reported = std::function<void(const SelfReport&)>;

constexpr std::chrono::seconds report_timeout{5};
constexpr unsigned default_rpc_port = 4647;

void ask_for_report(const std::shared_ptr<Context>& context,
                    const client::ClientApi& client,
                    Reported done) {
  const auto report = std::make_shared<SelfReport>();
  const auto ask_allocs = [context, client, report, done] {
    if (!client) {
      done(*report);
      return;
    }
    context->asker.ask<AllocCounts>(client, client::client_api::CountAllocs{}, report_timeout,
                                    [report, done](Result<AllocCounts> counts) {
                                      if (counts) report->allocs = *counts;
                                      done(*report);
                                    });
  };
  const auto ask_client = [context, client, report, ask_allocs] {
    if (!client) {
      ask_allocs();
      return;
    }
    context->asker.ask<LocalNode>(client, client::client_api::GetNode{}, report_timeout,
                                  [report, ask_allocs](Result<LocalNode> node) {
                                    if (node) report->node = *node;
                                    ask_allocs();
                                  });
  };
  if (!context->state.raft) {
    ask_client();
    return;
  }
  context->asker.ask<RaftStatus>(context->state.raft, raft::GetStatus{}, report_timeout,
                                 [report, ask_client](Result<RaftStatus> status) {
                                   if (status) report->raft = *status;
                                   ask_client();
                                 });
}

std::string go_seconds_ago(std::int64_t unix_nanoseconds) {
  return format_duration(Nanoseconds{std::max<std::int64_t>(0, unix_now() - unix_nanoseconds)});
}

void append_client_stats(JsonObject& stats, const AgentInfo& agent, const SelfReport& report) {
  if (!report.node) return;
  JsonObject client{stats.raw("client")};
  client.text("heartbeat_ttl", format_duration(Nanoseconds{report.node->heartbeat_ttl}))
      .text("known_servers", agent.rpc_address)
      .text("last_heartbeat", go_seconds_ago(report.node->last_heartbeat))
      .text("node_id", agent.node_id);
  if (report.allocs) client.text("num_allocations", std::to_string(report.allocs->kept));
}

/// As Go prints it.
std::string configuration_text(const raft::Configuration& configuration, const AgentInfo& agent) {
  std::vector<std::string> members;
  for (const auto& member : configuration.members)
    members.push_back(fmt::format("{{Suffrage:{} ID:{} Address:{}}}",
                                  member.voter ? "Voter" : "Nonvoter", member.id,
                                  member.address.empty() ? agent.rpc_address : member.address));
  return fmt::format("[{}]", fmt::join(members, " "));
}

/// Of the servers among themselves. What Serf counts besides is not there, so it is zero.
void append_member_stats(JsonObject& stats, const AgentParts& parts) {
  const auto members = members_of(parts);
  const auto count = [&members](cluster::MemberStatus status) {
    return std::to_string(std::ranges::count(*members, status, &cluster::MemberInfo::status));
  };
  JsonObject serf{stats.raw("serf")};
  for (const auto* name : {"coordinate_resets", "event_queue", "event_time", "health_score",
                           "intent_queue", "member_time", "query_queue", "query_time"})
    serf.text(name, "0");
  serf.text("failed", count(cluster::MemberStatus::failed))
      .text("left", count(cluster::MemberStatus::left))
      .text("members", std::to_string(members->size()));
}

void append_server_stats(JsonObject& stats, const AgentInfo& agent, const SelfReport& report) {
  if (!report.raft) return;
  const auto& status = *report.raft;
  const bool leads = status.role == raft::Role::leader;
  const auto leader_address = status.leader.empty()           ? std::string{}
                              : status.leader_address.empty() ? agent.rpc_address
                                                              : status.leader_address;
  JsonObject{stats.raw("nomad")}
      .text("bootstrap", "true")
      .text("known_regions", "1")
      .text("leader", leads ? "true" : "false")
      .text("leader_addr", leader_address)
      .text("server", "true");
  const auto contact
      = std::chrono::duration_cast<std::chrono::milliseconds>(status.last_contact).count();
  JsonObject{stats.raw("raft")}
      .text("applied_index", std::to_string(status.applied_index))
      .text("commit_index", std::to_string(status.commit_index))
      .text("last_contact", leads ? "0" : std::to_string(contact) + "ms")
      .text("fsm_pending", std::to_string(status.commit_index - status.applied_index))
      .text("last_log_index", std::to_string(status.last_index))
      .text("last_log_term", std::to_string(status.last_term))
      .text("last_snapshot_index", std::to_string(status.snapshot_index))
      .text("latest_configuration", configuration_text(status.configuration, agent))
      .text("latest_configuration_index", std::to_string(status.configuration_index))
      .text("num_peers", std::to_string(status.configuration.members.empty()
                                            ? 0
                                            : status.configuration.members.size() - 1))
      .text("protocol_version", "3")
      .text("protocol_version_max", "3")
      .text("protocol_version_min", "3")
      .text("state", role_name(status.role))
      .text("term", std::to_string(status.current_term));
}

void append_runtime_stats(JsonObject& stats) {
  utsname system{};
  ::uname(&system);
  const auto cores = std::to_string(std::thread::hardware_concurrency());
  JsonObject{stats.raw("runtime")}
      .text("arch", std::string_view{system.machine} == "x86_64" ? "amd64" : system.machine)
      .text("cpu_count", cores)
      .text("goroutines", "0")
      .text("kernel.name", "linux")
      .text("max_procs", cores)
      .text("version", "nomadctl " NOMADCTL_VERSION);
}

Outcome agent_self(Call& call, const AgentParts& parts) {
  const auto shared = share(std::move(call));
  ask_for_report(shared->context, parts.client, [shared, &parts](const SelfReport& report) {
    const auto& agent = parts.agent;
    JsonObject object;
    object.raw("config") += agent.config_json ? agent.config_json() : "{}";
    if (agent.server_enabled)
      append_self(object.raw("member"), parts);
    else
      object.null("member");
    {
      JsonObject stats{object.raw("stats")};
      append_client_stats(stats, agent, report);
      append_server_stats(stats, agent, report);
      if (agent.server_enabled) append_member_stats(stats, parts);
      append_runtime_stats(stats);
    }
    shared->send(Answer::json(object.take()));
  });
  return later;
}

// --- health
// ----------------------------------------------------------------------------------------

struct Health {
  bool ok = true;
  std::string message = "ok";
};

/// Which parts were asked after: all that there are, or those named by `type`.
struct HealthQuery {
  bool is_named = false;
  bool client = true;
  bool server = true;
};

HealthQuery health_query(const net::Request& request) {
  HealthQuery query;
  for (const auto& [name, value] : request.query) {
    if (name != "type") continue;
    if (!std::exchange(query.is_named, true)) query.client = query.server = false;
    if (value == "client") query.client = true;
    if (value == "server") query.server = true;
  }
  return query;
}

std::optional<Health> client_health(const HealthQuery& query,
                                    const Context& context,
                                    bool has_client,
                                    const SelfReport& report) {
  if (!query.client) return std::nullopt;
  if (!has_client)
    return query.is_named ? std::optional<Health>{{false, "client not enabled"}} : std::nullopt;
  if (!report.node) return Health{false, "client does not answer"};
  if (report.node->last_heartbeat == 0 && !context.state.raft)
    return Health{false, "no known servers"};
  return Health{};
}

std::optional<Health> server_health(const HealthQuery& query,
                                    const Context& context,
                                    const SelfReport& report) {
  if (!query.server) return std::nullopt;
  if (!context.state.raft)
    return query.is_named ? std::optional<Health>{{false, "server not enabled"}} : std::nullopt;
  if (!report.raft) return Health{false, "server does not answer"};
  if (report.raft->leader.empty()) return Health{false, "no leader"};
  if (!context.state.leader) return Health{};
  if (auto reason = context.state.leader->read_only(); !reason.empty())
    return Health{false, std::move(reason)};
  return Health{};
}

Outcome agent_health(Call& call, const AgentParts& parts) {
  const auto query = health_query(call.request());
  const auto shared = share(std::move(call));
  const bool has_client = static_cast<bool>(parts.client);
  ask_for_report(shared->context, parts.client, [=](const SelfReport& report) {
    JsonObject object;
    bool all_ok = true;
    const auto append = [&](std::string_view name, const std::optional<Health>& health) {
      if (!health) return;
      all_ok = all_ok && health->ok;
      JsonObject{object.raw(name)}.text("message", health->message).boolean("ok", health->ok);
    };
    append("client", client_health(query, *shared->context, has_client, report));
    append("server", server_health(query, *shared->context, report));
    shared->send(all_ok ? Answer::json(object.take())
                        : Answer::text(net::status::internal_error, object.take()));
  });
  return later;
}

/// The servers that the client uses.
Outcome agent_servers(Call&, const AgentParts& parts) {
  if (!parts.client) return Answer::text(net::status::not_implemented, "Invalid method");
  std::vector<std::string> addresses{parts.agent.rpc_address};
  if (!parts.agent.server_enabled && parts.view)
    addresses = parts.view->servers_in(parts.agent.region);
  std::ranges::sort(addresses);
  std::string out;
  for (const auto& address : addresses) {
    out += out.empty() ? '[' : ',';
    append_json_text(out, address);
  }
  return Answer::json(out.empty() ? "[]" : out + ']');
}

/// Has the client use other servers.
Outcome set_servers(Call& call, const AgentParts& parts) {
  if (!parts.client) return Answer::text(501, "Invalid method");
  client::remote_servers::Use use;
  for (const auto& [name, value] : call.request().query)
    if (name == "address") use.addresses.push_back(value);
  if (use.addresses.empty()) return bad_request("missing server address");
  if (!parts.choice)
    return bad_request(
        "the client of this agent uses the server beside it; only agents without a "
        "server are told others");
  for (auto& address : use.addresses)
    address = config::join_address(address, default_rpc_port);
  return ask<client::remote_servers::Used>(
      call, parts.choice, std::move(use),
      [](const client::remote_servers::Used&) { return Answer::empty(); });
}

}  // namespace

void add_agent_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/agent/self",
               {{Methods::get, Capability::agent_read, with(agent_self), Where::agent}});
  routes.exact("/v1/agent/servers",
               {{Methods::get, Capability::agent_read, with(agent_servers), Where::agent},
                {Methods::write, Capability::agent_write, with(set_servers), Where::agent}});
  routes.exact("/v1/agent/health",
               {{Methods::get, Capability::none, with(agent_health), Where::agent}});
}

}  // namespace nomad::api
