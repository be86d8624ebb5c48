// nomadctl-executor: owns one task's process on behalf of the agent and outlives it.
//
// Started by the agent only, in its own session, with its locked directory as descriptor 3 and the
// listening socket in it as descriptor 4. Talks the protocol of schema/executor.capnp. Linked
// statically and without the libraries of the agent: it stays small, starts quickly, and an
// upgrade of the system under running tasks does not touch it.

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>

#include "runtime/host/executor/executor.hpp"
#include "runtime/host/executor/log_collector.hpp"
#include "runtime/host/process/core_files.hpp"

namespace {

bool take_over(int descriptor, mode_t kind) {
  struct stat status {};

  return ::fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == kind
         && ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

/// The process of a container that holds the network of others (`nomadctl-executor pause PATH`): it
/// enters the namespace, gives up all rights, and waits to be ended.
int hold_network(const char* path) {
  const int network = ::open(path, O_RDONLY | O_CLOEXEC);
  if (network < 0 || ::setns(network, CLONE_NEWNET) != 0) {
    std::fprintf(stderr, "nomadctl-executor: entering the network namespace %s: %s\n", path,
                 std::strerror(errno));
    return 1;
  }
  ::close(network);
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct none[2]{};
  ::syscall(SYS_capset, &header, none);
  ::prctl(PR_SET_NAME, "nomad-pause");
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD})
    ::sigaddset(&awaited, number);
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  for (;;) {
    const int number = ::sigwaitinfo(&awaited, nullptr);
    if (number == SIGTERM || number == SIGINT) return 0;
    // It may be process 1 of a namespace that others have joined.
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "-version") == 0) {
    std::printf("nomadctl-executor %s, protocol %u\n", NOMADCTL_VERSION,
                static_cast<unsigned>(nomad::host::executor::protocol_version));
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "pause") == 0) return hold_network(argv[2]);
  if (argc > 2 && std::strcmp(argv[1], "logs") == 0)
    return nomad::host::executor::keep_logs(argc - 2, argv + 2);
  if (!take_over(3, S_IFDIR) || !take_over(4, S_IFSOCK)) {
    std::fputs("nomadctl-executor is started by the agent\n", stderr);
    return 2;
  }
  nomad::host::forbid_core_files();
  // The task's end is what ends us, so a machine that shuts down, and a terminal that closes, may
  // signal everyone without our losing the status.
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ})
    ::signal(number, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "nomad-executor");
  ::fcntl(4, F_SETFL, O_NONBLOCK);
  nomad::host::executor::Executor executor{nomad::host::UniqueFd{3}, nomad::host::UniqueFd{4}};
  return executor.run();
}
