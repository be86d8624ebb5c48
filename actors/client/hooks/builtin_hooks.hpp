// The hooks that the program brings, each made from what it needs. The client makes them when it
// has all of that; nobody else knows the whole of it.
#pragma once

#include <memory>
#include <string>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/hooks/user_rules.hpp"
#include "actors/client/templates/data_watcher.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/check_runner.hpp"
#include "actors/client/tools/identity_signer.hpp"
#include "actors/client/tools/node_identities.hpp"
#include "actors/client/tools/pending_deregistrations.hpp"
#include "actors/client/tools/task_sockets.hpp"
#include "actors/client/volumes/volume_manager.hpp"
#include "actors/roles/service_providers.hpp"
#include "runtime/net/byte_stream.hpp"

namespace nomad::artifact {
class FetchPool;
}

namespace nomad::host {
class FileChanges;
}

namespace nomad::network {
struct NetworkOptions;
}

namespace nomad::client {

/// What the agent gives them.
struct HookSettings {
  UserRules users{};
  std::shared_ptr<artifact::FetchPool> artifacts{};  ///< Null: tasks with artifacts fail.
  std::shared_ptr<host::FileChanges> news{};         ///< Null: it is made.
  std::shared_ptr<TaskSockets> sockets{};            ///< Null: tasks have none.
};

/// What the client has for them.
struct HookParts {
  BlockingPool steps{};
  CheckRunner checks{};
  DataWatcher data{};
  IdentitySigner identities{};
  std::shared_ptr<NodeIdentities> node_identities{};
  PendingDeregistrations deregistrations{};
  std::shared_ptr<ServiceProviders> providers{};
  std::shared_ptr<const TemplateSettings> templates{};
  std::shared_ptr<const network::NetworkOptions> network{};
  net::Connector peers{};
  VolumeManager volumes{};
  std::string csi_root{};  ///< As VolumeManagerOptions has it.
  std::string region{};
  UnixClock unix_now{};
};

Hooks builtin_hooks(const HookSettings& settings, const HookParts& parts);

}  // namespace nomad::client
