// Flags of Consul and Vault: accepted, and said to do nothing.
#include "cli/absent_services.hpp"

#include <doctest/doctest.h>

#include "test/unit/cli/capture.hpp"

using namespace nomad;
using namespace nomad::cli;

TEST_CASE(
    "absent services: their flags are taken with their values, and whoever gives one is told") {
  Arguments command{"job run [options] <path>", "Runs."};
  accept_without_effect(command, {"vault-token", "consul-namespace"}, {"consul-ssl"});
  const test::Capture printed;

  CHECK_FALSE(command.parse({"-vault-token", "s3cret", "-consul-namespace=x", "-consul-ssl", "f"}));

  CHECK(command.positional() == std::vector<std::string>{"f"});
  CHECK(printed.err()
        == "-vault-token has no effect: there is no Vault yet: keep secrets as variables (nomadctl "
           "var put)\n"
           "-consul-namespace has no effect: there is no Consul yet: services are those of Nomad "
           "(provider = \"nomad\")\n"
           "-consul-ssl has no effect: there is no Consul yet: services are those of Nomad "
           "(provider = \"nomad\")\n");
  CHECK(command.help().find("-vault-token=<value>\n    Has no effect: there is no Vault yet")
        != std::string::npos);
}

TEST_CASE("absent services: who gives none hears nothing") {
  Arguments command{"job run [options] <path>", "Runs."};
  accept_without_effect(command, {"vault-token"});
  const test::Capture printed;
  CHECK_FALSE(command.parse({"f"}));
  CHECK(printed.err().empty());
}
