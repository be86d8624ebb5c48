#include "actors/api/cluster/search_contexts.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/ids.hpp"

namespace nomad::api {
namespace {

using state::Table;

/// Ids of a table that is ordered by them; of the namespaces that are asked for.
template <auto rows>
FoundIds match_ids(const View& snapshot, const std::string& prefix, const ReadOptions& options) {
  FoundIds matches;
  snapshot.walk(rows, {.prefix = prefix}, [&](const auto& entry) {
    const auto object = object_of(entry.value()).reader();
    if constexpr (requires { object.getNamespace(); })
      if (!options.wants(view(object.getNamespace()))) return true;
    if constexpr (requires { namespace_of(object); })
      if (!options.wants(namespace_of(object))) return true;
    return matches.add(entry.key());
  });
  return matches;
}

/// The same of tables that are ordered by namespace: `name(object)` is what is looked for.
template <auto rows, auto name>
FoundIds match_names(const View& snapshot, const std::string& prefix, const ReadOptions& options) {
  FoundIds matches;
  const auto begin = options.all_namespaces() ? "" : state::join_key(options.ns, prefix);
  snapshot.walk(rows, {.prefix = begin}, [&](const auto& entry) {
    const std::string_view found = name(*entry.value());
    return !found.starts_with(prefix) || matches.add(found);
  });
  return matches;
}

FoundIds match_plugins(const View& snapshot, const std::string& prefix, const ReadOptions&) {
  FoundIds matches;
  for (const auto& id : snapshot.csi_plugins(prefix))
    if (!matches.add(id)) break;
  return matches;
}

constexpr auto id_of_job = [](schema::Job::Reader job) { return view(job.getId()); };

constexpr auto id_of_volume = [](schema::CsiVolume::Reader volume) { return view(volume.getId()); };

/// Variables by their paths; what they hold is not looked at.
constexpr auto path_of = [](schema::Variable::Reader variable) { return view(variable.getPath()); };

constexpr std::array all_contexts = std::to_array<SearchContext>({
    {"allocs", true, Table::allocs, Capability::read_job, match_ids<&state::Snapshot::allocs_map>},
    {"deployment", true, Table::deployments, Capability::read_job,
     match_ids<&state::Snapshot::deployments_map>},
    {"evals", true, Table::evals, Capability::read_job, match_ids<&state::Snapshot::evals_map>},
    {"jobs", false, Table::jobs, Capability::read_job,
     match_names<&state::Snapshot::jobs_map, id_of_job>},
    {"namespaces", false, Table::namespaces, Capability::any_in_namespace,
     match_ids<&state::Snapshot::rows<state::kind::Namespaces>>},
    {"node_pools", false, Table::node_pools, Capability::node_pool_read,
     match_ids<&state::Snapshot::rows<state::kind::NodePools>>},
    {"nodes", true, Table::nodes, Capability::node_read, match_ids<&state::Snapshot::nodes_map>},
    {"plugins", false, Table::csi_plugins, Capability::plugin_list, match_plugins},
    {"scaling_policy", false, Table::scaling_policies, Capability::list_scaling_policies,
     match_ids<&state::Snapshot::scaling_policies_map>, Capability::read_job},
    {"vars", false, Table::variables, Capability::variables_list,
     match_names<&state::Snapshot::variables_map, path_of>},
    {"volumes", false, Table::csi_volumes, Capability::csi_list_volume,
     match_names<&state::Snapshot::rows<state::kind::CsiVolumes>, id_of_volume>,
     Capability::read_job},
});

/// Whether the caller has the right somewhere.
Result<> judge_any_namespace(const View& snapshot) {
  if (snapshot.judge("*")) return {};
  bool has = false;
  snapshot.walk(&state::Snapshot::rows<state::kind::Namespaces>, {}, [&has](const auto&) {
    has = true;
    return false;
  });
  return has ? Result<>{} : Result<>{access::permission_denied()};
}

/// Whether there can be anything for a caller by this right; each row is judged besides.
Result<> check_right(const View& snapshot, Capability right, const ReadOptions& options) {
  if (right == Capability::node_pool_read)  // each has a name of its own
    return snapshot.sees_some_pool();
  const auto sees = snapshot.as(right);
  const bool goes_by_path = right == Capability::variables_list;
  if (access::is_namespaced(right) && (options.all_namespaces() || goes_by_path))
    return judge_any_namespace(sees);
  const auto& allowed = sees.judge(access::is_namespaced(right) ? options.ns : "");
  return allowed ? Result<>{} : Result<>{allowed.error()};
}

}  // namespace

std::span<const SearchContext> search_contexts() {
  return all_contexts;
}

Result<> check_context(std::string_view name) {
  const auto is_it = [name](const SearchContext& context) { return context.name == name; };
  if (is_any_context(name) || std::ranges::any_of(all_contexts, is_it)) return {};
  return Error{Errc::rejected,
               "context must be one of [allocs jobs nodes node_pools evals deployment plugins "
               "volumes scaling_policy vars namespaces] or 'all' for all contexts; got \""
                   + std::string{name} + '"'};
}

Result<Capability> right_to_search(const View& snapshot,
                                   const SearchContext& context,
                                   const ReadOptions& options) {
  const auto checked = check_right(snapshot, context.needed, options);
  if (checked) return context.needed;
  if (context.or_else != Capability::none && check_right(snapshot, context.or_else, options))
    return context.or_else;
  return checked.error();
}

bool is_id_prefix(const std::string& prefix) {
  return check_uuid_prefix(prefix).has_value();
}

bool FoundIds::add(std::string_view id) {
  constexpr std::size_t most = 20;
  is_truncated = ids.size() == most;
  if (!is_truncated) ids.emplace_back(id);
  return !is_truncated;
}

}  // namespace nomad::api
