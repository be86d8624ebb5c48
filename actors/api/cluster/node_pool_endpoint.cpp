// /v1/node/pools and /v1/node/pool/<name>.
#include "actors/api/cluster/node_endpoint.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {
namespace {

using cluster::Decision;
using cluster::EvalSeed;
using server::Written;
using state::Snapshot;
using state::Table;

Outcome list_pools(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(Table::node_pools, options.prefix)},
                .index = index_of<Table::node_pools>,
                .answer = [options, filter](const View& snapshot) {
                  return list_by_key(
                      snapshot, &state::Snapshot::node_pools_map, options,
                      [&](const auto& pool) { return keeps(filter, *pool); }, append_whole);
                }};
  });
}

Outcome read_pool(Call& call) {
  return read_state(call, [name = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<Table::node_pools>(
        name, "node pool",
        [name](const View& snapshot) -> Result<Object<schema::NodePool>> {
          return snapshot.node_pool(name);
        },
        whole);
  });
}

/// It would be the pool's name as well as that of what is in it.
Result<> check_no_prefix(const ReadOptions& options) {
  return options.prefix.empty() ? Result<>{} : bad_request("prefix argument not allowed");
}

Outcome pool_nodes(Call& call) {
  NOMAD_TRY(access::authorize(call.asking.who, Capability::node_read, {}));
  const auto stub = NOMAD_TRY(node_stub_options(call.request()));
  return read_state(call, [&, name = call.rest](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_no_prefix(options));
    const auto filter = NOMAD_TRY(compile_filter(options));
    return node_list(options, stub, filter, [name](schema::Node::Reader node) {
      return name == "all" || view(node.getNodePool()) == name;
    });
  });
}

/// Jobs of the pool "all" are those that say so, not those of all pools.
Outcome pool_jobs(Call& call) {
  const bool with_meta = NOMAD_TRY(bool_parameter(call.request(), "meta"));
  return read_state(call, [&, name = call.rest](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_no_prefix(options));
    auto read = NOMAD_TRY(job_list(options, with_meta, [name](schema::Job::Reader job) {
      return view(job.getNodePool()) == name;
    }));
    read.answer = [answer = std::move(read.answer)](const View& snapshot) {
      return answer(snapshot.as(Capability::list_jobs));
    };
    read.cacheable = false;  // it is judged by more than the route's capability
    return read;
  });
}

Outcome write_pool(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  Draft<schema::NodePool> draft;
  NOMAD_TRY(from_json(body.root(), *draft));
  if (!call.rest.empty() && view(draft.reader().getName()) != call.rest)
    return bad_request("Node pool name does not match request path");
  return write(
      call,
      [pool = draft.freeze()](const Snapshot&, const access::Asking& asking, const EvalSeed&) {
        return cluster::decide_node_pool(asking, *pool);
      },
      [](const Written<Decision>& done) { return Answer::empty().with_index(done.index); });
}

Outcome delete_pool(Call& call) {
  return write(
      call,
      [name = call.rest, region = call.context->options.agent.region](
          const Snapshot& state, const access::Asking& asking, const EvalSeed&) {
        return cluster::decide_node_pool_delete(state, asking, name, region);
      },
      [](const Written<Decision>& done) { return Answer::empty().with_index(done.index); });
}

}  // namespace

void add_node_pool_routes(Routes& routes) {
  routes.exact("/v1/node/pools", {{Methods::get, Capability::node_pool_read, list_pools},
                                  {Methods::write, Capability::node_pool_write, write_pool}});
  routes.below("/v1/node/pool/",
               {{"/nodes", {{Methods::get, Capability::node_pool_read, pool_nodes}}},
                {"/jobs", {{Methods::get, Capability::node_pool_read, pool_jobs}}},
                {"",
                 {{Methods::get, Capability::node_pool_read, read_pool},
                  {Methods::write, Capability::node_pool_write, write_pool},
                  {Methods::remove, Capability::node_pool_delete, delete_pool}}}});
}

}  // namespace nomad::api
