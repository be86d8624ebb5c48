// Status of the cluster and what operators change: status, regions, system, operator.
#include <set>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/gc_rules.hpp"
#include "runtime/cluster/setting_commands.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

using raft::RaftStatus;
using state::Snapshot;
using state::Table;

/// Asks this server's part of the log what it knows, and answers with what `respond` makes of it.
template <class Respond>
Outcome ask_raft(Call& call, Respond respond) {
  const auto raft = call.context->state.raft;
  if (!raft) return no_leader();
  return ask<RaftStatus>(call, raft, raft::GetStatus{}, respond);
}

/// The address that peers know a server by; ours where the log has none.
std::string address_of(const std::string& address, const AgentInfo& agent) {
  return address.empty() ? agent.rpc_address : address;
}

Outcome status_leader(Call& call, const AgentParts& parts) {
  const auto& leader = call.context->state.leader;
  if (!leader) return no_leader();
  const auto known = leader->known();
  std::string out;
  append_json_text(
      out, known.leader.empty() ? std::string{} : address_of(known.leader_address, parts.agent));
  return Answer::json(std::move(out));
}

Outcome status_peers(Call& call, const AgentParts& parts) {
  return ask_raft(call, [agent = parts.agent](const RaftStatus& status) {
    return Answer::json(
        json_list(status.configuration.members, [&](std::string& to, const raft::Member& member) {
          append_json_text(to, address_of(member.address, agent));
        }));
  });
}

/// Of every server that is known, sorted.
Outcome list_regions(Call&, const AgentParts& parts) {
  std::set<std::string> regions{parts.agent.region};
  if (parts.cluster)
    for (const auto& member : *parts.cluster->members->members())
      if (member.status != cluster::MemberStatus::left) regions.insert(member.region);
  std::string out;
  append_json_texts(out, regions);
  return Answer::json(std::move(out));
}

/// Writes what `decide(snapshot, asking)` decides, entry by entry, and answers with the index. For
/// decisions that take as long as the tables are: they are made on the query pool.
template <class Decide>
Outcome write_all(Call& call, Decide decide) {
  return on_pool(call, [decide](Call& here) -> Outcome {
    const auto& state = here.context->state;
    if (!state.writer) return no_leader();
    const auto snapshot = state.store->snapshot();
    auto decisions = NOMAD_TRY(decide(snapshot, here.asking));
    if (decisions.commands.empty()) return Answer::empty().with_index(snapshot.index());
    const auto& writer = *state.writer;
    const auto shared = share(std::move(here));
    writer.propose_all(decisions.allowed, std::move(decisions.commands), shared->turns(),
                       responding(shared, [](const server::Committed& done) {
                         return Answer::empty().with_index(done.index);
                       }));
    return later;
  });
}

Outcome collect_garbage(Call& call) {
  return write_all(call, [](const Snapshot& snapshot, const access::Asking& asking) {
    return cluster::decide_collect_garbage(snapshot, asking, unix_now());
  });
}

Outcome reconcile_summaries(Call& call) {
  return write_all(call, cluster::decide_reconcile_summaries);
}

Outcome read_scheduler_configuration(Call& call) {
  return read_state(call, [](const ReadOptions&) -> Result<Read> {
    const auto index = index_from_one<Table::scheduler_config>;
    return Read{.watch = {state::watch_key(Table::scheduler_config, "")},
                .index = index,
                .answer = [index](const View& snapshot) {
                  JsonObject object;
                  append_query_meta(object, index(snapshot), true);
                  object.object("SchedulerConfig", *snapshot.scheduler_configuration());
                  return Answer::json(object.take());
                }};
  });
}

Outcome write_scheduler_configuration(Call& call) {
  const auto configuration = NOMAD_TRY(read_object<schema::SchedulerConfiguration>(call.request())
                                           .within("Error parsing scheduler config"));
  const auto algorithm = view(configuration->getSchedulerAlgorithm());
  if (!algorithm.empty() && algorithm != "binpack" && algorithm != "spread")
    return bad_request("invalid scheduler algorithm: " + std::string{algorithm});
  const auto* cas = call.request().parameter("cas");
  if (cas != nullptr && cas->empty())
    return bad_request("Error parsing cas value: strconv.ParseUint: parsing \"\": invalid syntax");
  const auto check = NOMAD_TRY(check_index(call.request()).within("Error parsing cas value"));
  return write(
      call,
      [configuration, check](const Snapshot& state, const access::Asking& asking,
                             const cluster::EvalSeed&) {
        return cluster::decide_scheduler_configuration(state, asking, configuration, check);
      },
      [](const server::Written<cluster::Decision>& done) {
        JsonObject object;
        object.number("Index", done.index).boolean("Updated", done.outcome != nullptr);
        return Answer::json(object.take()).with_index(done.index);
      });
}

Outcome enterprise_only(Call&) {
  return Answer::text(net::status::not_implemented, "Nomad Enterprise only endpoint");
}

/// What is no route of access control: Nomad tells there, too, when it checks no tokens.
Outcome no_acl_route(Call& call) {
  if (call.context->authenticator->enforces()) return Answer{.status = net::status::not_found};
  return bad_request("ACL support disabled");
}

Outcome no_license(Call&) {
  return Answer{.status = net::status::no_content};
}

}  // namespace

void add_operator_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/status/leader",
               {{Methods::get, Capability::none, with(status_leader), Where::server}});
  routes.exact("/v1/status/peers",
               {{Methods::get, Capability::none, with(status_peers), Where::server}});
  routes.exact("/v1/regions",
               {{Methods::get, Capability::none, with(list_regions), Where::server}});
  routes.exact("/v1/system/gc", {{Methods::put, Capability::management, collect_garbage}});
  routes.exact("/v1/system/reconcile/summaries",
               {{Methods::put, Capability::management, reconcile_summaries}});
  routes.exact("/v1/operator/scheduler/configuration",
               {{Methods::get, Capability::operator_read, read_scheduler_configuration},
                {Methods::write, Capability::operator_write, write_scheduler_configuration}});
  routes.below("/v1/acl/", {{"", {{Methods::any, Capability::none, no_acl_route, Where::agent}}}});
  routes.exact("/v1/operator/license",
               {{Methods::get, Capability::none, no_license, Where::agent},
                {Methods::put, Capability::operator_write, enterprise_only, Where::agent}});
  for (const auto* path :
       {"/v1/recommendation", "/v1/recommendations", "/v1/recommendations/apply"})
    routes.exact(path, {{Methods::any, Capability::none, enterprise_only, Where::agent}});
  for (const auto* prefix : {"/v1/recommendation/"})
    routes.below(prefix, {{"", {{Methods::any, Capability::none, enterprise_only, Where::agent}}}});
}

}  // namespace nomad::api
