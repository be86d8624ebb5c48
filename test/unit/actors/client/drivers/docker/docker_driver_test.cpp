// The driver docker over an engine of the test's own. All of actors/client/drivers/docker is tested
// here and in docker_left_test: its sources are one actor.
#include "test/unit/actors/client/drivers/docker/docker_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("docker: a task starts, ends and is forgotten") {
  DockerFixture fixture;
  CHECK(DockerFixture::is(fixture.start("run-1"), Which::STARTED));
  CHECK(fixture.container().label(docker::label::run) == "run-1");
  CHECK(fixture.container().is_running());
  fixture.end(3);
  CHECK(fixture.ends() == std::vector<std::string>{"run-1: 3"});
  CHECK(DockerFixture::is(fixture.destroy(), Which::DONE));
  CHECK(fixture.engine.containers.empty());
  CHECK(fixture.calls.waiting() == 0);
}

TEST_CASE("docker: a start that is repeated is one start") {
  DockerFixture fixture;
  fixture.hold("POST", "/start");
  const auto first = fixture.start("run-1");
  const auto second = fixture.start("run-1");
  fixture.release();
  CHECK(DockerFixture::is(second, Which::STARTED));
  CHECK(DockerFixture::is(fixture.start("run-1"), Which::STARTED));
  CHECK(fixture.engine.asked.at("POST /containers/{}/start") == 1);
  CHECK(DockerFixture::refusal(fixture.start("run-2")) == "task is already running (recoverable)");
}

TEST_CASE("docker: of a start that is stopped while the engine is slow nothing is left") {
  DockerFixture fixture;
  fixture.hold("POST", "/create");
  const auto started = fixture.start("run-1");
  CHECK(DockerFixture::is(fixture.stop(), Which::DONE));
  CHECK_FALSE(started->has_value());
  fixture.release();
  CHECK(DockerFixture::refusal(started) == "the task was stopped while it was started");
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE("docker: what an engine has made before its answer was lost is found and removed") {
  DockerFixture fixture;
  fixture.fate_of("/create", Fate::lost);
  fixture.hold("DELETE", "");
  const auto started = fixture.start("run-1");
  CHECK(fixture.engine.containers.size() == 1);
  fixture.release();
  CHECK(DockerFixture::refusal(started)
        == "failed to create container: the Docker daemon hung up (recoverable)");
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE(
    "docker: an engine that dies while a task is started is asked again until nothing is left") {
  DockerFixture fixture;
  fixture.hold("POST", "/start");
  const auto started = fixture.start("run-1");
  fixture.calls.die();
  fixture.settle();
  CHECK(DockerFixture::refusal(started).ends_with("(recoverable)"));
  CHECK(fixture.engine.containers.size() == 1);
  fixture.calls.is_away = false;
  fixture.advance(1s);
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE("docker: an engine that answers twice starts one container, which ends once") {
  DockerFixture fixture;
  fixture.fate_of("", Fate::twice);
  CHECK(DockerFixture::is(fixture.start("run-1"), Which::STARTED));
  CHECK(fixture.engine.asked.at("POST /containers/create") == 1);
  CHECK(fixture.engine.asked.at("POST /containers/{}/start") == 1);
  fixture.end(0);
  CHECK(fixture.ends().size() == 1);
}

TEST_CASE("docker: a container that the engine has forgotten has ended") {
  DockerFixture fixture;
  fixture.start("run-1");
  fixture.engine.forget("web-alloc");
  fixture.calls.look_again();
  fixture.settle();
  CHECK(fixture.ends() == std::vector<std::string>{"run-1: 1"});
}

TEST_CASE("docker: an agent that comes later goes on with what runs") {
  DockerFixture fixture;
  fixture.start("run-1");
  fixture.end_agent();
  CHECK(fixture.calls.waiting() == 0);
  fixture.start_agent();
  CHECK(DockerFixture::is(fixture.recover("run-1"), Which::RECOVERED));
  CHECK(fixture.engine.asked.at("POST /containers/create") == 1);
  fixture.end(7);
  CHECK(fixture.ends() == std::vector<std::string>{"run-1: 7"});
  CHECK(DockerFixture::refusal(fixture.recover("run-2")) == "another run of the task is there");
}

TEST_CASE("docker: an engine that is away when an agent begins may come back with the container") {
  DockerFixture fixture;
  fixture.start("run-1");
  fixture.end_agent();
  fixture.calls.is_away = true;
  fixture.start_agent();
  const auto found = fixture.recover("run-1");
  fixture.advance(5s);
  CHECK_FALSE(found->has_value());
  fixture.calls.is_away = false;
  fixture.advance(1s);
  CHECK(DockerFixture::is(found, Which::RECOVERED));
}

TEST_CASE("docker: a task that does not end when it is asked to is killed after its grace") {
  DockerFixture fixture;
  fixture.engine.obeys = [](const FakeContainer&) { return false; };
  fixture.start("run-1");
  CHECK(DockerFixture::is(fixture.stop("SIGINT"), Which::DONE));
  fixture.advance(4s);
  CHECK(fixture.ends().empty());
  CHECK(fixture.container().signals == 1);
  fixture.advance(1s);
  CHECK(fixture.ends().size() == 1);
}

TEST_CASE("docker: an image is pulled once for all who wait, and goes a while after the last") {
  DockerFixture fixture;
  fixture.hold("POST", "/images/create");
  const auto web = fixture.start("run-1", "redis:7");
  const auto other = fixture.start("run-2", "redis:7", "db");
  CHECK(fixture.events("Downloading image") == 2);
  fixture.release();
  CHECK(DockerFixture::is(web, Which::STARTED));
  CHECK(DockerFixture::is(other, Which::STARTED));
  CHECK(fixture.engine.asked.at("pull redis:7") == 1);
  fixture.destroy();
  fixture.advance(4min);
  CHECK(fixture.engine.images.contains("redis:7"));
  fixture.destroy("db");
  fixture.advance(2min);
  CHECK(fixture.engine.images.contains("redis:7"));
  fixture.advance(2min);
  CHECK_FALSE(fixture.engine.images.contains("redis:7"));
}

TEST_CASE("docker: a pull that fails may pass, unless the registry has no such image") {
  DockerFixture fixture;
  fixture.engine.registry = {"redis:7"};
  CHECK(DockerFixture::refusal(fixture.start("run-1", "redis:8"))
        == "Failed to pull `redis:8`: Error: image redis:8 not found");
  fixture.fate_of("/images/create", Fate::refused);
  CHECK(DockerFixture::refusal(fixture.start("run-2", "redis:7"))
        == "Failed to pull `redis:7`: API error (500): no luck (recoverable)");
}

TEST_CASE("docker: a pull that nobody waits for any more is broken off") {
  DockerFixture fixture;
  fixture.hold("POST", "/images/create");
  const auto started = fixture.start("run-1", "redis:7");
  const auto waiting = fixture.calls.waiting();
  fixture.stop();
  CHECK(fixture.calls.waiting() == waiting - 1);
  CHECK(DockerFixture::refusal(started) == "the task was stopped while it was started");
}

TEST_CASE("docker: tasks of a group share the container of its network, which goes with the last") {
  DockerFixture fixture;
  fixture.network = "/proc/self/ns/net";
  const auto web = fixture.start("run-1");
  const auto other = fixture.start("run-2", "busybox:1", "db");
  CHECK(DockerFixture::is(web, Which::STARTED));
  CHECK(DockerFixture::is(other, Which::STARTED));
  CHECK(fixture.engine.containers.size() == 3);
  CHECK(fixture.engine.find("web-alloc")->network_mode
        == "container:" + fixture.engine.find("nomad_init_alloc")->id);
  fixture.destroy();
  CHECK(fixture.engine.find("nomad_init_alloc") != nullptr);
  fixture.destroy("db");
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE("docker: where all tasks of a group leave at once, its network's container goes too") {
  DockerFixture fixture;
  fixture.network = "/proc/self/ns/net";
  fixture.start("run-1");
  fixture.start("run-2", "busybox:1", "db");
  fixture.hold("DELETE", "");
  fixture.destroy();
  fixture.destroy("db");
  CHECK(fixture.engine.containers.size() == 3);
  fixture.release();
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE("docker: a network's container that is made while its task leaves goes when it is made") {
  DockerFixture fixture;
  fixture.network = "/proc/self/ns/net";
  fixture.hold("POST", "/create?name=nomad_init");
  const auto started = fixture.start("run-1");
  fixture.destroy();
  fixture.release();
  CHECK(DockerFixture::refusal(started) != "none");
  CHECK(fixture.engine.containers.empty());
}

TEST_CASE("docker: who joins while a network's container is removed gets another one") {
  DockerFixture fixture;
  fixture.network = "/proc/self/ns/net";
  fixture.start("run-1");
  const auto first = fixture.engine.find("nomad_init_alloc")->id;
  fixture.hold("DELETE", first);
  fixture.destroy();
  const auto started = fixture.start("run-2");
  CHECK_FALSE(started->has_value());
  fixture.release();
  CHECK(DockerFixture::is(started, Which::STARTED));
  REQUIRE(fixture.engine.find("nomad_init_alloc") != nullptr);
  CHECK(fixture.engine.find("nomad_init_alloc")->id != first);
  CHECK(fixture.engine.find("web-alloc")->network_mode
        == "container:" + fixture.engine.find("nomad_init_alloc")->id);
}

TEST_CASE("docker: who looks for what an earlier run has left spares the next run") {
  DockerFixture fixture;
  fixture.calls.is_away = true;
  const auto destroyed = fixture.destroy();
  fixture.settle();
  fixture.calls.is_away = false;
  CHECK(DockerFixture::is(fixture.start("run-1"), Which::STARTED));
  fixture.advance(30s);
  CHECK(DockerFixture::is(destroyed, Which::DONE));
  REQUIRE(fixture.engine.containers.size() == 1);
  CHECK(fixture.container().is_running());
  CHECK(fixture.ends().empty());
}

TEST_CASE("docker: what an agent finds of nobody's goes, and what is another agent's stays") {
  DockerFixture fixture;
  fixture.start("run-1");
  fixture.start("run-2", "busybox:1", "db");
  auto foreign = fixture.container();
  foreign.id = foreign.name = "foreign";
  foreign.labels[docker::label::agent] = "/others";
  fixture.engine.containers.push_back(foreign);
  // Labels of an image come to whoever runs it; so may labels of a job.
  auto labelled = fixture.container();
  labelled.id = labelled.name = "labelled";
  fixture.engine.containers.push_back(labelled);
  fixture.engine.find("web-alloc")->labels["nomadctl.infra"] = "true";
  fixture.end_agent();
  fixture.start_agent();
  CHECK(fixture.is_healthy());
  const auto ended
      = fixture.ask<Answered>(fixture.driver, client::driver::end_others({{"alloc", "db"}}));
  CHECK(DockerFixture::is(ended, Which::DONE));
  CHECK(fixture.engine.find("web-alloc") == nullptr);
  CHECK(fixture.engine.find("db-alloc") != nullptr);
  CHECK(fixture.engine.find("foreign") != nullptr);
  CHECK(fixture.engine.find("labelled") != nullptr);
}

TEST_CASE("docker: a label does not say where logs go") {
  DockerFixture fixture;  // whose tasks keep none
  std::filesystem::create_directories(fixture.dir.file("elsewhere/alloc/logs"));
  fixture.start("run-1");
  fixture.engine.containers.front().labels["nomadctl.logs"]
      = "2 1000000 " + fixture.dir.file("elsewhere");
  fixture.engine.log = log_frame("a line\n");
  fixture.end_agent();
  fixture.start_agent();
  CHECK(DockerFixture::is(fixture.recover("run-1"), Which::RECOVERED));
  fixture.end(0);
  CHECK(fixture.ends().size() == 1);
  CHECK(std::filesystem::is_empty(fixture.dir.file("elsewhere/alloc/logs")));
}

TEST_CASE("docker: a later agent goes on with the logs where its own record says") {
  DockerFixture fixture;
  fixture.keeps_logs = true;
  std::filesystem::create_directories(fixture.dir.file("alloc/logs"));
  fixture.start("run-1");
  fixture.end_agent();
  fixture.engine.log = log_frame("a line\n");
  fixture.start_agent();
  CHECK(DockerFixture::is(fixture.recover("run-1"), Which::RECOVERED));
  fixture.end(0);
  std::ifstream file{fixture.dir.file("alloc/logs/web.stdout.0")};
  std::string line;
  CHECK((std::getline(file, line) && line == "a line"));
}

TEST_CASE("docker: the engine's going and coming is told at once") {
  DockerFixture fixture;
  CHECK(fixture.is_healthy());
  fixture.calls.die();
  fixture.settle();
  CHECK_FALSE(fixture.told.back().notice->getFingerprint().getHealthy());
  fixture.calls.is_away = false;
  fixture.advance(1s);
  CHECK(fixture.told.back().notice->getFingerprint().getHealthy());
}

TEST_CASE("docker: what a container says is in the task's files before its end is told") {
  DockerFixture fixture;
  fixture.keeps_logs = true;
  std::filesystem::create_directories(fixture.dir.file("alloc/logs"));
  fixture.engine.log = log_frame("hello\n");
  fixture.start("run-1");
  fixture.hold("GET", "/logs");
  fixture.end(0);
  CHECK(fixture.ends().empty());
  fixture.release();
  CHECK(fixture.ends().size() == 1);
  std::ifstream file{fixture.dir.file("alloc/logs/web.stdout.0")};
  CHECK(std::string{std::istreambuf_iterator<char>{file}, {}} == "hello\n");
  const auto position = fixture.dir.file("docker/" + fixture.container().id);
  CHECK(std::filesystem::exists(position));
  fixture.destroy();
  CHECK_FALSE(std::filesystem::exists(position));
}

TEST_CASE("docker: logs that do not come hold the end up for ten seconds") {
  DockerFixture fixture;
  fixture.keeps_logs = true;
  std::filesystem::create_directories(fixture.dir.file("alloc/logs"));
  fixture.start("run-1");
  fixture.hold("GET", "/logs");
  fixture.end(0);
  fixture.advance(9s);
  CHECK(fixture.ends().empty());
  fixture.advance(1s);
  CHECK(fixture.ends().size() == 1);
}

TEST_CASE("docker: usage is read with the counters of the last reading") {
  DockerFixture fixture;
  fixture.start("run-1");
  const auto used
      = fixture.ask<Answered>(fixture.driver, client::driver::task_stats({"alloc", "web"}, 1s));
  CHECK(DockerFixture::is(used, Which::USAGE));
  fixture.advance(2s);
  CHECK(std::ranges::count_if(fixture.told,
                              [](const Notice& notice) { return notice.notice->isUsage(); })
        >= 1);
  fixture.end(0);
  const auto read = fixture.engine.asked.at("GET /containers/{}/stats");
  fixture.advance(5s);
  CHECK(fixture.engine.asked.at("GET /containers/{}/stats") == read);
}
