// Fingerprints: what a node is, as attributes for constraints and as amounts for the scheduler.
//
// Each fact family is one function from (options, facts so far) to facts; they run in the order of
// `fingerprinters()`, so that later ones may override. Names and values of attributes are Nomad's.
// Reading is separate from parsing: the parse functions are pure and tested on texts. No
// subprocess, no sleep, no network: the whole set takes a few milliseconds.
//
// Functions may run on any thread, several at a time.
#pragma once

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
  std::string bridge_network_name{};
  bool bridge_hairpin_mode = false;
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
};

/// An interface with its addresses (NodeResources.NodeNetworks).
struct NodeNetwork {
  std::string mode{};  ///< "host" or "bridge"
  std::string device{};
  std::string mac_address{};
  std::uint64_t speed = 0;
  std::vector<NodeAddress> addresses{};
};

/// One address of the chosen interface (NodeResources.Networks).
struct NetworkResource {
  std::string mode{};
  std::string device{};
  std::string cidr{};
  std::string ip{};
  std::uint64_t mbits = 0;
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
};

using Fingerprinter = std::function<Result<>(const FingerprintOptions&, NodeFacts&)>;

struct NamedFingerprinter {
  std::string name{};  ///< As fingerprint.allowlist and fingerprint.denylist have it.
  Fingerprinter run;
};

/// The built-in ones in the order in which they run: arch, bridge, cgroup, cpu, host, landlock,
/// memory, network, nomad, signal, storage.
std::vector<NamedFingerprinter> fingerprinters();

/// Runs `selected` one after the other. Any error ends it: an agent does not start half known.
Result<NodeFacts> fingerprint(const FingerprintOptions& options,
                              const std::vector<NamedFingerprinter>& selected);

/// All built-in ones.
Result<NodeFacts> fingerprint(const FingerprintOptions& options);

}  // namespace nomad::host
