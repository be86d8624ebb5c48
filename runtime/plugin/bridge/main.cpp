// nomadctl-go-plugin: a task driver of Nomad's (a program of go-plugin's) as a plugin of this
// agent, with which it speaks over the socket that is descriptor 3. What goes wrong before there is
// a conversation is said on standard error, which the agent reads.
//
// usage: nomadctl-go-plugin EXECUTOR NAME PROGRAM [ARGUMENT…]
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/plugin/bridge/bridge.hpp"
#include "runtime/plugin/sdk/serve.hpp"

namespace {

constexpr int agent_socket = 3;

int refuse(const std::string& why, int code) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return code;
}

/// Three are open for each task. Not for the driver's program, which has begun already.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace nomad::plugin;
  if (count < 4)
    return refuse("usage: nomadctl-go-plugin EXECUTOR NAME PROGRAM (started by an agent)",
                  exit_not_loaded);
  ::fcntl(agent_socket, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, [](int) {});  // a handler, for who is started inherits what is ignored
  const auto begun = bridge::Bridge::begin({.name = arguments[2],
                                            .executor = arguments[1],
                                            .words = {arguments + 3, arguments + count}});
  if (!begun) {
    refuse(begun.error().what, exit_not_loaded);
    ::_exit(exit_not_loaded);  // gRPC's threads may be in the middle of something
  }
  allow_many_files();
  Plugin plugin;
  (*begun)->describe(plugin);
  const auto served = serve(plugin, agent_socket);
  (*begun)->end();
  ::_exit(served ? 0 : refuse(served.error().what, exit_failed));
}
