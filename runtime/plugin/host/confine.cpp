#include "runtime/plugin/host/confine.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <grp.h>

#include "runtime/host/process/landlock.hpp"

namespace nomad::plugin {
namespace {

using host::Landlock;

constexpr int last_capability = 63;
constexpr std::size_t most_filter_bytes = 64 * 1024;

Result<> check(long outcome, std::string_view what) {
  if (outcome != 0) return errno_error(std::string{what}, errno);
  return {};
}

/// "65534:65534:65534,100"
Result<Orders::User> read_user(std::string_view text) {
  std::vector<unsigned> numbers;
  while (!text.empty()) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
      return Error{Errc::invalid_argument, "--user: expected UID:GID:GROUP,…"};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  if (numbers.size() < 2) return Error{Errc::invalid_argument, "--user: expected UID:GID:GROUP,…"};
  return Orders::User{
      .uid = numbers[0], .gid = numbers[1], .groups = {numbers.begin() + 2, numbers.end()}};
}

/// Its working directory, its library, what `paths` names, and what programs need.
Result<> keep_to_files(const Orders& orders) {
  using enum Landlock::Access;
  if (Landlock::version() == 0)
    return Error{Errc::unavailable, "the kernel has no Landlock, so that it can't be confined"};
  const auto rules = NOMAD_TRY(Landlock::make());
  NOMAD_TRY(rules.allow(".", own));
  NOMAD_TRY(rules.allow(orders.words.front(), read_and_run));
  for (const auto& path : orders.paths)
    NOMAD_TRY(rules.allow(path, own));
  NOMAD_TRY(rules.allow_system());
  return rules.restrict_self();
}

Result<> drop_capabilities() {
  for (int capability = 0; capability <= last_capability; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return check(::syscall(SYS_capset, &head, none.data()), "dropping capabilities");
}

Result<> become(const Orders::User& user) {
  if (::geteuid() == user.uid && ::getegid() == user.gid) return {};
  NOMAD_TRY(check(::setgroups(user.groups.size(), user.groups.data()), "taking the user's groups"));
  NOMAD_TRY(check(::setresgid(user.gid, user.gid, user.gid), "taking the user's group"));
  return check(::setresuid(user.uid, user.uid, user.uid), "becoming the user");
}

Result<> filter_calls() {
  struct stat status {};

  if (::fstat(filter_descriptor, &status) != 0 || !S_ISREG(status.st_mode)
      || static_cast<std::size_t>(status.st_size) > most_filter_bytes || status.st_size == 0)
    return Error{Errc::invalid_argument, "the agent gave no filter of system calls"};
  std::vector<sock_filter> filter(static_cast<std::size_t>(status.st_size) / sizeof(sock_filter));
  const auto bytes = filter.size() * sizeof(sock_filter);
  if (::pread(filter_descriptor, filter.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return errno_error("reading the filter of system calls", errno);
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return check(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program),
               "filtering system calls");
}

}  // namespace

Result<Orders> read_orders(const std::vector<std::string>& arguments) {
  Orders orders;
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("--") && !orders.is_program; ++at) {
    const auto& word = arguments[at];
    if (word == "--program") {
      orders.is_program = true;
    } else if (word == "--confine") {
      orders.is_confined = true;
    } else if (word == "--user" && at + 1 < arguments.size()) {
      orders.user = NOMAD_TRY(read_user(arguments[++at]));
    } else if (word == "--path" && at + 1 < arguments.size()) {
      orders.paths.push_back(arguments[++at]);
    } else {
      return Error{Errc::invalid_argument, "unknown option " + word};
    }
  }
  orders.words.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  if (orders.words.empty())
    return Error{Errc::invalid_argument,
                 "usage: nomadctl-plugin-host LIBRARY (started by an agent)"};
  return orders;
}

Result<> confine(const Orders& orders) {
  if (orders.is_confined || orders.user)
    NOMAD_TRY(check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges"));
  if (orders.is_confined) NOMAD_TRY(keep_to_files(orders));
  if (orders.user) NOMAD_TRY(become(*orders.user));
  // Behind the change of users, which unsets it. The agent may have died before.
  NOMAD_TRY(check(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "following the agent's end"));
  if (!orders.is_confined) return {};
  NOMAD_TRY(drop_capabilities());
  return filter_calls();
}

}  // namespace nomad::plugin
