#include "cli/migrate/cluster.hpp"

#include <utility>

#include <boost/json.hpp>

#include "cli/var/var_view.hpp"

namespace nomad::cli::migrate {
namespace {

/// Whether every release of Nomad has such things.
enum class Since : bool { ever, later };

/// A list as the API answered it.
Listing listing_of(Result<Answer> answer) {
  Listing listing;
  if (!answer) listing.unread = answer.error().what;
  if (!answer || !answer->body.is_array()) return listing;
  for (auto& object : answer->body.get_array())
    listing.objects.push_back(std::move(object));
  return listing;
}

Listing list_of(Api& api, const std::string& path, Since since, const Query& query = {}) {
  auto answer = api.get(path, query);
  if (since == Since::later && !answer && answer.error().code == Errc::not_found) return {};
  return listing_of(std::move(answer));
}

/// Each of a list of stubs as it is stored: `path_of` says where. One that has gone meanwhile is
/// left out.
template <class PathOf>
Listing whole(Api& api, Listing stubs, PathOf path_of) {
  Listing listing{.objects = {}, .unread = std::move(stubs.unread)};
  for (const auto& stub : stubs.objects) {
    if (const auto ns = View{stub}["Namespace"].text(); !ns.empty()) api.use_namespace(ns);
    auto answer = api.get(path_of(View{stub}));
    if (answer)
      listing.objects.push_back(std::move(answer->body));
    else if (answer.error().code != Errc::not_found)
      listing.unread = answer.error().what;
  }
  return listing;
}

/// Without those that a periodic or parameterized job has started, which that one makes anew.
Listing without_children(Listing jobs) {
  std::erase_if(jobs.objects, [](const boost::json::value& job) {
    return !View{job}["ParentID"].text().empty();
  });
  return jobs;
}

/// Whether lists have everything. Other tokens are answered without what they may not read, and
/// without a word about it.
bool is_manager(Api& api) {
  const auto token = api.get("/v1/acl/token/self");
  return token && View{token->body}["Type"].text() == "management";
}

void read_scheduler(Api& api, Cluster& cluster) {
  const auto answer = api.get("/v1/operator/scheduler/configuration");
  if (!answer)
    cluster.scheduler_unread = answer.error().what;
  else if (const auto configuration = View{answer->body}["SchedulerConfig"];
           !configuration.is_null())
    cluster.scheduler = *configuration.raw();
}

}  // namespace

Result<Cluster> read_cluster(Api& api, VariableItems items) {
  NOMAD_TRY(api.get("/v1/status/leader"));
  Cluster cluster;
  // Who may not even read this has no token of the cluster, which is what he should hear.
  cluster.namespaces = listing_of(NOMAD_TRY(api.get("/v1/namespaces")));
  auto agent = api.get("/v1/agent/self");
  if (agent)
    cluster.agent = std::move(agent->body);
  else
    cluster.agent_unread = agent.error().what;
  cluster.node_pools = list_of(api, "/v1/node/pools", Since::later);
  const auto acl = View{cluster.agent}["config"]["ACL"]["Enabled"];
  const bool is_guarded = acl.is_null() || acl.truth();
  if (is_guarded && !is_manager(api))
    cluster.left_out = "it is no management token, and lists come without what it may not read";
  if (is_guarded)
    cluster.policies
        = whole(api, list_of(api, "/v1/acl/policies", Since::ever),
                [](const View& stub) { return "/v1/acl/policy/" + segment(stub["Name"].text()); });
  read_scheduler(api, cluster);
  const auto all = [&api](const std::string& path, Since since, const Query& query = {}) {
    api.use_namespace("*");
    return list_of(api, path, since, query);
  };
  cluster.volumes = all("/v1/volumes", Since::later, {{"type", "csi"}});
  cluster.variables = all("/v1/vars", Since::later);
  if (items == VariableItems::yes)
    cluster.variables = whole(api, std::move(cluster.variables),
                              [](const View& stub) { return variable_path(stub["Path"].text()); });
  cluster.jobs = whole(api, without_children(all("/v1/jobs", Since::ever)),
                       [](const View& stub) { return "/v1/job/" + segment(stub["ID"].text()); });
  return cluster;
}

}  // namespace nomad::cli::migrate
