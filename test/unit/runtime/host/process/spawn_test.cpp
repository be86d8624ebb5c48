// What a program finds when it begins, and what is told when it cannot.
#include "runtime/host/process/spawn.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sched.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

std::string rest_of(Pipe& pipe) {
  pipe.writing.reset();
  std::string all;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(pipe.reading.get(), part.data(), part.size())) > 0;)
    all.append(part.data(), static_cast<std::size_t>(got));
  return all;
}

int status_of(const Spawned& spawned) {
  int status = 0;
  REQUIRE(::waitpid(spawned.pid, &status, 0) == spawned.pid);
  return status;
}

SpawnOptions script(const std::string& text) {
  return {.program = "/bin/sh", .arguments = {"-c", text}, .environment = {"PATH=/usr/bin:/bin"}};
}

/// What it writes on 1, with `options` but its output.
std::string said_by(SpawnOptions options) {
  auto output = make_pipe().value();
  options.descriptors.emplace_back(output.writing.get(), 1);
  const auto spawned = spawn(options);
  REQUIRE_MESSAGE(spawned, spawned.error().what);
  auto said = rest_of(output);
  CHECK(status_of(*spawned) == 0);
  return said;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int descriptor = 0; descriptor < 256; ++descriptor)
    count += ::fcntl(descriptor, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

/// Of this thread, also those that have ended and not been waited for.
std::string child_processes() {
  std::string all;
  std::getline(std::ifstream{"/proc/thread-self/children"}, all);
  return all;
}

/// The words of /proc/self/stat from the state on: state, parent, group, session.
constexpr const char* stat_script = "sed 's/.*) //' /proc/$$/stat | cut -d' ' -f3,4";

}  // namespace

TEST_CASE("spawn: a program has the descriptors that it is given, and no other") {
  const test::TempDir dir;
  const UniqueFd leaking{::open("/dev/zero", O_RDONLY)};  // without O_CLOEXEC
  const UniqueFd given{::open(dir.path().c_str(), O_RDONLY | O_CLOEXEC)};
  auto options = script("ls -l /proc/$$/fd; true");
  options.descriptors = {{given.get(), 7}};

  const auto said = said_by(options);

  CAPTURE(said);
  for (const auto& each : {std::string{" 0 -> /dev/null\n"}, std::string{" 1 -> pipe:"},
                           std::string{" 2 -> /dev/null\n"}, " 7 -> " + dir.path() + "\n"})
    CHECK(said.find(each) != std::string::npos);
  CHECK(std::ranges::count(said, '>') == 4);
}

TEST_CASE("spawn: descriptors may change their places") {
  auto first = make_pipe().value();
  auto second = make_pipe().value();
  auto options = script("echo first >&" + std::to_string(second.writing.get()) + "; echo second >&"
                        + std::to_string(first.writing.get()));
  options.descriptors
      = {{first.writing.get(), second.writing.get()}, {second.writing.get(), first.writing.get()}};

  const auto spawned = spawn(options);

  REQUIRE(spawned);
  CHECK(rest_of(first) == "first\n");
  CHECK(rest_of(second) == "second\n");
  CHECK(status_of(*spawned) == 0);
}

TEST_CASE("spawn: what is in memory is a program's file from its beginning on") {
  const std::string bytes(3'000'000, 'x');
  const auto file = memory_file(bytes).value();
  SpawnOptions options{.program = "/bin/cat"};
  options.descriptors = {{file.get(), 0}};
  CHECK(said_by(options) == bytes);
}

TEST_CASE("spawn: nothing of the caller's signals is left") {
  struct sigaction ignored {
  }, before{};

  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignored, &before);
  sigset_t blocked, mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  const auto said = said_by({.program = "/bin/cat", .arguments = {"/proc/self/status"}});
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &mask, &now);
  ::sigaction(SIGUSR1, &before, &ignored);

  for (const std::string which : {"SigBlk", "SigIgn", "SigCgt"})
    CHECK(said.find(which + ":\t0000000000000000\n") != std::string::npos);
  CHECK((ignored.sa_handler == SIG_IGN));
  CHECK(::sigismember(&now, SIGUSR2) == 1);
  CHECK(::sigismember(&now, SIGTERM) == 0);
}

TEST_CASE("spawn: environment, name and directory are what is given") {
  const test::TempDir dir;
  CHECK(said_by({.program = "/usr/bin/env", .environment = {"A=b"}}) == "A=b\n");
  CHECK(said_by({.program = "/bin/sh", .arguments = {"-c", "echo $0"}, .name = "mine"})
        == "mine\n");
  CHECK(said_by(script("pwd")) == "/\n");
  auto options = script("pwd -P");
  options.directory = dir.path();
  CHECK(said_by(options) == dir.path() + "\n");
  CHECK(said_by({.program = "env", .environment = {"C=d"}, .searches_path = true}) == "C=d\n");
}

TEST_CASE("spawn: groups and sessions") {
  auto options = script(stat_script);
  const auto own_session = std::to_string(::getsid(0));
  options.group = ProcessGroup::callers;
  CHECK(said_by(options) == std::to_string(::getpgrp()) + " " + own_session + "\n");

  options = script(std::string{"echo $$; "} + stat_script);
  options.group = ProcessGroup::own;
  auto said = said_by(options);
  auto pid = said.substr(0, said.find('\n'));
  CHECK(said == pid + "\n" + pid + " " + own_session + "\n");

  options.group = ProcessGroup::of_own_session;
  said = said_by(options);
  pid = said.substr(0, said.find('\n'));
  CHECK(said == pid + "\n" + pid + " " + pid + "\n");
}

TEST_CASE("spawn: a terminal becomes that of the program's session") {
  const UniqueFd ours{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  std::array<char, 64> name{};
  REQUIRE(::grantpt(ours.get()) == 0);
  REQUIRE(::unlockpt(ours.get()) == 0);
  REQUIRE(::ptsname_r(ours.get(), name.data(), name.size()) == 0);
  const UniqueFd theirs{::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  auto options = script("exec 3</dev/tty && echo has one");
  options.descriptors = {{theirs.get(), 0}};
  options.group = ProcessGroup::of_own_session;
  options.takes_terminal = true;
  CHECK(said_by(options) == "has one\n");
}

TEST_CASE("spawn: a program may end with the thread that has started it") {
  Result<Spawned> spawned;
  std::thread{[&spawned] {
    spawned = spawn({.program = "/bin/sleep", .arguments = {"600"}, .dies_with_thread = true});
  }}.join();

  REQUIRE(spawned);
  pollfd ended{spawned->process.get(), POLLIN, 0};
  CHECK(::poll(&ended, 1, 30'000) == 1);
  ::kill(spawned->pid, SIGTERM);  // or the test would wait for it
  const int status = status_of(*spawned);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("spawn: namespaces, where they are allowed") {
  auto options = script("echo $$");
  options.namespaces = CLONE_NEWPID;
  const auto said = said_by(options);
  if (::geteuid() == 0) CHECK(said == "1\n");
}

TEST_CASE("spawn: what is done before the program begins is done in the child alone") {
  int times = 0;
  auto options = script("umask; echo $MARK");
  options.enter = [&times] {
    ++times;
    ::umask(0123);
    return true;
  };
  CHECK(said_by(options) == "0123\n\n");
  CHECK(times == 0);

  options.enter = [] {
    errno = ESRCH;
    return false;
  };
  const auto refused = spawn(options);
  REQUIRE(refused.has_error());
  CHECK(refused.error().what == "starting /bin/sh: entering its place: No such process");
}

TEST_CASE("spawn: why a program cannot be run is told with its path, and nothing is left") {
  const test::TempDir dir;
  const auto file = dir.file("text");
  ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const auto before = open_descriptors();
  const auto children_before = child_processes();
  for (const bool copies : {false, true}) {
    SpawnOptions options{.program = "/no/such"};
    if (copies) options.enter = [] { return true; };
    auto refused = spawn(options);
    CHECK(refused.error()
          == Error{Errc::not_found, "starting /no/such: No such file or directory"});
    options.program = file;
    refused = spawn(options);
    CHECK(refused.error() == Error{Errc::io, "starting " + file + ": Permission denied"});
    options.program = "/bin/true";
    options.directory = "/no/such";
    refused = spawn(options);
    CHECK(refused.error().what
          == "starting /bin/true: changing to /no/such: No such file or directory");
    options.descriptors = {{-1, 4}};
    refused = spawn(options);
    CHECK(refused.error().what
          == "starting /bin/true: passing descriptors on: Bad file descriptor");
  }
  CHECK(open_descriptors() == before);
  CHECK(child_processes() == children_before);
}
