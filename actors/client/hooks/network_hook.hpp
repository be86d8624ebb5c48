// Hooks around the network of a group (modes "none", "bridge" and "cni/<name>").
//
// network, an actor:
// Owns:   nothing that is not on disk (`network::AllocNetworks`); what it still has to say about a
//         network that was made anew.
// Takes:  what the role Hook lists. Prerun makes the network, or finds that of an earlier agent,
//         tells the allocation's NetworkStatus and leaves the namespace's path as the resource
//         `network_namespace`; postrun and destroy take it down. Tasks that a new network has left
//         behind are restarted once they run.
// Parent: alloc_runner, report: its phase fails; the next phase finds a new one.
// Ends:   by the parent's exit message, after postrun.
//
// network_files, a function: writes resolv.conf and hosts of a task, and shows them to it at /etc
// where its driver can.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "runtime/network/alloc_networks.hpp"

namespace nomad::client {

/// The resource by which drivers and hooks learn of the namespace: its path.
inline constexpr std::string_view namespace_resource = "network_namespace";

struct NetworkHookParts {
  std::shared_ptr<const network::NetworkOptions> options;
  BlockingPool steps;
  UnixClock unix_now;
  std::function<network::NetworkTools(const network::NetworkOptions&)> tools_of
      = network::real_tools;
};

HookEntry network_hook(NetworkHookParts parts);

HookEntry network_files_hook(BlockingPool steps);

}  // namespace nomad::client
