// tls ca create|info, tls cert create|info: a certificate authority and certificates for a cluster,
// as files in the working directory. Keys are readable by their owner alone.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/new_file.hpp"
#include "cli/run.hpp"
#include "runtime/net/tls/certificate.hpp"

namespace nomad::cli {
namespace {

bool exists(const std::string& path) {
  struct stat found {};

  return ::lstat(path.c_str(), &found) == 0;
}

/// Certificate and key, in this order, each said when it is there.
Result<int> save(const net::CertifiedKey& made,
                 const std::string& certificate_file,
                 const std::string& key_file,
                 std::string_view what,
                 std::string_view separator) {
  NOMAD_TRY(write_new(certificate_file, made.certificate, 0644));
  std::cout << fmt::format("==> {} saved to{} {}\n", what, separator, certificate_file);
  NOMAD_TRY(write_new(key_file, made.key, 0600));
  std::cout << fmt::format("==> {} key saved to{} {}\n", what, separator, key_file);
  return 0;
}

struct AuthorityFlags {
  net::AuthorityOptions empty = {.common_name = "",
                                 .country = "",
                                 .postal_code = "",
                                 .province = "",
                                 .locality = "",
                                 .street_address = "",
                                 .organization = "",
                                 .organizational_unit = "",
                                 .days = 0};
  std::vector<std::string> additional_domains;
  std::int64_t days = 0;
  std::string domain;
  bool name_constraint = false;

  bool is_custom() const {
    const auto& o = empty;
    return !(o.common_name + o.country + o.postal_code + o.province + o.locality + o.street_address
             + o.organization + o.organizational_unit)
                .empty();
  }
};

void add_to(Arguments& parser, AuthorityFlags& flags) {
  auto& options = flags.empty;
  parser.option("additional-domain", flags.additional_domains,
                "Another zone that the CA may certify; may stand several times.");
  parser.option("common-name", options.common_name, "Common name of the CA.");
  parser.option("country", options.country, "Country of the CA.");
  parser.option("days", flags.days, "How many days the CA is valid; 1825 if not given.");
  parser.option("domain", flags.domain, "Domain of the cluster, with -name-constraint.");
  parser.option("locality", options.locality, "Locality of the CA.");
  parser.flag("name-constraint", flags.name_constraint,
              "The CA may only certify names below its domains.");
  parser.option("organization", options.organization, "Organization of the CA.");
  parser.option("organizational-unit", options.organizational_unit,
                "Organizational unit of the CA.");
  parser.option("postal-code", options.postal_code, "Postal code of the CA.");
  parser.option("province", options.province, "Province of the CA.");
  parser.option("street-address", options.street_address, "Street address of the CA.");
}

/// The options of the CA, or what is wrong with the flags.
Result<net::AuthorityOptions> authority_options(AuthorityFlags& flags) {
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, std::move(what)};
  };
  net::AuthorityOptions options;
  if (flags.is_custom()) {
    for (const auto& [value, name] :
         {std::pair{&flags.empty.common_name, "common-name"},
          std::pair{&flags.empty.country, "country"},
          std::pair{&flags.empty.organization, "organization"},
          std::pair{&flags.empty.organizational_unit, "organizational-unit"}})
      if (value->empty())
        return wrong(fmt::format("Please provide the -{} flag when customizing the CA", name));
    options = flags.empty;
  }
  options.days = flags.days > 0 ? static_cast<int>(flags.days) : 1825;
  if (flags.domain.empty()) flags.domain = "nomad";
  if (flags.domain != "nomad" && !flags.name_constraint)
    return wrong("Please provide the -name-constraint flag to use a custom domain constraint");
  if (flags.domain == "nomad" && flags.name_constraint)
    return wrong("Please provide the -domain flag if you want to enable custom domain constraints");
  if (!flags.additional_domains.empty() && !flags.name_constraint)
    return wrong("Please provide the -name-constraint flag to use a custom domain constraints");
  if (flags.name_constraint) {
    options.permitted_domains = {flags.domain, "localhost", "nomad"};
    options.permitted_domains.insert(options.permitted_domains.end(),
                                     flags.additional_domains.begin(),
                                     flags.additional_domains.end());
  }
  return options;
}

struct CertificateFlags {
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::string ca = "#DOMAIN#-agent-ca.pem";
  std::string key = "#DOMAIN#-agent-ca-key.pem";
  std::string domain = "nomad";
  std::string region;
  std::string cluster_region;
  std::int64_t days = 365;
  bool cli = false;
  bool client = false;
  bool server = false;
};

void add_to(Arguments& parser, CertificateFlags& flags) {
  parser.option("additional-dnsname", flags.dns_names,
                "Another DNS name of the holder; may stand several times.");
  parser.option("additional-ipaddress", flags.ip_addresses,
                "Another IP address of the holder; may stand several times.");
  parser.option("ca", flags.ca, "File of the CA's certificate.");
  parser.flag("cli", flags.cli, "A certificate for the commands.");
  parser.flag("client", flags.client, "A certificate for a client.");
  parser.option("cluster-region", flags.cluster_region, "Deprecated: use -region.");
  parser.option("days", flags.days, "How many days the certificate is valid.");
  parser.option("domain", flags.domain, "The domain of the cluster.");
  parser.option("key", flags.key, "File of the CA's key.");
  parser.option("region", flags.region, "The region; global if not given.");
  parser.flag("server", flags.server, "A certificate for a server.");
}

std::string region_of(const CertificateFlags& flags) {
  if (!flags.cluster_region.empty()) return flags.cluster_region;
  if (!flags.region.empty()) return flags.region;
  const char* variable = std::getenv("NOMAD_REGION");
  return variable != nullptr && *variable != '\0' ? variable : "global";
}

std::string in_domain(std::string file, const std::string& domain) {
  constexpr std::string_view mark = "#DOMAIN#";
  if (const auto position = file.find(mark); position != std::string::npos)
    file.replace(position, mark.size(), domain);
  return file;
}

/// Names and addresses of the holder. A certificate names its own region only: one that named
/// another would make its holder a server there.
net::CertificateOptions holder(const CertificateFlags& flags,
                               const std::string& role,
                               const std::string& region) {
  net::CertificateOptions options;
  options.common_name = fmt::format("{}.{}.{}", role, region, flags.domain);
  options.dns_names = flags.dns_names;
  options.dns_names.push_back(fmt::format("{}.{}.nomad", role, region));
  if (flags.domain != "nomad") options.dns_names.push_back(options.common_name);
  options.dns_names.emplace_back("localhost");
  options.ip_addresses = flags.ip_addresses;
  if (role != "cli") options.ip_addresses.emplace_back("127.0.0.1");
  options.days = static_cast<int>(flags.days);
  return options;
}

Result<int> show_info(const std::vector<std::string>& arguments, bool is_authority) {
  const std::string what = is_authority ? "CA" : "certificate";
  Arguments parser{is_authority ? "tls ca info <CA file>" : "tls cert info <certificate file>",
                   is_authority ? "Shows a certificate authority." : "Shows a certificate."};
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() != 1) return parser.misuse("This command takes one argument");
  const auto pem = NOMAD_TRY(
      read_input(parser.positional()[0]).within(fmt::format("Error reading {} file", what)));
  const auto text = NOMAD_TRY(net::describe_certificate(pem).within(parser.positional()[0]));
  std::vector<std::pair<std::string, std::string>> rows{{"Serial Number", text.serial},
                                                        {"Issuer CN", text.issuer},
                                                        {"Common Name", text.common_name},
                                                        {"Expiry Date", text.not_after}};
  if (is_authority) {
    rows.emplace_back("Permitted DNS Domains",
                      fmt::format("[{}]", fmt::join(text.permitted_domains, " ")));
  } else {
    rows.emplace_back("DNS Names", fmt::format("[{}]", fmt::join(text.dns_names, " ")));
    rows.emplace_back("IP Addresses", fmt::format("[{}]", fmt::join(text.ip_addresses, " ")));
  }
  std::size_t width = 0;
  for (const auto& [name, value] : rows)
    width = std::max(width, name.size());
  for (const auto& [name, value] : rows)
    std::cout << fmt::format("{:<{}}  {}\n", name, width, value);
  return 0;
}

}  // namespace

Result<int> run_tls_ca_create(const std::vector<std::string>& arguments) {
  AuthorityFlags flags;
  Arguments parser{"tls ca create [options]", "Creates a certificate authority."};
  add_to(parser, flags);
  if (auto code = parser.parse(arguments, WordCount{})) return *code;
  const auto options = NOMAD_TRY(authority_options(flags));
  const auto certificate_file = flags.domain + "-agent-ca.pem";
  const auto key_file = flags.domain + "-agent-ca-key.pem";
  if (exists(certificate_file))
    return mistake(fmt::format("CA certificate file '{}' already exists", certificate_file));
  if (exists(key_file)) return mistake(fmt::format("CA key file '{}' already exists", key_file));
  const auto made = NOMAD_TRY(net::make_authority(options));
  return save(made, certificate_file, key_file, "CA certificate", ":");
}

Result<int> run_tls_ca_info(const std::vector<std::string>& arguments) {
  return show_info(arguments, true);
}

Result<int> run_tls_cert_create(const std::vector<std::string>& arguments) {
  CertificateFlags flags;
  Arguments parser{"tls cert create [options]",
                   "Creates a certificate for -server, -client or -cli."};
  add_to(parser, flags);
  if (auto code = parser.parse(arguments, WordCount{})) return *code;
  if (flags.ca.empty()) return mistake("Please provide the ca");
  if (flags.key.empty()) return mistake("Please provide the key");
  if (int{flags.server} + int{flags.client} + int{flags.cli} != 1)
    return mistake("Please provide either -server, -client, or -cli");
  const std::string role = flags.server ? "server" : flags.client ? "client" : "cli";
  const auto region = region_of(flags);
  const auto prefix = fmt::format("{}-{}-{}", region, role, flags.domain);
  if (exists(prefix + ".pem"))
    return mistake(fmt::format("Certificate file '{}.pem' already exists", prefix));
  if (exists(prefix + "-key.pem"))
    return mistake(fmt::format("Key file '{}-key.pem' already exists", prefix));
  const auto ca_file = in_domain(flags.ca, flags.domain);
  const auto key_file = in_domain(flags.key, flags.domain);
  const auto ca = NOMAD_TRY(read_input(ca_file).within("Error reading CA"));
  const auto ca_key = NOMAD_TRY(read_input(key_file).within("Error reading CA key"));
  if (flags.server)
    std::cerr << "==> WARNING: Server Certificates grants authority to become a\n"
                 "    server and access all state in the cluster including root keys\n"
                 "    and all ACL tokens. Do not distribute them to production hosts\n"
                 "    that are not server nodes. Store them as securely as CA keys.\n";
  std::cout << fmt::format("==> Using CA file {} and CA key {}\n", ca_file, key_file);
  const auto made = NOMAD_TRY(net::make_certificate({ca, ca_key}, holder(flags, role, region)));
  const auto what = flags.server   ? "Server Certificate"
                    : flags.client ? "Client Certificate"
                                   : "CLI Certificate";
  return save(made, prefix + ".pem", prefix + "-key.pem", what, "");
}

Result<int> run_tls_cert_info(const std::vector<std::string>& arguments) {
  return show_info(arguments, false);
}

}  // namespace nomad::cli
