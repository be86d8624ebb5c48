// nomadctl-artifact: fetches one artifact on behalf of the agent, confined, and ends.
//
// Started by the agent only, with its order as standard input, a socket for reports as descriptor 3
// and an empty directory to work in as descriptor 4. Nothing that is secret stands among its
// arguments. Whatever a server or an archive does to it, it can change that directory alone; the
// agent looks at what is in it before it becomes part of a task's.
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/artifact/fetcher/confine.hpp"
#include "runtime/artifact/fetcher/connect_guard.hpp"
#include "runtime/artifact/fetcher/credential_files.hpp"
#include "runtime/artifact/fetcher/fetch.hpp"
#include "runtime/artifact/fetcher/reporter.hpp"
#include "runtime/artifact/protocol/protocol.hpp"

namespace {

using namespace nomad;
using namespace nomad::artifact;

constexpr std::size_t longest_order = 16UL * 1024 * 1024;

bool take_over(int descriptor, mode_t kind) {
  struct stat status {};

  return ::fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == kind
         && ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

Result<FetchOrder> receive_order() {
  std::string bytes;
  char part[4096];
  for (;;) {
    const auto got = ::read(0, part, sizeof part);
    if (got < 0) return errno_error("reading the order", errno);
    if (got == 0) return read_order(bytes);
    bytes.append(part, static_cast<std::size_t>(got));
    if (bytes.size() > longest_order) return Error{Errc::too_large, "the order is too long"};
  }
}

Result<FetchDone> carry_out(Reporter& reporter) {
  const auto order = NOMAD_TRY(receive_order());
  const auto source = NOMAD_TRY(parse_source(order.source));
  // Its guard looks at it as long as there is a process.
  static const ReachJudge judge{order.reach, addresses_of_machine(), name_servers_of_machine()};
  const auto credentials = NOMAD_TRY(read_credentials(source));  // Before they are out of reach.
  NOMAD_TRY(confine(order.confinement, reporter).within("confining nomadctl-artifact"));
  return fetch(order, credentials, judge, reporter);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "-version") == 0) {
    std::printf("nomadctl-artifact %s\n", NOMADCTL_VERSION);
    return 0;
  }
  if (!take_over(report_descriptor, S_IFSOCK) || !take_over(directory_descriptor, S_IFDIR)) {
    std::fputs("nomadctl-artifact is started by the agent\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_NAME, "nomad-artifact");
  ::umask(022);
  Reporter reporter{report_descriptor};
  const auto outcome = carry_out(reporter);
  reporter.finish(outcome);
  return outcome ? 0 : 1;
}
