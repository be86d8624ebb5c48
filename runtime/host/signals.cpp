#include "runtime/host/signals.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <signal.h>

namespace nomad::host {

namespace {

struct Named {
  std::string_view name;
  int number;
};

// Sorted by name. Two names may share a number; the first is the one shown.
constexpr std::array names
    = {Named{"SIGABRT", SIGABRT}, Named{"SIGALRM", SIGALRM},   Named{"SIGBUS", SIGBUS},
       Named{"SIGCONT", SIGCONT}, Named{"SIGFPE", SIGFPE},     Named{"SIGHUP", SIGHUP},
       Named{"SIGILL", SIGILL},   Named{"SIGINT", SIGINT},     Named{"SIGIO", SIGIO},
       Named{"SIGIOT", SIGIOT},   Named{"SIGKILL", SIGKILL},   Named{"SIGNULL", 0},
       Named{"SIGPIPE", SIGPIPE}, Named{"SIGPROF", SIGPROF},   Named{"SIGQUIT", SIGQUIT},
       Named{"SIGSEGV", SIGSEGV}, Named{"SIGSTOP", SIGSTOP},   Named{"SIGSYS", SIGSYS},
       Named{"SIGTERM", SIGTERM}, Named{"SIGTRAP", SIGTRAP},   Named{"SIGTSTP", SIGTSTP},
       Named{"SIGTTIN", SIGTTIN}, Named{"SIGTTOU", SIGTTOU},   Named{"SIGUSR1", SIGUSR1},
       Named{"SIGUSR2", SIGUSR2}, Named{"SIGWINCH", SIGWINCH}, Named{"SIGXCPU", SIGXCPU},
       Named{"SIGXFSZ", SIGXFSZ}};

}  // namespace

Result<int> parse_signal(std::string_view name) {
  std::string upper{name};
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const Named& each : names) {
    if (each.name == upper) return each.number;
  }
  std::string valid;
  for (const Named& each : names) {
    if (!valid.empty()) valid += ' ';
    valid += '"' + std::string{each.name} + '"';
  }
  return Error{Errc::invalid_argument,
               "invalid signal \"" + std::string{name} + "\" - valid signals are [" + valid + "]"};
}

std::string signal_names() {
  std::string all;
  for (const Named& each : names) {
    if (!all.empty()) all += ',';
    all += each.name;
  }
  return all;
}

}  // namespace nomad::host
