// Identities of tasks: a whole client with mock tasks, and servers that sign what they are asked
// to.
#include "actors/client/hooks/identity_hook.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "test/support/access_policy.hpp"
#include "test/support/node_questions.hpp"
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
  std::string service = {};  ///< Of the task; with '/' in front of the group.
};

struct IdentityFixture : ClientFixture {
  Object<schema::Job> job;
  std::string config = {};  ///< Of the driver; none: as other jobs.

  void run(const std::vector<IdentitySpec>& specs, bool durable = false) {
    job = job_with(specs);
    start(durable);
    assign(make_alloc(job, 1), job);
    advance(1s);
  }

  static void fill(const IdentitySpec& from, schema::Identity::Builder to) {
    to.setName(text(from.name));
    to.setFile(from.file);
    to.setEnv(from.env);
    to.setFilepath(text(from.filepath));
    to.setChangeMode(text(from.mode));
    to.setChangeSignal(text(from.signal));
  }

  /// Each with one service at most for task and group.
  Object<schema::Job> job_with(const std::vector<IdentitySpec>& specs) {
    Draft<schema::Job> draft{make_job({})};
    auto group = draft->getTaskGroups()[0];
    auto task = group.getTasks()[0];
    if (!config.empty()) task.setConfig(text(config));
    std::vector<IdentitySpec> named;
    for (const auto& spec : specs) {
      const bool is_groups = spec.service.starts_with('/');
      if (!spec.service.empty()) {
        auto service = is_groups ? group.initServices(1)[0] : task.initServices(1)[0];
        service.setName(text(spec.service.substr(is_groups ? 1 : 0)));
        service.setProvider("consul");  // Nobody registers it.
        fill(spec, service.initIdentity());
        service.getIdentity().initAudience(1).set(0, "consul.io");
      } else if (spec.name.empty())
        fill(spec, task.initIdentity());
      else
        named.push_back(spec);
    }
    auto list = task.initIdentities(static_cast<unsigned>(named.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      fill(named[i], list[i]);
    return draft.freeze();
  }

  /// "service name audience life" of each that the node tells of, in ns.
  std::vector<std::string> told() {
    const auto answer = ask<door::NodeReply>(client, test::read_identities(alloc_id(1)));
    REQUIRE((answer->has_value() && (*answer)->has_value()));
    std::vector<std::string> all;
    for (const auto one : (***answer)->getIdentities()) {
      const std::string name = copy(one.getName());
      all.push_back(
          fmt::format("{}/{}/{} {} {}", view(one.getTask()), view(one.getService()),
                      name == "default" ? "" : name,
                      one.getAudience().size() == 0 ? "" : view(one.getAudience()[0]),
                      one.getExpiresAt() == 0 ? 0 : one.getExpiresAt() - one.getIssuedAt()));
    }
    return all;
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

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a task that takes no signal is ended") {
  identity_life = 1h;
  config = R"({"run_for":"10h","signal_error":"deaf"})";
  run({{.name = "db", .mode = "signal", .signal = "SIGHUP"}});
  REQUIRE(is_running());
  advance(40min);
  CHECK(has_said("Identity: failed to send signal SIGHUP: deaf"));
  CHECK(status(1) == ClientStatus::FAILED);
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

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: those that end are renewed when the wall clock was set") {
  identity_life = 1h;
  run({{.name = "db"}, {.name = "vault"}}, true);
  REQUIRE(is_running());
  const auto asked = identity_questions.size();
  advance(3min);
  CHECK(identity_questions.size() == asked);

  wall_moved = -24h;
  advance(61s);
  CHECK(identity_questions.size() == asked + 1);
  CHECK(identity_questions.back() == 2);
  advance(10min);
  CHECK(identity_questions.size() == asked + 1);
  wall_moved += 30s;  // As verifiers allow.
  advance(10min);
  CHECK(identity_questions.size() == asked + 1);

  crash();
  wall_moved -= 24h;  // While no agent is there.
  start(true);
  advance(5s);
  CHECK(identity_questions.size() == asked + 2);
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: a file that can't be written holds up no other, and is told") {
  identity_life = 1min;
  run({{.name = "db"}, {.name = "vault"}});
  REQUIRE(is_running());
  const auto first = file("secrets/nomad_vault.jwt");
  std::filesystem::remove(path("secrets/nomad_db.jwt"));
  std::filesystem::create_directories(path("secrets/nomad_db.jwt/x"));

  advance(50s);
  CHECK(file("secrets/nomad_vault.jwt") != first);
  const auto second = file("secrets/nomad_vault.jwt");
  advance(1min);
  CHECK(file("secrets/nomad_vault.jwt") != second);
  CHECK(
      has_said("identity: the file \"secrets/nomad_db.jwt\" can't be written, and is tried again"));
  CHECK(is_running());

  std::filesystem::remove_all(path("secrets/nomad_db.jwt"));
  advance(1min);
  CHECK_FALSE(file("secrets/nomad_db.jwt").empty());
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: services have theirs before anything starts") {
  run({{.name = "consul", .file = false, .service = "front"},
       {.name = "mesh", .file = true, .service = "/edge"}});
  CHECK(is_running());
  CHECK(identity_questions == std::vector<std::size_t>{1, 1});
  CHECK(told()
        == std::vector<std::string>{"/edge/mesh consul.io 0", "web/front/consul consul.io 0"});
  // Nothing of them is written.
  CHECK_FALSE(std::filesystem::exists(path("secrets/nomad_service_front.jwt")));
  CHECK_FALSE(std::filesystem::exists(path("secrets/nomad_service_edge.jwt")));
  CHECK_FALSE(std::filesystem::exists(path("secrets/nomad_consul.jwt")));

  stop_alloc(1, 2);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: a service's file is written if it is said") {
  run({{.name = "consul", .service = "front"}});
  CHECK(is_running());
  CHECK(file("secrets/nomad_service_front.jwt") == "front/consul #1");
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: an allocation waits for its services' identities") {
  signing_failure = Error{Errc::unavailable, "away"};
  run({{.name = "mesh", .file = false, .service = "/edge"}});
  advance(1min);
  CHECK_FALSE(is_running());
  signing_failure.reset();
  advance(31s);
  CHECK(is_running());
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: a service's that is refused fails the allocation") {
  identity_refusal = "service not found";
  run({{.name = "mesh", .file = false, .service = "/edge"}});
  advance(5s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(has_said("identity \"service:edge/mesh\": service not found"));
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_hook: services' identities are renewed, also after a crash") {
  identity_life = 1h;
  run({{.name = "consul", .file = false, .service = "front"},
       {.name = "mesh", .file = false, .service = "/edge"}},
      true);
  REQUIRE(is_running());
  CHECK(told()
        == std::vector<std::string>{"/edge/mesh consul.io 3600000000000",
                                    "web/front/consul consul.io 3600000000000"});
  const auto asked = identity_questions.size();
  advance(29min);
  CHECK(identity_questions.size() == asked);
  advance(10min);
  CHECK(identity_questions.size() == asked + 2);

  crash();
  signing_failure = Error{Errc::unavailable, "away"};
  start(true);
  advance(5s);
  CHECK(is_running());
  CHECK(told().empty());
  signing_failure.reset();
  advance(31s);
  CHECK(told().size() == 2);
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_hook: an update gives a service another identity") {
  run({{.name = "consul", .file = false, .service = "front"},
       {.name = "mesh", .file = false, .service = "/edge"}});
  REQUIRE(is_running());
  job = job_with({{.name = "other", .file = false, .service = "front"},
                  {.name = "another", .file = false, .service = "/edge"}});
  assign(make_alloc(job, 1, 2), job);
  advance(2s);
  CHECK(told()
        == std::vector<std::string>{"/edge/another consul.io 0", "web/front/other consul.io 0"});
  CHECK(is_running());
}
