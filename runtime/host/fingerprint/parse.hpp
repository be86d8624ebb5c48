// The pure half of the fingerprints: texts of /proc, /sys and /etc in, facts out. Each function
// accepts any bytes; what it does not find is empty or zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::host {

struct CpuInfo {
  std::string model;
  unsigned cores = 0;     ///< Logical ones.
  std::uint64_t mhz = 0;  ///< The fastest core's, as /proc/cpuinfo has it now.
};

CpuInfo parse_cpuinfo(std::string_view text);

/// cpufreq's cpuinfo_max_freq, in kHz (some drivers: Hz), to MHz.
std::uint64_t parse_max_frequency(std::string_view text);

/// "0-3,7" to {0,1,2,3,7}. Empty when it is malformed or names more than 4096 cores.
std::vector<std::uint16_t> parse_cpu_list(std::string_view text);

/// The machine name of uname(2) in Go's spelling: x86_64 is amd64.
std::string go_arch(std::string_view machine);

/// The value of `name` in lines of "NAME=value" or NAME="value" (os-release, lsb-release).
std::string shell_value(std::string_view text, std::string_view name);

struct OsName {
  std::string name;
  std::string version;
};

/// Name and version of the distribution from the files of /etc that exist, by their names, in the
/// order in which Nomad's look-up asks them.
OsName parse_os(const std::map<std::string, std::string>& etc);

/// Whether kernel module `name` is loaded, built in, or could be loaded, by /proc/modules,
/// modules.builtin and modules.dep.
bool has_module(std::string_view name,
                std::string_view modules,
                std::string_view builtin,
                std::string_view dep);

/// The device of the mount that holds a file: by its device number, or else by the longest mount
/// point that begins its path.
std::string parse_volume(std::string_view mountinfo,
                         unsigned major,
                         unsigned minor,
                         std::string_view path);

/// Whether CNI reads files of this extension (".conf").
bool is_cni_file(std::string_view extension);

/// The name of the network that a CNI configuration describes. `is_list`: a chain of plugins (the
/// file is a .conflist). Errors say what the file lacks.
Result<std::string> parse_cni_name(std::string_view text, bool is_list);

bool is_link_local(std::string_view address);

/// One address of an interface as the system lists them, in its order.
struct InterfaceAddress {
  std::string interface;
  std::string address;  ///< Without prefix length and zone.
  bool ipv6 = false;
};

struct Interface {
  std::string name;
  std::string mac;
  std::uint64_t speed = 0;  ///< 0: unknown.
};

/// The decisions of the network fingerprint: which addresses the node has under which aliases.
void describe_networks(const FingerprintOptions& options,
                       const std::string& default_interface,
                       const std::vector<Interface>& interfaces,
                       const std::vector<InterfaceAddress>& addresses,
                       NodeFacts& facts);

}  // namespace nomad::host
