#include "cli/completion/candidates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// Of each exchange: whoever pressed a key waits.
constexpr std::chrono::milliseconds answer_patience{400};
/// More are of no use to who chooses.
constexpr std::string_view most_listed = "200";

/// A list of the API, and which of an object's members are its name and what is told of it.
struct ObjectList {
  ValueKind kind;
  std::string_view path;
  std::string_view name;
  std::string_view about;
  std::string_view more = {};
};

constexpr auto object_lists = [] {
  using enum ValueKind;
  return std::to_array<ObjectList>({
      {jobs, "/v1/jobs", "ID", "Type", "Status"},
      {allocs, "/v1/allocations", "ID", "Name", "ClientStatus"},
      {nodes, "/v1/nodes", "ID", "Name", "Status"},
      {evals, "/v1/evaluations", "ID", "JobID", "Status"},
      {deployments, "/v1/deployments", "ID", "JobID", "Status"},
      {namespaces, "/v1/namespaces", "Name", "Description"},
      {node_pools, "/v1/node/pools", "Name", "Description"},
      {quotas, "/v1/quotas", "Name", "Description"},
      {variables, "/v1/vars", "Path", "Namespace"},
      {policies, "/v1/acl/policies", "Name", "Description"},
      {roles, "/v1/acl/roles", "ID", "Name"},
      {tokens, "/v1/acl/tokens", "AccessorID", "Name", "Type"},
      {auth_methods, "/v1/acl/auth-methods", "Name", "Type"},
      {binding_rules, "/v1/acl/binding-rules", "ID", "AuthMethod", "Description"},
      {sentinel_policies, "/v1/sentinel/policies", "Name", "Description"},
      {plugins, "/v1/agent/plugins", "Name", "Kind"},
      {scaling_policies, "/v1/scaling/policies", "ID", "Type"},
  });
}();

/// Lists whose names are UUIDs take a prefix of whole bytes.
std::string asked_prefix(ValueKind kind, const std::string& typed) {
  using enum ValueKind;
  if (kind != allocs && kind != nodes && kind != evals && kind != deployments) return typed;
  const auto hyphens = std::ranges::count(typed, '-');
  const bool is_odd = (typed.size() - static_cast<std::size_t>(hyphens)) % 2 != 0;
  return is_odd ? typed.substr(0, typed.size() - 1) : typed;
}

Candidates list_objects(Api& api, const ObjectList& list, const std::string& typed) {
  Candidates out;
  const auto answer = api.get(std::string{list.path}, {{"prefix", asked_prefix(list.kind, typed)},
                                                       {"per_page", std::string{most_listed}}});
  if (!answer) return out;
  for (const View& object : answer->view().items()) {
    auto about = object[list.about].text();
    if (const auto more = object[list.more].text(); !more.empty())
      about += (about.empty() ? "" : ", ") + more;
    out.insert({object[list.name].text(), std::move(about)});
  }
  return out;
}

Candidates list_services(Api& api) {
  Candidates out;
  const auto answer = api.get("/v1/services");
  if (!answer) return out;
  for (const View& in_namespace : answer->view().items())
    for (const View& service : in_namespace["Services"].items())
      out.insert({service["ServiceName"].text(), in_namespace["Namespace"].text()});
  return out;
}

Candidates list_regions(Api& api) {
  Candidates out;
  const auto answer = api.get("/v1/regions");
  if (!answer) return out;
  for (const View& region : answer->view().items())
    out.insert({region.text(), {}});
  return out;
}

Candidates list_servers(Api& api) {
  Candidates out;
  const auto answer = api.get("/v1/agent/members");
  if (!answer) return out;
  for (const View& member : answer->view()["Members"].items())
    out.insert({member["Name"].text(), member["Status"].text()});
  return out;
}

/// Whatever begins so, as the servers' search finds it.
Candidates search(Api& api, const std::string& typed) {
  Candidates out;
  const auto found
      = api.put("/v1/search", boost::json::object{{"Prefix", typed}, {"Context", "all"}});
  if (!found) return out;
  for (const auto& [context, matches] : found->view()["Matches"].members())
    for (const View& match : matches.items())
      out.insert({match.text(), context});
  return out;
}

/// The first allocation whose id begins so.
std::optional<Answer> find_alloc(Api& api, const std::string& id) {
  auto found = api.get("/v1/allocations",
                       {{"prefix", asked_prefix(ValueKind::allocs, id)}, {"per_page", "1"}});
  if (!found || found->view().items().empty()) return std::nullopt;
  return std::move(*found);
}

Candidates list_tasks(Api& api, const std::string& alloc_id) {
  Candidates out;
  const auto found = find_alloc(api, alloc_id);
  if (!found) return out;
  for (const auto& [task, state] : found->view().items().front()["TaskStates"].members())
    out.insert({task, state["State"].text()});
  return out;
}

Candidates list_alloc_files(Api& api, const std::string& alloc_id, const std::string& typed) {
  Candidates out;
  const auto found = find_alloc(api, alloc_id);
  if (!found) return out;
  const std::string folder = typed.substr(0, typed.rfind('/') + 1);
  const auto id = found->view().items().front()["ID"].text();
  const auto files
      = api.get("/v1/client/fs/ls/" + segment(id), {{"path", folder.empty() ? "/" : folder}});
  if (!files) return out;
  for (const View& file : files->view().items())
    out.insert({folder + file["Name"].text() + (file["IsDir"].truth() ? "/" : ""), {}});
  return out;
}

Candidates list_groups(Api& api, const std::string& job) {
  Candidates out;
  const auto found = api.get("/v1/job/" + segment(job));
  if (!found) return out;
  for (const View& group : found->view()["TaskGroups"].items())
    out.insert({group["Name"].text(), "count " + group["Count"].text()});
  return out;
}

Candidates list_versions(Api& api, const std::string& job) {
  Candidates out;
  const auto found = api.get("/v1/job/" + segment(job) + "/versions");
  if (!found) return out;
  for (const View& version : found->view()["Versions"].items())
    out.insert({version["Version"].text(), version["Stable"].truth() ? "stable" : ""});
  return out;
}

Candidates ask(Api& api, ValueKind kind, const GivenWords& given, const std::string& typed) {
  const auto list = std::ranges::find(object_lists, kind, &ObjectList::kind);
  if (list != object_lists.end()) return list_objects(api, *list, typed);
  const std::string first = given.words.empty() ? "" : given.words.front();
  switch (kind) {
    case ValueKind::services:
      return list_services(api);
    case ValueKind::regions:
      return list_regions(api);
    case ValueKind::servers:
      return list_servers(api);
    case ValueKind::identifiers:
      return search(api, typed);
    case ValueKind::tasks:
      return list_tasks(api, first);
    case ValueKind::alloc_files:
      return list_alloc_files(api, first, typed);
    case ValueKind::groups:
      return list_groups(api, first);
    case ValueKind::versions:
      return list_versions(api, first);
    default:
      return {};
  }
}

/// Those of the flags that say whom to ask and how.
std::vector<std::string> connection_flags(const Arguments& known, const GivenWords& given) {
  const auto shape = known.shape();
  std::vector<std::string> out;
  for (const auto& [name, value] : given.flags) {
    const FlagShape* const flag = shape.flag(name);
    if (flag != nullptr && (flag->takes_value || value.empty()))
      out.push_back(fmt::format("-{}{}{}", name, flag->takes_value ? "=" : "", value));
  }
  return out;
}

}  // namespace

Candidates files_like(const std::string& typed) {
  const std::string folder = typed.substr(0, typed.rfind('/') + 1);
  std::string path = folder.empty() ? "." : folder;
  const char* const home = std::getenv("HOME");
  if (path.starts_with("~/") && home != nullptr) path.replace(0, 1, home);
  Candidates out;
  std::error_code failure;
  for (fs::directory_iterator at{path, failure}, end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') && typed.size() == folder.size()) continue;
    std::error_code unknown;
    out.insert({folder + name + (fs::is_directory(at->path(), unknown) ? "/" : ""), {}});
  }
  return out;
}

Candidates objects_like(ValueKind kind, const GivenWords& given, const std::string& typed) {
  CommonFlags flags;
  Arguments environment{"", ""};
  flags.add_to(environment);
  if (environment.parse(connection_flags(environment, given))) return {};
  if (kind == ValueKind::namespaces || kind == ValueKind::regions) flags.ns.clear();
  auto api = Api::make(flags, answer_patience);
  if (!api) return {};
  return ask(*api, kind, given, typed);
}

}  // namespace nomad::cli
