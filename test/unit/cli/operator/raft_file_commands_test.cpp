// operator raft: what is read of the log of a stopped server, or of a copy, and what is missing.
#include <filesystem>
#include <set>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/storage/data_dir_lock.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/raft_log.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;

namespace {

struct RaftRun {
  int code = 1;
  std::string out;
  std::string err;

  /// The last entry that the printed state has in it.
  std::int64_t index() const {
    return boost::json::parse(out).at("SnapshotMeta").at(0).at("Index").to_number<std::int64_t>();
  }
};

RaftRun run_raft(Result<int> (*command)(const std::vector<std::string>&),
                 std::vector<std::string> words) {
  const test::Capture printed;
  const auto code = command(words);
  return {code ? *code : 1, printed.out(), code ? "" : code.error().what};
}

struct LogDirectory {
  test::TempDir root;
  std::string data_dir = root.file("data");
  std::string raft;

  explicit LogDirectory(const std::string& below = "/server/raft") : raft{data_dir + below} {
    std::filesystem::create_directories(raft + "/snapshots");
  }

  /// Entries `first`…`last`, of which the log holds no earlier ones.
  void write_log(raft::Index first, raft::Index last) const {
    auto log = storage::RaftLog::open(raft + "/raft.db");
    REQUIRE(log);
    storage::LogWrite write;
    if (first > 1) write.reset_to = first - 1;
    for (auto index = first; index <= last; ++index)
      write.append.push_back(
          {.index = index, .term = 2, .kind = raft::EntryKind::barrier, .payload = {}});
    REQUIRE(log->write(write));
  }

  void write_snapshot(raft::Index index) const {
    auto writer = storage::SnapshotWriter::create(raft + "/snapshots", {.index = index, .term = 1});
    REQUIRE(writer);
    REQUIRE((*writer)->finish());
  }

  RaftRun state(const std::string& last = "0") const {
    return run_raft(cli::run_operator_raft_state, {"-last-index=" + last, raft});
  }

  /// What lies there, but in the log's own directory.
  std::set<std::string> others() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{root.path()})
      if (entry.is_regular_file() && !entry.path().string().starts_with(raft))
        names.insert(entry.path().filename().string());
    return names;
  }
};

}  // namespace

TEST_CASE("operator raft: a state is a snapshot and the entries behind it") {
  const LogDirectory files;
  files.write_log(8, 12);
  files.write_snapshot(7);
  files.write_snapshot(10);

  CHECK(files.state().index() == 12);
  CHECK(files.state("11").index() == 11);
  CHECK(files.state("10").index() == 10);
  CHECK(files.state("9").index() == 9);  // by the older snapshot
  CHECK(files.state("7").index() == 7);
  CHECK(files.state("-3").index() == 9);
  CHECK(files.state("99").index() == 12);
}

TEST_CASE("operator raft: a state that something is missing of is not made up") {
  const LogDirectory files;
  files.write_log(8, 12);

  const auto without = files.state();
  CHECK(without.err
        == "entries 1..7 are in neither the log nor a snapshot: there is no snapshot of 12 or "
           "before");
  CHECK(without.out.empty());

  files.write_snapshot(5);
  CHECK(files.state().err == "entries 6..7 are in neither the log nor a snapshot");
  CHECK(files.state("6").err == "entries 6..6 are in neither the log nor a snapshot");
  CHECK(files.state("5").index() == 5);
  CHECK(files.state("4").err
        == "entries 1..4 are in neither the log nor a snapshot: there is no snapshot of 4 or "
           "before");
}

TEST_CASE("operator raft: a log that ends before a snapshot has no gap") {
  const LogDirectory files;
  files.write_log(1, 4);
  files.write_snapshot(9);

  CHECK(files.state().index() == 9);
  CHECK(files.state("4").index() == 4);
  CHECK(files.state("6").err
        == "entries 5..6 are in neither the log nor a snapshot: there is no snapshot of 6 or "
           "before");
}

TEST_CASE("operator raft: an agent's log is locked by the agent's lock") {
  const LogDirectory files;
  files.write_log(1, 3);
  {
    const auto agent = storage::DataDirLock::take(files.data_dir);
    REQUIRE(agent);
    for (const auto& path : {files.data_dir, files.data_dir + "/server", files.raft + "/"})
      CHECK(run_raft(cli::run_operator_raft_info, {path})
                .err.starts_with("data_dir \"" + files.data_dir + "\" is in use by another agent"));
  }
  CHECK(run_raft(cli::run_operator_raft_info, {files.data_dir}).code == 0);
  std::filesystem::remove(files.data_dir + "/agent.lock");
}

TEST_CASE("operator raft: beside a copied log nothing is written") {
  for (const auto* below : {"/copied", "/server/raft", "/raft", ""}) {
    CAPTURE(below);
    const LogDirectory files{below};
    files.write_log(1, 3);
    const auto shown = run_raft(cli::run_operator_raft_info, {files.raft});
    CHECK(shown.code == 0);
    CHECK(shown.out.find("last index:  3") != std::string::npos);
    CHECK(files.others().empty());
  }
}
