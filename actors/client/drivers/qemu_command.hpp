// What the driver qemu runs: the emulator with a task's image as its disk. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "actors/client/drivers/config_reader.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

/// Of the agent, for all tasks (`plugin "qemu"`).
struct QemuSettings {
  std::vector<std::string> image_paths{};     ///< Directories of images beside the allocation's.
  std::vector<std::string> args_allowlist{};  ///< Options that `args` may have; empty: all.
};

QemuSettings read_qemu_settings(const std::map<std::string, std::string>& config);

/// What a machine gets beside what its `config` says.
struct QemuMachine {
  std::string image{};  ///< Path of the file.
  std::uint64_t memory_mib = 0;
  unsigned cores = 0;                               ///< Of its own; 0: none.
  std::map<std::string, int, std::less<>> ports{};  ///< Of the host, by label.
  std::vector<std::string> name_servers{};
  std::vector<std::string> search_domains{};
};

/// Where the emulator has its sockets: in the task's directory, which it is started in. A path from
/// there can't be too long for a socket.
inline constexpr std::string_view qemu_monitor_socket = "qm.sock";
inline constexpr std::string_view qemu_guest_agent_socket = "qa.sock";

/// The emulator's arguments, without its name. `invalid_argument` says which option is wrong, in
/// Nomad's words.
Result<std::vector<std::string>> qemu_arguments(const ConfigReader& config,
                                                const QemuSettings& settings,
                                                const QemuMachine& machine);

/// Whether `image` is in one of the directories or below; all are paths without links.
bool is_image_allowed(std::string_view image, const std::vector<std::string>& directories);

/// "7.2.17" in "QEMU emulator version 7.2.17 (Debian …)"; empty where it does not tell.
std::string parse_qemu_version(std::string_view output);

}  // namespace nomad::client
