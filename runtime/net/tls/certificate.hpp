// Certificates: makes the certificate authority and the certificates of a cluster, for
// `nomadctl tls …` and for tests. EC P-256 keys, SHA-256 signatures, PEM.
//
// May depend on: runtime/base.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::net {

/// Both as PEM. The key is a secret: files of it are 0600.
struct CertifiedKey {
  std::string certificate;
  std::string key;
};

struct AuthorityOptions {
  std::string common_name = "Nomad Agent CA";  ///< The serial number is added.
  std::string country = "US";
  std::string postal_code = "94105";
  std::string province = "CA";
  std::string locality = "San Francisco";
  std::string street_address = "101 Second Street";
  std::string organization = "HashiCorp Inc.";
  std::string organizational_unit = "Nomad";
  int days = 1825;
  std::vector<std::string> permitted_domains = {};  ///< Not empty: only below these.
};

Result<CertifiedKey> make_authority(const AuthorityOptions& options);

struct CertificateOptions {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  int days = 365;
};

/// A certificate for both ends of TLS, signed by `authority`, against which it is verified.
Result<CertifiedKey> make_certificate(const CertifiedKey& authority,
                                      const CertificateOptions& options);

/// What people want to know of a certificate.
struct CertificateText {
  std::string serial;  ///< Decimal.
  std::string issuer;  ///< Common name.
  std::string common_name;
  std::string not_after;  ///< "2031-01-02 15:04:05 +0000 UTC"
  bool is_authority = false;
  bool has_name_constraints = false;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> permitted_domains;
};

Result<CertificateText> describe_certificate(const std::string& pem);

}  // namespace nomad::net
