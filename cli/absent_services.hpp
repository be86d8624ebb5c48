// Flags of Nomad's that are about Consul and Vault, of which there is neither yet: they are
// accepted, so that scripts run as they are, and whoever gives one is told why it does nothing.
#pragma once

#include <initializer_list>
#include <string_view>

#include "cli/arguments.hpp"

namespace nomad::cli {

/// Takes the flags with a value, and those without, whose names begin with "consul-" or "vault-".
void accept_without_effect(Arguments& command,
                           std::initializer_list<std::string_view> with_value,
                           std::initializer_list<std::string_view> alone = {});

}  // namespace nomad::cli
