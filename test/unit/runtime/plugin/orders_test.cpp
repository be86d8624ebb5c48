#include <doctest/doctest.h>

#include "runtime/plugin/host/confine.hpp"

using namespace nomad;
using Words = std::vector<std::string>;

TEST_CASE("orders: a library alone, and all that a program may come with") {
  const auto plain = plugin::read_orders({"/p/stamp.so"});
  REQUIRE(plain);
  CHECK(plain->words == Words{"/p/stamp.so"});
  CHECK_FALSE(plain->is_program);
  CHECK_FALSE(plain->user);

  const auto full = plugin::read_orders({"--user", "65534:65533:65533,100", "--confine", "--path",
                                         "/srv", "--program", "/p/count.py", "--user", "x"});
  REQUIRE(full);
  CHECK(full->user->uid == 65534);
  CHECK(full->user->gid == 65533);
  CHECK(full->user->groups == std::vector<gid_t>{65533, 100});
  CHECK(full->is_confined);
  CHECK(full->paths == Words{"/srv"});
  CHECK(full->is_program);
}

TEST_CASE("orders: what is behind --program is the program's") {
  const auto orders = plugin::read_orders({"--program", "/p/x", "--user"});
  REQUIRE(orders);
  CHECK(orders->words == Words{"/p/x", "--user"});
}

TEST_CASE("orders: mistakes are refused") {
  CHECK_FALSE(plugin::read_orders({}));
  CHECK_FALSE(plugin::read_orders({"--confine"}));
  CHECK_FALSE(plugin::read_orders({"--other", "/p/x.so"}));
  CHECK_FALSE(plugin::read_orders({"--user", "nobody", "/p/x.so"}));
  CHECK_FALSE(plugin::read_orders({"--user", "1", "/p/x.so"}));
}
