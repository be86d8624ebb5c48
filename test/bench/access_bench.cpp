// What access control costs for each question: look-ups in the rights of a token with ten policies,
// the cache that all tokens share, and the look-up of a token that the agent knows.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/access/authenticator.hpp"
#include "runtime/access/policy/rights_cache.hpp"

namespace {

using namespace nomad::access;

/// A policy of a team: its own namespaces, the shared ones, variables, levels.
std::string team_policy(int team) {
  const auto name = "team-" + std::to_string(team);
  return "namespace \"" + name + "-*\" { policy = \"write\" }\nnamespace \"" + name
         + "\" { policy = \"write\" capabilities = [\"alloc-node-exec\"]\n  variables { path \"" + name
         + "/*\" { capabilities = [\"read\", \"write\"] } path \"shared/*\" { capabilities = [\"read\"] } "
           "}\n}\nnamespace \"shared-*\" { policy = \"read\" }\nnode_pool \"" + name
         + "\" { policy = \"read\" }\nhost_volume \"" + name
         + "-*\" { policy = \"write\" }\nnode { policy = \"read\" }\n";
}

template <class Ask>
void measure(const char* what, int rounds, Ask ask) {
  std::size_t allowed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i)
    allowed += ask(i) ? 1U : 0U;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-44s %8.0f ns  (%zu of %d allowed)\n", what, took.count() / rounds, allowed,
              rounds);
}

}  // namespace

int main() {
  RightsCache cache;
  std::vector<NamedPolicy> policies;
  for (int team = 0; team < 10; ++team)
    policies.push_back({"team-" + std::to_string(team), 1, *cache.read_policy(team_policy(team))});
  const auto rights = cache.rights_of(policies);
  std::vector<std::string> names;
  for (int team = 0; team < 20; ++team)
    names.push_back("team-" + std::to_string(team));
  std::vector<std::string> others;
  for (const auto& name : names)
    others.push_back(name + "-staging");
  constexpr int rounds = 2'000'000;
  measure("a namespace by its name", rounds, [&](int i) {
    return rights->allow(Capability::read_job, {.ns = names[static_cast<std::size_t>(i) % 10]});
  });
  measure("a namespace by a pattern, or by none", rounds, [&](int i) {
    return rights->allow(Capability::read_job, {.ns = others[static_cast<std::size_t>(i) % 20]});
  });
  measure("a variable by a pattern, or by none", rounds, [&](int i) {
    return rights->allow(Capability::variables_read, {.ns = names[static_cast<std::size_t>(i) % 20],
                                                      .path = "shared/database"});
  });
  measure("a node", rounds, [&](int) { return rights->allow(Capability::node_read, {}); });
  measure("the rights of ten policies that are known", 200'000,
          [&](int) { return cache.rights_of(policies) == rights; });
  measure("the same, compiled", 20'000, [&](int) { return rights_of(policies) != nullptr; });
  const auto text = team_policy(7);
  const auto authenticator = Authenticator::make(
      {.lookup = {.index = [] { return std::uint64_t{1}; },
                  .here = [&](std::string_view) -> std::optional<nomad::Result<Grant>> {
                    return Grant{.rights = rights, .index = 1};
                  }}});
  std::vector<std::string> tokens;
  for (int at = 0; at < 1000; ++at)
    tokens.push_back("8f2fba18-1de2-2f43-4c51-" + std::to_string(100'000'000'000 + at));
  measure("who shows a token that is known, and his rights", 500'000, [&](int i) {
    const auto who = authenticator->identify(
        {.remote = "10.0.0.1:4646",
         .credentials = {.token = tokens[static_cast<std::size_t>(i) % 1000]}});
    const auto resolved = authenticator->at_once(who);
    return resolved.has_value() && resolved->has_value();
  });
  measure("reading a policy that is known", 200'000,
          [&](int) { return cache.read_policy(text).has_value(); });
  measure("the same, not known", 5'000, [&](int) { return read_policy(text).has_value(); });
}
