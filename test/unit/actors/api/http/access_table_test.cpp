// Every route by every capability alone: what opens it is what access_table.hpp says, and nothing
// else does. Walks of client tokens: no sequence of requests changes what is not theirs.
#include "test/unit/actors/api/http/access_table.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/api/http/routes.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/text.hpp"
#include "test/unit/actors/api/http/access_cases.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string management = "management";

/// Of the capabilities that a token names, "read-job+node-read", those of namespaces in "bbb".
access::RightsRef rights_of_words(std::string_view token) {
  std::set<Capability> given;
  for (const auto word : split(token, '+'))
    if (const auto one = access::capability_of(word)) given.insert(*one);
  return access::Rights::by([given](Capability needed, const access::Target& target) {
    if (access::is_namespaced(needed) && target.ns != "bbb") return false;
    if (needed == Capability::any_in_namespace)
      return std::ranges::any_of(given, access::is_namespaced);
    if (needed == Capability::node_pool_use) return true;  // no rule denies any
    if (needed == Capability::read_services && given.contains(Capability::read_job)) return true;
    return given.contains(needed);
  });
}

std::shared_ptr<access::Authenticator> by_words() {
  return test::giving([](std::string_view token) -> Result<access::RightsRef> {
    if (token == test::no_token) return access::permission_denied();
    if (token == "owner" || token == management) return access::Rights::everything();
    if (token.empty() || token == test::nothing) return access::Rights::nothing();
    return rights_of_words(token);
  });
}

std::vector<std::string> all_words() {
  std::vector<std::string> words;
  for (auto position = 1; position <= static_cast<int>(Capability::management); ++position)
    words.emplace_back(access::word_of(static_cast<Capability>(position)));
  return words;
}

/// Whether a token of these capabilities opens what the row says.
bool opens(const std::string& row, const std::string& token) {
  if (row.empty() || token == management) return true;
  const auto words = split(token, '+');
  const std::set<std::string_view> given{words.begin(), words.end()};
  for (const auto way : split(row, '|')) {
    const auto needed = split(way, '+');
    const bool has_all = std::ranges::all_of(needed, [&](std::string_view word) {
      return word == "any" ? std::ranges::any_of(given,
                                                 [](std::string_view each) {
                                                   const auto one = access::capability_of(each);
                                                   return one && access::is_namespaced(*one);
                                                 })
                           : given.contains(word);
    });
    if (has_all) return true;
  }
  return false;
}

/// The case as asked of namespace "bbb", where the tokens have their rights.
Case in_b(Case one) {
  const std::string_view from = "namespace=a";
  if (const auto at = one.target.find(from); at != std::string::npos)
    one.target.replace(at, from.size(), "namespace=bbb");
  return one;
}

std::vector<Case> cases_of(const std::string& route, const Cases& cases) {
  std::vector<Case> list;
  const auto [begin, end] = cases.equal_range(route);
  for (auto each = begin; each != end; ++each)
    if (!each->second.is_of_both) list.push_back(in_b(each->second));
  if (list.empty()) list.push_back({some_path(route), "{}"});
  return list;
}

/// What is judged by rows that the cases do not show, or by what the table's words cannot say.
bool is_tried_elsewhere(const std::string& route) {
  return route == "GET /v1/node/pools" || route.starts_with("PUT /v1/search");
}

bool was_refused(const net::ClientResponse& answer, const Case& one) {
  if (answer.status == 403) return true;
  return !one.hidden.empty() && answer.body.find(one.hidden) == std::string::npos;
}

/// `fixture` is for what changes nothing, as refusals must not.
void try_all(TwoNamespaces& fixture,
             const std::string& route,
             const std::string& row,
             const Cases& cases) {
  auto tokens = all_words();
  for (const auto way : split(row, '|'))
    if (way.find('+') != std::string_view::npos) tokens.emplace_back(way);
  tokens.push_back(test::nothing);
  tokens.emplace_back("");
  for (const auto& one : cases_of(route, cases))
    for (const auto& token : tokens) {
      if (opens(row, token)) continue;
      const auto answer = fixture.as(token, method_of(route), one.target, one.body);
      CAPTURE(token);
      CAPTURE(one.target);
      CAPTURE(answer.status);
      CAPTURE(answer.body);
      CHECK(was_refused(answer, one));
    }
  // A stream that begins does not end.
  const bool ends = route != "GET /v1/event/stream" && route != "GET /v1/agent/monitor";
  for (const auto& one : cases_of(route, cases))
    for (const auto& token : tokens) {
      if (!ends || !one.ends || !opens(row, token) || row.empty()) continue;
      const bool reads = route.starts_with("GET ");
      std::optional<TwoNamespaces> fresh;
      if (!reads) fresh.emplace(by_words());
      const auto answer
          = (fresh ? *fresh : fixture).as(token, method_of(route), one.target, one.body);
      CAPTURE(token);
      CAPTURE(one.target);
      CAPTURE(answer.status);
      CAPTURE(answer.body);
      CHECK_FALSE(was_refused(answer, one));
    }
}

}  // namespace

TEST_CASE("access_table: each route is opened by what its row says, and by nothing else") {
  const auto& table = test::opened_by;
  const auto cases = access_cases();
  Routes routes{nullptr};
  add_routes(routes, {});
  std::set<std::string> listed;
  TwoNamespaces fixture{by_words()};
  for (const auto& each : routes.listed()) {
    const auto& route = each.first;
    listed.insert(route);
    CAPTURE(route);
    const auto row = table.find(route);
    REQUIRE_MESSAGE(row != table.end(), route << " has no row in access_table.hpp");
    CHECK((each.second == Capability::none) == row->second.empty());
    if (!is_tried_elsewhere(route)) try_all(fixture, route, row->second, cases);
  }
  for (const auto& row : table)
    CHECK_MESSAGE(listed.contains(row.first), row.first << " is no route any more");
}

TEST_CASE(
    "access_table: the past of an allocation is for who may read its job, of a node for who "
    "may read nodes") {
  TwoNamespaces fixture{by_words()};
  const std::string of_node = "/v1/client/metrics/history";
  const auto of_alloc = of_node + "?alloc_id=" + own_alloc;
  const auto status = [&](const std::string& token, const std::string& target) {
    return fixture.as(token, "GET", target, "").status;
  };
  CHECK(status("read-job", of_alloc) == 200);
  CHECK(status("node-read", of_alloc) == 403);
  CHECK(status(test::nothing, of_alloc) == 403);
  CHECK(status("node-read", of_node) == 200);
  CHECK(status("read-job", of_node) == 403);
}

TEST_CASE("access_table: no sequence of requests changes what is of another namespace") {
  const std::uint64_t seed = 20261129;
  CAPTURE(seed);
  Random random{seed};
  const auto cases = access_cases();
  std::vector<std::pair<std::string, Case>> tried;
  for (const auto& [route, one] : cases)
    if (one.ends && one.hidden.empty()) tried.emplace_back(route, one);
  TwoNamespaces world{test::giving([](std::string_view token) -> Result<access::RightsRef> {
    if (token != "walker") return access::Rights::everything();
    return access::Rights::by([](Capability needed, const access::Target& target) {
      return access::is_namespaced(needed) && target.ns == "a";
    });
  })};
  const auto index = world.state().index;
  for (int step = 0; step < 1'000; ++step) {
    const auto& each = tried[random.below(tried.size())];
    const auto& one = each.second;
    const auto answer = world.as("walker", method_of(each.first), one.target, one.body);
    CAPTURE(one.target);
    CHECK(answer.status >= 400);
    REQUIRE(world.state().index == index);
  }
}
