// actors/raft: a real node on a real disk: what was answered is there after a restart, and damage
// stops the start with the file's name.
#include "actors/raft/raft_node.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "test/support/leadership_listener.hpp"
#include "test/support/list_fsm.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 30s;

/// One server: from start to stop.
class Server {
public:
  explicit Server(RaftOptions options,
                  std::shared_ptr<test::ListFsm> fsm = std::make_shared<test::ListFsm>())
      : system_(config_), fsm_(std::move(fsm)) {
    auto started = start_raft(system_, options, fsm_, listener_);
    if (started)
      raft_.emplace(std::move(*started));
    else
      error_ = started.error();
  }

  ~Server() {
    if (raft_) actor::stop(raft_->node);
    actor::stop(listener_);
    raft_.reset();
    system_.await_all_actors_done();
  }

  const StartedRaft& raft() const { return *raft_; }

  const std::optional<Error>& error() const { return error_; }

  const test::ListFsm& fsm() const { return *fsm_; }

  /// Proposes as an I/O thread does, and waits.
  Result<Applied> propose(std::string_view command) {
    std::promise<Result<Applied>> done;
    raft_->proposer.propose(Bytes::copy(command), [&done](Result<Applied> outcome) {
      done.set_value(std::move(outcome));
    });
    return done.get_future().get();
  }

  template <class Reply, class M>
  Result<Reply> ask(M msg) {
    actor::BlockingAsker self{system_};
    Result<Reply> answer = Error{Errc::internal, "not answered"};
    self.request(raft_->node, patience, std::move(msg))
        .receive([&answer](Reply& reply) { answer = std::move(reply); },
                 [&answer](const Error& err) { answer = err; });
    return answer;
  }

private:
  actor::SystemConfig config_{{.workers = 2}};
  actor::System system_;
  LeadershipListener listener_ = test::spawn_leadership_listener(system_);
  std::shared_ptr<test::ListFsm> fsm_;
  std::optional<StartedRaft> raft_;
  std::optional<Error> error_;
};

struct NodeFixture {
  test::TempDir dir;
  RaftOptions options{.directory = dir.file("raft"), .self = "server-a", .address = "127.0.0.1:1"};
};

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
}

/// A new leader is not ready before its barrier is committed: ask for a read point first.
void wait_until_ready(Server& server) {
  REQUIRE(test::eventually([&] { return server.ask<ReadReady>(ReadIndex{}).has_value(); }));
}

}  // namespace

TEST_CASE_FIXTURE(NodeFixture, "raft_node: answers while something that takes long is applied") {
  /// "long" takes until the test lets it go on.
  struct HeldFsm : test::ListFsm {
    std::promise<void> began;
    std::promise<void> goes_on;

    bool takes_long(std::span<const Entry> commands) const override {
      return !commands.empty() && commands.back().payload.text() == "long";
    }

    std::vector<Outcome> apply(std::span<const Entry> entries, Index applied) override {
      if (takes_long(entries)) {
        began.set_value();
        goes_on.get_future().wait();
      }
      return ListFsm::apply(entries, applied);
    }
  };

  const auto fsm = std::make_shared<HeldFsm>();
  Server server{options, fsm};
  wait_until_ready(server);
  std::promise<Result<Applied>> answered;
  server.raft().proposer.propose(Bytes::copy("long"), [&answered](Result<Applied> outcome) {
    answered.set_value(std::move(outcome));
  });
  fsm->began.get_future().wait();

  const auto meanwhile = server.ask<RaftStatus>(GetStatus{});
  REQUIRE(meanwhile);
  CHECK(meanwhile->commit_index == meanwhile->applied_index + 1);
  std::promise<Result<Applied>> later;
  server.raft().proposer.propose(Bytes::copy("behind"), [&later](Result<Applied> outcome) {
    later.set_value(std::move(outcome));
  });
  CHECK(fsm->published()->empty());

  fsm->goes_on.set_value();
  CHECK(answered.get_future().get());
  CHECK(later.get_future().get());
  CHECK(*fsm->published() == std::vector<std::string>{"long", "behind"});
}

TEST_CASE_FIXTURE(NodeFixture, "raft_node: a snapshot waits for what is applied and takes long") {
  struct LongFsm : test::ListFsm {
    bool takes_long(std::span<const Entry>) const override { return true; }
  };

  {
    Server server{options, std::make_shared<LongFsm>()};
    wait_until_ready(server);
    for (const char* command : {"one", "two", "three"}) {
      server.raft().proposer.propose(Bytes::copy(command), [](Result<Applied>) {});
      const auto taken = server.ask<SnapshotTaken>(TakeSnapshot{});
      REQUIRE(taken);
    }
    REQUIRE(server.propose("four"));
  }
  Server again{options};
  wait_until_ready(again);
  CHECK(*again.fsm().published() == std::vector<std::string>{"one", "two", "three", "four"});
}

TEST_CASE_FIXTURE(NodeFixture, "raft_node: a single voter leads at once and answers after apply") {
  Server server{options};
  REQUIRE_FALSE(server.error());
  wait_until_ready(server);
  CHECK(server.raft().lease->holds());

  const auto first = server.propose("one");
  const auto refused = server.propose("bad");

  REQUIRE(first);
  CHECK_FALSE(first->outcome.error);
  CHECK(*server.fsm().published() == std::vector<std::string>{"one"});
  REQUIRE(refused);
  CHECK(refused->index == first->index + 1);
  CHECK(refused->outcome.error == Error{Errc::invalid_argument, "a bad command"});

  const auto status = server.ask<RaftStatus>(GetStatus{});
  REQUIRE(status);
  CHECK(status->role == Role::leader);
  CHECK(status->leader == "server-a");
  CHECK(status->leader_address == "127.0.0.1:1");
  CHECK(status->applied_index == refused->index);
  CHECK(status->configuration.voter_count() == 1);
}

TEST_CASE_FIXTURE(NodeFixture, "raft_node: what was answered survives restarts, with snapshots") {
  options.snapshot_threshold = 0;  // only when asked
  options.trailing_entries = 5;
  std::vector<std::string> expected;
  for (int life = 0; life < 4; ++life) {
    Server server{options};
    REQUIRE_FALSE(server.error());
    wait_until_ready(server);
    CHECK(*server.fsm().published() == expected);
    for (int number = 0; number < 20; ++number) {
      expected.push_back(fmt::format("life {} number {}", life, number));
      REQUIRE(server.propose(expected.back()));
    }
    if (life % 2 == 0) {
      const auto taken = server.ask<SnapshotTaken>(TakeSnapshot{});
      REQUIRE(taken);
      CHECK(taken->index == server.fsm().applied());
      expected.emplace_back("behind the snapshot");
      REQUIRE(server.propose(expected.back()));
    }
  }
  Server server{options};
  wait_until_ready(server);
  CHECK(*server.fsm().published() == expected);
  CHECK(server.ask<RaftStatus>(GetStatus{})->snapshot_index > 0);
}

TEST_CASE_FIXTURE(NodeFixture,
                  "raft_node: many threads propose, each gets its own answer in order") {
  options.snapshot_threshold = 500;
  options.snapshot_interval = 0s;
  options.trailing_entries = 100;
  constexpr int threads = 4;
  constexpr int each = 1'000;
  std::atomic<int> wrong = 0;
  std::atomic<int> answered = 0;
  {
    Server server{options};
    wait_until_ready(server);
    std::vector<std::thread> writers;
    for (int writer = 0; writer < threads; ++writer) {
      writers.emplace_back([&, writer] {
        for (int number = 0; number < each; ++number) {
          const auto command = fmt::format("{}:{}", writer, number);
          server.raft().proposer.propose(Bytes::copy(command), [&](Result<Applied> outcome) {
            if (!outcome || outcome->outcome.error) ++wrong;
            if (++answered == threads * each) test::note_change();
          });
        }
      });
    }
    for (auto& writer : writers)
      writer.join();
    REQUIRE(test::eventually([&] { return answered == threads * each; }));
    CHECK(server.raft().counters->log_commits < threads * each / 2);
  }
  CHECK(wrong == 0);

  Server server{options};
  wait_until_ready(server);
  CHECK(server.ask<RaftStatus>(GetStatus{})->snapshot_index > 0);
  const auto list = *server.fsm().published();
  REQUIRE(list.size() == threads * each);
  std::vector<int> next(threads, 0);
  for (const auto& command : list) {
    const auto colon = command.find(':');
    const auto writer = std::stoul(command.substr(0, colon));
    CHECK(std::stoi(command.substr(colon + 1)) == next[writer]++);
  }
}

TEST_CASE_FIXTURE(NodeFixture,
                  "raft_node: an entry beyond the limit is refused, the next is taken") {
  options.max_entry_bytes = 100;
  Server server{options};
  wait_until_ready(server);
  CHECK(server.propose(std::string(101, 'x')).error().code == Errc::too_large);
  CHECK(server.propose(std::string(100, 'x')));
}

TEST_CASE_FIXTURE(NodeFixture, "raft_node: a stopping node answers what waits, and later writes") {
  std::optional<Proposer> proposer;
  std::shared_ptr<const LeaderLease> lease;
  {
    Server server{options};
    wait_until_ready(server);
    proposer = server.raft().proposer;
    lease = server.raft().lease;
  }
  std::optional<Result<Applied>> outcome;
  proposer->propose(Bytes::copy("late"), [&outcome](Result<Applied> got) { outcome = got; });
  REQUIRE(outcome);
  CHECK(outcome->error() == Error{Errc::no_leader, "the server is stopping"});
  CHECK_FALSE(lease->holds());
}

TEST_CASE_FIXTURE(NodeFixture, "raft_node: damage is named and stops the start") {
  options.snapshot_threshold = 0;
  options.trailing_entries = 0;
  std::string snapshot;
  {
    Server server{options};
    wait_until_ready(server);
    for (int number = 0; number < 10; ++number)
      REQUIRE(server.propose(fmt::format("number {}", number)));
    snapshot = server.ask<SnapshotTaken>(TakeSnapshot{})->path;
    REQUIRE(server.propose("after"));
    REQUIRE(server.propose("between"));
    REQUIRE(server.propose("after that"));
  }
  const auto log = options.directory + "/raft.db";
  const auto error_of_start = [this] { return Server{options}.error().value_or(Error{}); };

  SUBCASE("a changed log entry") {
    run_sql(log, "UPDATE log SET payload = x'61' WHERE idx = 14");
    CHECK(error_of_start()
          == Error{Errc::corrupt, "\"" + log + "\": log entry 14: checksum does not match"});
  }
  SUBCASE("a hole in the log") {
    run_sql(log, "DELETE FROM log WHERE idx = 14");
    CHECK(error_of_start().what == "\"" + log + "\": log entry 14: is missing");
  }
  SUBCASE("a log that begins too late") {
    run_sql(log, "DELETE FROM log WHERE idx <= 13");
    const auto why = error_of_start().what;
    CHECK(why.starts_with("\"" + log + "\" begins at index 14, but the newest snapshot ends at "));
    CHECK(why.ends_with(": the entries between are missing"));
  }
  SUBCASE("a changed row of the snapshot") {
    run_sql(snapshot, "UPDATE list SET value = 'x' WHERE rowid = 3");
    CHECK(error_of_start()
          == Error{Errc::corrupt,
                   "\"" + snapshot + "\": table list, row 3: checksum does not match"});
  }
  SUBCASE("a snapshot cut off") {
    std::filesystem::resize_file(snapshot, 100);
    const auto error = error_of_start();
    CHECK(error.code == Errc::corrupt);
    CHECK(error.what.find(snapshot) != std::string::npos);
  }
  SUBCASE("a log that is no database") {
    std::filesystem::remove(log + "-wal");
    std::filesystem::resize_file(log, 0);
    std::filesystem::resize_file(log, 5'000);
    CHECK(error_of_start().what.find(log) != std::string::npos);
  }
  SUBCASE("and without damage it starts") {
    Server server{options};
    REQUIRE_FALSE(server.error());
    wait_until_ready(server);
    CHECK(server.fsm().published()->back() == "after that");
  }
}
