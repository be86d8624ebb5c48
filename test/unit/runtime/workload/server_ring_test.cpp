#include "runtime/workload/server_ring.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

using nomad::Random;
using nomad::workload::ServerRing;

namespace {

std::vector<std::string> names(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i)
    out.push_back("10.0.0." + std::to_string(i) + ":4647");
  return out;
}

}  // namespace

TEST_CASE("each server that fails makes room for the next, once round") {
  ServerRing ring{names(3), Random{1}};
  std::set<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    seen.insert(ring.current());
    CHECK(ring.move_on(ring.current()));
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("who fails after another one is in use already moves nobody") {
  ServerRing ring{names(3), Random{1}};
  const auto failed = ring.current();
  REQUIRE(ring.move_on(failed));
  const auto next = ring.current();
  CHECK_FALSE(ring.move_on(failed));
  CHECK(ring.current() == next);
}

TEST_CASE("the server in use stays in use when others come and go") {
  ServerRing ring{names(3), Random{7}};
  const auto in_use = ring.current();
  CHECK(ring.learn(names(5)));
  CHECK(ring.current() == in_use);
  CHECK(ring.size() == 5);
  auto others = names(5);
  std::erase(others, in_use);
  CHECK(ring.learn(others));
  CHECK(ring.current() != in_use);
}

TEST_CASE("the server in use stays in use, wherever the new order puts it") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ServerRing ring{names(3), Random{seed}};
    const auto in_use = ring.current();
    REQUIRE(ring.learn(names(6)));
    CHECK(ring.current() == in_use);

    auto others = names(6);
    std::erase(others, in_use);
    REQUIRE(ring.learn(others));
    CHECK(ring.current() != in_use);
    CHECK(ring.in_order().size() == 5);
  }
}

TEST_CASE("a ring of one server has that one in use, whatever happens") {
  ServerRing ring{names(1), Random{7}};
  CHECK(ring.current() == names(1)[0]);
  CHECK(ring.move_on(ring.current()));
  CHECK(ring.current() == names(1)[0]);
  ring.shuffle();
  CHECK(ring.in_order() == names(1));
  CHECK(ring.size() == 1);
}

TEST_CASE("after a server that fails comes the next of the order, at its end the first") {
  ServerRing ring{names(4), Random{5}};
  const auto order = ring.in_order();
  for (std::size_t at = 1; at <= 5; ++at) {
    REQUIRE(ring.move_on(ring.current()));
    CHECK(ring.current() == order[at % 4]);
  }
}

TEST_CASE("the same servers in another order are no news") {
  ServerRing ring{names(4), Random{7}};
  const auto before = ring.in_order();
  auto same = names(4);
  std::reverse(same.begin(), same.end());
  CHECK_FALSE(ring.learn(same));
  CHECK_FALSE(ring.learn({}));
  CHECK(ring.in_order() == before);
}

TEST_CASE("a ring without servers stays without: nobody is there to say better") {
  ServerRing ring{{}, Random{7}};
  CHECK(ring.empty());
  CHECK_FALSE(ring.learn(names(2)));
  CHECK_FALSE(ring.move_on("10.0.0.1:4647"));
  CHECK(ring.in_order().empty());
}

TEST_CASE("the one in use comes first") {
  ServerRing ring{names(4), Random{3}};
  REQUIRE(ring.move_on(ring.current()));
  const auto order = ring.in_order();
  CHECK(order.front() == ring.current());
  const auto all = names(4);
  CHECK(std::is_permutation(order.begin(), order.end(), all.begin(), all.end()));
}

TEST_CASE("a thousand nodes spread evenly, and again after each shuffle") {
  std::map<std::string, int> at_first;
  std::map<std::string, int> later;
  for (std::uint64_t node = 0; node < 999; ++node) {
    ServerRing ring{names(3), Random{node}};
    ++at_first[ring.current()];
    ring.shuffle();
    ++later[ring.current()];
  }
  for (const auto& [server, count] : at_first)
    CHECK(count > 250);
  for (const auto& [server, count] : later)
    CHECK(count > 250);
}

TEST_CASE("server ring: when nobody answers, those that it began with are tried again") {
  ServerRing ring{{"a", "b", "c"}, Random{1}};
  CHECK_FALSE(ring.widen());
  CHECK(ring.learn({"d"}));
  CHECK(ring.widen());
  CHECK(ring.size() == 4);
  CHECK(ring.current() == "d");
  CHECK(ring.move_on("d"));
  CHECK(ring.current() != "d");
  CHECK_FALSE(ring.widen());
}

TEST_CASE("server ring: what it is given by an operator is all that it knows") {
  ServerRing ring{{"a", "b"}, Random{1}};
  ring.replace({"c"});
  CHECK(ring.in_order() == std::vector<std::string>{"c"});
  CHECK_FALSE(ring.widen());
}
