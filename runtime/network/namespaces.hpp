// Network namespaces with names, kept by a mount below a directory as `ip netns` does: they are
// there until they are removed, whatever becomes of the agent and of who runs in them. Block; any
// thread; need CAP_SYS_ADMIN.
//
// May depend on: runtime/base, host/process.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace nomad::network {

class Namespaces {
public:
  explicit Namespaces(std::string directory = "/run/netns") : directory_{std::move(directory)} {}

  std::string path(const std::string& name) const { return directory_ + '/' + name; }

  bool exists(const std::string& name) const;

  /// Makes one whose loopback interface is up. `conflict` if there is one of the name.
  Result<> make(const std::string& name) const;

  /// Those who run in it keep it until they end. Fine if there is none.
  Result<> remove(const std::string& name) const;

private:
  std::string directory_;
};

}  // namespace nomad::network
