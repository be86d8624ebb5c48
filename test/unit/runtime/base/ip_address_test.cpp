#include "runtime/base/ip_address.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("ip_address: what is one") {
  for (const auto* address : {"127.0.0.1", "10.0.0.1", "::1", "fe80::1", "::ffff:10.0.0.1"})
    CHECK(is_ip_address(address));
  for (const auto* other : {"", "localhost", "127.1", "127.0.0.1:80", "[::1]", "10.0.0.256"})
    CHECK_FALSE(is_ip_address(other));
}

TEST_CASE("ip_address: what names this machine alone") {
  for (const auto* near : {"127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"})
    CHECK(is_loopback(near));
  for (const auto* far :
       {"0.0.0.0", "127.0.0.1.evil.example", "127.", "10.0.0.1", "", "localhost.evil"})
    CHECK_FALSE(is_loopback(far));
}
