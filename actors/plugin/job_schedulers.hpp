// A plugin's schedulers: their types are entered where the servers look, and a worker's question
// becomes one of the plugin. Part of the PluginLink, called in its turns.
#pragma once

#include <memory>

#include "actors/plugin/questions.hpp"
#include "actors/roles/job_types.hpp"

namespace nomad::plugin {

/// The error says which type is another plugin's. Without `types` nothing is entered.
Result<> enter_types(const std::shared_ptr<server::JobTypes>& types,
                     schema::plugin::Declaration::Reader declaration,
                     const server::Decider& decider);

/// The same error, and nothing is entered.
Result<> check_types(const std::shared_ptr<server::JobTypes>& types,
                     schema::plugin::Declaration::Reader declaration);

void ask_decision(Questions& questions,
                  const server::decider::Decide& question,
                  const actor::Promise<server::decider::Decided>& promise);

}  // namespace nomad::plugin
