#include "runtime/host/fingerprint/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ifaddrs.h>
#include <netpacket/packet.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ip_network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/fingerprint/parse.hpp"
#include "runtime/host/host_usage_reader.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/run_program.hpp"
#include "runtime/host/signals.hpp"

namespace nomad::host {

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

// An attribute without a value is not there.
void add(NodeFacts& facts, const char* name, std::string value) {
  if (!value.empty()) facts.attributes[name] = std::move(value);
}

utsname system_name() {
  utsname name{};
  ::uname(&name);
  return name;
}

Result<> read_arch(const FingerprintOptions&, NodeFacts& facts) {
  add(facts, "cpu.arch", go_arch(system_name().machine));
  return {};
}

bool is_in_path(const FingerprintOptions& options, std::string_view name, std::string_view path) {
  for (const auto directory : split(path, ':')) {
    const auto file = options.root + std::string{directory} + '/' + std::string{name};
    if (!directory.empty() && ::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// What tasks behind a bridge need and this machine lacks; empty: nothing.
std::string missing_for_bridge(const FingerprintOptions& options) {
  if (::geteuid() != 0) return "only root can make networks";
  for (const char* plugin : {"loopback", "bridge", "firewall", "portmap", "host-local"})
    if (!is_in_path(options, plugin, options.cni_path))
      return std::string{"CNI plugin "} + plugin + " is not in " + options.cni_path
             + " (client.cni_path)";
  if (!is_in_path(options, "iptables", system_path)) return "iptables is not installed";
  return {};
}

Result<> read_bridge(const FingerprintOptions& options, NodeFacts& facts) {
  auto exists
      = [&](const std::string& path) { return ::access((options.root + path).c_str(), F_OK) == 0; };
  bool found = exists("/sys/module/bridge");
  if (!found) {
    std::string modules = options.root + "/lib/modules/" + system_name().release;
    // modules.dep may be large; it is read only where the module is neither loaded nor built in.
    found = has_module("bridge", read_proc_file(options.root + "/proc/modules"),
                       read_proc_file(modules + "/modules.builtin"), "")
            || has_module("bridge", "", "", read_proc_file(modules + "/modules.dep"));
  }
  std::string missing = found ? missing_for_bridge(options) : "the kernel has no module bridge";
  if (!missing.empty()) {
    log::info("client.fingerprint", "bridge network mode is disabled", {{"error", missing}});
    return {};
  }
  add(facts, "nomad.bridge.hairpin_mode", options.bridge_hairpin_mode ? "true" : "false");
  facts.networks.push_back({"bridge", "", "", "", 0});
  facts.node_networks.push_back({"bridge", options.bridge_network_name, "", 0, {}});
  return {};
}

/// A network for each configuration. One that cannot be read is passed over: a node is of use
/// without it.
Result<> read_cni(const FingerprintOptions& options, NodeFacts& facts) {
  if (options.cni_config_dir.empty()) return {};
  namespace fs = std::filesystem;
  std::error_code failure;
  std::vector<fs::path> files;
  const fs::path folder{options.root + options.cni_config_dir};
  for (const auto& name : names_in(folder.string()).value_or(std::vector<std::string>{}))
    if (is_cni_file((folder / name).extension().native())
        && fs::is_regular_file(folder / name, failure))
      files.push_back(folder / name);
  std::set<std::string> names;
  for (const fs::path& file : files) {
    const auto name = parse_cni_name(read_proc_file(file), file.extension() == ".conflist");
    if (!name)
      log::warn("client.fingerprint", "passing over a CNI network",
                {{"path", file.native()}, {"error", name.error()}});
    else if (!names.insert(*name).second)
      log::warn("client.fingerprint",
                "passing over a CNI network: there is another one of that name",
                {{"path", file.native()}, {"network", *name}});
  }
  for (const std::string& name : names) {
    facts.networks.push_back({"cni/" + name, "", "", "", 0});
    facts.node_networks.push_back({"cni/" + name, "", "", 0, {}});
  }
  return {};
}

Result<> read_cgroup(const FingerprintOptions& options, NodeFacts& facts) {
  CgroupMounts mounts = parse_cgroup_mounts(read_proc_file(options.root + "/proc/self/mountinfo"));
  if (mounts.version == CgroupMounts::Version::none) return {};
  add(facts, "unique.cgroup.mountpoint", mounts.first);
  add(facts, "unique.cgroup.version", mounts.version == CgroupMounts::Version::v2 ? "v2" : "v1");
  add(facts, "cgroup.cpuset", check_cpuset(mounts, options.root) ? "true" : "false");
  return {};
}

/// None where nothing could hold tasks to them.
std::vector<std::uint16_t> allowed_cores(const FingerprintOptions& options) {
  CgroupMounts mounts = parse_cgroup_mounts(read_proc_file(options.root + "/proc/self/mountinfo"));
  if (mounts.version == CgroupMounts::Version::none) return {};
  std::string status = read_proc_file(options.root + "/proc/self/status");
  for (std::string_view line : split(status, '\n')) {
    constexpr std::string_view key = "Cpus_allowed_list:";
    if (line.starts_with(key)) return parse_cpu_list(line.substr(key.size()));
  }
  return {};
}

/// What the configuration names, or what may be used, without what is kept from tasks.
std::vector<std::uint16_t> reservable_cores(const FingerprintOptions& options) {
  std::vector<std::uint16_t> cores
      = options.reservable_cores ? *options.reservable_cores : allowed_cores(options);
  std::erase_if(cores, [&](std::uint16_t core) {
    return std::find(options.reserved_cores.begin(), options.reserved_cores.end(), core)
           != options.reserved_cores.end();
  });
  return cores;
}

Result<> read_cpu(const FingerprintOptions& options, NodeFacts& facts) {
  CpuInfo info = parse_cpuinfo(read_proc_file(options.root + "/proc/cpuinfo"));
  if (info.cores == 0) {
    long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    info.cores = online > 0 ? static_cast<unsigned>(online) : 1;
  }
  // What the hardware can do counts, not how fast it happens to run now.
  std::uint64_t fastest = 0;
  for (unsigned core = 0; core < info.cores; ++core) {
    std::uint64_t mhz
        = parse_max_frequency(read_proc_file(options.root + "/sys/devices/system/cpu/cpu"
                                             + std::to_string(core) + "/cpufreq/cpuinfo_max_freq"));
    if (core == 0 && mhz == 0) break;  // no driver
    fastest = std::max(fastest, mhz);
  }
  if (fastest != 0) info.mhz = fastest;
  facts.reservable_cores = reservable_cores(options);
  facts.cpu_cores = static_cast<std::uint16_t>(std::min(info.cores, 65535U));
  constexpr std::uint64_t when_unknown = 1000;
  facts.cpu_total_compute = info.cores * info.mhz;
  if (facts.cpu_total_compute == 0) facts.cpu_total_compute = when_unknown;
  if (options.cpu_total_compute != 0) facts.cpu_total_compute = options.cpu_total_compute;

  add(facts, "cpu.modelname", info.model);
  if (info.mhz != 0) add(facts, "cpu.frequency", std::to_string(info.mhz));
  add(facts, "cpu.numcores", std::to_string(info.cores));
  add(facts, "cpu.reservablecores", std::to_string(facts.reservable_cores.size()));
  add(facts, "cpu.totalcompute", std::to_string(facts.cpu_total_compute));
  return {};
}

Result<> read_host(const FingerprintOptions& options, NodeFacts& facts) {
  std::map<std::string, std::string> etc;
  for (const char* name : {"oracle-release", "enterprise-release", "debian_version", "lsb-release",
                           "neokylin-release", "redhat-release", "system-release", "gentoo-release",
                           "arch-release", "alpine-release", "os-release"}) {
    std::string path = options.root + "/etc/" + name;
    if (::access(path.c_str(), R_OK) == 0) etc[name] = read_proc_file(path);
  }
  OsName os = parse_os(etc);
  utsname system = system_name();
  add(facts, "os.name", os.name);
  add(facts, "os.version", os.version);
  add(facts, "kernel.name", "linux");
  add(facts, "kernel.version", system.release);
  add(facts, "kernel.arch", system.machine);
  add(facts, "unique.hostname", system.nodename);
  return {};
}

Result<> read_landlock(const FingerprintOptions&, NodeFacts& facts) {
  constexpr long create_ruleset = 444;
  constexpr unsigned ask_version = 1;
  long version = ::syscall(create_ruleset, nullptr, 0UL, ask_version);
  if (version > 0) add(facts, "kernel.landlock", "v" + std::to_string(version));
  return {};
}

Result<> read_memory(const FingerprintOptions& options, NodeFacts& facts) {
  std::uint64_t total = options.memory_total_mb * mebibyte;
  if (total == 0) total = parse_meminfo(read_proc_file(options.root + "/proc/meminfo")).total;
  if (total == 0) return {};
  add(facts, "memory.totalbytes", std::to_string(total));
  facts.memory_mb = total / mebibyte;
  return {};
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes
      = address->sa_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return {};
  return text.data();
}

std::string mac_of(const sockaddr_ll& link) {
  bool any = false;
  std::string text;
  for (int i = 0; i < link.sll_halen && i < 8; ++i) {
    std::array<char, 4> byte;
    std::snprintf(byte.data(), byte.size(), i == 0 ? "%02x" : ":%02x", link.sll_addr[i]);
    text += byte.data();
    any = any || link.sll_addr[i] != 0;
  }
  return any ? text : std::string{};
}

Result<> read_network(const FingerprintOptions& options, NodeFacts& facts) {
  std::string chosen = options.network_interface;
  if (chosen.empty()) {
    chosen = parse_default_route(read_proc_file(options.root + "/proc/net/route"),
                                 read_proc_file(options.root + "/proc/net/ipv6_route"));
  }
  if (chosen.empty()) {
    log::warn("client.fingerprint",
              "no network_interface given and no default route: using the loopback interface");
    chosen = "lo";
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return errno_error("listing the network interfaces", errno);
  std::vector<Interface> interfaces;
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    std::string name{each->ifa_name};
    int family = each->ifa_addr->sa_family;
    if (family == AF_PACKET) {
      std::string speed = read_proc_file(options.root + "/sys/class/net/" + name + "/speed");
      long long mbits = std::strtoll(speed.c_str(), nullptr, 10);
      interfaces.push_back({name, mac_of(*reinterpret_cast<const sockaddr_ll*>(each->ifa_addr)),
                            mbits > 0 ? static_cast<std::uint64_t>(mbits) : 0});
    } else if (family == AF_INET || family == AF_INET6) {
      addresses.push_back({name, text_of(each->ifa_addr), family == AF_INET6});
    }
  }
  ::freeifaddrs(list);
  bool known = std::any_of(interfaces.begin(), interfaces.end(),
                           [&](const Interface& each) { return each.name == chosen; });
  if (!known) {
    return Error{Errc::invalid_argument,
                 "Error while detecting network interface " + chosen
                     + " during fingerprinting: route ip+net: no such network interface"};
  }
  describe_networks(options, chosen, interfaces, addresses, facts);
  return {};
}

Result<> read_nomad(const FingerprintOptions& options, NodeFacts& facts) {
  add(facts, "nomad.advertise.address", options.advertise_address);
  add(facts, "nomad.version", options.version);
  add(facts, "nomad.revision", options.revision);
  add(facts, "nomad.service_discovery", options.service_discovery ? "true" : "false");
  return {};
}

Result<> read_signals(const FingerprintOptions&, NodeFacts& facts) {
  add(facts, "os.signals", signal_names());
  return {};
}

Result<> read_storage(const FingerprintOptions& options, NodeFacts& facts) {
  std::string path = options.alloc_dir.empty() ? "." : options.alloc_dir;

  struct stat status {};

  struct statvfs space {};

  if (::stat(path.c_str(), &status) != 0 || ::statvfs(path.c_str(), &space) != 0)
    return errno_error("failed to determine disk space for " + path, errno);
  // In whole KiB, as df counts.
  std::uint64_t total = space.f_blocks * space.f_frsize / 1024 * 1024;
  std::uint64_t free = space.f_bavail * space.f_frsize / 1024 * 1024;
  if (options.disk_total_mb != 0) total = options.disk_total_mb * mebibyte;
  if (options.disk_free_mb != 0) free = options.disk_free_mb * mebibyte;
  if (total < free) {
    return Error{Errc::invalid_argument, "detected more free disk space (" + std::to_string(free)
                                             + ") than total disk space (" + std::to_string(total)
                                             + "), use disk_total_mb and disk_free_mb to correct"};
  }
  add(facts, "unique.storage.volume",
      parse_volume(read_proc_file(options.root + "/proc/self/mountinfo"), major(status.st_dev),
                   minor(status.st_dev), path));
  add(facts, "unique.storage.bytestotal", std::to_string(total));
  add(facts, "unique.storage.bytesfree", std::to_string(free));
  facts.disk_mb = free / mebibyte;
  return {};
}

}  // namespace

std::vector<NamedFingerprinter> fingerprinters() {
  return {{"arch", read_arch},
          {"bridge", read_bridge},
          {"cgroup", read_cgroup, std::chrono::seconds{15}},
          {"cni", read_cni},
          {"cpu", read_cpu},
          {"host", read_host},
          {"landlock", read_landlock},
          {"memory", read_memory},
          {"network", read_network},
          {"nomad", read_nomad},
          {"signal", read_signals},
          {"storage", read_storage}};
}

Result<NodeFacts> run_one(const FingerprintOptions& options, const NamedFingerprinter& which) {
  NodeFacts facts;
  if (auto outcome = which.run(options, facts); outcome.has_error())
    return outcome.error().within("fingerprint " + which.name);
  return facts;
}

Result<std::vector<NodeFacts>> run_each(const FingerprintOptions& options,
                                        const std::vector<NamedFingerprinter>& selected) {
  std::vector<NodeFacts> parts;
  for (const NamedFingerprinter& each : selected)
    parts.push_back(NOMAD_TRY(run_one(options, each)));
  return parts;
}

NodeFacts together(const std::vector<NodeFacts>& parts) {
  NodeFacts all;
  const auto take = [](auto& to, const auto& from) {
    if (from != 0) to = from;
  };
  const auto append
      = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const NodeFacts& part : parts) {
    for (const auto& [name, value] : part.attributes)
      all.attributes[name] = value;
    take(all.cpu_total_compute, part.cpu_total_compute);
    take(all.cpu_cores, part.cpu_cores);
    take(all.memory_mb, part.memory_mb);
    take(all.disk_mb, part.disk_mb);
    append(all.reservable_cores, part.reservable_cores);
    append(all.networks, part.networks);
    append(all.node_networks, part.node_networks);
    for (const auto& group : part.devices)  // What two have found is there once.
      if (std::ranges::none_of(all.devices, [&group](const DeviceGroup& known) {
            return known.vendor == group.vendor && known.type == group.type
                   && known.name == group.name;
          }))
        all.devices.push_back(group);
  }
  return all;
}

Result<NodeFacts> fingerprint(const FingerprintOptions& options,
                              const std::vector<NamedFingerprinter>& selected) {
  const auto parts = NOMAD_TRY(run_each(options, selected));
  return together(parts);
}

Result<NodeFacts> fingerprint(const FingerprintOptions& options) {
  return fingerprint(options, fingerprinters());
}

}  // namespace nomad::host
