#include "actors/api/forward/dispatch.hpp"

#include <utility>

#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/forward/repeats.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/rpc/forwarder.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

/// The longest way goes from a client node by a server and its leader to a server of another region
/// and its leader. More would be a circle of servers that take each other for the leader.
constexpr std::uint8_t most_hops = 6;

constexpr std::chrono::seconds search_patience{5};

/// Of a server that has lost the leadership, until it looks for who has it.
constexpr std::chrono::milliseconds unserved_pause{40};

using Answerer = std::function<void(Result<Found>)>;
using Clock = std::chrono::steady_clock;

bool takes_stale(const net::Request& request) {
  const auto* stale = request.parameter("stale");
  if (stale == nullptr) return false;
  const auto value = parse_bool(stale->empty() ? "true" : *stale);
  return value && *value;
}

/// Whether this server may serve what only the leader may. The lease first: it costs least.
bool leads(const Context& context) {
  const auto& view = context.forward->view;
  if (!view || !context.state.store) return true;
  if (context.state.lease && context.state.lease->holds()) return true;
  return view->leader_address().is_self;
}

void find_leader(const rpc::ClusterView& view, const Answerer& answer) {
  auto leader = view.leader_address();
  if (leader.is_self) return answer(Found{ServeHere{}});
  if (leader.rpc_address.empty()) return answer(no_leader());
  answer(Found{RelayTarget{.address = std::move(leader.rpc_address), .is_leader = true}});
}

Error no_path_to_region() {
  return bad_request("No path to region");
}

/// Why there is nobody to ask: a region may have lost its servers, or the caller may have its name
/// wrong.
Error no_servers(const ForwardParts& parts, const std::string& region) {
  if (region == parts.agent.region) return {Errc::unavailable, "No servers"};
  if (parts.cluster)
    for (const auto& member : *parts.cluster->members->members())
      if (member.region == region && member.status != cluster::MemberStatus::left)
        return {Errc::unavailable, no_path_to_region().what};
  return no_path_to_region();
}

/// Some server of a region; the first one that a client node knows is the one it uses.
void find_server(Context& context, const std::string& region, const Answerer& answer) {
  auto servers = context.forward->view->servers_in(region);
  if (servers.empty()) return answer(no_servers(*context.forward, region));
  const bool is_own = region == context.region;
  const auto chosen = is_own ? 0 : context.random_below(servers.size());
  answer(Found{RelayTarget{.address = std::move(servers[chosen])}});
}

// -- client nodes ---------------------------------------------------------------------------------

/// Whether the handler asks the node itself.
bool is_asked(Where where) {
  return where == Where::asked_node || where == Where::asked_body_node
         || where == Where::asked_alloc_node;
}

bool is_of_alloc(Where where) {
  return where == Where::alloc_node || where == Where::asked_alloc_node;
}

/// `own_only`: another server has asked everybody already.
void find_node(const std::shared_ptr<Context>& context,
               const std::string& node_id,
               bool own_only,
               const Answerer& answer) {
  using rpc::node_caller::Find;
  context->asker.ask<rpc::node_caller::Connected>(
      context->forward->nodes, Find{node_id, own_only}, 2 * search_patience,
      [node_id, answer](const Result<rpc::node_caller::Connected>& found) {
        if (!found) return answer(found.error());
        const bool is_here = found->server.empty();
        answer(Found{RelayTarget{.address = found->server,
                                 .node_id = is_here ? node_id : std::string{},
                                 .target_node = is_here ? std::string{} : node_id}});
      });
}

void to_node(Call call, const std::string& node_id, const Run& run) {
  const auto context = call.context;
  const bool own_only = !call.request().target_node.empty();
  relay(
      std::move(call),
      [context, node_id, own_only](const Answerer& answer) {
        find_node(context, node_id, own_only, answer);
      },
      run);
}

/// On an agent without a server: here if the client has the allocation, else by way of a server.
void find_alloc_from_client(const std::shared_ptr<Context>& context,
                            const std::string& alloc_id,
                            const Answerer& answer) {
  using client::client_api::AllocDir;
  using client::client_api::AllocDirOf;
  // Only where it is: the caller is judged there.
  AllocDirOf question{alloc_id, access::Asking::of_cluster("dispatch")};
  context->asker.ask<AllocDir>(context->forward->client, std::move(question), search_patience,
                               [context, answer](const Result<AllocDir>& dir) {
                                 if (dir) return answer(Found{ServeHere{}});
                                 find_server(*context, context->region, answer);
                               });
}

/// The address of a server by its id or name, or "leader"; empty: our own, or nobody's.
std::string server_named(const ForwardParts& parts, std::string_view name) {
  if (name == "leader") {
    const auto leader = parts.view->leader_address();
    return leader.is_self ? std::string{} : leader.rpc_address;
  }
  const auto members = parts.cluster->members->members();
  const cluster::MemberInfo* named = nullptr;
  for (const auto& member : *members) {
    if (member.name == name) named = &cluster::bearer_of_name(named, member);
    if (member.id != name) continue;
    named = &member;
    break;
  }
  const bool is_other = named != nullptr && named->rpc_address != parts.agent.rpc_address;
  return is_other ? named->rpc_address : std::string{};
}

/// The node that the request names; empty: none, or a body that its handler refuses.
std::string named_node(const net::Request& request, Where where) {
  const auto parameter = request.parameter_or_empty("node_id");
  if (where != Where::asked_body_node || !parameter.empty() || request.body.empty())
    return std::string{parameter};
  const auto body = read_body(request);
  return body ? BodyFields{*body, "NodeMetaApplyRequest"}.text("NodeID") : std::string{};
}

/// The node of what is asked for: as the request names it, or the allocation of the path, which is
/// judged here and by its node again. Empty: our own, or nobody's.
Result<std::string> node_of(const Call& call, Where where) {
  if (!is_of_alloc(where)) return named_node(call.request(), where);
  const auto row = call.context->state.store->snapshot().alloc(call.rest);
  if (!row) return std::string{};
  NOMAD_TRY(authorize(call.asking, {row->alloc->ns()}));
  return std::string{row->alloc->node_id()};
}

void dispatch_to_node(Where where, Call call, const Run& run) {
  const auto context = call.context;
  const auto& parts = *context->forward;
  const auto& store = context->state.store;
  if (!parts.view) return run(std::move(call));
  if (!store) {
    const auto node = named_node(call.request(), where);
    const auto server = call.request().parameter_or_empty("server_id");
    const bool is_own
        = node.empty() ? where != Where::named || server.empty() : node == parts.agent.node_id;
    if (!is_of_alloc(where) && is_own) return run(std::move(call));
    auto find = [context, where, alloc_id = call.rest](const Answerer& answer) {
      if (is_of_alloc(where)) return find_alloc_from_client(context, alloc_id, answer);
      find_server(*context, context->region, answer);
    };
    return relay(std::move(call), std::move(find), run);
  }
  if (where == Where::named && parts.cluster && call.request().hops < most_hops) {
    auto server = server_named(parts, call.request().parameter_or_empty("server_id"));
    if (!server.empty())
      return relay(
          std::move(call), [server](const Answerer& answer) { answer(Found{RelayTarget{server}}); },
          run);
  }
  const auto found = node_of(call, where);
  if (!found) return call.fail(found.error());
  const auto& node = *found;
  const bool is_known = !node.empty() && store->snapshot().node(node);
  if (is_known && (node != parts.agent.node_id || !parts.client)) {
    if (!is_asked(where)) return to_node(std::move(call), node, run);
    call.node = node;
    return run(std::move(call));
  }
  // The leader knows allocations and nodes that have not come here yet.
  const bool names_one = is_of_alloc(where) ? is_uuid(call.rest) : !node.empty();
  if (!is_known && names_one && !leads(*context) && call.request().hops < most_hops) {
    return relay(
        std::move(call),
        [context](const Answerer& answer) { find_leader(*context->forward->view, answer); }, run);
  }
  run(std::move(call));
}

/// Whether the call is about the agent that it has come to.
Result<> check_named(const Call& call) {
  const auto& agent = call.context->forward->agent;
  const auto node = call.request().parameter_or_empty("node_id");
  const auto server = call.request().parameter_or_empty("server_id");
  if (!node.empty() && !server.empty())
    return bad_request("Cannot target node and server simultaneously");
  if (!node.empty() && node != agent.node_id) {
    NOMAD_TRY(check_id("node", node));
    return not_found("Unknown node " + std::string{node});
  }
  if (!server.empty() && server != agent.server_id && server != agent.name + '.' + agent.region
      && server != "leader")
    return not_found("unknown Nomad server " + std::string{server});
  return {};
}

/// Runs only what is about this agent.
Run if_named(const Run& run) {
  return [run](Call call) {
    const auto named = check_named(call);
    if (!named) return call.fail(named.error());
    run(std::move(call));
  };
}

void dispatch_until(Where where, Call call, const Run& run, Clock::time_point give_up);

/// What changes something is decided where somebody led a moment ago. If nobody does any more when
/// it comes to the log, it is passed back, or tried again by who was asked first.
void try_again_unserved(Where where, Call& call, const Run& run, Clock::time_point give_up) {
  call.when_unserved = [where, run, give_up](Call refused, const Error& why) {
    if (refused.request().hops > 0) return refuse_unserved(refused, why);
    if (Clock::now() + unserved_pause > give_up) return refused.fail(Answer::error(why));
    const auto shared = share(std::move(refused));
    shared->context->timers.call_after(unserved_pause,
                                       shared->turns().callback([where, shared, run, give_up] {
                                         dispatch_until(where, std::move(*shared), run, give_up);
                                       }));
  };
}

Situation situation_of(Where where, const Call& call) {
  const auto& context = call.context;
  const auto& request = call.request();
  Situation now;
  now.where = where;
  now.is_read = request.method == "GET" || request.method == "HEAD";
  now.other_region = is_of_other_region(where, call);
  now.has_server = context->state.store != nullptr || !context->forward->view;
  now.leads = leads(*context);
  now.takes_stale = !now.leads && takes_stale(request);
  now.is_for_this_node = request.is_for_this_node;
  return now;
}

void dispatch_until(Where where, Call call, const Run& run, Clock::time_point give_up) {
  const auto context = call.context;
  const auto& view = context->forward->view;
  const auto& request = call.request();
  const auto now = situation_of(where, call);
  const auto destination = destination_of(now);
  if (destination == Destination::here) {
    const bool by_leader
        = where == Where::leader || where == Where::authority || where == Where::by_method;
    if (by_leader && !now.is_read && view) try_again_unserved(where, call, run, give_up);
    return run(std::move(call));
  }
  if (destination == Destination::node) return dispatch_to_node(where, std::move(call), run);
  if (destination == Destination::region) {
    const auto region = region_of(where, call);
    return dispatch_to_region(std::move(call), region, run);
  }
  if (!view) return refuse_unserved(call, now.other_region ? no_path_to_region() : no_leader());
  if (request.hops >= most_hops) return refuse_unserved(call, no_leader());
  Find find;
  if (destination == Destination::leader)
    find = [context](const Answerer& answer) { find_leader(*context->forward->view, answer); };
  else
    find = [context](const Answerer& answer) { find_server(*context, context->region, answer); };
  relay(std::move(call), std::move(find), run);
}

}  // namespace

std::string region_of(Where where, const Call& call) {
  const auto& authority = call.context->forward->agent.authoritative_region;
  if (where == Where::authority && !authority.empty()) return authority;
  const auto named = call.request().parameter_or_empty("region");
  return named.empty() ? call.context->region : std::string{named};
}

bool is_of_other_region(Where where, const Call& call) {
  return region_of(where, call) != call.context->region && !call.request().is_for_this_node;
}

bool goes_to_leader(Where where, const Call& call) {
  return destination_of(situation_of(where, call)) == Destination::leader;
}

void dispatch(Where where, Call call, const Run& run) {
  dispatch_until(where, std::move(call), where == Where::named ? if_named(run) : run,
                 Clock::now() + Repeats::hold);
}

void relay_to_node(Call call) {
  const auto node = std::exchange(call.node, {});
  to_node(std::move(call), node, [](Call here) { here.fail(not_found("No path to node")); });
}

void dispatch_to_region(Call call, const std::string& region, const Run& run) {
  const auto context = call.context;
  if (!context->forward->view || call.request().hops >= most_hops)
    return refuse_unserved(call, no_path_to_region());
  relay(
      std::move(call),
      [context, region](const Answerer& answer) { find_server(*context, region, answer); }, run,
      region);
}

bool dispatch_to_authority(Call& call) {
  if (!is_of_other_region(Where::authority, call)) return false;
  const auto region = region_of(Where::authority, call);
  dispatch_to_region(std::move(call), region, [](Call here) { here.fail(no_path_to_region()); });
  return true;
}

}  // namespace nomad::api
