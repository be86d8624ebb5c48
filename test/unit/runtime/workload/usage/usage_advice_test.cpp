#include "runtime/workload/usage/usage_advice.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace std::chrono_literals;
using workload::advise;

namespace {

constexpr double mebibyte_used = 1024 * 1024;

std::string advice_on(double cpu_mhz,
                      double memory_mib,
                      Nanoseconds over,
                      workload::Reservation of) {
  std::string all;
  for (const auto& one :
       advise({.cpu_mhz = cpu_mhz, .memory = memory_mib * mebibyte_used, .over = over}, of))
    all += one.text() + '\n';
  return all;
}

}  // namespace

TEST_CASE("advice: what is far less than the reservation is told with what to reserve") {
  CHECK(advice_on(100, 41, 6h, {.cpu_mhz = 120, .memory_mib = 300})
        == "memory 300 MiB reserved, p95 41 MiB over 6 h: reserve about 50\n");
  CHECK(advice_on(310, 200, 24h, {.cpu_mhz = 2'000, .memory_mib = 256})
        == "cpu 2000 MHz reserved, p95 310 MHz over 24 h: reserve about 400\n");
  CHECK(advice_on(0, 0.2, 1h, {.cpu_mhz = 500, .memory_mib = 300})
        == "memory 300 MiB reserved, p95 0 MiB over 1 h: reserve about 10\n"
           "cpu 500 MHz reserved, p95 0 MHz over 1 h: reserve about 10\n");
}

TEST_CASE("advice: memory that is nearly used up, and processor time beyond the reservation") {
  CHECK(advice_on(50, 97, 2h, {.cpu_mhz = 100, .memory_mib = 100})
        == "memory 100 MiB reserved, p95 97 MiB over 2 h: reserve about 150\n");
  CHECK(advice_on(130, 50, 2h, {.cpu_mhz = 100, .memory_mib = 100})
        == "cpu 100 MHz reserved, p95 130 MHz over 2 h: reserve about 200\n");
  CHECK(advice_on(99, 89, 2h, {.cpu_mhz = 100, .memory_mib = 100}).empty());
}

TEST_CASE(
    "advice: nothing before an hour, of what would save little, and of what is not reserved") {
  CHECK(advice_on(0, 1, 59min, {.cpu_mhz = 5'000, .memory_mib = 5'000}).empty());
  CHECK(advice_on(1, 1, 24h, {.cpu_mhz = 100, .memory_mib = 64}).empty());
  CHECK(advice_on(3'000, 30, 24h, {.cpu_mhz = 0, .memory_mib = 50}).empty());
  CHECK(advice_on(60, 60, 24h, {.cpu_mhz = 110, .memory_mib = 110}).empty());
}
