// /v1/nodes and /v1/node/<id>.
#include "actors/api/cluster/node_endpoint.hpp"

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/cluster/member_json.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::api {
namespace {

using cluster::EvalSeed;
using cluster::NodeDecision;
using server::Written;
using state::Snapshot;
using state::Table;
using NodeRef = Object<schema::Node>;

Outcome list_nodes(Call& call) {
  const auto stub = NOMAD_TRY(node_stub_options(call.request()));
  return read_state(call, [&stub](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_id_prefix("node", options));
    const auto filter = NOMAD_TRY(compile_filter(options));
    return node_list(options, stub, filter, {});
  });
}

Outcome read_node(Call& call) {
  if (call.rest.empty()) return bad_request("missing node ID");
  return read_state(call, [&](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("node", call.rest));
    return read_row<Table::nodes>(
        call.rest, "node",
        [id = call.rest](const View& snapshot) -> Result<NodeRef> { return snapshot.node(id); },
        [](const View&, const NodeRef& node) {
          std::string out;
          append_node(out, *node);
          return Answer::json(std::move(out));
        });
  });
}

Outcome node_allocations(Call& call) {
  const auto id = call.rest;
  return read_state(call, [&id](const ReadOptions&) -> Result<Read> {
    return Read{.watch = {state::watch_key(Table::allocs_by_node, id)},
                .index = index_from_one<Table::allocs>,
                .answer =
                    [id](const View& snapshot) {
                      return list_page(
                          snapshot.as(Capability::read_job), &state::Snapshot::allocs_by_node_map,
                          Walk{.prefix = state::join_key(id, "")}, {}, keep_all, key_as_token,
                          [&](std::string& to, const auto& row) {
                            const auto all = snapshot.in(row->alloc->ns());
                            append_alloc(to, *row,
                                         all ? signing_key_of(**all, *row->alloc) : std::string{});
                          });
                    },
                .is_heavy = is_long<&state::Snapshot::allocs_map>,
                .cacheable = true};
  });
}

void append_ids(JsonObject& object, const std::vector<std::string>& ids) {
  if (ids.empty())
    object.null("EvalIDs");
  else
    append_json_texts(object.raw("EvalIDs"), ids);
}

std::uint64_t eval_index(const Written<NodeDecision>& done) {
  return done.decision.eval_ids.empty() ? 0 : done.index;
}

/// Of the node as it is now; 0 if it is gone.
std::uint64_t node_modify_index(const Context& context, const std::string& id) {
  const auto node = context.state.store->snapshot().node(id);
  return node ? node->getModifyIndex() : 0;
}

/// When a decision is written: what came to its node meanwhile is evaluated, too, whether or not
/// anybody waits for the answer.
auto following_up(const std::shared_ptr<Context>& context) {
  return [context](const Written<NodeDecision>& done) {
    context->state.writer->write(
        [decision = done.decision](const Snapshot& state, const EvalSeed& seed)
            -> Result<NodeDecision> { return cluster::decide_latecomers(state, decision, seed); },
        Turns::here(),
        [](const Result<Written<NodeDecision>>& written) {
          if (!written)
            log::warn("node", "the jobs of a node are not evaluated", {{"error", written.error()}});
        },
        deciding_anew(context));
  };
}

/// What a change of a node's drain or eligibility is answered with; nothing but zeros if nothing
/// was changed.
Answer node_changed(const Context& context,
                    const std::string& id,
                    const Written<NodeDecision>& done) {
  const auto index = done.outcome ? done.index : 0;
  JsonObject object;
  object.number("EvalCreateIndex", eval_index(done));
  append_ids(object, done.decision.eval_ids);
  object.number("Index", index)
      .number("NodeModifyIndex", index == 0 ? 0 : node_modify_index(context, id));
  return Answer::json(object.take()).with_index(index);
}

Result<cluster::DrainRequest> read_drain(const Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "NodeUpdateDrainRequest"};
  cluster::DrainRequest drain;
  drain.mark_eligible = fields.boolean("MarkEligible");
  const auto* spec = fields.object("DrainSpec");
  const auto* meta = fields.object("Meta");
  NOMAD_TRY(fields.check());
  if (spec != nullptr) {
    BodyFields inner{*spec, "NodeUpdateDrainRequest.DrainSpec"};
    drain.spec = {inner.integer("Deadline"), inner.boolean("IgnoreSystemJobs")};
    NOMAD_TRY(inner.check());
  }
  if (meta != nullptr) {
    BodyFields values{*meta, "NodeUpdateDrainRequest.Meta"};
    for (auto& [key, value] : values.texts())
      drain.meta.emplace(std::move(key), std::move(value));
    NOMAD_TRY(values.check());
  }
  NOMAD_TRY(call.context->bounds.check_meta(drain.meta));
  return drain;
}

Outcome set_drain(Call& call) {
  const auto drain = NOMAD_TRY(read_drain(call));
  const auto id = call.rest;
  return write_and(
      call,
      [drain, id](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_drain(state, asking, id, drain, seed);
      },
      following_up(call.context),
      [context = call.context, id](const Written<NodeDecision>& done) {
        return node_changed(*context, id, done);
      });
}

Outcome set_eligibility(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "NodeUpdateEligibilityRequest"};
  const auto eligibility = fields.text("Eligibility");
  const auto named = fields.text("NodeID");
  NOMAD_TRY(fields.check());
  if (eligibility != "eligible" && eligibility != "ineligible")
    return bad_request("invalid scheduling eligibility \"" + eligibility + '"');
  const auto id = named.empty() ? call.rest : named;
  NOMAD_TRY(check_id("node", id));
  return write_and(
      call,
      [eligible = eligibility == "eligible", id](
          const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_eligibility(state, asking, id, eligible, seed);
      },
      following_up(call.context),
      [context = call.context, id](const Written<NodeDecision>& done) {
        return node_changed(*context, id, done);
      });
}

/// What a node learns of the servers with an answer of theirs, and of itself.
void append_servers(JsonObject& object,
                    const Context& context,
                    const AgentParts& parts,
                    const std::string& id) {
  const auto state = context.state.store->snapshot();
  const auto node = state.node(id);
  object.text("LeaderRPCAddr", context.forward->leader_address())
      .number("NodeModifyIndex", 0)
      .number("NumNodes", state.nodes_map().size())
      .text("SchedulingEligibility",
            node ? enum_name(node->getSchedulingEligibility()) : std::string_view{});
  std::vector<cluster::MemberInfo> servers = *members_of(parts);
  std::erase_if(servers, [&parts](const cluster::MemberInfo& member) {
    return !member.is_usable() || member.region != parts.agent.region;
  });
  append_json_list(object.raw("Servers"), servers,
                   [](std::string& to, const cluster::MemberInfo& member) {
                     JsonObject{to}
                         .text("Datacenter", member.datacenter)
                         .text("RPCAdvertiseAddr", member.rpc_address)
                         .number("RPCMajorVersion", 0)
                         .number("RPCMinorVersion", 0);
                   });
}

/// Of a node that is gone.
void append_no_servers(JsonObject& object, const Context& context, const std::string& id) {
  object.text("LeaderRPCAddr", "")
      .number("NodeModifyIndex", node_modify_index(context, id))
      .number("NumNodes", 0)
      .text("SchedulingEligibility", "")
      .null("Servers");
}

/// Writes what `decide(snapshot, asking, id, seed)` decides of the node, and gives the long answer
/// that Nomad gives to `evaluate` and `purge`; `append_cluster` says of the servers.
template <class Decide, class Append>
Outcome update_node(Call& call, Decide decide, Append append_cluster) {
  const auto context = call.context;
  const auto id = call.rest;
  NOMAD_TRY(check_id("node", id));
  return write_and(
      call,
      [decide, id](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return decide(state, asking, id, seed);
      },
      following_up(context),
      [context, id, append_cluster](const Written<NodeDecision>& done) {
        JsonObject object;
        object.number("EvalCreateIndex", eval_index(done));
        append_ids(object, done.decision.eval_ids);
        object.number("Features", 0).number("HeartbeatTTL", 0);
        append_query_meta(object, done.index, false);
        append_cluster(object, *context, id);
        return Answer::json(object.take()).with_index(done.index);
      });
}

Outcome evaluate_node(Call& call, const AgentParts& parts) {
  return update_node(call, cluster::decide_node_evaluate,
                     [&parts](JsonObject& object, const Context& context, const std::string& id) {
                       append_servers(object, context, parts, id);
                     });
}

Outcome purge_node(Call& call) {
  return update_node(call, cluster::decide_node_purge, append_no_servers);
}

}  // namespace

Result<NodeStubOptions> node_stub_options(const net::Request& request) {
  const auto resources = bool_parameter(request, "resources");
  const auto os = bool_parameter(request, "os");
  for (const auto* parsed : {&resources, &os})
    if (!*parsed)
      return Error{Errc::invalid_argument,
                   "Failed to parse node list fields: " + parsed->error().what};
  return NodeStubOptions{*resources, *os};
}

Read node_list(const ReadOptions& options,
               const NodeStubOptions& stub,
               RowFilter filter,
               std::function<bool(schema::Node::Reader)> wanted) {
  return {
      .watch = {state::watch_prefix(Table::nodes, options.prefix)},
      .index = index_of<Table::nodes>,
      .list =
          [options, stub, filter, wanted](const View& snapshot, EarlyBody* early) {
            return list_by_key(
                snapshot, &state::Snapshot::nodes_map, options,
                [&](const NodeRef& node) -> Result<bool> {
                  if (wanted && !wanted(*node)) return false;
                  return keeps(filter, node);
                },
                [&](std::string& out, const NodeRef& node) { append_node_stub(out, *node, stub); },
                early);
          },
      .is_heavy = is_long<&state::Snapshot::nodes_map>,
      .cacheable = true};
}

void add_node_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/nodes", {{Methods::get, Capability::node_read, list_nodes}});
  routes.below("/v1/node/",
               {{"/evaluate", {{Methods::write, Capability::node_write, with(evaluate_node)}}},
                {"/allocations", {{Methods::get, Capability::node_read, node_allocations}}},
                {"/drain", {{Methods::write, Capability::node_write, set_drain}}},
                {"/eligibility", {{Methods::write, Capability::node_write, set_eligibility}}},
                {"/purge", {{Methods::write, Capability::node_write, purge_node}}},
                {"", {{Methods::get, Capability::node_read, read_node}}}},
               About::node);
}

}  // namespace nomad::api
