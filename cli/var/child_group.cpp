#include "cli/var/child_group.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace nomad::cli {
namespace {

bool has_terminal() {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

/// Also from the background, where it would stop the caller but for the mask. It fails only where
/// the terminal has gone: then there is nothing to give.
void give_terminal(pid_t group) {
  sigset_t of_it{};
  sigset_t before{};
  ::sigemptyset(&of_it);
  ::sigaddset(&of_it, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &of_it, &before);
  ::tcsetpgrp(STDIN_FILENO, group);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool is_of_terminal(int number) {
  return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

}  // namespace

Result<ChildGroup> ChildGroup::start(host::SpawnOptions options) {
  options.group = host::ProcessGroup::own;
  ChildGroup made{NOMAD_TRY(host::spawn(options))};
  // It may have been stopped already: for reading before the terminal was its.
  if (has_terminal()) made.resume();
  return made;
}

void ChildGroup::signal(int number) const {
  ::kill(-running_.pid, number);
  if (number != SIGKILL) ::kill(-running_.pid, SIGCONT);  // Nothing that is stopped heeds it.
}

void ChildGroup::pass_stop_on() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(running_.pid), &info, WSTOPPED | WNOHANG) != 0) return;
  if (info.si_pid != running_.pid || !is_of_terminal(info.si_status)) return;
  take_terminal_back();
  ::kill(0, SIGTSTP);  // Goes on here when it is over.
}

void ChildGroup::resume() {
  if (has_terminal()) {
    give_terminal(running_.pid);
    is_lent_ = true;
  }
  ::kill(-running_.pid, SIGCONT);
}

void ChildGroup::take_terminal_back() {
  if (std::exchange(is_lent_, false)) give_terminal(::getpgrp());
}

/// The child's number, and so its group's, is nobody else's until it is waited for.
Result<int> ChildGroup::reap() {
  ::kill(-running_.pid, SIGKILL);
  take_terminal_back();
  int status = 0;
  pid_t ended = 0;
  do
    ended = ::waitpid(running_.pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended != running_.pid) return errno_error("waitpid", errno);
  return status;
}

}  // namespace nomad::cli
