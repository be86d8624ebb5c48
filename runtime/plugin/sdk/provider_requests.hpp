// ProviderRequests: the providers of services of a session: made when they are first asked, and
// asked. Internal to the SDK.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/plugin/sdk/plugin.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {

class ProviderRequests {
public:
  /// All outlive it.
  ProviderRequests(const Plugin& plugin, Wire& wire, Agent& agent)
      : plugin_{plugin}, wire_{wire}, agent_{agent} {}

  ProviderRequests(const ProviderRequests&) = delete;
  ProviderRequests& operator=(const ProviderRequests&) = delete;

  /// A frame that is about services.
  void take(schema::plugin::Frame::Reader frame);

private:
  /// Null: the plugin has none of this name. May throw.
  ServiceProvider* find(std::string_view name);

  void ask(std::uint64_t number,
           std::string_view name,
           const std::function<void(ServiceProvider&, const DoneReply&)>& what);

  const Plugin& plugin_;
  Wire& wire_;
  Agent& agent_;
  std::map<std::string, std::unique_ptr<ServiceProvider>, std::less<>> made_;
};

}  // namespace nomad::plugin
