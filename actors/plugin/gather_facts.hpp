// One question to a fingerprinter of a plugin. Part of the PluginLink, called in its turns.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/plugin/plugin_facts.hpp"
#include "actors/plugin/questions.hpp"

namespace nomad::plugin {

/// Asks it, and keeps what it gives, or says in the log why nothing is kept. `then` follows in any
/// case. `plugin` is its name.
void gather_facts(Questions& questions,
                  const std::shared_ptr<PluginFacts>& facts,
                  const std::string& plugin,
                  const std::string& fingerprinter,
                  const std::function<void()>& then);

}  // namespace nomad::plugin
