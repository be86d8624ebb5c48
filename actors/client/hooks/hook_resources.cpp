#include "actors/client/hooks/hook_resources.hpp"

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::client {

Object<schema::plugin::AgentAnswer> HookResources::get(std::string_view name) const {
  Draft<schema::plugin::AgentAnswer> draft;
  auto resource = draft->initResource();
  resource.setName(text(std::string{name}));
  if (const auto found = resources_.find(name); found != resources_.end()) {
    resource.setVersion(found->second.version);
    const auto& value = found->second.value;
    resource.setValue({reinterpret_cast<const capnp::byte*>(value.data()), value.size()});
  }
  return draft.freeze();
}

Result<Object<schema::plugin::AgentAnswer>> HookResources::put(
    schema::plugin::Resource::Reader resource) {
  const auto name = view(resource.getName());
  const auto found = resources_.find(name);
  const std::uint64_t present = found == resources_.end() ? 0 : found->second.version;
  if (resource.getVersion() != present)
    return Error{Errc::conflict, fmt::format("resource \"{}\" is at version {}, not {}", name,
                                             present, resource.getVersion())};
  const auto value = resource.getValue();
  const auto before = found == resources_.end() ? 0 : name.size() + found->second.value.size();
  const auto bytes = bytes_ - before + name.size() + value.size();
  if (bytes > max_bytes)
    return Error{
        Errc::overloaded,
        fmt::format("the hooks of an allocation keep at most {} bytes for each other", max_bytes)};
  bytes_ = bytes;
  auto& kept = resources_[std::string{name}];
  kept.version = present + 1;
  kept.value.assign(reinterpret_cast<const char*>(value.begin()), value.size());
  return get(name);
}

}  // namespace nomad::client
