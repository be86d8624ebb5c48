// /v1/nodes, /v1/node/<id> and node pools.
#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/cluster/node_json.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/node_commands.hpp"

namespace nomad::api {
namespace {

using cluster::EvalSeed;
using cluster::NodeDecision;
using server::Written;
using state::Snapshot;
using state::Table;
using NodeRef = Object<schema::Node>;

Result<NodeStubOptions> stub_options(const net::Request& request) {
  const auto resources = bool_parameter(request, "resources");
  const auto os = bool_parameter(request, "os");
  for (const auto* parsed : {&resources, &os})
    if (!*parsed)
      return Error{Errc::invalid_argument,
                   "Failed to parse node list fields: " + parsed->error().what};
  return NodeStubOptions{*resources, *os};
}

/// The list of all nodes, or of those that `wanted` likes.
Read node_list(const ReadOptions& options,
               const NodeStubOptions& stub,
               RowFilter filter,
               std::function<bool(schema::Node::Reader)> wanted) {
  return {
      .watch = {state::watch_prefix(Table::nodes, options.prefix)},
      .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::nodes); },
      .answer =
          [options, stub, filter, wanted](const Snapshot& snapshot) {
            Walk walk;
            walk.prefix = options.prefix;
            walk.start = options.next_token;
            return list_page(
                snapshot.tables().nodes, walk, options,
                [&](const NodeRef& node) -> Result<bool> {
                  if (wanted && !wanted(*node)) return false;
                  return keeps(filter, *node);
                },
                [](std::string_view key, const NodeRef&) { return std::string{key}; },
                [&](std::string& out, const NodeRef& node) { append_node_stub(out, *node, stub); });
          },
      .is_heavy
      = [](const Snapshot& snapshot) { return snapshot.tables().nodes.size() > heavy_rows; },
      .cacheable = true};
}

void list_nodes(Call call) {
  const auto stub = stub_options(call.request());
  if (!stub) return call.fail(stub.error());
  read_state(std::move(call), [&stub](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_id_prefix("node", options));
    const auto filter = compile_filter(options);
    if (!filter) return filter.error();
    return node_list(options, *stub, *filter, {});
  });
}

void read_node(Call call) {
  const auto id = call.rest;
  if (id.empty()) return call.fail(bad_request("missing node ID"));
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("node", id));
    return Read{.watch = {state::watch_key(Table::nodes, id)},
                .index =
                    [id](const Snapshot& snapshot) {
                      const auto node = snapshot.node(id);
                      return node ? node->getModifyIndex() : table_index(snapshot, Table::nodes);
                    },
                .answer =
                    [id](const Snapshot& snapshot) {
                      const auto node = snapshot.node(id);
                      if (!node) return Answer::error(not_found("node not found"));
                      std::string out;
                      append_node(out, *node);
                      return Answer::json(std::move(out));
                    }};
  });
}

void node_allocations(Call call) {
  const auto id = call.rest;
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("node", id));
    return Read{
        .watch = {state::watch_key(Table::allocs_by_node, id)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::allocs); },
        .answer =
            [id](const Snapshot& snapshot) {
              std::string out;
              append_json_list(
                  out, snapshot.allocs_by_node(id),
                  [](std::string& to, const auto& entry) { append_alloc(to, *entry.value()); });
              return Answer::json(std::move(out));
            },
        .is_heavy
        = [](const Snapshot& snapshot) { return snapshot.tables().allocs.size() > heavy_rows; },
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
  const auto node = context.options.store->snapshot().node(id);
  return node ? node->getModifyIndex() : 0;
}

void set_eligibility(Call call) {
  const auto body = read_body(call.request());
  if (!body) {
    call.fail(body.error());
    return;
  }
  BodyFields fields{*body, "NodeUpdateEligibilityRequest"};
  const auto eligibility = fields.text("Eligibility");
  const auto named = fields.text("NodeID");
  if (const auto checked = fields.check(); !checked) {
    call.fail(checked.error());
    return;
  }
  if (eligibility != "eligible" && eligibility != "ineligible")
    return call.fail(bad_request("invalid scheduling eligibility \"" + eligibility + '"'));
  const auto id = named.empty() ? call.rest : named;
  const auto context = call.context;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_eligibility(state, id, eligibility == "eligible", seed);
      },
      [context, id](const Written<NodeDecision>& done) {
        std::string out;
        {
          JsonObject object{out};
          object.number("EvalCreateIndex", eval_index(done));
          append_ids(object, done.decision.eval_ids);
          object.number("Index", done.index)
              .number("NodeModifyIndex", node_modify_index(*context, id));
        }
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

/// Writes what `decide(snapshot, id, seed)` decides of the node, and gives the long answer that
/// Nomad gives to `evaluate` and `purge`.
template <class Decide>
void update_node(Call call, Decide decide) {
  const auto context = call.context;
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) { return decide(state, id, seed); },
      [context, id](const Written<NodeDecision>& done) {
        std::string out;
        {
          JsonObject object{out};
          object.number("EvalCreateIndex", eval_index(done));
          append_ids(object, done.decision.eval_ids);
          object.null("Features").number("HeartbeatTTL", 0);
          append_query_meta(object, done.index, false);
          object.text("LeaderRPCAddr", "")
              .number("NodeModifyIndex", node_modify_index(*context, id))
              .number("NumNodes", 0)
              .text("SchedulingEligibility", "")
              .null("Servers");
        }
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

void evaluate_node(Call call) {
  update_node(std::move(call), cluster::decide_node_evaluate);
}

void purge_node(Call call) {
  update_node(std::move(call), cluster::decide_node_purge);
}

// --- pools
// -----------------------------------------------------------------------------------------

void list_pools(Call call) {
  read_state(std::move(call), [](const ReadOptions& options) -> Result<Read> {
    const auto filter = compile_filter(options);
    if (!filter) return filter.error();
    return Read{
        .watch = {state::watch_prefix(Table::node_pools, options.prefix)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::node_pools); },
        .answer =
            [options, filter = *filter](const Snapshot& snapshot) {
              Walk walk;
              walk.prefix = options.prefix;
              walk.start = options.next_token;
              using Pool = Object<schema::NodePool>;
              return list_page(
                  snapshot.tables().node_pools, walk, options,
                  [&](const Pool& pool) { return keeps(filter, *pool); },
                  [](std::string_view key, const Pool&) { return std::string{key}; },
                  [](std::string& out, const Pool& pool) { append_json(out, *pool); });
            }};
  });
}

void read_pool(Call call) {
  const auto name = call.rest;
  read_state(std::move(call), [&name](const ReadOptions&) -> Result<Read> {
    return Read{.watch = {state::watch_key(Table::node_pools, name)},
                .index =
                    [name](const Snapshot& snapshot) {
                      const auto pool = snapshot.node_pool(name);
                      return pool ? pool->getModifyIndex()
                                  : table_index(snapshot, Table::node_pools);
                    },
                .answer =
                    [name](const Snapshot& snapshot) {
                      const auto pool = snapshot.node_pool(name);
                      return pool ? Answer::json(to_json(*pool))
                                  : Answer::error(not_found("node pool not found"));
                    }};
  });
}

void pool_nodes(Call call) {
  const auto name = call.rest;
  const auto stub = stub_options(call.request());
  if (!stub) return call.fail(stub.error());
  read_state(std::move(call), [&](const ReadOptions& options) -> Result<Read> {
    if (!options.prefix.empty())
      return Error{Errc::invalid_argument, "prefix argument not allowed"};
    const auto filter = compile_filter(options);
    if (!filter) return filter.error();
    return node_list(options, *stub, *filter, [name](schema::Node::Reader node) {
      return name == "all" || view(node.getNodePool()) == name;
    });
  });
}

}  // namespace

void add_node_routes(Routes& routes) {
  routes.exact("/v1/nodes", {{Methods::get, Capability::node_read, list_nodes}});
  routes.exact("/v1/node/pools", {{Methods::get, Capability::node_pool_read, list_pools}});
  routes.below("/v1/node/pool/",
               {{"/nodes", {{Methods::get, Capability::node_pool_read, pool_nodes}}},
                {"", {{Methods::get, Capability::node_pool_read, read_pool}}}});
  routes.below("/v1/node/",
               {{"/evaluate", {{Methods::write, Capability::node_write, evaluate_node}}},
                {"/allocations", {{Methods::get, Capability::node_read, node_allocations}}},
                {"/eligibility", {{Methods::write, Capability::node_write, set_eligibility}}},
                {"/purge", {{Methods::write, Capability::node_write, purge_node}}},
                {"", {{Methods::get, Capability::node_read, read_node}}}});
}

}  // namespace nomad::api
