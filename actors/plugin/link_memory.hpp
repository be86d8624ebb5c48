// What of a PluginLink outlives an incarnation of the actor. Internal to it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "actors/plugin/plugin_link.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::plugin {

struct LinkMemory {
  /// What runs when what was to follow it has failed.
  struct Earlier {
    MakePeer make_peer;
    std::string config;
    std::map<std::string, std::string> locations;
    ApiUse api;
    Object<schema::plugin::Declaration> declaration;
    /// Of its successor: whether what that says it brings can be used here.
    std::function<Result<>(schema::plugin::Declaration::Reader)> check{};
  };

  LinkOptions options;  ///< With the present configuration.
  std::optional<plugin_link::Serve> served;
  Object<schema::plugin::Declaration> declaration;  ///< Empty: it has never said what it is.
  bool was_configured = false;                      ///< It has taken its present configuration.
  std::optional<Earlier> earlier;                   ///< Until its successor is configured.
  std::string refusal;                              ///< Why it is refused.
  Nanoseconds patience{0};                          ///< With its declaration.
  std::map<std::string, actor::Any> drivers;        ///< Who stands for them.
};

}  // namespace nomad::plugin
