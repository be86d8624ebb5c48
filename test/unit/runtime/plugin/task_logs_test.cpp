#include "runtime/plugin/sdk/task_logs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <capnp/message.h>
#include <doctest/doctest.h>

#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using plugin::TaskLogs;

namespace {

struct LoggedTask {
  test::TempDir root;
  capnp::MallocMessageBuilder message;
  schema::plugin::TaskConfig::Builder config = message.initRoot<schema::plugin::TaskConfig>();

  LoggedTask() {
    std::filesystem::create_directories(folder());
    config.setAllocRoot(root.path());
    config.initId().setTask("web");
  }

  std::string folder() const { return root.path() + "/alloc/logs"; }

  std::string content(const char* file) const {
    std::ifstream in{folder() + '/' + file};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::ptrdiff_t files() const {
    const std::filesystem::directory_iterator all{folder()};
    return std::distance(begin(all), end(all));
  }
};

void say_line(int to, const std::string& line) {
  CHECK(::write(to, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

}  // namespace

TEST_CASE("task logs: what is written is in the files of its stream") {
  const LoggedTask task;
  {
    const auto logs = TaskLogs::open(task.config);
    REQUIRE(logs);
    say_line(logs->output(), "said\n");
    say_line(logs->errors(), "failed\n");
  }
  CHECK(
      test::eventually_in(task.folder(), [&] { return task.content("web.stdout.0") == "said\n"; }));
  CHECK(test::eventually_in(task.folder(),
                            [&] { return task.content("web.stderr.0") == "failed\n"; }));
}

TEST_CASE("task logs: they are rotated as the task's limits say") {
  LoggedTask task;
  task.config.initLogs().setMaxFiles(2);
  task.config.getLogs().setMaxFileBytes(1000);
  {
    const auto logs = TaskLogs::open(task.config);
    REQUIRE(logs);
    for (int line = 0; line < 100; ++line)
      say_line(logs->output(), std::string(99, 'x') + '\n');
    say_line(logs->output(), "last\n");
  }
  CHECK(test::eventually_in(task.folder(),
                            [&] { return task.content("web.stdout.10") == "last\n"; }));
  CHECK(task.files() == 3);  // with that of the errors
}

TEST_CASE("task logs: a directory that is not there is an error that names it") {
  LoggedTask task;
  task.config.setAllocRoot("/no/such");
  const auto logs = TaskLogs::open(task.config);
  REQUIRE_FALSE(logs);
  CHECK(logs.error().what.find("/no/such/alloc/logs") != std::string::npos);
}

TEST_CASE("task logs: disabled ones are nowhere") {
  LoggedTask task;
  task.config.initLogs().setDisabled(true);
  const auto logs = TaskLogs::open(task.config);
  REQUIRE(logs);
  say_line(logs->output(), "said\n");
  CHECK(task.files() == 0);
}
