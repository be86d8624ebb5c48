// Port bitmaps: choosing free ports and reading ranges.
#include "runtime/scheduler/plan/port_set.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::scheduler;

namespace {

/// A set with the choice over it, as a node's network does it.
struct Ports {
  PortSet set;

  std::optional<Port> pick(Port first,
                           Port last,
                           const std::vector<Port>& also,
                           Random& random) const {
    return pick_free_port([this](unsigned index) { return set.word(index); }, first, last, also,
                          random);
  }
};

}  // namespace

TEST_CASE("every free port of a range is found, and no other") {
  Random random{5};
  Ports ports;
  for (int taken = 0; taken < 199; ++taken) {
    const auto port = ports.pick(20'000, 20'199, {}, random);
    REQUIRE(port.has_value());
    REQUIRE(*port >= 20'000);
    REQUIRE(*port <= 20'199);
    REQUIRE_FALSE(ports.set.contains(*port));
    ports.set.insert(*port);
  }
  const auto last = ports.pick(20'000, 20'199, {}, random);
  REQUIRE(last.has_value());
  CHECK_FALSE(ports.pick(20'000, 20'199, {*last}, random));
  ports.set.insert(*last);
  CHECK_FALSE(ports.pick(20'000, 20'199, {}, random));
}

TEST_CASE("the scan skips what the offer already holds") {
  Random random{6};
  Ports ports;
  for (unsigned port = 100; port <= 400; ++port) {
    if (port != 100 && port != 163 && port != 400) ports.set.insert(static_cast<Port>(port));
  }
  for (int round = 0; round < 50; ++round) {
    CHECK(ports.pick(100, 400, {100, 400}, random) == Port{163});
    CHECK(ports.pick(100, 400, {163, 400}, random) == Port{100});
    CHECK(ports.pick(100, 400, {163, 100}, random) == Port{400});
  }
}

TEST_CASE("the ends of the port space") {
  Random random{7};
  Ports ports;
  ports.set.insert(65'535);
  ports.set.insert(0);
  CHECK(ports.set.contains(65'535));
  CHECK_FALSE(ports.pick(65'535, 65'535, {}, random));
  CHECK(ports.pick(65'534, 65'535, {}, random) == Port{65'534});
  CHECK_FALSE(ports.pick(10, 9, {}, random));
}

TEST_CASE("draws are spread") {
  Random random{8};
  const Ports ports;
  std::set<Port> drawn;
  for (int i = 0; i < 100; ++i)
    drawn.insert(*ports.pick(20'000, 32'000, {}, random));
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
  CHECK(parse_port_ranges("22,5-2").error()
        == Error{Errc::invalid_argument, "invalid port range \"5-2\""});
}
