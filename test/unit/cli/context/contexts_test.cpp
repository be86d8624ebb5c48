// Contexts: their file, and what a command takes of one.
#include "cli/context/contexts.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cli;

namespace {

const Context prod{.address = "https://prod:4646",
                   .region = "eu",
                   .ns = "web",
                   .ca_cert = "ca.pem",
                   .ca_path = {},
                   .client_cert = "c.pem",
                   .client_key = "k.pem",
                   .tls_server_name = {},
                   .tls_skip_verify = false};

constexpr bool named = true;

}  // namespace

TEST_CASE("contexts: what is written is read again") {
  const Contexts contexts{.current = "prod",
                          .all = {{"prod", prod}, {"dev", {.address = "http://d"}}}};
  const auto again = contexts_of(text_of(contexts));
  REQUIRE(again.has_value());
  CHECK(*again == contexts);
}

TEST_CASE("contexts: a file that is none is an error") {
  CHECK(contexts_of("{").error().what == "byte 1: incomplete JSON");
  CHECK(contexts_of(R"({"contexts":{"../x":{}}})").error().what
        == "\"../x\" is no name of a context: letters, digits, '-', '_' and '.', at most 64, and no "
           "dot first");
}

TEST_CASE("contexts: a name is one of a file") {
  CHECK(check_context_name("prod-eu_1.a"));
  for (const auto* name : {"", ".", "..", "a/b", "a b", ".hidden"})
    CHECK_FALSE(check_context_name(name));
  CHECK_FALSE(check_context_name(std::string(65, 'a')));
}

TEST_CASE("contexts: a command takes what nothing else says") {
  CommonFlags flags;
  flags.context = "prod";
  flags.ns = "mine";
  fill_in(flags, prod, "secret", !named);
  CHECK(flags.address == "https://prod:4646");
  CHECK(flags.region == "eu");
  CHECK(flags.ns == "mine");
  CHECK(flags.token == "secret");
  CHECK(flags.client_cert == "c.pem");
  CHECK(flags.context == "prod");
}

TEST_CASE("contexts: a token that was given wins, and so do a certificate and its key") {
  CommonFlags flags;
  flags.token = "own";
  flags.client_cert = "own.pem";
  fill_in(flags, prod, "secret", named);
  CHECK(flags.token == "own");
  CHECK(flags.client_cert == "own.pem");
  CHECK(flags.client_key.empty());
}

TEST_CASE("contexts: with an address of its own a command takes nothing that nobody named") {
  CommonFlags flags;
  flags.context = "prod";
  flags.address = "http://other";
  fill_in(flags, prod, "secret", !named);
  CHECK(flags.ns.empty());
  CHECK(flags.token.empty());
  CHECK(flags.context.empty());
}

TEST_CASE("contexts: no token and no key goes to another address, though the context was named") {
  CommonFlags flags;
  flags.context = "prod";
  flags.address = "http://other";
  fill_in(flags, prod, "secret", named);
  CHECK(flags.ns == "web");
  CHECK(flags.token.empty());
  CHECK(flags.client_cert.empty());
  CHECK(flags.client_key.empty());
  CHECK(flags.context.empty());
}
