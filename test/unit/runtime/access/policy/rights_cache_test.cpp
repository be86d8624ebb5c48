#include "runtime/access/policy/rights_cache.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

const std::string reads = "agent { policy = \"read\" }";
const std::string writes = "agent { policy = \"write\" }";

}  // namespace

TEST_CASE("rights cache: the same text is read once, the same set compiled once") {
  RightsCache cache;
  const auto policy = cache.read_policy(reads).value();
  CHECK(cache.read_policy(reads).value() == policy);
  const auto other = cache.read_policy(writes).value();
  CHECK(other != policy);
  const auto rights = cache.rights_of({{"a", 1, policy}, {"b", 1, other}});
  CHECK(cache.rights_of({{"b", 1, other}, {"a", 1, policy}}) == rights);
  CHECK(cache.rights_of({{"a", 1, policy}}) != rights);
  CHECK(rights->allow(Capability::agent_write, {}));
}

TEST_CASE("rights cache: another index, text, name or workload is another set") {
  RightsCache cache;
  const auto policy = cache.read_policy(reads).value();
  const auto rights = cache.rights_of({{"a", 1, policy}});
  CHECK(cache.rights_of({{"a", 2, policy}}) != rights);
  CHECK(cache.rights_of({{"c", 1, policy}}) != rights);
  const auto restored = cache.rights_of({{"a", 1, cache.read_policy(writes).value()}});
  CHECK(restored->allow(Capability::agent_write, {}));
  const ImplicitRights workload{"prod", "web", "api", "server"};
  const ImplicitRights moved{"prod", "web", "apis", "erver"};
  const auto of_workload = cache.rights_of({{"a", 1, policy}}, &workload);
  CHECK(of_workload != rights);
  CHECK(cache.rights_of({{"a", 1, policy}}, &moved) != of_workload);
  CHECK(cache.rights_of({{"a", 1, policy}}, &workload) == of_workload);
}

TEST_CASE("rights cache: what is wrong is not kept, and gives nothing") {
  RightsCache cache;
  CHECK_FALSE(cache.read_policy("agent {").has_value());
  CHECK(cache.rights_of({{"a", 1, nullptr}})->form() == Rights::Form::nothing);
}

TEST_CASE("rights cache: it is bounded, and forgets what was used longest ago") {
  Recent<std::string, int> recent{10};
  recent.keep("a", 1, 4);
  recent.keep("b", 2, 4);
  REQUIRE(recent.find("a") != nullptr);
  recent.keep("c", 3, 4);
  CHECK(recent.find("b") == nullptr);
  CHECK(*recent.find("a") == 1);
  recent.keep("d", 4, 11);
  CHECK(recent.find("d") == nullptr);
  CHECK(recent.size() == 2);
}
