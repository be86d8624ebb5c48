// /v1/search: what begins with a prefix, by kind. The CLI completes ids with it.
#include <algorithm>
#include <string>

#include <boost/json/object.hpp>

#include "actors/api/cluster/search_contexts.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

/// The prefix of a UUID without the digit that makes no byte, if it has one: what is looked for,
/// as in Nomad, though what is found has the whole prefix.
std::string whole_bytes(std::string prefix) {
  const auto dashes = std::ranges::count(prefix, '-');
  if ((prefix.size() - static_cast<std::size_t>(dashes)) % 2 != 0) prefix.pop_back();
  return prefix;
}

struct SearchRequest {
  std::string prefix;
  std::string context;

  bool names(const SearchContext& candidate) const {
    return is_any_context(context) || candidate.name == context;
  }

  bool wants(const SearchContext& candidate) const {
    return names(candidate) && (!candidate.has_uuids || is_id_prefix(whole_bytes(prefix)));
  }
};

/// Of what was asked for, even where nothing can be found by that prefix.
std::uint64_t search_index(const View& snapshot,
                           const SearchRequest& search,
                           const ReadOptions& options) {
  std::uint64_t index = 0;
  for (const auto& context : search_contexts())
    if (context.table && search.names(context) && right_to_search(snapshot, context, options))
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
    for (const auto& context : search_contexts()) {
      if (!search.wants(context)) continue;
      const auto right = right_to_search(snapshot, context, options);
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
    NOMAD_TRY(check_context(request.context));
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
