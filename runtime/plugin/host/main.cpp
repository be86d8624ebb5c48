// nomadctl-plugin-host: loads one plugin's library and serves it to the agent that has started this
// program, over the socket that is descriptor 3. What goes wrong before there is a conversation is
// said on standard error, which the agent reads.
//
// usage: nomadctl-plugin-host LIBRARY
//        nomadctl-plugin-host --program PROGRAM [ARGUMENT…]   becomes the program, which serves
//        itself
#include <cstdio>
#include <cstring>
#include <exception>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dlfcn.h>

#include "runtime/plugin/sdk/serve.hpp"

namespace {

constexpr int agent_socket = 3;
constexpr int exit_not_loaded = 2;  ///< Another try would end the same way.
constexpr int exit_failed = 3;

int refuse(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  return exit_not_loaded;
}

bool has_socket() {
  int kind = 0;
  socklen_t size = sizeof kind;
  return getsockopt(agent_socket, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
}

using Describe = void (*)(nomad::plugin::Plugin&);

int serve(Describe describe) {
  nomad::plugin::Plugin plugin;
  try {
    describe(plugin);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "describing itself it threw: %s\n", thrown.what());
    return exit_not_loaded;
  }
  const auto outcome = nomad::plugin::serve(plugin, agent_socket);
  if (outcome) return 0;
  std::fprintf(stderr, "%s\n", outcome.error().what.c_str());
  return exit_failed;
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_program = count >= 3 && std::strcmp(arguments[1], "--program") == 0;
  if (count < 2) return refuse("usage: nomadctl-plugin-host LIBRARY (started by an agent)");
  if (!has_socket())
    return refuse("descriptor 3 is no socket: this program is started by an agent");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  if (is_program) {
    execv(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    return exit_not_loaded;
  }
  // Never closed: code of it may run until the process ends.
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(dlerror());
  const auto describe = reinterpret_cast<Describe>(dlsym(library, "nomadctl_plugin_describe"));
  if (describe == nullptr) return refuse("the library has no NOMADCTL_PLUGIN");
  const int code = serve(describe);
  std::fflush(nullptr);
  _exit(code);
}
