// HookResources: what the hooks of an allocation leave for others, such as the mounts of a volume
// for the hook of the task that wants it. Whoever changes one says which version of it he has seen,
// so that two who read, change and put lose nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/object/object.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::client {

class HookResources {
public:
  static constexpr std::size_t max_bytes = 1024 * 1024;  ///< Of all together.

  /// Version 0 and no value, if nobody has put it.
  Object<schema::plugin::AgentAnswer> get(std::string_view name) const;

  /// The value alone; empty, if nobody has put it.
  std::string text(std::string_view name) const {
    const auto found = resources_.find(name);
    return found == resources_.end() ? std::string{} : found->second.value;
  }

  /// As it is then. `conflict` unless the version is the present one; `overloaded` beyond
  /// `max_bytes`.
  Result<Object<schema::plugin::AgentAnswer>> put(schema::plugin::Resource::Reader resource);

private:
  struct Resource {
    std::uint64_t version = 0;
    std::string value;
  };

  std::map<std::string, Resource, std::less<>> resources_;
  std::size_t bytes_ = 0;
};

}  // namespace nomad::client
