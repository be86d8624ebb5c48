// Real recovery: a server process is killed (SIGKILL) at each named failpoint of the log and of
// snapshots, on a real disk; the next one must have every write that was answered, once and in
// order. The process is this program, with arguments that say so.
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "test/support/child_process.hpp"
#include "test/support/leadership_listener.hpp"
#include "test/support/list_fsm.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t writes = 400;
/// Far more than it takes until any of the places is come to: snapshots lag behind on a busy disk.
constexpr std::uint32_t writes_until_killed = 20'000;
constexpr std::size_t under_way = 8;
constexpr const char* as_server = "--write-until-killed";

RaftOptions options_in(const std::string& directory) {
  RaftOptions options{
      .directory = directory + "/raft", .self = "server-a", .address = "127.0.0.1:1"};
  options.snapshot_threshold = 40;
  options.snapshot_interval = 0s;
  options.trailing_entries = 5;
  return options;
}

/// The process that dies: writes numbers, a few at a time, and each that was answered to its
/// standard output.
[[noreturn]] void write_until_killed(const std::string& directory, const std::string& orders) {
  log::set_level(log::Level::off);
  if (!failpoint::configure(orders)) _exit(3);
  actor::SystemConfig config{{.workers = 2}};
  actor::System system{config};
  auto raft = start_raft(system, options_in(directory), std::make_shared<test::ListFsm>(),
                         test::spawn_leadership_listener(system));
  if (!raft) _exit(4);
  if (!test::leads(*raft)) _exit(6);
  std::atomic<std::size_t> waiting = 0;
  const auto last = orders.empty() ? writes : writes_until_killed;
  for (std::uint32_t number = 1; number <= last; ++number) {
    ++waiting;
    raft->proposer.propose(
        Bytes::copy(std::to_string(number)), [&waiting, number](const Result<Applied>& outcome) {
          if (outcome && write(STDOUT_FILENO, &number, sizeof number) != sizeof number) _exit(5);
          --waiting;
          test::note_change();
        });
    if (!test::eventually([&] { return waiting < under_way; })) _exit(7);
  }
  _exit(test::eventually([&] { return waiting == 0; }) ? 0 : 8);
}

struct Ended {
  int status = 0;
  std::vector<std::uint32_t> answered;
};

Ended run_child(const test::TempDir& dir, const std::string& orders) {
  test::ChildProcess child{{test::own_program, as_server, dir.path(), orders}};
  Ended ended;
  std::uint32_t number = 0;
  while (read(child.output(), &number, sizeof number) == sizeof number)
    ended.answered.push_back(number);
  ended.status = child.wait();
  return ended;
}

/// What a server that starts again in `dir` has.
std::vector<std::string> recovered(const test::TempDir& dir) {
  actor::SystemConfig config{{.workers = 2}};
  actor::System system{config};
  auto fsm = std::make_shared<test::ListFsm>();
  const auto listener = test::spawn_leadership_listener(system);
  auto raft = start_raft(system, options_in(dir.path()), fsm, listener);
  REQUIRE(raft.has_value());
  CHECK(test::leads(*raft));
  const auto list = *fsm->published();
  actor::stop(raft->node);
  actor::stop(listener);
  raft = Error{};
  system.await_all_actors_done();
  return list;
}

}  // namespace

TEST_CASE("raft: a server killed at any failpoint comes back with everything it has answered") {
  log::set_level(log::Level::off);
  const std::pair<const char*, int> positions[] = {
      {"raft.before_fsync", 2},      {"raft.before_fsync", 40},     {"raft.after_fsync", 3},
      {"raft.after_fsync", 31},      {"raft.before_apply", 25},     {"raft.after_apply", 25},
      {"raft.before_truncation", 1}, {"raft.before_truncation", 3}, {"snapshot.before_rename", 1},
      {"snapshot.before_rename", 2}, {"snapshot.after_rename", 1},  {"snapshot.after_rename", 3},
  };
  for (const auto& [name, visit] : positions) {
    const auto failpoint = fmt::format("{}=kill@{}", name, visit);
    CAPTURE(failpoint);
    const test::TempDir dir;
    const auto ended = run_child(dir, failpoint);
    CHECK(WIFSIGNALED(ended.status));
    CHECK(WTERMSIG(ended.status) == SIGKILL);

    const auto list = recovered(dir);
    // In order, without a hole or a double; nothing that was answered is missing.
    for (std::size_t at = 0; at < list.size(); ++at)
      REQUIRE(list[at] == std::to_string(at + 1));
    if (!ended.answered.empty()) CHECK(list.size() >= ended.answered.back());
    CHECK(list.size() <= ended.answered.size() + under_way);

    // And it goes on from there.
    const auto again = run_child(dir, "");
    CHECK(WEXITSTATUS(again.status) == 0);
    CHECK(again.answered.size() == writes);
    CHECK(recovered(dir).size() == list.size() + writes);
  }
}

TEST_CASE("raft: an error at a failpoint stops the server, and nothing is answered in error") {
  log::set_level(log::Level::off);
  const test::TempDir dir;
  const auto ended = run_child(dir, "raft.after_fsync=error@20");
  CHECK(WEXITSTATUS(ended.status) == 0);  // its writers were told
  const auto list = recovered(dir);
  CHECK(ended.answered.size() < writes_until_killed);
  CHECK(list.size() >= ended.answered.size());
}

TEST_CASE("failpoint: orders that are none are refused") {
  CHECK(failpoint::configure("a=kill@3;b=error;c=hold").has_value());
  for (const char* wrong : {"a", "a=die", "a=kill@", "a=kill@x", "a=error@0", "a=hold@1"})
    CHECK(failpoint::configure(wrong).error().code == Errc::invalid_argument);
  CHECK(failpoint::configure("").has_value());
  CHECK(failpoint::reach("a").has_value());
}

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view{argv[1]} == as_server) write_until_killed(argv[2], argv[3]);
  return doctest::Context{argc, argv}.run();
}
