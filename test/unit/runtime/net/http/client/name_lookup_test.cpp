#include "runtime/net/http/client/name_lookup.hpp"

#include <future>

#include <doctest/doctest.h>

#include "runtime/net/socket.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

TEST_CASE("name_lookup: addresses as text need no lookup") {
  const auto v4 = numeric_addresses("10.0.0.1", "80");
  REQUIRE(v4.size() == 1);
  CHECK(numeric(v4[0].storage, v4[0].size)
        == std::pair<std::string, std::string>{"10.0.0.1", "80"});
  CHECK(numeric_addresses("::1", "80").size() == 1);
  CHECK(numeric_addresses("localhost", "80").empty());
  CHECK(numeric_addresses("10.0.0.1", "http").empty());
  CHECK(unix_addresses("/run/x.sock").size() == 1);
  CHECK(unix_addresses(std::string(200, 'x')).empty());
}

TEST_CASE("name_lookup: names are found, also more at once than there are threads") {
  const auto asker = std::make_shared<int>();
  std::vector<std::promise<Result<SocketAddresses>>> told(20);
  {
    NameLookup lookup;
    for (auto& each : told)
      lookup.find(asker, "localhost", "80",
                  [&each](Result<SocketAddresses> found) { each.set_value(std::move(found)); });
    for (auto& each : told) {
      const auto found = each.get_future().get();
      REQUIRE(found.has_value());
      CHECK_FALSE(found->empty());
    }
  }
}

TEST_CASE("name_lookup: who goes waits for nothing, and is told nothing") {
  const auto asker = std::make_shared<int>();
  for (int i = 0; i < 50; ++i) {
    NameLookup lookup;
    bool is_there = true;
    lookup.find(asker, "localhost", "80",
                [kept = std::make_shared<int>(), &is_there](const auto&) { CHECK(is_there); });
  }
}

TEST_CASE("name_lookup: nothing is looked up for who is gone") {
  const auto asker = std::make_shared<int>();
  std::promise<void> told;
  NameLookup lookup;
  for (int i = 0; i < 50; ++i)
    lookup.find(std::weak_ptr<int>{}, "localhost", "80",
                [](const auto&) { FAIL_CHECK("it was gone"); });
  lookup.find(asker, "localhost", "80", [&](const auto&) { told.set_value(); });
  told.get_future().get();
}
