#include "actors/client/tools/identity_shelf.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using client::IdentityShelf;

TEST_CASE("identity_shelf: the newest token is whose it is, and no other's") {
  IdentityShelf shelf;
  shelf.put("a1", {.task = "web", .service = "front", .name = "consul"}, SecretText{"old"});
  shelf.put("a1", {.task = "web", .service = "front", .name = "consul"}, SecretText{"new"});
  shelf.put("a1", {.task = "", .service = "front", .name = "consul"}, SecretText{"group's"});

  CHECK(shelf.token_of("a1", "web", "front", "consul")->reveal() == "new");
  CHECK(shelf.token_of("a1", "", "front", "consul")->reveal() == "group's");
  CHECK_FALSE(shelf.token_of("a1", "web", "front", "").has_value());
  CHECK_FALSE(shelf.token_of("a1", "web", "", "consul").has_value());
  CHECK_FALSE(shelf.token_of("a2", "web", "front", "consul").has_value());
}

TEST_CASE("identity_shelf: what one forgets stays another's") {
  IdentityShelf shelf;
  for (const auto* alloc : {"a1", "a2"})
    for (const auto* task : {"", "side", "web"})
      shelf.put(alloc, {.task = task, .service = "", .name = "db", .expires_at = 7},
                SecretText{"t"});

  shelf.forget("a1", "side");
  shelf.forget("a1", "we");

  const auto left = shelf.list("a1");
  REQUIRE(left.size() == 2);
  CHECK(left[0].task == "");
  CHECK(left[1].task == "web");
  CHECK(left[1].expires_at == 7);
  CHECK(shelf.list("a2").size() == 3);
  CHECK(shelf.list("a").empty());
}
