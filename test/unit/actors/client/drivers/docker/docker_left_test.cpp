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
