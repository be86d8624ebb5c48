// Public keys as auth methods write them.
#include "runtime/access/login/public_key.hpp"

#include <doctest/doctest.h>
#include <openssl/ui.h>

namespace nomad::access {

namespace {

int asked_at_terminal = 0;

/// Instead of the terminal, while this lives.
struct NoTerminal {
  NoTerminal() {
    asked_at_terminal = 0;
    UI_method_set_opener(method, [](UI*) {
      ++asked_at_terminal;
      return 0;
    });
    UI_set_default_method(method);
  }

  ~NoTerminal() {
    UI_set_default_method(before);
    UI_destroy_method(method);
  }

  const UI_METHOD* before = UI_get_default_method();
  UI_METHOD* method = UI_create_method("none");
};

}  // namespace

TEST_CASE("public key: nobody at a terminal is asked for a pass phrase") {
  const NoTerminal terminal;
  for (const std::string name : {"CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"}) {
    CAPTURE(name);
    const auto key = read_pem_key("-----BEGIN " + name
                                  + "-----\nProc-Type: 4,ENCRYPTED\n"
                                    "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
                                    "AAAAAAAAAAAAAAAAAAAAAA==\n-----END "
                                  + name + "-----\n");
    REQUIRE_FALSE(key);
    CHECK(key.error().code == Errc::invalid_argument);
  }
  CHECK(asked_at_terminal == 0);
}

}  // namespace nomad::access
