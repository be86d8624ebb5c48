// What of a PluginLink outlives an incarnation of the actor. Internal to it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "actors/plugin/plugin_link.hpp"

namespace nomad::plugin {

struct LinkMemory {
  LinkOptions options;  ///< With the present configuration.
  std::optional<plugin_link::Serve> served;
  Object<schema::plugin::Declaration> declaration;  ///< Empty: it has never said what it is.
  bool was_configured = false;                      ///< It has taken its present configuration.
  std::string refusal;                              ///< Why it is refused.
  std::map<std::string, actor::Any> drivers;        ///< Who stands for them.
};

}  // namespace nomad::plugin
