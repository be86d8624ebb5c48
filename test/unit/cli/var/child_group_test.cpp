#include "cli/var/child_group.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using cli::ChildGroup;

namespace {

host::SpawnOptions shell(const std::string& script) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = host::own_environment(),
          .descriptors = {{0, 0}}};
}

/// The first word of a file, "" while there is none.
std::string word_in(const std::string& file) {
  std::string word;
  std::ifstream{file} >> word;
  return word;
}

bool has_ended(const ChildGroup& group) {
  pollfd watched{group.descriptor(), POLLIN, 0};
  return ::poll(&watched, 1, 20'000) == 1;
}

/// What is done by a process that has a terminal of its own, whose other end is `terminal`. Each
/// step has a number, which is that of the first one that fails; 0: none has.
template <class Steps>
int at_terminal(Steps steps, std::string_view typed) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const pid_t user = ::fork();
  if (user == 0) {
    ::alarm(60);
    ::setsid();
    const int own = ::open(name.c_str(), O_RDWR);
    if (own < 0 || ::dup2(own, STDIN_FILENO) < 0) ::_exit(100);
    if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) ::_exit(101);
    ::_exit(steps());
  }
  REQUIRE(user > 0);
  CHECK(::write(terminal, typed.data(), typed.size()) == static_cast<ssize_t>(typed.size()));
  int status = 0;
  ::waitpid(user, &status, 0);
  ::close(terminal);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("child group: what the child has started ends with it") {
  const test::TempDir dir;
  const auto file = dir.file("pid");
  auto group = ChildGroup::start(shell("sleep 1000 & echo $! > " + file + "; exit 3")).value();
  REQUIRE(has_ended(group));
  const auto pid = std::stoi(word_in(file));
  CHECK(::kill(pid, 0) == 0);

  const auto status = group.reap().value();

  CHECK(WEXITSTATUS(status) == 3);
  CHECK(test::has_ended(pid));
}

TEST_CASE("child group: a signal reaches all of it, also what is stopped") {
  const test::TempDir dir;
  const auto file = dir.file("pid");
  auto group
      = ChildGroup::start(shell("sh -c 'echo $$ > " + file + "; kill -STOP $$; sleep 1000'; true"))
            .value();
  REQUIRE(test::succeeds([&] { return !word_in(file).empty(); }));

  group.signal(SIGTERM);

  REQUIRE(has_ended(group));
  CHECK(test::has_ended(std::stoi(word_in(file))));
  CHECK(WTERMSIG(group.reap().value()) == SIGTERM);
}

TEST_CASE(
    "child group: at a terminal it reads that, all of it is ended, and the caller has it again") {
  const test::TempDir dir;
  const auto file = dir.file("typed");
  const auto steps = [&file] {
    auto group = ChildGroup::start(
        shell("read word; sleep 1000 & echo $word $! > " + file + "; wait; true"));
    if (!group) return 1;
    if (!test::succeeds([&] { return word_in(file) == "hello"; })) return 2;
    if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) return 3;
    group->signal(SIGTERM);
    if (!has_ended(*group)) return 4;
    if (!group->reap()) return 5;
    return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? 0 : 6;
  };

  CHECK(at_terminal(steps, "hello\n") == 0);

  std::string word;
  pid_t pid = 0;
  std::ifstream{file} >> word >> pid;
  REQUIRE(pid > 0);
  CHECK(test::has_ended(pid));
}

TEST_CASE("child group: what the terminal stops stops the caller, too, and goes on with it") {
  const test::TempDir dir;
  const auto file = dir.file("typed");
  const auto go = dir.file("go");
  const auto steps = [&file, &go] {
    const pid_t user = ::fork();  // Its parent is the shell that notices.
    if (user == 0) {
      ::setpgid(0, 0);
      if (!test::succeeds([] { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); })) ::_exit(52);
      auto group = ChildGroup::start(shell("echo ready > " + file + "; while [ ! -e " + go
                                           + " ]; do sleep 0.05; done; read word; exit 7"));
      if (!group) ::_exit(50);
      pollfd watched{group->descriptor(), POLLIN, 0};
      while (::poll(&watched, 1, 10) == 0) {
        group->pass_stop_on();
        if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) group->resume();
      }
      const auto status = group->reap();
      ::_exit(status ? WEXITSTATUS(*status) : 51);
    }
    ::setpgid(user, user);
    std::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, user);
    if (!test::succeeds([&] { return word_in(file) == "ready"; })) return 1;
    ::kill(-::tcgetpgrp(STDIN_FILENO), SIGTSTP);  // As Ctrl-Z does.
    int status = 0;
    if (::waitpid(user, &status, WUNTRACED) != user || !WIFSTOPPED(status)) return 2;
    if (::tcgetpgrp(STDIN_FILENO) != user) return 3;
    std::ofstream{go} << "go";
    ::kill(-user, SIGCONT);
    if (::waitpid(user, &status, 0) != user || !WIFEXITED(status)) return 4;
    return WEXITSTATUS(status) == 7 ? 0 : WEXITSTATUS(status);
  };

  CHECK(at_terminal(steps, "hello\n") == 0);
}
