// actors/raft: recovery by hand on a real disk: a server whose cluster is lost goes on as
// peers.json says, whatever came between, and only as a sound file says.
#include "actors/raft/recovery.hpp"

#include <filesystem>
#include <fstream>
#include <future>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/raft_log.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "test/support/leadership_listener.hpp"
#include "test/support/list_fsm.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

using List = test::ListFsm::List;

constexpr const char* only_a = R"([{"id": "a", "address": "a:1"}])";
constexpr const char* a_and_b = R"([{"id": "a", "address": "a:1"}, {"id": "b", "address": "b:1"}])";

Member voter(const ServerId& id) {
  return {.id = id, .address = id + ":1", .voter = true};
}

Configuration members_of(const std::vector<ServerId>& ids) {
  Configuration configuration{.cluster_id = "old", .members = {}, .removed = {}};
  for (const auto& id : ids)
    configuration.members.push_back(voter(id));
  return configuration;
}

/// What a server shows right after its start, and what it holds after a write, if it could.
struct Started {
  std::optional<Error> error;
  Configuration configuration;
  List list;  ///< Before anything new was applied.
  bool wrote = false;
};

/// Server "a" of three, which the other two have left for ever.
struct RecoveryFixture {
  test::TempDir dir;
  RaftOptions options{
      .directory = dir.file("raft"), .self = "a", .address = "a:1", .bootstrap = false};

  RecoveryFixture() {
    log::set_level(log::Level::off);
    REQUIRE(storage::make_directory(options.directory));
    auto log = storage::RaftLog::open(log_path());
    REQUIRE(log);
    LogWrite write;
    write.hard_state = HardState{.current_term = 3, .voted_for = {}};
    add(write, EntryKind::configuration, encode(members_of({"a", "b", "c"})));
    for (const auto* command : {"one", "two", "three"})
      add(write, EntryKind::command, Bytes::copy(command));
    REQUIRE(log->write(write));
  }

  static void add(LogWrite& write, EntryKind kind, Bytes payload) {
    write.append.push_back(
        {.index = write.append.size() + 1, .term = 2, .kind = kind, .payload = std::move(payload)});
  }

  std::string log_path() const { return options.directory + "/raft.db"; }

  std::string peers_path() const { return options.directory + "/peers.json"; }

  void put_peers(const std::string& text) const { std::ofstream{peers_path()} << text; }

  bool has_peers() const { return std::filesystem::exists(peers_path()); }

  /// Starts the server, waits until it leads if it is `alone`, writes `command`, and stops it.
  Started run(bool alone, const std::string& command = {}) const {
    actor::SystemConfig config{{.workers = 2}};
    actor::System system{config};
    auto fsm = std::make_shared<test::ListFsm>();
    Started result;
    const auto listener = test::spawn_leadership_listener(system);
    auto raft = start_raft(system, options, fsm, listener);
    if (!raft) {
      actor::stop(listener);
      result.error = raft.error();
      return result;
    }
    // The log behind the snapshot is applied once it is committed; the snapshot is there already.
    result.list = *fsm->published();
    CHECK((alone ? test::leads(*raft) : raft->lease->holds()) == alone);
    {
      actor::BlockingAsker self{system};
      self.request(raft->node, 30s, GetStatus{})
          .receive([&result](RaftStatus& status) { result.configuration = status.configuration; },
                   [](const Error&) { FAIL("no status"); });
    }
    if (alone && !command.empty()) {
      std::promise<bool> done;
      raft->proposer.propose(Bytes::copy(command), [&done](const Result<Applied>& outcome) {
        done.set_value(outcome.has_value());
      });
      result.wrote = done.get_future().get();
    }
    actor::stop(raft->node);
    actor::stop(listener);
    raft = Error{};
    system.await_all_actors_done();
    return result;
  }

  /// The log's files, as they are now.
  void copy_log(const std::string& from, const std::string& to) const {
    for (const auto* part : {"raft.db", "raft.db-wal", "raft.db-shm", "raft.db.mark"}) {
      std::filesystem::remove(to + "/" + part);
      if (std::filesystem::exists(from + "/" + part))
        std::filesystem::copy_file(from + "/" + part, to + "/" + part);
    }
  }

  /// The first entry that the log holds; 0: none.
  Index first_entry() const {
    auto log = storage::RaftLog::open(log_path());
    REQUIRE(log);
    const auto bounds = log->bounds();
    REQUIRE(bounds);
    return bounds->empty() ? 0 : bounds->first;
  }
};

}  // namespace

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: without a file a lost quorum stays lost") {
  const auto started = run(false);
  CHECK_FALSE(started.error);
  CHECK(started.configuration == members_of({"a", "b", "c"}));
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: who is left goes on with everything it has") {
  put_peers(only_a);

  const auto started = run(true, "four");

  REQUIRE_FALSE(started.error);
  CHECK(started.list == List{"one", "two", "three"});
  CHECK(started.configuration.members == std::vector{voter("a")});
  CHECK(started.configuration.removed == std::vector<ServerId>{"b", "c"});
  CHECK(started.configuration.cluster_id != "old");
  CHECK(started.wrote);
  CHECK_FALSE(has_peers());
  CHECK(first_entry() == 5);

  // Without the file it stays so.
  const auto again = run(true, "five");
  CHECK(again.configuration == started.configuration);
  CHECK(again.wrote);
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: a crash on the way, and the next start ends it") {
  // Of two servers none leads: what the recovery has made stays as it is.
  put_peers(a_and_b);
  const auto before = dir.file("before");
  std::filesystem::create_directory(before);
  copy_log(options.directory, before);
  const auto whole = run(false);
  REQUIRE_FALSE(whole.error);
  REQUIRE_FALSE(has_peers());
  CHECK(first_entry() == 0);

  SUBCASE("before the log began anew") {
    copy_log(before, options.directory);
  }
  SUBCASE("before the file was removed") {}
  put_peers(a_and_b);
  const auto again = run(false);

  REQUIRE_FALSE(again.error);
  CHECK(again.configuration == whole.configuration);
  CHECK(again.list == List{"one", "two", "three"});
  CHECK_FALSE(has_peers());
  CHECK(first_entry() == 0);
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: a corrected file is carried out after the first") {
  put_peers(a_and_b);
  const auto first = run(false);
  REQUIRE_FALSE(first.error);
  CHECK(first.configuration.members == std::vector{voter("a"), voter("b")});

  // Server b does not come up either.
  put_peers(only_a);
  const auto second = run(true, "four");

  REQUIRE_FALSE(second.error);
  CHECK(second.configuration.members == std::vector{voter("a")});
  CHECK(second.configuration.removed == std::vector<ServerId>{"c", "b"});
  CHECK(second.configuration.cluster_id != first.configuration.cluster_id);
  CHECK(second.list == List{"one", "two", "three"});
  CHECK(second.wrote);
  CHECK_FALSE(has_peers());
}

TEST_CASE_FIXTURE(RecoveryFixture,
                  "recovery: another address or another suffrage is a correction") {
  put_peers(a_and_b);
  REQUIRE_FALSE(run(false).error);

  SUBCASE("address") {
    put_peers(R"([{"id": "a", "address": "a:2"}, {"id": "b", "address": "b:1"}])");
    CHECK(run(false).configuration.find("a")->address == "a:2");
  }
  SUBCASE("suffrage") {
    put_peers(R"([{"id": "a", "address": "a:1"},
                  {"id": "b", "address": "b:1", "non_voter": true}])");
    CHECK_FALSE(run(true).configuration.is_voter("b"));
  }
}

TEST_CASE_FIXTURE(RecoveryFixture,
                  "recovery: a change of members with a snapshot at it is no recovery") {
  // As an ordinary cluster leaves it: server c was removed, and then a snapshot was taken.
  auto pair = members_of({"a", "b"});
  pair.removed = {"c"};
  {
    auto log = storage::RaftLog::open(log_path());
    REQUIRE(log);
    LogWrite write;
    write.append.push_back(
        {.index = 5, .term = 3, .kind = EntryKind::configuration, .payload = encode(pair)});
    REQUIRE(log->write(write));
    auto writer = storage::SnapshotWriter::create(
        options.directory + "/snapshots",
        {.index = 5, .term = 3, .configuration = pair, .configuration_index = 5});
    REQUIRE(writer);
    test::ListFsm fsm;
    auto entries = log->read(2, 4, 1'000);
    REQUIRE(entries);
    fsm.apply(*entries, 5);
    REQUIRE(fsm.snapshot()->write(**writer));
    REQUIRE((*writer)->finish());
  }
  put_peers(only_a);

  const auto started = run(true, "four");

  REQUIRE_FALSE(started.error);
  CHECK(started.configuration.members == std::vector{voter("a")});
  CHECK(started.list == List{"one", "two", "three"});
  CHECK(started.wrote);
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: a server without a log has nothing to recover") {
  options.directory = dir.file("empty");
  REQUIRE(storage::make_directory(options.directory));
  put_peers(R"([{"id": "a", "address": "a:1"}])");
  const auto started = run(false);
  REQUIRE(started.error);
  CHECK(*started.error
        == Error{Errc::invalid_argument,
                 "peers.json: this server has no log to recover; let it join instead"});
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: a log with terms that can't be stops the start") {
  LogWrite write;
  std::string why;
  SUBCASE("an entry of an earlier term than the one before") {
    write.append.push_back(
        {.index = 5, .term = 1, .kind = EntryKind::command, .payload = Bytes::copy("four")});
    why = "log entry 5: its term is older than that of the entry before";
  }
  SUBCASE("a stored term that is earlier than the log's") {
    write.hard_state = HardState{.current_term = 1, .voted_for = {}};
    why = "the stored term 1 is older than the log's 2";
  }
  REQUIRE(storage::RaftLog::open(log_path())->write(write));
  const auto started = run(false);
  REQUIRE(started.error);
  CHECK(*started.error == Error{Errc::corrupt, "\"" + log_path() + "\": " + why});
}

TEST_CASE_FIXTURE(RecoveryFixture, "recovery: a file that is wrong stops the start and stays") {
  const char* text = nullptr;
  const char* why = nullptr;
  SUBCASE("cut off") {
    text = R"([{"id": "a", "addr)";
    why = "incomplete JSON";
  }
  SUBCASE("a field that there is not") {
    text = R"([{"id": "a", "adress": "a:1"}])";
    why = "unexpected \"adress\"";
  }
  SUBCASE("without this server") {
    text = R"([{"id": "b", "address": "b:1"}])";
    why = "it does not name this server, \"a\"";
  }
  put_peers(text);

  const auto started = run(false);

  REQUIRE(started.error);
  CHECK(started.error->code == Errc::invalid_argument);
  CHECK(started.error->what.starts_with("peers.json: "));
  CHECK(started.error->what.find(why) != std::string::npos);
  CHECK(has_peers());

  // And nothing has changed: without it the server starts as before.
  std::filesystem::remove(peers_path());
  CHECK(run(false).configuration == members_of({"a", "b", "c"}));
}
