#include "runtime/host/isolation/capabilities.hpp"

#include <algorithm>
#include <array>

#include <linux/capability.h>

#include "runtime/base/text.hpp"

namespace nomad::host {

namespace {

/// By number.
constexpr std::array<std::string_view, 41> capability_names{"chown",
                                                            "dac_override",
                                                            "dac_read_search",
                                                            "fowner",
                                                            "fsetid",
                                                            "kill",
                                                            "setgid",
                                                            "setuid",
                                                            "setpcap",
                                                            "linux_immutable",
                                                            "net_bind_service",
                                                            "net_broadcast",
                                                            "net_admin",
                                                            "net_raw",
                                                            "ipc_lock",
                                                            "ipc_owner",
                                                            "sys_module",
                                                            "sys_rawio",
                                                            "sys_chroot",
                                                            "sys_ptrace",
                                                            "sys_pacct",
                                                            "sys_admin",
                                                            "sys_boot",
                                                            "sys_nice",
                                                            "sys_resource",
                                                            "sys_time",
                                                            "sys_tty_config",
                                                            "mknod",
                                                            "lease",
                                                            "audit_write",
                                                            "audit_control",
                                                            "setfcap",
                                                            "mac_override",
                                                            "mac_admin",
                                                            "syslog",
                                                            "wake_alarm",
                                                            "block_suspend",
                                                            "audit_read",
                                                            "perfmon",
                                                            "bpf",
                                                            "checkpoint_restore"};

constexpr CapabilitySet set_of(std::initializer_list<unsigned> capabilities) {
  std::uint64_t bits = 0;
  for (const unsigned capability : capabilities)
    bits |= std::uint64_t{1} << capability;
  return CapabilitySet{bits};
}

/// The lowest `count` capabilities.
constexpr CapabilitySet first_capabilities(unsigned count) {
  return CapabilitySet{(std::uint64_t{1} << count) - 1};
}

}  // namespace

CapabilitySet all_capabilities() {
  return first_capabilities(capability_names.size());
}

CapabilitySet default_capabilities() {
  return set_of({CAP_AUDIT_WRITE, CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL,
                 CAP_MKNOD, CAP_NET_BIND_SERVICE, CAP_SETFCAP, CAP_SETGID, CAP_SETPCAP, CAP_SETUID,
                 CAP_SYS_CHROOT});
}

CapabilitySet root_capabilities() {
  return first_capabilities(CAP_AUDIT_READ + 1);
}

Result<CapabilitySet> parse_capabilities(std::span<const std::string> names) {
  std::uint64_t bits = 0;
  std::string unknown;
  for (const std::string& given : names) {
    std::string name = to_lower(trim(given));
    if (name.starts_with("cap_")) name.erase(0, 4);
    if (name.empty()) continue;
    const auto* const known = std::ranges::find(capability_names, name);
    if (name == "all") {
      bits |= all_capabilities().bits();
    } else if (known != capability_names.end()) {
      bits |= std::uint64_t{1} << (known - capability_names.begin());
    } else {
      if (!unknown.empty()) unknown += ", ";
      unknown += name;
    }
  }
  if (!unknown.empty()) return Error{Errc::invalid_argument, unknown};
  return CapabilitySet{bits};
}

std::string to_text(CapabilitySet set) {
  std::vector<std::string_view> names;
  for (unsigned capability = 0; capability < capability_names.size(); ++capability)
    if (set.contains(capability)) names.push_back(capability_names[capability]);
  std::ranges::sort(names);
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

Result<CapabilitySet> task_capabilities(const CapabilityRequest& wishes) {
  const auto missing = wishes.added.without(wishes.allowed);
  if (!missing.empty())
    return Error{Errc::rejected,
                 "driver does not allow the following capabilities: " + to_text(missing)};
  return (default_capabilities() & wishes.allowed).without(wishes.dropped) | wishes.added;
}

}  // namespace nomad::host
