// HostData: what an operator wants to know of a machine that he cannot log in to, as /v1/agent/host
// shows it: the kernel, networks, resolver, known hosts, the agent's environment and disks.
//
// Secrets of the environment are not in it. Reading blocks, for ever where a disk does not answer,
// so it is for a thread that nobody waits for. What cannot be read is shown as the reason why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

namespace nomad::host {

struct DiskSpace {
  std::uint64_t size_mib = 0;
  std::uint64_t used_mib
      = 0;  ///< What is not to be had any more, as for `df`'s users without rights.
};

/// What is known of an address, each by the name that Nomad's users know from go-sockaddr.
using AddressFacts = std::map<std::string, std::string>;

struct HostData {
  std::string os;
  std::vector<AddressFacts> network;
  std::string resolv_conf;
  std::string hosts;
  std::map<std::string, std::string> environment;
  std::map<std::string, DiskSpace> disks;  ///< By where they are mounted.
};

HostData read_host_data();

/// The value, without users and passwords of URLs; what stands for it where the name says that it
/// may be a secret. Pure.
std::string shown_value(std::string_view name, std::string_view value);

/// "NAME=value" lines, as `environ` has them, without secrets. Pure.
std::map<std::string, std::string> shown_environment(const char* const* environment);

AddressFacts facts_of(const boost::asio::ip::network_v4& network);
AddressFacts facts_of(const boost::asio::ip::network_v6& network);

/// Where disks of this machine are mounted, of the text of /proc/mounts: nothing of the network or
/// of programs (FUSE), which may not answer. Pure.
std::vector<std::string> parse_disk_mounts(std::string_view mounts);

}  // namespace nomad::host
