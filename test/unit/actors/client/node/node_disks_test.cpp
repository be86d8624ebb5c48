// What allocations' directories hold: looked at in turns, told to their tasks.
#include "actors/client/node/node_disks.hpp"

#include <fstream>

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct WatchedDisks : ClientFixture {
  client::ClientOptions watching(bool enforce = false) {
    auto made = options();
    made.disk_look_interval = 10s;
    made.disk_enforce = enforce;
    return made;
  }

  std::string alloc_root(int number) { return dir.file("allocs/" + alloc_id(number)); }

  /// An allocation that may hold one MiB.
  void assign_small(int number) {
    const auto job = make_job({});
    assign(changed(make_alloc(job, number), 2,
                   [](auto& draft) { draft.getAllocatedResources().initShared().setDiskMb(1); }),
           job);
  }

  void fill(int number, std::size_t bytes) {
    std::ofstream{alloc_root(number) + "/alloc/data/junk"} << std::string(bytes, 'x');
  }

  std::size_t told(int number, std::string_view type) {
    const auto types = events(number);
    return static_cast<std::size_t>(std::ranges::count(types, type));
  }
};

}  // namespace

TEST_CASE_FIXTURE(WatchedDisks, "node disks: tasks hear that their allocation holds too much") {
  start(false, watching());
  assign_small(1);
  assign_small(2);
  advance(30s);
  CHECK(told(1, "Disk Resources Exceeded") == 0);

  fill(1, 3 << 20);
  advance(1min);
  CHECK(told(1, "Disk Resources Exceeded") == 1);
  CHECK(told(2, "Disk Resources Exceeded") == 0);
  CHECK(status(1) == schema::ClientStatus::RUNNING);

  std::filesystem::remove_all(alloc_root(2));
  advance(30s);
  CHECK(told(2, "Task hook message") == 2);  // of the shared directory, and of the task's
  CHECK(status(2) == schema::ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(WatchedDisks, "node disks: an agent that is told to ends them") {
  start(false, watching(/*enforce=*/true));
  assign_small(1);
  assign_small(2);
  fill(1, 3 << 20);
  advance(1min);
  CHECK(status(1) == schema::ClientStatus::FAILED);
  CHECK(told(1, "Disk Resources Exceeded") == 1);
  CHECK(status(2) == schema::ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(WatchedDisks, "node disks: many files are looked at in several turns") {
  start(false, watching());
  assign_small(1);
  for (int i = 0; i < 2000; ++i)
    std::ofstream{alloc_root(1) + fmt::format("/alloc/data/{}", i)} << "x";
  advance(10s);  // The walk begins.
  CHECK(told(1, "Disk Resources Exceeded") == 0);
  advance(2s);
  CHECK(told(1, "Disk Resources Exceeded") == 1);
}

TEST_CASE_FIXTURE(WatchedDisks, "node disks: nobody looks unless the options say so") {
  start();
  assign_small(1);
  fill(1, 3 << 20);
  advance(5min);
  CHECK(told(1, "Disk Resources Exceeded") == 0);

  const auto done = ask<client::client_actor::Reconfigured>(
      client, client::client_actor::Reconfigure{watching()});
  REQUIRE(done->has_value());
  advance(30s);
  CHECK(told(1, "Disk Resources Exceeded") == 1);
}
