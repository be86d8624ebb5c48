// A plugin's providers of services: their names are entered where servers and clients look, and
// what hooks of clients ask becomes a question of the plugin. Part of the PluginLink, called in its
// turns.
#pragma once

#include <memory>

#include "actors/plugin/questions.hpp"
#include "actors/roles/service_providers.hpp"

namespace nomad::plugin {

/// The error says which name is another plugin's. Without `providers` nothing is entered.
Result<> enter_providers(const std::shared_ptr<client::ServiceProviders>& providers,
                         schema::plugin::Declaration::Reader declaration,
                         const client::ServiceProvider& provider);

/// The same error, and nothing is entered.
Result<> check_providers(const std::shared_ptr<client::ServiceProviders>& providers,
                         schema::plugin::Declaration::Reader declaration);

using ProviderDone = actor::Promise<client::service_provider::Done>;

void ask_to_register(Questions& questions,
                     const client::service_provider::Register& order,
                     const ProviderDone& promise);

void ask_to_deregister(Questions& questions,
                       const client::service_provider::Deregister& order,
                       const ProviderDone& promise);

void tell_of_checks(const Questions& questions,
                    const client::service_provider::ChecksChanged& change);

}  // namespace nomad::plugin
