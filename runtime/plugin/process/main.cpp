// nomadctl-plugin-host: loads one plugin's library and serves it to the agent that has started this
// program, over the socket that is descriptor 3. What goes wrong before there is a conversation is
// said on standard error, which the agent reads.
//
// usage: nomadctl-plugin-host [OPTION…] LIBRARY
//        nomadctl-plugin-host [OPTION…] --program PROGRAM [ARGUMENT…]   becomes the program, which
//        serves itself
//        nomadctl-plugin-host --bound PID --user … [--memory BYTES]   gives another process of that
//        user a bound of its memory for good; without one, lifts it
// options: --user UID:GID:GROUP,…, --confine, --path PATH, --memory BYTES (confine.hpp)
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dlfcn.h>

#include "runtime/host/process/pointers.hpp"
#include "runtime/plugin/process/confine.hpp"
#include "runtime/plugin/sdk/serve.hpp"

namespace {

using nomad::plugin::exit_not_loaded;

int refuse(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  return exit_not_loaded;
}

bool has_socket() {
  int kind = 0;
  socklen_t size = sizeof kind;
  return getsockopt(nomad::plugin::agent_socket, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
}

int serve(void* describe) {
  char why[512] = "";
  const int code = nomadctl_plugin_serve(describe, nomad::plugin::agent_socket, why, sizeof why);
  if (code != 0) std::fprintf(stderr, "%s\n", why);
  return code;
}

/// Where the plugin's file is, to which its user may have no way: what is above the agent's data
/// may be the agent's alone. Opened while this process is the agent's user.
class Location {
public:
  explicit Location(const std::string& file) : file_{file} {
    const auto slash = file.rfind('/');
    if (slash == std::string::npos) return;
    name_ = file.substr(slash + 1);
    const int folder = open(file.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    folder_ = fcntl(folder, F_DUPFD_CLOEXEC, nomad::plugin::filter_descriptor + 1);
    close(folder);
  }

  Location(const Location&) = delete;

  ~Location() { leave(); }

  /// Returns if the file can't be run; `errno` says why.
  void run(const std::vector<char*>& words) const {
    execv(file_.c_str(), words.data());
    if (errno == EACCES && folder_ >= 0) execveat(folder_, name_.c_str(), words.data(), environ, 0);
  }

  /// For who takes a path alone.
  std::string path() const {
    if (access(file_.c_str(), R_OK) == 0 || folder_ < 0) return file_;
    return "/proc/self/fd/" + std::to_string(folder_) + "/" + name_;
  }

  void leave() {
    if (folder_ >= 0) close(folder_);
    folder_ = -1;
  }

private:
  std::string file_;
  std::string name_;
  int folder_ = -1;
};

int become_program(const Location& location, const std::vector<std::string>& words) {
  const auto pointers = nomad::host::pointers_to(words);
  // Another thread of the agent may have begun a process while the file was copied, which holds it
  // open for a moment.
  for (int tries = 0; tries < 100; ++tries) {
    location.run(pointers);
    if (errno != ETXTBSY) break;
    usleep(10'000);
  }
  std::perror(pointers.front());
  return exit_not_loaded;
}

/// A broken pipe is an error of whoever writes. Not SIG_IGN, for that would be inherited by what a
/// plugin starts.
void ignore_broken_pipes() {
  struct sigaction ignored {};

  ignored.sa_handler = [](int) {};
  ignored.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &ignored, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const auto orders = nomad::plugin::read_orders({arguments + 1, arguments + count});
  if (!orders) return refuse(orders.error().what.c_str());
  if (orders->bounds) {
    const auto bound = nomad::plugin::bound_other(*orders);
    return bound ? 0 : refuse(bound.error().what.c_str());
  }
  if (!has_socket())
    return refuse("descriptor 3 is no socket: this program is started by an agent");
  close_range(nomad::plugin::filter_descriptor + 1, ~0U, 0);
  Location location{orders->words.front()};
  if (const auto confined = nomad::plugin::confine(*orders); !confined)
    return refuse(confined.error().what.c_str());
  close(nomad::plugin::filter_descriptor);
  if (orders->is_program) return become_program(location, orders->words);
  // What the plugin starts must not hold the socket: the agent would not see this process's end.
  fcntl(nomad::plugin::agent_socket, F_SETFD, FD_CLOEXEC);
  ignore_broken_pipes();
  // Never closed: code of it may run until the process ends.
  void* library = dlopen(location.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  location.leave();
  if (library == nullptr) return refuse(dlerror());
  void* describe = dlsym(library, "nomadctl_plugin_describe");
  if (describe == nullptr) return refuse("the library has no NOMADCTL_PLUGIN");
  const int code = serve(describe);
  std::fflush(nullptr);
  _exit(code);
}
