#include "runtime/host/fingerprint/host_data.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <memory>

#include <netinet/in.h>
#include <sys/utsname.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>

#include "runtime/base/text.hpp"
#include "runtime/host/host_usage_reader.hpp"

namespace nomad::host {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view redacted = "<redacted>";

std::string read_or_reason(const std::string& path) {
  auto text = read_small_file(path);
  return text ? std::move(*text) : text.error().what;
}

std::string read_os() {
  utsname system{};
  ::uname(&system);
  return fmt::format("{} {} {} {} {}", system.machine, system.nodename, system.release,
                     system.sysname, system.version);
}

/// What both families tell alike.
template <class Network>
AddressFacts common_facts(const Network& network, std::string_view family) {
  const auto address = network.address().to_string();
  const auto bytes = network.address().to_bytes();
  std::string hex, binary;
  for (const auto byte : bytes) {
    hex += fmt::format("{:02x}", byte);
    binary += std::bitset<8>{byte}.to_string();
  }
  const bool is_v4 = bytes.size() == 4;
  const auto in_brackets = is_v4 ? address : '[' + address + ']';
  // A network has no port, so packets and streams go to any.
  const auto by = [&](std::string_view protocol) {
    return fmt::format("\"{}{}\" \"{}:0\"", protocol, is_v4 ? '4' : '6', in_brackets);
  };
  return {{"type", std::string{family}},
          {"address", address},
          {"host", address},
          {"string", network.is_host() ? address : network.to_string()},
          {"network", network.network().to_string()},
          {"mask_bits", std::to_string(network.prefix_length())},
          {"hex", hex},
          {"binary", binary},
          {"octets", fmt::format("{}", fmt::join(bytes, " "))},
          {"port", "0"},
          {"DialPacket", by("udp")},
          {"DialStream", by("tcp")},
          {"ListenPacket", by("udp")},
          {"ListenStream", by("tcp")}};
}

ip::address_v6 last_of(const ip::network_v6& network) {
  auto bytes = network.network().to_bytes();
  for (std::size_t bit = network.prefix_length(); bit < 128; ++bit)
    bytes[bit / 8] |= static_cast<unsigned char>(0x80 >> (bit % 8));
  return ip::address_v6{bytes};
}

unsigned short prefix_of(const unsigned char* mask, std::size_t size) {
  unsigned short bits = 0;
  for (std::size_t i = 0; i < size; ++i)
    bits = static_cast<unsigned short>(bits + std::bitset<8>{mask[i]}.count());
  return bits;
}

template <class Address>
Address address_of(const void* raw) {
  typename Address::bytes_type bytes;
  std::copy_n(static_cast<const unsigned char*>(raw), bytes.size(), bytes.begin());
  return Address{bytes};
}

std::vector<AddressFacts> read_network() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
  std::vector<AddressFacts> all;
  for (const auto* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_netmask == nullptr) continue;
    if (each->ifa_addr->sa_family == AF_INET) {
      const auto* mask = &reinterpret_cast<const sockaddr_in*>(each->ifa_netmask)->sin_addr;
      const auto* own = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
      all.push_back(
          facts_of(ip::network_v4{address_of<ip::address_v4>(own),
                                  prefix_of(reinterpret_cast<const unsigned char*>(mask), 4)}));
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const auto* mask = &reinterpret_cast<const sockaddr_in6*>(each->ifa_netmask)->sin6_addr;
      const auto* own = &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
      all.push_back(
          facts_of(ip::network_v6{address_of<ip::address_v6>(own), prefix_of(mask->s6_addr, 16)}));
    } else {
      continue;
    }
    all.back().emplace("name", each->ifa_name);
  }
  return all;
}

std::map<std::string, DiskSpace> read_disks() {
  constexpr std::uint64_t mib = 1024 * 1024;
  std::map<std::string, DiskSpace> disks;
  for (const auto& path : parse_disk_mounts(read_or_reason("/proc/mounts")))
    if (const auto disk = disk_usage(path))
      disks[path] = {disk->size / mib, (disk->size - std::min(disk->size, disk->available)) / mib};
  return disks;
}

/// Without who a URL in it says that he is, and his password. To the last @ before a blank, as
/// passwords are not always escaped.
std::string without_users(std::string_view value) {
  static constexpr std::string_view scheme_end = "://";
  std::string shown;
  for (;;) {
    const auto scheme = value.find(scheme_end);
    if (scheme == value.npos) return shown.append(value);
    shown += value.substr(0, scheme + scheme_end.size());
    value.remove_prefix(scheme + scheme_end.size());
    const auto end = std::min(value.find_first_of(ascii_space), value.size());
    if (const auto at = value.substr(0, end).rfind('@'); at != value.npos) {
      shown += redacted;
      value.remove_prefix(at);
    }
  }
}

}  // namespace

std::string shown_value(std::string_view name, std::string_view value) {
  // They hide too much rather than too little: nobody needs a keyboard's name.
  static constexpr std::array parts
      = std::to_array<std::string_view>({"AUTH", "COOKIE", "CREDENTIAL", "DSN", "KEY", "LICENSE",
                                         "PASS", "PRIVATE", "SECRET", "TOKEN", "_PWD"});
  const auto upper = to_upper(name);
  const auto is_in_it = [&upper](std::string_view part) { return upper.find(part) != upper.npos; };
  return std::ranges::any_of(parts, is_in_it) ? std::string{redacted} : without_users(value);
}

std::map<std::string, std::string> shown_environment(const char* const* environment) {
  std::map<std::string, std::string> shown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view line{*environment};
    const auto equals = std::min(line.find('='), line.size());
    const auto name = line.substr(0, equals);
    const auto value = line.substr(std::min(equals + 1, line.size()));
    shown.emplace(name, shown_value(name, value));
  }
  return shown;
}

AddressFacts facts_of(const ip::network_v4& network) {
  auto facts = common_facts(network, "IPv4");
  const auto size = std::uint64_t{1} << (32 - network.prefix_length());
  facts.insert({{"netmask", network.netmask().to_string()},
                {"broadcast", network.broadcast().to_string()},
                {"size", std::to_string(size)},
                {"uint32", std::to_string(network.address().to_uint())}});
  // One address, and two, are all usable.
  const auto first = network.network().to_uint() + (size > 2 ? 1 : 0);
  const auto last = network.broadcast().to_uint() - (size > 2 ? 1 : 0);
  facts["first_usable"] = ip::address_v4{static_cast<ip::address_v4::uint_type>(first)}.to_string();
  facts["last_usable"] = ip::address_v4{static_cast<ip::address_v4::uint_type>(last)}.to_string();
  return facts;
}

AddressFacts facts_of(const ip::network_v6& network) {
  auto facts = common_facts(network, "IPv6");
  facts.insert({{"first_usable", network.network().to_string()},
                {"last_usable", last_of(network).to_string()}});
  return facts;
}

std::vector<std::string> parse_disk_mounts(std::string_view mounts) {
  static constexpr std::array no_disks = std::to_array<std::string_view>(
      {"autofs", "binfmt_misc", "cgroup", "cgroup2", "debugfs", "devpts", "devtmpfs", "hugetlbfs",
       "mqueue", "proc", "pstore", "rpc_pipefs", "securityfs", "sysfs", "tmpfs", "vboxsf"});
  // Those that a server or a program answers for, or does not, by how their types begin.
  static constexpr std::array of_others = std::to_array<std::string_view>(
      {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse", "glusterfs", "gpfs", "lustre",
       "ncpfs", "nfs", "orangefs", "pvfs2", "smb", "virtiofs"});
  const auto is_disk = [](std::string_view type) {
    return std::ranges::find(no_disks, type) == no_disks.end()
           && std::ranges::none_of(of_others,
                                   [type](std::string_view of) { return type.starts_with(of); });
  };
  std::vector<std::string> paths;
  for (const auto line : split(mounts, '\n')) {
    const auto words = fields(line, file_space);
    if (words.size() > 2 && is_disk(words[2])) paths.push_back(unescape_mount(words[1]));
  }
  return paths;
}

HostData read_host_data() {
  return {.os = read_os(),
          .network = read_network(),
          .resolv_conf = read_or_reason("/etc/resolv.conf"),
          .hosts = read_or_reason("/etc/hosts"),
          .environment = shown_environment(::environ),
          .disks = read_disks()};
}

}  // namespace nomad::host
