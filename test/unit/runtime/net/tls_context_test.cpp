// Certificates that a TLS context takes as a text, and keys that it takes as files.
#include "runtime/net/tls/tls_context.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "runtime/net/tls/certificate.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

/// What reads it asks for a pass phrase before anything else.
std::string locked_pem(const std::string& name) {
  return "-----BEGIN " + name + "-----\nProc-Type: 4,ENCRYPTED\n"
         "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
         "AAAAAAAAAAAAAAAAAAAAAA==\n-----END "
         + name + "-----\n";
}

std::string refusal_of_ca(const std::string& pem) {
  const auto context = net::TlsContext::make({.ca_pem = pem});
  return context ? "" : context.error().what;
}

}  // namespace

TEST_CASE("tls: each certificate of a text counts, and none may be damaged") {
  const auto first = net::make_authority({}).value().certificate;
  const auto second = net::make_authority({}).value().certificate;
  CHECK(refusal_of_ca(first + second) == "");
  CHECK(refusal_of_ca("# ours\n" + first + "\n# and\n" + second + "\n") == "");
  CHECK(refusal_of_ca("x") == "the CA certificate is no PEM");
  auto damaged = second;
  damaged.insert(damaged.size() / 2, "!");
  const std::string unread = "the CA certificate cannot be read: ";
  CHECK(refusal_of_ca(first + damaged) == unread + "bad base64 decode");
  CHECK(refusal_of_ca(first + second.substr(0, second.size() / 2)) == unread + "bad end line");
  CHECK(refusal_of_ca("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .starts_with(unread));
}

TEST_CASE("tls: nobody at a terminal is asked for a pass phrase") {
  CHECK(refusal_of_ca(locked_pem("CERTIFICATE"))
        == "the CA certificate cannot be read: it is encrypted by a pass phrase");
  const test::TempDir folder;
  const auto own
      = net::make_certificate(net::make_authority({}).value(), {.common_name = "x"}).value();
  std::ofstream{folder.path() + "/cert"} << own.certificate;
  std::ofstream{folder.path() + "/key"} << locked_pem("RSA PRIVATE KEY");
  const auto context = net::TlsContext::make(
      {.cert_file = folder.path() + "/cert", .key_file = folder.path() + "/key"});
  REQUIRE_FALSE(context);
  CHECK(context.error().what
        == "the key " + folder.path() + "/key: it is encrypted by a pass phrase");
}

TEST_CASE("tls: what does not go together is told before anything is read") {
  CHECK(net::TlsContext::make({.cert_file = "/cert"}).error()
        == Error{Errc::invalid_argument, "tls: cert_file and key_file go together"});
  CHECK(net::TlsContext::make({.min_version = "tls10"}).error()
        == Error{Errc::invalid_argument, "tls.tls_min_version: \"tls10\" is not tls12 or tls13"});
}

TEST_CASE("tls: a certificate is made for names, by a key that is the CA's") {
  const auto authority = net::make_authority({}).value();
  const auto refusal = [](const net::CertifiedKey& by, net::CertificateOptions options) {
    return net::make_certificate(by, options).error().what;
  };
  CHECK(refusal(authority, {.dns_names = {"a,DNS:b"}}) == "\"a,DNS:b\" is no DNS name");
  CHECK(refusal({authority.certificate, net::make_authority({}).value().key}, {})
        == "the CA's key is not that of its certificate");
  CHECK(refusal({authority.certificate, "x"}, {}).starts_with("parsing the CA's key: "));
}
