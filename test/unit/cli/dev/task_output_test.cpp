#include "cli/dev/task_output.hpp"

#include <doctest/doctest.h>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

using Lines = std::vector<std::string>;

TEST_CASE("dev: pieces become lines") {
  dev::LineSplitter cutter;
  CHECK(cutter.feed("a").empty());
  CHECK(cutter.feed("b\n\nc\nd") == Lines{"ab", "", "c"});
  CHECK(cutter.rest() == "d");
  CHECK(cutter.rest().empty());
}

TEST_CASE("dev: a line without an end is passed on in parts") {
  dev::LineSplitter cutter;
  const std::string part(dev::LineSplitter::longest, 'x');
  CHECK(cutter.feed(part).empty());
  CHECK(cutter.feed("yz") == Lines{part});
  CHECK(cutter.feed("\n") == Lines{"yz"});
}

TEST_CASE("dev: lines stand behind the names of their tasks") {
  const test::Capture printed;
  dev::DevScreen screen;
  screen.task("web", 0, "a");
  screen.task("db[0]/x", 1, "b");
  screen.task("web", 0, "c");
  screen.say("it ends", false);
  CHECK(printed.out() == "web | a\ndb[0]/x | b\nweb     | c\n==> it ends\n");
}
