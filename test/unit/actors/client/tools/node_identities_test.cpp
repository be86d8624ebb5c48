#include "actors/client/tools/node_identities.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using client::NodeIdentities;

TEST_CASE("node_identities: the newest token is whose it is, and no other's") {
  NodeIdentities identities;
  identities.put("a1", {.task = "web", .service = "front", .name = "consul"}, SecretText{"old"});
  identities.put("a1", {.task = "web", .service = "front", .name = "consul"}, SecretText{"new"});
  identities.put("a1", {.task = "", .service = "front", .name = "consul"}, SecretText{"group's"});

  CHECK(identities.token_of("a1", "web", "front", "consul")->reveal() == "new");
  CHECK(identities.token_of("a1", "", "front", "consul")->reveal() == "group's");
  CHECK_FALSE(identities.token_of("a1", "web", "front", "").has_value());
  CHECK_FALSE(identities.token_of("a1", "web", "", "consul").has_value());
  CHECK_FALSE(identities.token_of("a2", "web", "front", "consul").has_value());
}

TEST_CASE("node_identities: what one forgets stays another's") {
  NodeIdentities identities;
  for (const auto* alloc : {"a1", "a2"})
    for (const auto* task : {"", "side", "web"})
      identities.put(alloc, {.task = task, .service = "", .name = "db", .expires_at = 7},
                     SecretText{"t"});

  identities.forget("a1", "side");
  identities.forget("a1", "we");

  const auto left = identities.list("a1");
  REQUIRE(left.size() == 2);
  CHECK(left[0].task == "");
  CHECK(left[1].task == "web");
  CHECK(left[1].expires_at == 7);
  CHECK(identities.list("a2").size() == 3);
  CHECK(identities.list("a").empty());
}
