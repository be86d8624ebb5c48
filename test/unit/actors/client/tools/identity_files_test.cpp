#include "actors/client/tools/identity_files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/fake_servers.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;

namespace {

std::string content(const std::string& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}

struct Task {
  Task() {
    std::filesystem::create_directories(dir.path() + "/task/secrets");
    draft->getTaskGroups()[0].getTasks()[0].setName("task");
  }

  schema::Task::Builder block() { return draft->getTaskGroups()[0].getTasks()[0]; }

  IdentitySubject subject() {
    Draft<schema::Allocation> alloc;
    alloc->setTaskGroup(draft->getTaskGroups()[0].getName().asReader());
    return {alloc.freeze(), Draft<schema::Job>{draft.reader()}.freeze(), dir.path(), "task"};
  }

  /// Of this process's sight.
  workload::TaskEnv env() {
    const auto of = subject();
    const auto directory = dir.path() + "/task";
    const workload::TaskPaths paths{dir.path() + "/alloc", directory + "/local",
                                    directory + "/secrets"};
    return workload::TaskEnv::build({.alloc = *of.alloc,
                                     .job = *of.job,
                                     .task = "task",
                                     .region = "global",
                                     .datacenter = "dc1",
                                     .cgroup_parent = "",
                                     .node = std::make_shared<const workload::Variables>(),
                                     .task_paths = paths,
                                     .client_paths = paths,
                                     .client_task_dir = directory,
                                     .host = {},
                                     .hooks = {},
                                     .templates = {},
                                     .network = {}});
  }

  const test::TempDir dir;
  Draft<schema::Job> draft{*test::simple_job("job", "service", "mock_driver", "{}")};
};

}  // namespace

TEST_CASE("identity_files: the default identity and those with a name show where blocks say") {
  Task task;
  auto first = task.block().initIdentity();
  first.setEnv(true);
  first.setFile(true);
  auto named = task.block().initIdentities(3);
  named[0].setName("db");
  named[0].setFile(true);
  named[0].setChangeMode("restart");
  named[1].setName("vault");
  named[1].setFile(true);
  named[1].setFilepath("secrets/v.jwt");
  named[1].setChangeMode("signal");
  named[1].setChangeSignal("SIGHUP");
  named[2].setName("nowhere");

  const auto shown = shown_identities(task.subject());

  REQUIRE(shown.size() == 3);
  CHECK(shown[0].name.empty());
  CHECK(shown[0].variable == "NOMAD_TOKEN");
  CHECK(shown[0].file == "secrets/nomad_token");
  CHECK(shown[0].change == ShownIdentity::Change::noop);
  CHECK(shown[1].name == "db");
  CHECK(shown[1].variable.empty());
  CHECK(shown[1].file == "secrets/nomad_db.jwt");
  CHECK(shown[1].change == ShownIdentity::Change::restart);
  CHECK(shown[2].file == "secrets/v.jwt");
  CHECK(shown[2].change == ShownIdentity::Change::signal);
  CHECK(shown[2].signal == "SIGHUP");
}

TEST_CASE("identity_files: a variable that the job sets itself stays the job's") {
  Task task;
  task.block().initIdentity().setEnv(true);
  task.block().initEnv(1)[0].setKey("NOMAD_TOKEN");

  CHECK(shown_identities(task.subject()).empty());
}

TEST_CASE("identity_files: tokens are written below the task's secrets, and nowhere else") {
  Task task;
  const auto env = task.env();
  const auto write = [&](const std::string& path) {
    return write_identities(task.subject(), env, {{path, SecretText{"token"}}});
  };

  REQUIRE(write("secrets/deep/db.jwt").has_value());
  CHECK(content(task.dir.path() + "/task/secrets/deep/db.jwt") == "token");
  CHECK(write("local/db.jwt").error()
        == Error{Errc::rejected,
                 "the identity's file \"local/db.jwt\" is outside the task's secrets"});
  CHECK(write("secrets/../../x").has_error());
  CHECK(write("secrets/./api.sock").error()
        == Error{Errc::rejected,
                 "the identity's file \"secrets/./api.sock\" is the socket of the Task API"});

  struct stat status {};

  REQUIRE(::stat((task.dir.path() + "/task/secrets/deep").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 01777);
  CHECK_FALSE(std::filesystem::exists(task.dir.path() + "/x"));
}

TEST_CASE("identity_files: what was noted is read again, and torn lines are passed over") {
  Task task;
  const IdentityNotes notes{{"", {.since = 7, .life = 1h}},
                            {"db", {.since = 9, .life = 2h, .steady = 5ns}}};
  CHECK(read_identity_notes(task.subject()).empty());
  REQUIRE(note_identities(task.subject(), notes).has_value());

  const auto read = read_identity_notes(task.subject());
  REQUIRE(read.size() == 2);
  CHECK(read.at("").since == 7);
  CHECK(read.at("").steady == 0ns);
  CHECK(read.at("db").life == 2h);
  CHECK(read.at("db").steady == 5ns);

  // The first line is as the release before wrote it.
  std::ofstream{task.dir.path() + "/.identities/task"} << "9 7200 db\nx 1 0 vault\n1 2\n";
  const auto before = read_identity_notes(task.subject());
  REQUIRE(before.size() == 1);
  CHECK(before.at("db").steady == 0ns);
}

TEST_CASE("identity_files: an identity is as old as the clock says by which it is older") {
  const IdentityNote note{.since = 1'000, .life = 1h, .steady = 100ns};
  CHECK(age_of(note, 1'500, 600ns) == 500ns);
  CHECK(age_of(note, 1'200, 600ns) == 500ns);  // The wall clock was set back a little.
  CHECK(age_of(note, 800, 600ns) == -200ns);   // It is of the future.
  CHECK(age_of({.since = 1'000, .life = 1h}, 800, 600ns) == -200ns);
  CHECK(age_of(note, 9'000, 600ns) == 8'000ns);  // It slept, or the clock was set forward.
  CHECK(age_of(note, 1'500, 30ns) == 500ns);     // The machine began anew.
  CHECK(age_of({.since = 1'000, .life = 1h}, 1'500, 600ns) == 500ns);
}
