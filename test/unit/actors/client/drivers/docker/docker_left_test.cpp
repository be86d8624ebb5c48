// The driver docker: what later agents find on the disk, and what is left there.
#include "test/unit/actors/client/drivers/docker/docker_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("docker: a later agent goes on with the logs of a release that recorded no place") {
  DockerFixture fixture;
  fixture.keeps_logs = true;
  const auto logs = fixture.dir.file("allocs/alloc/alloc/logs");  // of the allocation "alloc"
  std::filesystem::create_directories(logs);
  std::filesystem::create_directories(fixture.dir.file("alloc/logs"));
  fixture.start("run-1");
  fixture.end_agent();
  REQUIRE(fixture.log_records().size() == 1);
  std::ofstream{fixture.log_records().front()} << "1 0 0 0 0 0 0 0 0\n";
  fixture.engine.log = log_frame("a line\n");
  fixture.start_agent();
  CHECK(DockerFixture::is(fixture.recover("run-1"), Which::RECOVERED));
  fixture.end(0);
  std::ifstream file{logs + "/web.stdout.0"};
  std::string line;
  CHECK((std::getline(file, line) && line == "a line"));
}

TEST_CASE("docker: of logs that are opened while their container goes no record is left") {
  DockerFixture fixture;
  fixture.keeps_logs = true;
  std::filesystem::create_directories(fixture.dir.file("alloc/logs"));
  fixture.hold("POST", "/create");
  const auto started = fixture.start("run-1");
  fixture.holds_steps = true;
  fixture.release();
  REQUIRE(fixture.held_steps.size() == 1);
  fixture.stop();
  fixture.run_held_steps_from_the_last();
  CHECK(DockerFixture::refusal(started) == "the task was stopped while it was started");
  CHECK(fixture.log_records().empty());
}

TEST_CASE("docker: binds are held until the run is over, whatever agent sees that") {
  DockerFixture fixture;
  const auto engine = fixture.listen_as_engine();
  fixture.volumes = R"(["local/data:/data"])";
  std::filesystem::create_directories(fixture.dir.file("web/local"));
  CHECK(DockerFixture::is(fixture.start("run-1"), Which::STARTED));
  if (fixture.held_binds() == 0) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  fixture.start_later_agent();
  CHECK(DockerFixture::is(fixture.recover("run-1"), Which::RECOVERED));
  fixture.tell_end_others({{"alloc", "web"}});
  CHECK(fixture.held_binds() == 1);
  fixture.end(0);
  CHECK(fixture.held_binds() == 1);
  fixture.destroy();
  CHECK(fixture.held_binds() == 0);

  CHECK(DockerFixture::is(fixture.start("run-2"), Which::STARTED));
  CHECK(fixture.held_binds() == 1);
  fixture.stop();
  fixture.start_later_agent();
  fixture.tell_end_others({});
  CHECK(fixture.held_binds() == 0);
}

TEST_CASE("docker: binds that are held after their start was stopped are released") {
  DockerFixture fixture;
  const auto engine = fixture.listen_as_engine();
  fixture.volumes = R"(["local/data:/data"])";
  std::filesystem::create_directories(fixture.dir.file("web/local"));
  fixture.holds_steps = true;
  const auto started = fixture.start("run-1");
  REQUIRE(fixture.held_steps.size() == 1);
  CHECK(DockerFixture::is(fixture.stop(), Which::DONE));
  CHECK(DockerFixture::refusal(started) == "the task was stopped while it was started");
  fixture.run_held_steps_from_the_last();
  CHECK(std::filesystem::exists(fixture.dir.file("web/local/data")));
  CHECK(fixture.held_binds() == 0);
}
