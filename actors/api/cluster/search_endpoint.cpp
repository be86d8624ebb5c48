// /v1/search: what begins with a prefix, by kind. The CLI completes ids with it.
#include <array>
#include <vector>

#include <boost/json/object.hpp>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/ids.hpp"

namespace nomad::api {
namespace {

using state::Table;

constexpr std::size_t most_matches = 20;

struct Matches {
  std::vector<std::string> ids;
  bool is_truncated = false;

  /// False when there is no more place.
  bool add(std::string_view id) {
    is_truncated = ids.size() == most_matches;
    if (!is_truncated) ids.emplace_back(id);
    return !is_truncated;
  }
};

/// Ids of a table that is ordered by them; of the namespaces that are asked for.
template <auto rows>
Matches match_ids(const View& snapshot, const std::string& prefix, const ReadOptions& options) {
  Matches matches;
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
Matches match_names(const View& snapshot, const std::string& prefix, const ReadOptions& options) {
  Matches matches;
  const auto begin = options.all_namespaces() ? "" : state::join_key(options.ns, prefix);
  snapshot.walk(rows, {.prefix = begin}, [&](const auto& entry) {
    const std::string_view found = name(*entry.value());
    return !found.starts_with(prefix) || matches.add(found);
  });
  return matches;
}

Matches match_nothing(const View&, const std::string&, const ReadOptions&) {
  return {};
}

/// A kind of object, as the request and the answer name it.
struct SearchContext {
  std::string_view name;
  bool has_uuids;
  std::optional<Table> table;  ///< Empty: there are none of them.
  Capability needed;
  Matches (*find)(const View& snapshot, const std::string& prefix, const ReadOptions& options);
  Capability or_else = Capability::none;  ///< Opens it as well.
};

constexpr auto id_of_job = [](schema::Job::Reader job) { return view(job.getId()); };

/// Variables by their paths; what they hold is not looked at.
constexpr auto path_of = [](schema::Variable::Reader variable) { return view(variable.getPath()); };

constexpr std::array contexts = std::to_array<SearchContext>({
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
    {"plugins", false, {}, Capability::plugin_list, match_nothing},
    {"scaling_policy", true, Table::scaling_policies, Capability::list_scaling_policies,
     match_ids<&state::Snapshot::scaling_policies_map>, Capability::read_job},
    {"vars", false, Table::variables, Capability::variables_list,
     match_names<&state::Snapshot::variables_map, path_of>},
    {"volumes", false, {}, Capability::csi_list_volume, match_nothing, Capability::read_job},
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

/// By which right the caller searches there.
Result<Capability> right_of(const View& snapshot,
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

struct SearchRequest {
  std::string prefix;
  std::string context;

  bool wants(const SearchContext& candidate) const {
    if (!context.empty() && context != "all") return candidate.name == context;
    return !candidate.has_uuids || is_id_prefix(prefix);
  }
};

/// Of what was searched.
std::uint64_t search_index(const View& snapshot,
                           const SearchRequest& search,
                           const ReadOptions& options) {
  std::uint64_t index = 0;
  for (const auto& context : contexts)
    if (context.table && search.wants(context) && right_of(snapshot, context, options))
      index = std::max(index, snapshot.index(*context.table));
  return index;
}

Answer search_answer(const View& snapshot,
                     const SearchRequest& search,
                     const ReadOptions& options) {
  std::string matches;
  std::string truncations;
  {
    JsonObject found{matches};
    JsonObject truncated{truncations};
    for (const auto& context : contexts) {
      if (!search.wants(context)) continue;
      const auto right = right_of(snapshot, context, options);
      if (!right) {
        // Who names what he may not see is told so.
        if (context.name == search.context) return Answer::error(right.error());
        continue;
      }
      const auto result = context.find(snapshot.as(*right), search.prefix, options);
      if (result.ids.empty())
        found.null(context.name);
      else
        append_json_texts(found.raw(context.name), result.ids);
      truncated.boolean(context.name, result.is_truncated);
    }
  }
  JsonObject object;
  object.number("Index", search_index(snapshot, search, options))
      .boolean("KnownLeader", true)
      .number("LastContact", 0);
  object.raw("Matches") += matches;
  object.text("NextToken", "").raw("Truncations") += truncations;
  return Answer::json(object.take());
}

Outcome search(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "SearchRequest"};
  SearchRequest request{fields.text("Prefix"), fields.text("Context")};
  NOMAD_TRY(fields.check());
  return read_state(call, [&request](const ReadOptions& options) -> Result<Read> {
    const auto known
        = [&request](const SearchContext& context) { return context.name == request.context; };
    if (!request.context.empty() && request.context != "all"
        && std::none_of(contexts.begin(), contexts.end(), known))
      return Error{Errc::rejected,
                   "context must be one of [allocs jobs nodes node_pools evals deployment plugins "
                   "volumes scaling_policy vars namespaces] or 'all' for all contexts; got \""
                       + request.context + '"'};
    ReadOptions once = options;
    once.min_index = 0;
    return Read{
        .watch = {},
        .index
        = [request, once](const View& snapshot) { return search_index(snapshot, request, once); },
        .answer
        = [request, once](const View& snapshot) { return search_answer(snapshot, request, once); }};
  });
}

}  // namespace

void add_search_routes(Routes& routes) {
  routes.exact("/v1/search",
               {{Methods::write, Capability::any_in_namespace, search, Where::state}});
}

}  // namespace nomad::api
