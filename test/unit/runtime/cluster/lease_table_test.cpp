// Leases and how their length grows with the cluster.
#include "runtime/cluster/lease_table.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

TEST_CASE("leases end in the order of their deadlines, unless renewed or forgotten") {
  const LeaseTable::TimePoint now{100s};
  LeaseTable table;
  table.renew("b", now + 2s);
  table.renew("a", now + 1s);
  table.renew("c", now + 3s);
  table.renew("d", now + 1s);
  table.renew("a", now + 3s);
  table.forget("d");
  table.forget("unknown");
  CHECK(table.expire(now + 1s).empty());
  CHECK(table.expire(now + 3s) == std::vector<std::string>{"b", "a", "c"});
  CHECK(table.size() == 0);
  CHECK_FALSE(table.holds("a"));
}

TEST_CASE("the lease grows with the number of nodes and is spread up to twofold") {
  Random random{3};
  const LeaseOptions options;
  auto longest = 0ms;
  for (int i = 0; i < 1000; ++i) {
    const auto few = lease_ttl(10, options, random);
    CHECK(few >= 10s);
    CHECK(few < 20s);
    longest = std::max(longest, few);
    const auto many = lease_ttl(5000, options, random);
    CHECK(many >= 100s);
    CHECK(many < 200s);
  }
  CHECK(longest > 18s);
}
