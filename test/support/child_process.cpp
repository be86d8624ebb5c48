#include "test/support/child_process.hpp"

#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spawn.h>

namespace nomad::test {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error{errno, std::generic_category(), "pipe"};
  output_ = host::UniqueFd{ends[0]};
  const host::UniqueFd input{ends[1]};
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const auto& word : command)
    words.push_back(const_cast<char*>(word.c_str()));  // which posix_spawn leaves as they are
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  int failure = ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  if (failure == 0)
    failure = ::posix_spawn(&pid_, words.front(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::system_error{failure, std::generic_category(), command.front()};
}

ChildProcess::~ChildProcess() {
  end(SIGKILL);
}

bool ChildProcess::wrote_line() const {
  char byte = 0;
  while (::read(output_.get(), &byte, 1) == 1)
    if (byte == '\n') return true;
  return false;
}

void ChildProcess::end(int signal) {
  if (pid_ < 0) return;
  ::kill(pid_, signal);
  wait();
}

int ChildProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

}  // namespace nomad::test
