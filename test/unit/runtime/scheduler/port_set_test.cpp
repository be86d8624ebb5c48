// Port bitmaps: choosing free ports and reading ranges.
#include "runtime/scheduler/port_set.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::scheduler;

TEST_CASE("every free port of a range is found, and no other") {
  Random random{5};
  PortSet ports;
  for (int taken = 0; taken < 200; ++taken) {
    const auto port = ports.pick_free(20'000, 20'199, {}, random);
    REQUIRE(port.has_value());
    REQUIRE(*port >= 20'000);
    REQUIRE(*port <= 20'199);
    REQUIRE(ports.insert(*port));
  }
  CHECK_FALSE(ports.pick_free(20'000, 20'199, {}, random));
  ports.erase(20'123);
  CHECK(ports.pick_free(20'000, 20'199, {}, random) == Port{20'123});
  CHECK_FALSE(ports.pick_free(20'000, 20'199, {20'123}, random));
}

TEST_CASE("the scan skips what the offer already holds") {
  Random random{6};
  PortSet ports;
  for (unsigned port = 100; port <= 400; ++port)
    ports.insert(static_cast<Port>(port));
  ports.erase(100);
  ports.erase(163);
  ports.erase(400);
  for (int round = 0; round < 50; ++round) {
    CHECK(ports.pick_free(100, 400, {100, 400}, random) == Port{163});
    CHECK(ports.pick_free(100, 400, {163, 400}, random) == Port{100});
    CHECK(ports.pick_free(100, 400, {163, 100}, random) == Port{400});
  }
}

TEST_CASE("the ends of the port space") {
  Random random{7};
  PortSet ports;
  CHECK(ports.insert(65'535));
  CHECK_FALSE(ports.insert(65'535));
  CHECK(ports.insert(0));
  CHECK_FALSE(ports.pick_free(65'535, 65'535, {}, random));
  CHECK(ports.pick_free(65'534, 65'535, {}, random) == Port{65'534});
  CHECK_FALSE(ports.pick_free(10, 9, {}, random));
}

TEST_CASE("draws are spread") {
  Random random{8};
  const PortSet ports;
  std::set<Port> drawn;
  for (int i = 0; i < 100; ++i)
    drawn.insert(*ports.pick_free(20'000, 32'000, {}, random));
  CHECK(drawn.size() > 90);
}

TEST_CASE("ranges") {
  const auto ports = parse_port_ranges("80, 22,8000-8002,22");
  REQUIRE(ports.has_value());
  CHECK(*ports == std::vector<Port>{22, 80, 8000, 8001, 8002});
  CHECK(parse_port_ranges("")->empty());
  for (const char* bad : {"x", "1-", "5-2", "70000", "1,,2", "-3"}) {
    CAPTURE(bad);
    CHECK(parse_port_ranges(bad).has_error());
  }
}
