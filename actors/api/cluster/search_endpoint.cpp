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

using state::Snapshot;
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

/// Ids of a table that is ordered by them.
template <class Range>
Matches match_keys(const Range& range) {
  Matches matches;
  for (const auto& entry : range)
    if (!matches.add(entry.key())) break;
  return matches;
}

/// UUIDs of one namespace.
template <class Range, class NamespaceOf>
Matches match_in_namespace(const Range& range, const ReadOptions& options, NamespaceOf ns_of) {
  Matches matches;
  for (const auto& entry : range)
    if (options.wants(ns_of(entry.value())) && !matches.add(entry.key())) break;
  return matches;
}

Matches match_jobs(const Snapshot& snapshot,
                   const std::string& prefix,
                   const ReadOptions& options) {
  Matches matches;
  for (const auto& entry :
       options.all_namespaces() ? snapshot.jobs() : snapshot.jobs(options.ns, prefix)) {
    const auto id = view(entry.value()->getId());
    if (id.starts_with(prefix) && !matches.add(id)) break;
  }
  return matches;
}

/// Variables by their paths; what they hold is not looked at.
Matches match_variables(const Snapshot& snapshot,
                        const std::string& prefix,
                        const ReadOptions& options) {
  Matches matches;
  const auto begin = options.all_namespaces() ? "" : state::join_key(options.ns, prefix);
  for (const auto& entry : snapshot.tables().variables.prefix(begin)) {
    const auto path = view(entry.value()->getPath());
    if (path.starts_with(prefix) && !matches.add(path)) break;
  }
  return matches;
}

/// A kind of object, as the request and the answer name it.
struct SearchContext {
  std::string_view name;
  bool has_uuids;
  Table table;
  Matches (*find)(const Snapshot& snapshot, const std::string& prefix, const ReadOptions& options);
};

Matches match_nothing(const Snapshot&, const std::string&, const ReadOptions&) {
  return {};
}

constexpr std::array contexts = std::to_array<SearchContext>({
    {"allocs", true, Table::allocs,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions& options) {
       return match_in_namespace(snapshot.allocs(prefix), options,
                                 [](const auto& row) { return view(row->alloc->getNamespace()); });
     }},
    {"deployment", true, Table::deployments,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions& options) {
       return match_in_namespace(snapshot.deployments(prefix), options,
                                 [](const auto& one) { return view(one->getNamespace()); });
     }},
    {"evals", true, Table::evals,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions& options) {
       return match_in_namespace(snapshot.evals(prefix), options,
                                 [](const auto& one) { return view(one->getNamespace()); });
     }},
    {"jobs", false, Table::jobs, match_jobs},
    {"namespaces", false, Table::namespaces,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions&) {
       return match_keys(snapshot.tables().namespaces.prefix(prefix));
     }},
    {"node_pools", false, Table::node_pools,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions&) {
       return match_keys(snapshot.tables().node_pools.prefix(prefix));
     }},
    {"nodes", true, Table::nodes,
     [](const Snapshot& snapshot, const std::string& prefix, const ReadOptions&) {
       return match_keys(snapshot.nodes(prefix));
     }},
    {"plugins", false, Table::nodes, match_nothing},
    {"scaling_policy", false, Table::jobs, match_nothing},
    {"vars", false, Table::variables, match_variables},
    {"volumes", false, Table::nodes, match_nothing},
});

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

Answer search_answer(const Snapshot& snapshot,
                     const SearchRequest& search,
                     const ReadOptions& options) {
  std::uint64_t index = 0;
  std::string matches;
  std::string truncations;
  {
    JsonObject found{matches};
    JsonObject truncated{truncations};
    for (const auto& context : contexts) {
      if (!search.wants(context)) continue;
      const auto result = context.find(snapshot, search.prefix, options);
      index = std::max(index, snapshot.index(context.table));
      if (result.ids.empty())
        found.null(context.name);
      else
        append_json_texts(found.raw(context.name), result.ids);
      truncated.boolean(context.name, result.is_truncated);
    }
  }
  JsonObject object;
  object.number("Index", index).boolean("KnownLeader", true).number("LastContact", 0);
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
        .index = [](const Snapshot& snapshot) { return snapshot.index(); },
        .answer = [request, once](
                      const Snapshot& snapshot) { return search_answer(snapshot, request, once); }};
  });
}

}  // namespace

void add_search_routes(Routes& routes) {
  routes.exact("/v1/search",
               {{Methods::write, Capability::any_in_namespace, search, Where::state}});
}

}  // namespace nomad::api
