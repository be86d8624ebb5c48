#include "runtime/workload/disk/disk_watch.hpp"

#include <doctest/doctest.h>

using namespace nomad::workload;

namespace {

constexpr std::uint64_t mebibyte = 1U << 20;
const std::vector<std::string> one_running{"web"};

DiskLook holding(std::uint64_t mb) {
  return {.bytes = mb * mebibyte + 1};
}

}  // namespace

TEST_CASE("disk_watch: who comes to hold too much is told so, each time once") {
  DiskWatch watch;
  const DiskTerms terms{.size_mb = 10};
  CHECK(watch.look(holding(9), terms, one_running, 1).news.empty());

  const auto first = watch.look(holding(10), terms, one_running, 2);
  REQUIRE(first.news.size() == 1);
  CHECK(first.news[0].task.empty());
  CHECK_FALSE(first.kill);
  const auto& event = first.news[0].event;
  CHECK(event.type == "Disk Resources Exceeded");
  CHECK(event.time == 2);
  CHECK(event.detail("disk_limit") == "10");
  CHECK_FALSE(event.fails_task());
  CHECK(event.display_message
        == "the allocation's directory holds 10 MiB, and the size of its ephemeral_disk is 10 MiB");

  CHECK(watch.look(holding(20), terms, one_running, 3).news.empty());
  CHECK(watch.look(holding(5), terms, one_running, 4).news.empty());
  CHECK(watch.look(holding(11), terms, one_running, 5).news.size() == 1);
  CHECK(watch.look(holding(1000), {.size_mb = 0}, one_running, 6).news.empty());
}

TEST_CASE("disk_watch: where it is enforced it ends the tasks, whatever was told before") {
  DiskWatch watch;
  watch.look(holding(20), {.size_mb = 10}, one_running, 1);

  const auto verdict = watch.look(holding(20), {.size_mb = 10, .enforce = true}, one_running, 2);

  CHECK(verdict.kill);
  REQUIRE(verdict.news.size() == 1);
  CHECK(verdict.news[0].event.fails_task());
  CHECK_FALSE(watch.look(holding(9), {.size_mb = 10, .enforce = true}, one_running, 3).kill);
}

TEST_CASE("disk_watch: folders of one_running tasks that are gone are told once") {
  DiskWatch watch;
  const DiskLook gone{.missing = {"alloc", "web", "web/local", "later", "later/local"}};

  const auto verdict = watch.look(gone, {}, one_running, 1);

  REQUIRE(verdict.news.size() == 2);
  CHECK(verdict.news[0].task.empty());
  CHECK(verdict.news[0].event.display_message.starts_with("the directory \"alloc\" of the"));
  CHECK(verdict.news[1].task == "web");
  CHECK(verdict.news[1].event.type == "Task hook message");
  CHECK(verdict.news[1].event.display_message.starts_with("the directory \"web\" of the"));
  CHECK_FALSE(verdict.kill);
  CHECK(watch.look(gone, {}, one_running, 2).news.empty());
  watch.look({}, {}, one_running, 3);  // They are there again.
  CHECK(watch.look(gone, {}, one_running, 4).news.size() == 2);
  CHECK(DiskWatch{}.look(gone, {}, {}, 5).news.empty());

  const DiskLook files{.missing = {"web/local"}};
  const auto later = DiskWatch{}.look(files, {}, one_running, 6);
  REQUIRE(later.news.size() == 1);
  CHECK(later.news[0].task == "web");
}
