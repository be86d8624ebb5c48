// Programs with bounds on their time and their output.
#include "runtime/host/process/run_program.hpp"

#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/process/unique_fd.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

Result<ProgramEnded> shell(const std::string& script,
                           std::string input = {},
                           std::chrono::milliseconds timeout = std::chrono::seconds{30}) {
  return run_program({.program = "/bin/sh",
                      .arguments = {"-c", script},
                      .environment = {"PATH=/usr/bin:/bin", "A=b"},
                      .input = std::move(input),
                      .timeout = timeout,
                      .max_output = 100'000});
}

}  // namespace

TEST_CASE("run program: it reads its input, and its ends are told") {
  const auto ended = shell("cat; echo $A >&2; exit 3", "hello");
  REQUIRE(ended);
  CHECK(ended->exit_code == 3);
  CHECK(ended->output == "hello");
  CHECK(ended->errors == "b\n");
  CHECK(shell("kill -9 $$")->exit_code == 137);
  const auto environment = shell("cat /proc/self/environ | tr '\\0' '\\n' | grep -c .");
  CHECK(environment->output == "3\n");  // The shell adds PWD.
  CHECK(shell("wc -c", std::string(5'000'000, 'x'))->output == "5000000\n");
}

TEST_CASE("run program: who takes too long, or writes too much, is killed") {
  CHECK(shell("sleep 60 & sleep 60", "", std::chrono::milliseconds{50}).error()
        == Error{Errc::timeout, "/bin/sh did not end within 50 ms and was killed"});
  CHECK(shell("yes").error()
        == Error{Errc::too_large, "/bin/sh wrote more than 100000 bytes and was killed"});
  CHECK(run_program({.program = "/no/such", .arguments = {}, .environment = {}}).error().code
        == Errc::not_found);
}

TEST_CASE("run program: a child that stays behind is not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(shell("sleep 5 & echo done")->output == "done\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{4});
}

TEST_CASE("run program: who holds a file is killed, what it has left running goes on") {
  const test::TempDir dir;
  const auto lock = dir.file("lock");
  const UniqueFd file{::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  const auto run = [&](const std::string& script) {
    return run_program({.program = "/bin/sh",
                        .arguments = {"-c", script},
                        .environment = {"PATH=/usr/bin:/bin"},
                        .held = file.get()});
  };
  CHECK_FALSE(end_holders(lock));
  REQUIRE(run("sleep 600 & echo $! > " + dir.file("left")));
  CHECK_FALSE(end_holders(lock));
  CHECK(shell("kill $(cat " + dir.file("left") + ")")->exit_code == 0);

  Result<ProgramEnded> ended;
  std::thread running{[&] { ended = run("sleep 600; true"); }};
  while (!end_holders(lock))
    std::this_thread::yield();
  running.join();
  REQUIRE(ended);
  CHECK(ended->exit_code == 137);
}

TEST_CASE("run program: who asks is not killed, whichever number its own file has") {
  const test::TempDir dir;
  const auto lock = dir.file("lock");
  UniqueFd made{::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  // Of this process it must not be number 3: it is not the one who asks.
  const UniqueFd file{::fcntl(made.get(), F_DUPFD_CLOEXEC, 10)};
  made.reset();
  const pid_t asking = ::fork();
  if (asking == 0) {
    const bool placed = ::setpgid(0, 0) == 0 && ::dup2(file.get(), 3) == 3;
    ::_exit(!placed || end_holders(lock) ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(asking, &status, 0) == asking);
  CHECK(status == 0);
}

TEST_CASE("find program: the first executable file of the path") {
  CHECK(find_program("sh", "/no/such:/bin").ends_with("/bin/sh"));
  CHECK(find_program("sh", "").empty());
  CHECK(find_program("..", "/bin").empty());
}
