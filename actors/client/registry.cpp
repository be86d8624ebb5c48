#include "actors/client/registry.hpp"

#include "actors/client/drivers/mock_driver.hpp"
#include "actors/client/drivers/raw_exec.hpp"
#include "actors/client/hooks/function_hooks.hpp"
#include "actors/client/hooks/health_hook.hpp"

namespace nomad::client {

Registry builtin_registry(bool with_mock_driver) {
  Registry registry;
  registry.alloc_hooks = {alloc_dir_hook(), health_hook()};
  registry.task_hooks = {validate_hook(), task_dir_hook(), volumes_hook(), dispatch_payload_hook()};
  registry.drivers.emplace("raw_exec", raw_exec_entry());
  if (with_mock_driver) registry.drivers.emplace("mock_driver", mock_driver_entry());
  registry.fingerprinters = host::fingerprinters();
  return registry;
}

}  // namespace nomad::client
