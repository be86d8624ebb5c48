// Two writes at once come to what they come to one after the other. Else there is a condition that
// was judged on a snapshot and held no more where the command was applied.
#include <set>

#include "test/properties/writes/write_pairs.hpp"

using namespace nomad;
using namespace nomad::properties;

TEST_CASE("writes: of two at once, one comes after the other") {
  const std::uint64_t first_seed = Random::from_system().next() >> 16;
  MESSAGE("first seed " << first_seed);
  WriteCounts counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + 6'000; ++seed)
    if (const auto found = try_pair(seed, Guards::kept, counts); !found.empty()) FAIL(found);

  MESSAGE(counts.stale << " were decided anew, " << counts.in_vain << " of them in vain");
  CHECK(counts.stale > 100);
  MESSAGE(counts.locked_out << " met another's lock");
  CHECK(counts.locked_out > 30);
  for (const auto* name :
       {"deregister",    "evaluate",       "revert",         "stability",   "scale",
        "register",      "periodic force", "dispatch",       "fail",        "pause",
        "promote",       "health",         "drain",          "eligibility", "node evaluate",
        "purge",         "alloc stop",     "service delete", "namespace",   "namespace delete",
        "pool delete",   "pool",           "scheduler",      "variable",    "variable delete",
        "held variable", "lock",           "release",        "tag",         "untag"}) {
    CAPTURE(name);
    CHECK(counts.writes[name] > 0);
  }
}

TEST_CASE("writes: without guards, some are written that should not be") {
  WriteCounts counts;
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed < 6'000; ++seed)
    if (const auto one = try_pair(seed, Guards::dropped, counts); !one.empty())
      found.insert(one.substr(one.find(", ") + 2, one.find(':') - one.find(", ") - 2));

  CHECK((found.contains("namespace delete and variable")
         || found.contains("namespace delete and lock")));
  CHECK(found.contains("register and register"));
  CHECK(found.contains("dispatch and dispatch"));
  CHECK(found.contains("scale and scale"));
}
