// X.509 certificates as sprig makes them: for a server and a client, or for an authority.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/functions/certificates/private_key.hpp"

namespace nomad::templates {

/// Both in PEM.
struct CertificatePair {
  std::string certificate;
  std::string key;
};

struct CertificateSpec {
  std::string_view common_name;
  std::vector<std::string> addresses{};  ///< Of IP.
  std::vector<std::string> names{};      ///< Of DNS.
  std::int64_t days = 0;                 ///< Below 0: it has expired.
  std::int64_t now = 0;                  ///< Unix seconds.
  std::string serial{};                  ///< 16 random bytes.
  bool is_authority = false;
};

/// Signed by its own key.
Result<CertificatePair> self_signed(const CertificateSpec& spec, const PrivateKey& key);

/// Signed by `authority`.
Result<CertificatePair> signed_by(const CertificatePair& authority,
                                  const CertificateSpec& spec,
                                  const PrivateKey& key);

/// Checks that both can be read. Errors are in sprig's words.
Result<> check_pair(const CertificatePair& pair);

}  // namespace nomad::templates
