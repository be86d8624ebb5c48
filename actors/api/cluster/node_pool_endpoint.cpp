// /v1/node/pools and /v1/node/pool/<name>.
#include "actors/api/cluster/kind_endpoint.hpp"
#include "actors/api/cluster/node_endpoint.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {
namespace {

struct NodePoolApi {
  using Kind = state::kind::NodePools;
  static constexpr std::string_view list_path = "/v1/node/pools";
  static constexpr std::string_view path = "/v1/node/pool/";
  static constexpr auto about = About::pool;
  static constexpr std::string_view noun = "node pool";
  static constexpr std::string_view title = "Node pool";
  static constexpr auto read = Capability::node_pool_read;
  static constexpr auto write = Capability::node_pool_write;
  static constexpr auto remove = Capability::node_pool_delete;
  static constexpr bool judged_by_name = true;
  static constexpr auto decide_remove = cluster::decide_node_pool_delete;
  static constexpr auto decide_put = cluster::decide_node_pool;
};

/// It would be the pool's name as well as that of what is in it.
Result<> check_no_prefix(const ReadOptions& options) {
  return options.prefix.empty() ? Result<>{} : bad_request("prefix argument not allowed");
}

Outcome pool_nodes(Call& call) {
  const auto stub = NOMAD_TRY(node_stub_options(call.request()));
  return read_state(call, [&, name = call.rest](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_no_prefix(options));
    const auto filter = NOMAD_TRY(compile_filter(options));
    auto read = node_list(options, stub, filter, [name](schema::Node::Reader node) {
      return name == "all" || view(node.getNodePool()) == name;
    });
    read.also = Capability::node_read;
    return read;
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
    read.list = [list = std::move(read.list)](const View& snapshot, EarlyBody* early) {
      return list(snapshot.as(Capability::list_jobs), early);
    };
    read.cacheable = false;  // it is judged by more than the route's capability
    return read;
  });
}

}  // namespace

void add_node_pool_routes(Routes& routes) {
  add_kind<NodePoolApi>(routes, {{"/nodes", {{Methods::get, NodePoolApi::read, pool_nodes}}},
                                 {"/jobs", {{Methods::get, NodePoolApi::read, pool_jobs}}}});
}

}  // namespace nomad::api
