#include "runtime/host/process/privileges.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <grp.h>

namespace nomad::host {
namespace {

constexpr int last_capability = 63;

Result<> check(long outcome, const char* what) {
  if (outcome != 0) return errno_error(what, errno);
  return {};
}

}  // namespace

Result<> forbid_new_privileges() {
  return check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges");
}

void drop_bounding_set() {
  for (int capability = 0; capability <= last_capability; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

Result<> become(const ProcessUser& user) {
  if (::geteuid() == user.uid && ::getegid() == user.gid) return {};
  NOMAD_TRY(check(::setgroups(user.groups.size(), user.groups.data()), "taking the user's groups"));
  NOMAD_TRY(check(::setresgid(user.gid, user.gid, user.gid), "taking the user's group"));
  return check(::setresuid(user.uid, user.uid, user.uid), "becoming the user");
}

Result<> drop_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return check(::syscall(SYS_capset, &head, none.data()), "dropping capabilities");
}

Result<> filter_calls(std::string_view filter) {
  if (filter.empty()) return {};
  std::vector<sock_filter> instructions(filter.size() / sizeof(sock_filter));
  std::memcpy(instructions.data(), filter.data(), instructions.size() * sizeof(sock_filter));
  sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return check(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program),
               "filtering system calls");
}

}  // namespace nomad::host
