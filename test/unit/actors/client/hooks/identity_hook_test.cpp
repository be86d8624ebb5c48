// Identities of tasks: a whole client with mock tasks, and servers that sign what they are asked
// to.
#include "actors/client/hooks/identity_hook.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;

namespace {

struct IdentitySpec {
  std::string name = {};
  std::string filepath = {};
  std::string mode = "noop";
  std::string signal = {};
  bool file = true;
  bool env = false;
};

struct IdentityFixture : ClientFixture {
  Object<schema::Job> job;

  void run(const std::vector<IdentitySpec>& specs, bool durable = false) {
    Draft<schema::Job> draft{make_job({})};
    auto task = draft->getTaskGroups()[0].getTasks()[0];
    const auto fill = [](const IdentitySpec& from, schema::Identity::Builder to) {
      to.setName(text(from.name));
      to.setFile(from.file);
      to.setEnv(from.env);
      to.setFilepath(text(from.filepath));
      to.setChangeMode(text(from.mode));
      to.setChangeSignal(text(from.signal));
    };
    std::vector<IdentitySpec> named;
    for (const auto& spec : specs) {
      if (spec.name.empty())
        fill(spec, task.initIdentity());
      else
        named.push_back(spec);
    }
    auto list = task.initIdentities(static_cast<unsigned>(named.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      fill(named[i], list[i]);
    job = draft.freeze();
    start(durable);
    assign(make_alloc(job, 1), job);
    advance(1s);
  }

  std::string path(const std::string& file) const {
    return dir.file("allocs") + '/' + alloc_id(1) + "/web/" + file;
  }

  std::string file(const std::string& name) const {
    std::ifstream in{path(name)};
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

  bool is_running() { return heard.contains(alloc_id(1)) && status(1) == ClientStatus::RUNNING; }

  /// Whether an event of the task says so.
  bool has_said(const std::string& what) {
    for (const auto event : task(1).getEvents())
      if (view(event.getDisplayMessage()).find(what) != std::string_view::npos) return true;
    return false;
  }
};

}  // namespace

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a task has its identities when it starts") {
  run({{}, {.name = "db"}, {.name = "vault", .filepath = "secrets/deep/v.jwt"}});
  CHECK(is_running());
  CHECK(file("secrets/nomad_token") == "web/ #1");
  CHECK(file("secrets/nomad_db.jwt") == "web/db #1");
  CHECK(file("secrets/deep/v.jwt") == "web/vault #1");
  CHECK(identity_questions == std::vector<std::size_t>{3});

  struct stat found {};

  REQUIRE(::stat(path("secrets/nomad_token").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0666);  // nobody knows as whom another driver runs tasks
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs") + '/' + alloc_id(1) + "/.identities/x"));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: one that shows nowhere is not asked for") {
  run({{.file = false}});
  CHECK(is_running());
  CHECK(identity_questions.empty());
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a start waits until somebody signs") {
  signing_failure = Error{Errc::unavailable, "away"};
  run({{}});
  advance(2min);
  CHECK_FALSE(is_running());
  CHECK_FALSE(std::filesystem::exists(path("secrets/nomad_token")));
  CHECK(identity_questions.size() > 3);
  CHECK(identity_questions.size() < 20);
  signing_failure.reset();
  advance(31s);
  CHECK(is_running());
  CHECK(file("secrets/nomad_token").starts_with("web/ #"));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a refusal fails the start, and says why") {
  identity_refusal = "allocation not found";
  run({{.name = "db"}});
  CHECK_FALSE(is_running());
  CHECK(has_said("identity \"db\": allocation not found"));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a file outside the task's secrets is none") {
  run({{.name = "db", .filepath = "../../../stolen"}});
  CHECK_FALSE(is_running());
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs") + "/stolen"));
  CHECK(has_said("the identity's file \"../../../stolen\" is outside the task's secrets"));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: no file is where others may read it") {
  run({{.name = "db", .filepath = "secrets/../local/x"}});
  CHECK_FALSE(is_running());
  CHECK_FALSE(std::filesystem::exists(path("local/x")));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: those that end are renewed, and the task told") {
  identity_life = 1h;
  run({{.name = "db", .mode = "restart"}});
  REQUIRE(is_running());
  advance(29min);
  CHECK(file("secrets/nomad_db.jwt") == "web/db #1");
  signing_failure = Error{Errc::unavailable, "away"};
  advance(9min);
  CHECK(file("secrets/nomad_db.jwt") == "web/db #1");
  signing_failure.reset();
  advance(1min);
  const auto renewed = file("secrets/nomad_db.jwt");
  CHECK(renewed.starts_with("web/db #"));
  CHECK(renewed != "web/db #1");
  CHECK(has_said("Identity[db]: new token acquired"));
  advance(20s);
  CHECK(is_running());
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: a task that was found running waits for nobody") {
  identity_life = 1h;
  run({{.name = "db", .mode = "restart", .file = false, .env = true}}, true);
  REQUIRE(is_running());
  advance(10min);
  crash();
  signing_failure = Error{Errc::unavailable, "away"};
  start(true);
  advance(3s);
  stop_alloc(1, 2);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a refusal ends no task that was found running") {
  run({{.name = "db", .env = true}}, true);
  REQUIRE(is_running());
  crash();
  identity_refusal = "allocation not found";
  start(true);
  advance(30s);
  CHECK(is_running());
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: a task hears in time that its environment's identity ends") {
  identity_life = 1h;
  run({{.name = "db", .mode = "restart", .file = false, .env = true}}, true);
  REQUIRE(is_running());
  advance(25min);
  crash();
  start(true);
  advance(3min);
  CHECK_FALSE(has_said("Identity[db]: new token acquired"));
  crash();
  start(true);
  advance(9min);
  CHECK(has_said("Identity[db]: new token acquired"));
  advance(20s);
  CHECK(is_running());
}
