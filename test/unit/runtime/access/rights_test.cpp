#include "runtime/access/rights.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

TEST_CASE("rights: nothing, everything, or what a rule says of the target") {
  const Target prod{.node_pool = "prod"};
  CHECK_FALSE(Rights::nothing()->allow(Capability::node_pool_read, prod));
  CHECK(Rights::everything()->allow(Capability::node_pool_read, prod));
  const auto rights = Rights::by([](Capability needed, const Target& target) {
    return needed == Capability::node_pool_read && target.node_pool == "prod";
  });
  CHECK(rights->allow(Capability::node_pool_read, prod));
  CHECK_FALSE(rights->allow(Capability::node_pool_write, prod));
  CHECK_FALSE(rights->allow(Capability::node_pool_read, {.node_pool = "dev"}));
  CHECK(rights->form() == Rights::Form::rule);
}
