// Fingerprints: what a node is, as attributes for constraints and as amounts for the scheduler.
//
// Each fact family is one function from options to facts of its own, so that it can be asked again
// by itself; put together in the order of `fingerprinters()`, later ones override. Names and values
// of attributes are Nomad's.
// Reading is separate from parsing: the parse functions are pure and tested on texts. No
// subprocess, no sleep, no network: the whole set takes a few milliseconds.
//
// Functions may run on any thread, several at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::host {

/// One host network of the agent's configuration.
struct HostNetwork {
  std::string name{};
  std::string cidr{};        ///< Comma-separated list, or empty.
  std::string interface {};  ///< Name, or empty.
  std::string reserved_ports{};
};

struct FingerprintOptions {
  std::string alloc_dir{};              ///< Empty: the working directory.
  std::uint64_t cpu_total_compute = 0;  ///< Configured overrides; 0 for none.
  std::uint64_t memory_total_mb = 0;
  std::uint64_t disk_total_mb = 0;
  std::uint64_t disk_free_mb = 0;
  std::string network_interface{};
  std::uint64_t network_speed = 0;  ///< Mbit/s.
  bool disallow_link_local = false;
  std::vector<HostNetwork> host_networks{};
  std::optional<std::vector<std::uint16_t>> reservable_cores{};
  std::vector<std::uint16_t> reserved_cores{};  ///< Taken off the reservable ones.
  std::string bridge_network_name = "nomad";
  bool bridge_hairpin_mode = false;
  std::string cni_path = "/opt/cni/bin:/usr/lib/cni";  ///< Directories of CNI plugins.
  std::string cni_config_dir = "/opt/cni/config";
  std::string cache_dir{};          ///< Of what is slow to find out; empty: nothing is kept.
  std::string advertise_address{};  ///< The agent's HTTP address, "127.0.0.1:4646".
  std::string version = "1.6.5";    ///< The release of Nomad whose behavior we have.
  std::string revision{};
  bool service_discovery = true;
  std::string root{};  ///< Prefix of /proc, /sys and /etc; for tests.
};

/// An address and the host networks that it belongs to.
struct NodeAddress {
  std::string family{};  ///< "ipv4" or "ipv6"
  std::string alias{};   ///< The host network's name, "default" for the chosen interface.
  std::string address{};
  std::string reserved_ports{};

  bool operator==(const NodeAddress&) const = default;
};

/// An interface with its addresses (NodeResources.NodeNetworks).
struct NodeNetwork {
  std::string mode{};  ///< "host" or "bridge"
  std::string device{};
  std::string mac_address{};
  std::uint64_t speed = 0;
  std::vector<NodeAddress> addresses{};

  bool operator==(const NodeNetwork&) const = default;
};

/// One address of the chosen interface (NodeResources.Networks).
struct NetworkResource {
  std::string mode{};
  std::string device{};
  std::string cidr{};
  std::string ip{};
  std::uint64_t mbits = 0;

  bool operator==(const NetworkResource&) const = default;
};

/// One of a group of devices.
struct DeviceInstance {
  std::string id{};
  bool healthy = true;
  std::string health_description{};

  bool operator==(const DeviceInstance&) const = default;
};

/// Devices that are alike (NodeResources.Devices).
struct DeviceGroup {
  std::string vendor{};
  std::string type{};
  std::string name{};
  std::string attributes{};  ///< JSON, as NodeDeviceGroup has them; empty: none.
  std::vector<DeviceInstance> instances{};

  bool operator==(const DeviceGroup&) const = default;
};

struct NodeFacts {
  std::map<std::string, std::string> attributes{};
  std::uint64_t cpu_total_compute = 0;  ///< MHz over all cores.
  std::uint16_t cpu_cores = 0;
  std::vector<std::uint16_t> reservable_cores{};
  std::uint64_t memory_mb = 0;
  std::uint64_t disk_mb = 0;  ///< Free at the time.
  std::vector<NetworkResource> networks{};
  std::vector<NodeNetwork> node_networks{};
  std::vector<DeviceGroup> devices{};

  bool operator==(const NodeFacts&) const = default;
};

/// Adds its own to facts in which nothing of it is yet.
using Fingerprinter = std::function<Result<>(const FingerprintOptions&, NodeFacts&)>;

struct NamedFingerprinter {
  std::string name{};  ///< As fingerprint.allowlist and fingerprint.denylist have it.
  Fingerprinter run;
  std::chrono::seconds period{0};  ///< After which it is to be asked again; 0: never.
};

/// The built-in ones in the order in which they run: arch, bridge, cgroup, cni, cpu, host,
/// landlock, memory, network, nomad, signal, storage.
std::vector<NamedFingerprinter> fingerprinters();

/// The facts of this one alone; the error names it.
Result<NodeFacts> run_one(const FingerprintOptions& options, const NamedFingerprinter& which);

/// Those of each of `selected`, in their order. Any error ends it: an agent does not start half
/// known.
Result<std::vector<NodeFacts>> run_each(const FingerprintOptions& options,
                                        const std::vector<NamedFingerprinter>& selected);

/// Attributes and amounts of later ones override, networks follow one another.
NodeFacts together(const std::vector<NodeFacts>& parts);

/// `run_each`, put together.
Result<NodeFacts> fingerprint(const FingerprintOptions& options,
                              const std::vector<NamedFingerprinter>& selected);

/// All built-in ones.
Result<NodeFacts> fingerprint(const FingerprintOptions& options);

}  // namespace nomad::host
