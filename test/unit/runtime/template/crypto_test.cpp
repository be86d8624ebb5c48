// sprig's functions of passwords, keys and certificates, and what spew shows.
#include <string>

#include <crypt.h>
#include <doctest/doctest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "runtime/template/functions/certificates/private_key.hpp"
#include "runtime/template/functions/library.hpp"
#include "runtime/template/render.hpp"
#include "test/unit/runtime/template/cases.hpp"

using namespace nomad;
using namespace nomad::templates;

namespace {

std::string rendered(std::string text, const Limits& limits = {}) {
  static const Functions functions = task_functions();
  CaseSources sources;
  const auto parsed = TaskTemplate::parse(std::move(text), functions, {});
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().what);
  const auto done = parsed->render(sources, limits);
  return done ? done->text : "error: " + done.error().what;
}

/// The end of an error, behind where it was.
bool fails_with(const std::string& text, std::string_view end) {
  const std::string got = rendered(text);
  INFO(got);
  return got.starts_with("error: ") && got.ends_with(end);
}

struct FreeCertificate {
  void operator()(X509* it) const { X509_free(it); }
};

std::unique_ptr<X509, FreeCertificate> certificate_in(const std::string& text) {
  const auto begin = text.find("-----BEGIN CERTIFICATE");
  REQUIRE(begin != std::string::npos);
  BIO* in = BIO_new_mem_buf(text.data() + begin, static_cast<int>(text.size() - begin));
  std::unique_ptr<X509, FreeCertificate> out{PEM_read_bio_X509(in, nullptr, nullptr, nullptr)};
  BIO_free(in);
  REQUIRE(out != nullptr);
  return out;
}

}  // namespace

TEST_CASE("crypto: passwords that are derived are those of sprig's own tests") {
  const auto derived = [](const char* counter, const char* type) {
    return rendered(std::string{"{{sprig_derivePassword "} + counter + " \"" + type
                    + "\" \"password\" \"user\" \"example.com\"}}");
  };
  CHECK(derived("1", "long") == "ZedaFaxcZaso9*");
  CHECK(derived("2", "long") == "Fovi2@JifpTupx");
  CHECK(derived("1", "maximum") == "pf4zS1LjCg&LjhsZ7T2~");
  CHECK(derived("1", "medium") == "ZedJuz8$");
  CHECK(derived("1", "basic") == "pIS54PLs");
  CHECK(derived("1", "short") == "Zed5");
  CHECK(derived("1", "pin") == "6685");
  CHECK(derived("1", "odd") == "cannot find password template odd");
}

TEST_CASE("crypto: bcrypt and htpasswd give what a login can be checked by") {
  const std::string line = rendered("{{sprig_htpasswd \"ann\" \"secret\"}}");
  REQUIRE(line.starts_with("ann:$2a$10$"));
  const std::string hash = line.substr(4);
  crypt_data data{};
  CHECK(hash == crypt_r("secret", hash.c_str(), &data));
  CHECK(rendered("{{sprig_htpasswd \"a:b\" \"x\"}}") == "invalid username: a:b");
  CHECK(rendered("{{sprig_repeat 73 \"x\" | sprig_bcrypt}}")
        == "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes");
}

TEST_CASE("crypto: what was encrypted is decrypted with its password alone") {
  CHECK(rendered("{{sprig_encryptAES \"key\" \"plain\" | sprig_decryptAES \"key\"}}") == "plain");
  CHECK(rendered("{{sprig_repeat 16 \"x\" | sprig_encryptAES \"key\" | sprig_decryptAES \"key\"}}")
        == "xxxxxxxxxxxxxxxx");
  // By the command openssl: an initialization vector of zeros, the password "secretkey", the text
  // "plaintext".
  CHECK(rendered("{{sprig_decryptAES \"secretkey\" "
                 "\"AAAAAAAAAAAAAAAAAAAAALe9b2D8uTcZFlJ7leNzaWg=\"}}")
        == "plaintext");
  CHECK(rendered("{{sprig_encryptAES \"key\" \"\"}}{{sprig_decryptAES \"key\" \"\"}}").empty());
  CHECK(fails_with(
      "{{sprig_decryptAES \"other\" "
      "\"AAAAAAAAAAAAAAAAAAAAALe9b2D8uTcZFlJ7leNzaWg=\"}}",
      "error calling sprig_decryptAES: the password is not the one it was encrypted with"));
  CHECK(fails_with("{{sprig_decryptAES \"key\" \"AAAA\"}}", "input not full blocks"));
  CHECK(fails_with("{{sprig_decryptAES \"key\" \"no base64\"}}",
                   "illegal base64 data at input byte 2"));
}

TEST_CASE("crypto: private keys are in the forms that Go writes") {
  const auto key = [](const char* type) {
    return rendered(std::string{"{{sprig_genPrivateKey \""} + type + "\"}}");
  };
  CHECK(key("ecdsa").starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  CHECK(key("ed25519").starts_with("-----BEGIN PRIVATE KEY-----\n"));
  CHECK(key("odd") == "Unknown type odd");
  for (const auto kind : {KeyKind::rsa, KeyKind::ecdsa, KeyKind::ed25519}) {
    Work work{std::uint64_t{1} << 30U};
    const auto made = make_key(kind, work, 1024);
    REQUIRE(made.has_value());
    const auto pem = write_key(*made);
    REQUIRE(pem.has_value());
    const auto again = read_key(*pem);
    REQUIRE(again.has_value());
    CHECK(EVP_PKEY_eq(made->get(), again->get()) == 1);
  }
}

TEST_CASE("crypto: certificates are made with keys that fit and sign") {
  const std::string foreign
      = "{{$a := sprig_genCAWithKey \"a\" 1 (sprig_genPrivateKey \"ecdsa\")}}"
        "{{$b := sprig_genCAWithKey \"b\" 1 (sprig_genPrivateKey \"ecdsa\")}}"
        "{{$c := sprig_buildCustomCert (sprig_b64enc $a.Cert) (sprig_b64enc $b.Key)}}"
        "{{sprig_genSignedCertWithKey \"x\" (sprig_list) (sprig_list) 1 $c $a.Key}}";
  CHECK(fails_with(foreign,
                   "error calling sprig_genSignedCertWithKey: error creating certificate: x509: "
                   "provided PrivateKey doesn't match parent's PublicKey"));
  CHECK(fails_with("{{sprig_genCAWithKey \"a\" 1 (sprig_genPrivateKey \"dsa\")}}",
                   "error calling sprig_genCAWithKey: error creating certificate: x509: only RSA, "
                   "ECDSA and Ed25519 keys supported"));
  CHECK(
      fails_with("{{$a := sprig_genCAWithKey \"a\" 1 (sprig_genPrivateKey \"ecdsa\")}}"
                 "{{sprig_buildCustomCert (sprig_b64enc $a.Cert) \"bm90aGluZw==\"}}",
                 "error calling sprig_buildCustomCert: error parsing private key: no PEM data in "
                 "input"));
}

TEST_CASE("crypto: a key that can't be read is told in sprig's words") {
  CHECK(read_key("nothing").error().what == "no PEM data in input");
  CHECK(read_key("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").error().what
        == "no private key data in PEM block of type CERTIFICATE");
  CHECK(read_key("-----BEGIN OLD PRIVATE KEY-----\nAAAA\n-----END OLD PRIVATE KEY-----\n")
            .error()
            .what
        == "invalid private key type OLD PRIVATE KEY");
  CHECK(read_key("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
            .error()
            .what
        == "parsing RSA private key from PEM: asn1: structure error");
}

TEST_CASE("crypto: a certificate is signed by its authority, for its names and addresses") {
  const std::string text = rendered(
      "{{$key := sprig_genPrivateKey \"ecdsa\"}}{{$ca := sprig_genCAWithKey \"the CA\" 30 $key}}"
      "{{$cert := sprig_genSignedCertWithKey \"web, \\\"x\\\"\" (sprig_list \"10.0.0.1\" \"::1\") "
      "(sprig_list \"a.example,DNS:evil\" \"b\") 7 $ca $key}}{{$cert.Cert}}|{{$ca.Cert}}");
  const auto cert = certificate_in(text);
  const auto authority = certificate_in(text.substr(text.find('|')));

  CHECK(X509_verify(cert.get(), X509_get0_pubkey(authority.get())) == 1);
  CHECK(X509_check_ca(authority.get()) == 1);
  CHECK(X509_check_ca(cert.get()) == 0);
  CHECK(X509_check_issued(authority.get(), cert.get()) == X509_V_OK);
  CHECK(X509_check_host(cert.get(), "b", 0, 0, nullptr) == 1);
  CHECK(X509_check_host(cert.get(), "evil", 0, 0, nullptr) == 0);  // one name, commas and all
  CHECK(X509_check_ip_asc(cert.get(), "10.0.0.1", 0) == 1);
  CHECK(X509_check_ip_asc(cert.get(), "::1", 0) == 1);
  int days = 0;
  int seconds = 0;
  ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert.get()), X509_get0_notAfter(cert.get()));
  CHECK(days == 7);
  CHECK(seconds == 0);
}

TEST_CASE("crypto: a certificate that can't be made says why") {
  const std::string with_key = "{{$key := sprig_genPrivateKey \"ecdsa\"}}";
  CHECK(fails_with(
      with_key + "{{sprig_genSelfSignedCertWithKey \"x\" (sprig_list \"10.0.0\") nil 1 $key}}",
      "error parsing ip: 10.0.0"));
  CHECK(fails_with(with_key + "{{sprig_genSelfSignedCertWithKey \"x\" (sprig_list 5) nil 1 $key}}",
                   "error parsing ip: 5 is not a string"));
  CHECK(fails_with(with_key + "{{sprig_genSelfSignedCertWithKey \"x\" nil (sprig_list 5) 1 $key}}",
                   "error processing alternate dns name: 5 is not a string"));
  CHECK(fails_with("{{sprig_genCAWithKey \"x\" 1 \"no key\"}}",
                   "parsing private key: no PEM data in input"));
  CHECK(fails_with("{{sprig_genCA \"x\" 9223372036854775807}}", "so many days can't be told"));
  CHECK(fails_with("{{sprig_buildCustomCert \"?\" \"\"}}", "unable to decode base64 certificate"));
}

TEST_CASE("crypto: what a rendering can have made is bounded") {
  CHECK(rendered("{{range loop 100}}{{sprig_bcrypt \"x\"}}{{end}}",
                 {.work = std::uint64_t{100} << 20U})
            .find("more work than is allowed")
        != std::string::npos);
  CHECK(rendered("{{sprig_genPrivateKey \"\"}}", {.work = 1 << 21}).find("more work")
        != std::string::npos);
}

TEST_CASE("crypto: a key that nobody wants any more is not made to its end") {
  for (const auto kind : {KeyKind::rsa, KeyKind::dsa}) {
    int looks = 0;
    Work work{std::uint64_t{4} << 30U, [&looks]() -> Result<void> {
                if (++looks < 3) return {};
                return Error{Errc::cancelled, "nobody wants it"};
              }};
    const auto made = make_key(kind, work, 4096);
    CHECK(made.error().what == "nobody wants it");
    CHECK(looks == 3);
  }
}

TEST_CASE("spew: shows types and lengths") {
  CHECK(rendered("{{spew_sdump \"abc\" 5 true nil}}")
        == "(string) (len=3) \"abc\"\n(int) 5\n(bool) true\n(interface {}) <nil>\n");
  CHECK(rendered("{{spew_sdump (sprig_list 1 \"b\")}}")
        == "([]interface {}) (len=2 cap=2) {\n (int) 1,\n (string) (len=1) \"b\"\n}\n");
  CHECK(rendered("{{spew_sdump (sprig_dict \"k\" (sprig_list))}}")
        == "(map[string]interface {}) (len=1) {\n (string) (len=1) \"k\": ([]interface {}) {\n "
           "}\n}\n");
}

TEST_CASE("spew: formats %v by its own rules, and the rest as Go does") {
  CHECK(rendered("{{spew_sprintf \"%v %d%% %s\" (sprig_list 1 nil) 5 \"x\"}}") == "[1 <nil>] 5% x");
  CHECK(rendered("{{spew_sprintf \"%#v\" (sprig_dict \"k\" 1)}}")
        == "(map[string]interface {})map[k:(int)1]");
  CHECK(rendered("{{spew_sprintf \"%v\"}}") == "%!v(MISSING)");
}

TEST_CASE("spew: what would be printed is nowhere") {
  CHECK(rendered("a{{spew_dump \"x\"}}{{spew_printf \"%v\" 1}}b") == "ab");
}
