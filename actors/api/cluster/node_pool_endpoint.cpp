// /v1/node/pools and /v1/node/pool/<name>.
#include "actors/api/cluster/node_endpoint.hpp"
#include "actors/api/cluster/place_endpoint.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/jobs/job_endpoint.hpp"

namespace nomad::api {
namespace {

using state::Table;

Outcome list_pools(Call& call) {
  return list_places<Table::node_pools, &state::Snapshot::node_pools_map>(call, true);
}

Outcome read_pool(Call& call) {
  return read_place<Table::node_pools, schema::NodePool, &View::node_pool>(call, "node pool");
}

Outcome write_pool(Call& call) {
  return put_place<schema::NodePool, cluster::decide_node_pool>(call, "Node pool");
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
                  {Methods::remove, Capability::node_pool_delete,
                   delete_place<cluster::decide_node_pool_delete>}}}});
}

}  // namespace nomad::api
