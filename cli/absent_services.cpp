#include "cli/absent_services.hpp"

#include <iostream>
#include <string>

#include <fmt/format.h>

namespace nomad::cli {
namespace {

std::string_view reason_for(std::string_view flag) {
  return flag.starts_with("vault-")
             ? "there is no Vault yet: keep secrets as variables (nomadctl var put)"
             : "there is no Consul yet: services are those of Nomad (provider = \"nomad\")";
}

}  // namespace

void accept_without_effect(Arguments& command,
                           std::initializer_list<std::string_view> with_value,
                           std::initializer_list<std::string_view> alone) {
  for (const auto name : with_value)
    command.option(name, fmt::format("Has no effect: {}.", reason_for(name)));
  for (const auto name : alone)
    command.flag(name, fmt::format("Has no effect: {}.", reason_for(name)));
  command.then([&command]() -> Result<> {
    for (const auto& flag : command.given()) {
      const auto name = std::string_view{flag}.substr(1, flag.find('=') - 1);
      // The value stays out of it: it may be a token.
      if (name.starts_with("vault-") || name.starts_with("consul-"))
        std::cerr << fmt::format("-{} has no effect: {}\n", name, reason_for(name));
    }
    return {};
  });
}

}  // namespace nomad::cli
