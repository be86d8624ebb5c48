// /v1/search/fuzzy: what contains a text in its name. Jobs are searched with all that is in them:
// groups, services, tasks, and the images, commands and classes that these run. What has no name
// is found by a prefix of its id. Tests: fuzzy_search_test.
#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "actors/api/cluster/search_contexts.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/query/fuzzy.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::api {
namespace {

using query::FuzzyMatches;
using state::Snapshot;

/// What tells more of a task than its name: by driver, the key of its configuration and the kind
/// that its value is told as.
struct ConfigKey {
  std::string_view driver;
  std::string_view key;
  std::string_view kind;
};

constexpr std::array config_keys = std::to_array<ConfigKey>({
    {"docker", "image", "images"},
    {"exec", "command", "commands"},
    {"raw_exec", "command", "commands"},
    {"java", "class", "classes"},
});

/// A text in the configuration of a task; "" if there is none.
std::string config_text(schema::Task::Reader task, std::string_view key) {
  const auto config = FlatJson::read(view(task.getConfig()));
  if (!config || !config->root().is(JsonKind::object)) return {};
  for (const auto [name, value] : config->root().members())
    if (name == key) return std::string{value.text()};
  return {};
}

/// Where something is: in namespace, job, group and task.
std::vector<std::string> path_in(std::initializer_list<capnp::Text::Reader> parents) {
  std::vector<std::string> scope;
  for (const auto parent : parents)
    scope.push_back(copy(parent));
  return scope;
}

void offer_task(FuzzyMatches& matches,
                schema::Job::Reader job,
                schema::TaskGroup::Reader group,
                schema::Task::Reader task) {
  const auto in_task = [&] {
    return path_in({job.getNamespace(), job.getId(), group.getName(), task.getName()});
  };
  matches.offer("tasks", view(task.getName()), [&] {
    return path_in({job.getNamespace(), job.getId(), group.getName()});
  });
  for (const auto service : task.getServices())
    matches.offer("services", view(service.getName()), in_task);
  for (const auto& each : config_keys)
    if (each.driver == view(task.getDriver()))
      matches.offer(each.kind, config_text(task, each.key), in_task);
}

void offer_job(FuzzyMatches& matches, schema::Job::Reader job) {
  const auto in_job = [job] { return path_in({job.getNamespace(), job.getId()}); };
  matches.offer("jobs", view(job.getName()), in_job);
  for (const auto group : job.getTaskGroups()) {
    matches.offer("groups", view(group.getName()), in_job);
    for (const auto service : group.getServices())
      matches.offer("services", view(service.getName()), [&] {
        return path_in({job.getNamespace(), job.getId(), group.getName()});
      });
    for (const auto task : group.getTasks())
      offer_task(matches, job, group, task);
  }
}

void offer_alloc(FuzzyMatches& matches, AllocView alloc) {
  matches.offer("allocs", alloc.name(), [alloc] {
    return std::vector{std::string{alloc.ns()}, std::string{alloc.id()}};
  });
}

void offer_node(FuzzyMatches& matches, schema::Node::Reader node) {
  matches.offer("nodes", view(node.getName()), [node] { return path_in({node.getId()}); });
}

void offer_pool(FuzzyMatches& matches, schema::NodePool::Reader pool) {
  matches.offer("node_pools", view(pool.getName()), [pool] { return path_in({pool.getName()}); });
}

void offer_namespace(FuzzyMatches& matches, schema::Namespace::Reader ns) {
  matches.offer("namespaces", view(ns.getName()), [] { return std::vector<std::string>{}; });
}

/// By its path; what it holds is not looked at.
void offer_variable(FuzzyMatches& matches, schema::Variable::Reader variable) {
  matches.offer("vars", view(variable.getPath()), [variable] {
    return path_in({variable.getNamespace(), variable.getPath()});
  });
}

/// Offers the objects of a table that the caller sees, in the namespaces that are asked for, and
/// no more than `most` of them. `by_namespace`: the table is ordered so.
template <auto rows, auto offer, bool by_namespace = false>
void offer_rows(FuzzyMatches& matches,
                std::string_view kind,
                const View& snapshot,
                const ReadOptions& options,
                std::size_t most) {
  std::string prefix;
  if (by_namespace && !options.all_namespaces()) prefix = state::join_key(options.ns, "");
  snapshot.walk(rows, {.prefix = prefix}, [&, left = most](const auto& entry) mutable {
    const auto object = object_of(entry.value()).reader();
    if constexpr (requires { object.getNamespace(); })
      if (!options.wants(view(object.getNamespace()))) return true;
    if (left == 0) {
      matches.cut(kind);
      return false;
    }
    --left;
    offer(matches, object);
    return true;
  });
}

void offer_nothing(FuzzyMatches&, std::string_view, const View&, const ReadOptions&, std::size_t) {}

/// How the objects of a context are searched by their names; others are by their ids.
struct SearchedByName {
  std::string_view context;
  void (*offer)(FuzzyMatches& matches,
                std::string_view kind,
                const View& snapshot,
                const ReadOptions& options,
                std::size_t most);
};

constexpr std::array searched_by_name = std::to_array<SearchedByName>({
    {"allocs", offer_rows<&Snapshot::allocs_map, offer_alloc>},
    {"jobs", offer_rows<&Snapshot::jobs_map, offer_job, true>},
    {"namespaces", offer_rows<&Snapshot::rows<state::kind::Namespaces>, offer_namespace>},
    {"node_pools", offer_rows<&Snapshot::rows<state::kind::NodePools>, offer_pool>},
    {"nodes", offer_rows<&Snapshot::nodes_map, offer_node>},
    {"plugins", offer_nothing},
    {"vars", offer_rows<&Snapshot::variables_map, offer_variable, true>},
});

struct FuzzyRequest {
  std::string text;
  std::string context;
  ReadOptions options = {};

  bool wants(const SearchContext& candidate) const {
    return is_any_context(context) || candidate.name == context;
  }
};

std::uint64_t fuzzy_index(const View& snapshot, const FuzzyRequest& request) {
  std::uint64_t index = 0;
  for (const auto& context : search_contexts())
    if (context.table && request.wants(context)
        && right_to_search(snapshot, context, request.options))
      index = std::max(index, snapshot.index(*context.table));
  return index;
}

/// Found by a prefix of its id, so that it has no scope.
struct ById {
  std::string_view context;
  FoundIds found;
};

ById find_by_id(const View& snapshot, const SearchContext& context, const FuzzyRequest& request) {
  if (!is_id_prefix(request.text)) return {context.name, {}};
  const auto text = lower_case(request.text);
  return {context.name, context.find(snapshot, text, request.options)};
}

void append_match(std::string& out, const query::FuzzyMatch& match) {
  JsonObject object{out};
  object.text("ID", match.id);
  if (!match.scope.empty()) append_json_texts(object.raw("Scope"), match.scope);
}

std::string fuzzy_text(FuzzyMatches& matches, const std::vector<ById>& by_id, std::uint64_t index) {
  JsonObject object;
  object.number("Index", index).boolean("KnownLeader", true).number("LastContact", 0);
  {
    JsonObject found{object.raw("Matches")};
    for (const auto& each : by_id)
      append_json_list(found.raw(each.context), each.found.ids,
                       [](std::string& to, const std::string& id) {
                         append_match(to, {id, {}});
                       });
    for (const auto& [kind, list] : matches.take())
      append_json_list(found.raw(kind), list, append_match);
  }
  object.text("NextToken", "");
  {
    JsonObject truncated{object.raw("Truncations")};
    for (const auto& each : by_id)
      truncated.boolean(each.context, each.found.is_truncated);
    for (const auto& [kind, is_cut] : matches.truncations())
      truncated.boolean(kind, is_cut);
  }
  return object.take();
}

Answer fuzzy_answer(const View& snapshot,
                    const FuzzyRequest& request,
                    const SearchOptions& bounds) {
  FuzzyMatches matches{request.text, bounds.most_matches};
  std::vector<ById> by_id;
  for (const auto& context : search_contexts()) {
    if (!request.wants(context)) continue;
    const auto right = right_to_search(snapshot, context, request.options);
    if (!right) {
      // Who names what he may not see is told so.
      if (context.name == request.context) return Answer::error(right.error());
      continue;
    }
    const auto sees = snapshot.as(*right);
    const auto* by_name
        = std::ranges::find(searched_by_name, context.name, &SearchedByName::context);
    if (by_name == searched_by_name.end()) {
      by_id.push_back(find_by_id(sees, context, request));
      continue;
    }
    matches.searched(context.name);
    by_name->offer(matches, context.name, sees, request.options, bounds.most_objects);
  }
  return Answer::json(fuzzy_text(matches, by_id, fuzzy_index(snapshot, request)));
}

Outcome fuzzy_search(Call& call, const SearchOptions& bounds) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "FuzzySearchRequest"};
  FuzzyRequest request{fields.text("Text"), fields.text("Context")};
  NOMAD_TRY(fields.check());
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    if (!bounds.fuzzy) return Error{Errc::rejected, "fuzzy search is not enabled"};
    if (request.text.size() < bounds.least_text)
      return Error{Errc::invalid_argument,
                   fmt::format("fuzzy search query must be at least {} characters, got {}",
                               bounds.least_text, request.text.size())};
    NOMAD_TRY(check_context(request.context));
    request.options = options;
    request.options.min_index = 0;
    return Read{
        .watch = {},
        .index = [request](const View& snapshot) { return fuzzy_index(snapshot, request); },
        .answer = [request, bounds](
                      const View& snapshot) { return fuzzy_answer(snapshot, request, bounds); },
        .is_heavy = [](const View&) { return true; }};
  });
}

}  // namespace

void add_fuzzy_search_routes(Routes& routes, SearchOptions options) {
  routes.exact("/v1/search/fuzzy", {{Methods::write, Capability::any_in_namespace,
                                     routes.with(options)(fuzzy_search), Where::state}});
}

}  // namespace nomad::api
