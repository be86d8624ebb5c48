// The checks of a node's allocations, by a prober that answers when the test says.
#include "actors/client/tools/check_runner.hpp"

#include <map>

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;
using workload::CheckStatus;
using workload::ServiceCheck;

namespace {

/// Probes under way, and what was cancelled; outlives the prober that an actor owns.
struct Probes {
  std::map<probe::Prober::Id, std::pair<probe::Probe, probe::Prober::Done>> running;
  std::size_t begun = 0;
  std::size_t most = 0;
  std::size_t probers = 0;

  /// Ends all that run.
  void end(bool passed, const std::string& output = "said") {
    for (auto& [id, probe] : std::exchange(running, {}))
      probe.second({.passed = passed, .status_code = passed ? 200 : 503, .output = output});
  }
};

class FakeProber final : public probe::Prober {
public:
  explicit FakeProber(Probes& probes) : probes_{probes} { ++probes_.probers; }

  ~FakeProber() override { probes_.running.clear(); }

  void start(Id id, probe::Probe probe, Done done) override {
    CHECK_FALSE(probes_.running.contains(id));
    probes_.running[id] = {std::move(probe), std::move(done)};
    ++probes_.begun;
    probes_.most = std::max(probes_.most, probes_.running.size());
  }

  void cancel(Id id) override { probes_.running.erase(id); }

private:
  Probes& probes_;
};

/// What a listener has heard.
struct Heard {
  std::vector<check::Changed> changes;
  std::vector<check::RestartWanted> restarts;
  std::vector<check::RunScript> scripts;
  Result<check::ScriptEnded> script = check::ScriptEnded{};
};

struct CheckFixture : test::ActorFixture {
  Probes probes;
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  CheckListener listener = make_listener();
  CheckRunner runner;

  CheckFixture() { make_runner({}); }

  /// Its prober is at home with the probes, which go before the actors.
  ~CheckFixture() { end_runner(); }

  void end_runner() {
    if (runner) actor::kill(runner);
    settle();
  }

  void make_runner(workload::ScheduleLimits limits) {
    end_runner();
    runner = adopt(spawn_check_runner(
        system(), {.limits = limits,
                   .seed = 7,
                   .unix_now = [this] { return now().time_since_epoch().count(); },
                   .make_prober = [this] { return std::make_unique<FakeProber>(probes); }}));
  }

  CheckListener make_listener() {
    return adopt(actor::spawn(
        system(), [heard = heard](CheckListener::pointer) -> CheckListener::behavior_type {
          return {[heard](const check::Changed& msg) { heard->changes.push_back(msg); },
                  [heard](const check::RestartWanted& msg) { heard->restarts.push_back(msg); },
                  [heard](const check::RunScript& msg) -> actor::Answer<check::ScriptEnded> {
                    heard->scripts.push_back(msg);
                    if (!heard->script) return heard->script.error();
                    return *heard->script;
                  }};
        }));
  }

  static ServiceCheck make_check(const std::string& id) {
    ServiceCheck check;
    check.id = id;
    check.kind = workload::CheckKind::http;
    check.name = "alive";
    check.service = "web";
    check.group = "job.group[0]";
    check.interval = 10s;
    check.timeout = 2s;
    check.host = "10.0.0.1";
    check.port = 80;
    check.path = "/health";
    check.protocol = "http";
    return check;
  }

  std::vector<workload::RunCheck> watch(std::vector<ServiceCheck> checks,
                                        const std::string& alloc = "a") {
    const auto answer
        = ask<check::Watching>(runner, check::Watch{alloc, std::move(checks), listener});
    return (*answer)->value().checks;
  }

  std::vector<client_api::CheckReport> reports(const std::string& alloc = "a") {
    return (*ask<client_api::CheckReports>(runner, check::ReportsOf{alloc}))->value().checks;
  }

  /// Time goes by; each probe ends within the second in which it began.
  void let_run(std::chrono::seconds time, bool passed) {
    for (auto left = time; left > 0s; left -= 1s) {
      advance(1s);
      probes.end(passed);
      settle();
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(CheckFixture, "check_runner: pending at first, then as the probes say") {
  const auto first = watch({make_check("c1")});
  REQUIRE(first.size() == 1);
  CHECK(first[0].id == "c1");
  CHECK(first[0].result.status == CheckStatus::pending);
  CHECK(probes.probers == 0);  // nothing has run yet

  let_run(10s, true);
  REQUIRE(heard->changes.size() == 1);
  CHECK(heard->changes[0].alloc_id == "a");
  CHECK(heard->changes[0].check.id == "c1");
  CHECK(heard->changes[0].check.result.status == CheckStatus::success);
  let_run(1min, true);  // which is no news
  CHECK(heard->changes.size() == 1);
  CHECK(probes.begun == 7);
  let_run(10s, false);
  REQUIRE(heard->changes.size() == 2);
  CHECK(heard->changes[1].check.result.status == CheckStatus::failure);

  const auto shown = reports();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].id == "c1");
  CHECK(shown[0].check == "alive");
  CHECK(shown[0].group == "job.group[0]");
  CHECK(shown[0].service == "web");
  CHECK(shown[0].mode == "healthiness");
  CHECK(shown[0].status == "failure");
  CHECK(shown[0].status_code == 503);
  CHECK(shown[0].output == "said");
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: who is slow hears the newest of each check") {
  watch({make_check("c1"), make_check("c2")});
  let_run(10s, true);
  heard->changes.clear();
  hold("actor");  // The listener.
  for (int i = 0; i < 20; ++i) {
    let_run(10s, false);
    let_run(10s, true);
  }
  CHECK(fullest("actor") == 2);

  hold("");
  settle();
  REQUIRE(heard->changes.size() == 4);
  CHECK(heard->changes.back().check.result.status == workload::CheckStatus::success);
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: what a probe is asked") {
  auto check = make_check("c1");
  check.protocol = "https";
  check.method = "PUT";
  check.body = "b";
  check.headers = {{"X", "y"}};
  check.tls_server_name = "web.example";
  check.timeout = 2500us;
  watch({check});
  advance(10s);
  REQUIRE(probes.running.size() == 1);
  const auto& probe = probes.running.begin()->second.first;
  CHECK(probe.kind == probe::Kind::http);
  CHECK(probe.host == "10.0.0.1");
  CHECK(probe.port == 80);
  CHECK(probe.timeout == 3ms);
  CHECK(probe.tls);
  CHECK(probe.tls_server_name == "web.example");
  CHECK(probe.method == "PUT");
  CHECK(probe.path == "/health");
  CHECK(probe.body == "b");
  CHECK(probe.headers.size() == 1);
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: a probe that hangs is not begun again") {
  watch({make_check("c1")});
  advance(1min);
  CHECK(probes.begun == 1);
  probes.end(false);
  settle();
  CHECK(heard->changes.size() == 1);
  advance(10s);
  CHECK(probes.begun == 2);
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: an in-place update keeps what has not changed") {
  watch({make_check("c1"), make_check("c2")});
  let_run(10s, true);
  auto other = make_check("c2");
  other.id = "c3";
  const auto now_watched = watch({other, make_check("c1")});
  REQUIRE(now_watched.size() == 2);
  CHECK(now_watched[0].result.status == CheckStatus::pending);
  CHECK(now_watched[1].result.status == CheckStatus::success);
  auto moved = make_check("c1");
  moved.port = 81;  // the same check, elsewhere
  CHECK(watch({moved})[0].result.status == CheckStatus::pending);
  let_run(10s, true);
  CHECK(reports().size() == 1);
  CHECK(watch({}).empty());
  CHECK(reports().empty());
}

TEST_CASE_FIXTURE(CheckFixture,
                  "check_runner: what is forgotten does not run, and is not told of") {
  watch({make_check("c1")});
  watch({make_check("c2")}, "b");
  advance(10s);
  CHECK(probes.running.size() == 2);
  const auto late = probes.running.begin()->second.second;
  tell(runner, check::Forget{"a"});
  tell(runner, check::Forget{"a"});
  CHECK(probes.running.size() == 1);
  late({.passed = true, .output = ""});  // it had ended already
  settle();
  CHECK(heard->changes.empty());
  CHECK(reports().empty());
  CHECK(reports("nobody").empty());
  let_run(20s, true);
  CHECK(reports("b")[0].status == "success");
}

TEST_CASE_FIXTURE(CheckFixture,
                  "check_runner: failing checks restart their tasks, again and again") {
  auto failing = make_check("c1");
  failing.restart = {.limit = 2, .grace = 5s};
  failing.restarts_task = "web";
  auto patient = failing;
  patient.id = "c2";
  patient.restart.limit = 100;
  watch({failing, patient});
  for (std::size_t round = 1; round <= 3; ++round) {
    let_run(2min, false);
    CHECK(heard->restarts.size() == round - 1);  // not before it has started
    tell(runner, check::Started{"a", "other"});
    let_run(2min, false);
    CHECK(heard->restarts.size() == round - 1);
    tell(runner, check::Started{"a", "web"});
    let_run(40s, false);
    CHECK(heard->restarts.size() == round);
  }
  CHECK(heard->restarts[0].alloc_id == "a");
  CHECK(heard->restarts[0].task == "web");
  CHECK(heard->restarts[0].reason == "healthcheck: check \"alive\" unhealthy");
  tell(runner, check::Started{"a", "web"});
  let_run(2min, true);
  CHECK(heard->restarts.size() == 3);
  // As the hook does when tasks are restarted.
  tell(runner, check::Forget{"a"});
  watch({failing});
  CHECK(reports()[0].status == "pending");
  let_run(40s, false);
  CHECK(heard->restarts.size() == 3);
  tell(runner, check::Started{"a", "web"});
  let_run(40s, false);
  CHECK(heard->restarts.size() == 4);
}

TEST_CASE_FIXTURE(CheckFixture,
                  "check_runner: a check that comes with an update knows of the last start") {
  auto first = make_check("c1");
  watch({first});
  tell(runner, check::Started{"a", ""});
  let_run(20s, true);
  auto second = make_check("c2");
  second.restart = {.limit = 1, .grace = 1s};
  watch({first, second});
  let_run(40s, false);
  CHECK(heard->restarts.size() == 1);  // of all tasks: the group's start counts
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: scripts are run by whoever has the checks") {
  auto script = make_check("c1");
  script.kind = workload::CheckKind::script;
  script.script_task = "web";
  script.command = "/bin/check";
  script.args = {"-v"};
  watch({script});
  heard->script = check::ScriptEnded{1, "a warning"};
  advance(10s);
  REQUIRE(heard->scripts.size() == 1);
  CHECK(heard->scripts[0].task == "web");
  CHECK(heard->scripts[0].command == "/bin/check");
  CHECK(heard->scripts[0].args == std::vector<std::string>{"-v"});
  CHECK(heard->scripts[0].timeout == 2s);
  CHECK(probes.begun == 0);
  CHECK(reports()[0].status == "failure");
  CHECK(reports()[0].status_code == 1);
  CHECK(heard->changes.back().check.result.is_warning);
  heard->script = check::ScriptEnded{0, "fine"};
  advance(10s);
  CHECK(reports()[0].status == "success");
  heard->script = Error{Errc::not_found, "the task does not run"};
  advance(10s);
  CHECK(reports()[0].output == "nomad: the task does not run");
  actor::kill(listener);
  advance(30s);
  CHECK(reports()[0].status == "failure");
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: a check that cannot be asked fails and says why") {
  auto check = make_check("c1");
  check.impossible = "invalid port \"x\"";
  watch({check});
  advance(30s);
  CHECK(probes.begun == 0);
  REQUIRE(heard->changes.size() == 1);
  CHECK(reports()[0].output == "nomad: invalid port \"x\"");
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: a thousand checks, of which some hang") {
  make_runner({.in_all = 100, .per_group = 10});
  for (int alloc = 0; alloc < 20; ++alloc) {
    std::vector<ServiceCheck> checks;
    for (int number = 0; number < 50; ++number)
      checks.push_back(make_check(std::to_string(number)));
    watch(std::move(checks), std::to_string(alloc));
  }
  advance(10s);
  CHECK(probes.most == 100);
  for (int i = 0; i < 40 && !probes.running.empty(); ++i) {
    probes.end(true);
    settle();
  }
  CHECK(probes.begun >= 1000);
  for (int alloc = 0; alloc < 20; ++alloc)
    for (const auto& report : reports(std::to_string(alloc)))
      CHECK(report.status == "success");
}

TEST_CASE_FIXTURE(CheckFixture, "check_runner: a start that is told again begins no new grace") {
  auto failing = make_check("c1");
  failing.restart = {.limit = 1, .grace = 30s};
  failing.restarts_task = "web";
  watch({failing});
  for (int second = 0; second < 40; second += 10) {  // as after missed heartbeats
    tell(runner, check::Started{"a", "web", 7});
    let_run(10s, false);
  }
  CHECK(heard->restarts.size() == 1);
  tell(runner, check::Started{"a", "web", 7});
  let_run(60s, false);
  CHECK(heard->restarts.size() == 1);
  tell(runner, check::Started{"a", "web", 8});
  let_run(60s, false);
  CHECK(heard->restarts.size() == 2);
}
