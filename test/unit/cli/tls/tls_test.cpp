#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "cli/api.hpp"
#include "cli/run.hpp"
#include "runtime/net/tls/certificate.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

/// Makes a directory of its own the working directory, and keeps what is printed.
class Workplace {
public:
  Workplace() : before_{std::filesystem::current_path()} {
    std::filesystem::current_path(directory_.path());
    out_ = std::cout.rdbuf(text_.rdbuf());
    err_ = std::cerr.rdbuf(text_.rdbuf());
  }

  ~Workplace() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
    std::filesystem::current_path(before_);
  }

  std::string printed() {
    auto text = text_.str();
    text_.str("");
    return text;
  }

private:
  test::TempDir directory_;
  std::filesystem::path before_;
  std::ostringstream text_;
  std::streambuf* out_;
  std::streambuf* err_;
};

unsigned mode_of(const std::string& file) {
  struct stat found {};

  return ::stat(file.c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
}

std::string read_file(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

/// As `main` ends with it.
int code_of(const Result<int>& done) {
  return done ? *done : cli::fail(done.error());
}

}  // namespace

TEST_CASE("tls: an authority and its certificates, as files that only their owner reads") {
  Workplace position;
  CHECK(code_of(cli::run_tls_ca_create({})) == 0);
  CHECK(position.printed()
        == "==> CA certificate saved to: nomad-agent-ca.pem\n"
           "==> CA certificate key saved to: nomad-agent-ca-key.pem\n");
  CHECK(mode_of("nomad-agent-ca-key.pem") == 0600);
  const auto authority = net::describe_certificate(read_file("nomad-agent-ca.pem")).value();
  CHECK(authority.is_authority);
  CHECK(authority.common_name == "Nomad Agent CA " + authority.serial);

  CHECK(code_of(cli::run_tls_cert_create(
            {"-server", "-region=eu", "-additional-dnsname", "web.example"}))
        == 0);
  CHECK(position.printed().find("==> Server Certificate saved to eu-server-nomad.pem\n")
        != std::string::npos);
  CHECK(mode_of("eu-server-nomad-key.pem") == 0600);
  const auto server = net::describe_certificate(read_file("eu-server-nomad.pem")).value();
  CHECK_FALSE(server.is_authority);
  CHECK(server.issuer == authority.common_name);
  CHECK(server.dns_names
        == std::vector<std::string>{"web.example", "server.eu.nomad", "localhost"});
  CHECK(server.ip_addresses == std::vector<std::string>{"127.0.0.1"});

  CHECK(code_of(cli::run_tls_cert_info({"eu-server-nomad.pem"})) == 0);
  CHECK(position.printed().find("DNS Names      [web.example server.eu.nomad localhost]\n")
        != std::string::npos);
}

TEST_CASE("tls: nothing is overwritten, and mistakes are named") {
  Workplace position;
  CHECK(code_of(cli::run_tls_cert_create({"-client"})) == 1);
  CHECK(position.printed().starts_with("Error reading CA: open nomad-agent-ca.pem"));
  REQUIRE(code_of(cli::run_tls_ca_create({})) == 0);
  const auto before = read_file("nomad-agent-ca.pem");
  CHECK(position.printed() != "");
  CHECK(code_of(cli::run_tls_ca_create({})) == 1);
  CHECK(position.printed() == "CA certificate file 'nomad-agent-ca.pem' already exists\n");
  CHECK(read_file("nomad-agent-ca.pem") == before);
  CHECK(code_of(cli::run_tls_cert_create({"-client", "-server"})) == 1);
  CHECK(position.printed() == "Please provide either -server, -client, or -cli\n");
  CHECK(code_of(cli::run_tls_ca_create({"-domain", "example.org"})) == 1);
  CHECK(position.printed()
        == "Please provide the -name-constraint flag to use a custom domain constraint\n");
  CHECK(code_of(cli::run_tls_cert_info({"nothing.pem"})) == 1);
}

TEST_CASE("tls: a constrained authority does not certify other domains") {
  Workplace position;
  REQUIRE(code_of(cli::run_tls_ca_create({"-domain", "example.org", "-name-constraint"})) == 0);
  CHECK(code_of(cli::run_tls_cert_create({"-client", "-domain", "example.org"})) == 0);
  CHECK(position.printed() != "");
  CHECK(code_of(cli::run_tls_cert_create(
            {"-server", "-domain", "example.org", "-additional-dnsname", "elsewhere.test"}))
        == 1);
  CHECK(position.printed().find("the CA does not vouch for the certificate") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists("global-server-example.org.pem"));
}
