// runtime/storage/sqlite: what a connection shares with the rest of the process.
#include "runtime/storage/sqlite.hpp"

#include <atomic>
#include <latch>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/base/resident.hpp"

using namespace nomad;
using namespace nomad::storage;

TEST_CASE("sqlite: giving back memory waits for no connection at work") {
  auto database = Database::open(std::string{in_memory}).value();
  std::latch begun{1};
  std::atomic<bool> is_over = false;
  std::thread worker{[&] {
    auto counting = database
                        .prepare(
                            "WITH RECURSIVE counted(number) AS (SELECT 1 UNION ALL "
                            "SELECT number + 1 FROM counted LIMIT 20000000) "
                            "SELECT count(*) FROM counted")
                        .value();
    begun.count_down();
    CHECK(counting.step("counting").value());
    is_over = true;
    CHECK(counting.number(0) == 20000000);
  }};
  begun.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds{50});  // It is in the middle of its step.
  release_unused_pages();
  CHECK_FALSE(is_over);
  worker.join();
}
