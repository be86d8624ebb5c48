// Providers of services, by their names: "nomad", whose registrations the servers keep; "consul",
// which is nobody here; and those that plugins bring.
#pragma once

#include <string>
#include <string_view>

namespace nomad::jobspec {

inline bool is_plugin_provider(std::string_view provider) {
  return !provider.empty() && provider != "nomad" && provider != "consul";
}

/// Whether clients register the service, and run its checks.
inline bool is_served_by_clients(std::string_view provider) {
  return provider == "nomad" || is_plugin_provider(provider);
}

/// The node's attribute that says that a plugin there brings the provider.
inline std::string provider_attribute(std::string_view provider) {
  return "service_provider." + std::string{provider};
}

}  // namespace nomad::jobspec
