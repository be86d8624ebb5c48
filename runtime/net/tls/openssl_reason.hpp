// What an error of OpenSSL is called where its own words tell users nothing.
#pragma once

#include <string>
#include <system_error>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace nomad::net {

inline std::string openssl_reason(unsigned long code) {
  if (ERR_SYSTEM_ERROR(code))  // of a file that cannot be read; it has no words for those
    return std::generic_category().message(ERR_GET_REASON(code));
  if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE)
    return "no PEM-encoded data found";
  // What asks for a pass phrase gets none (no_password).
  if (ERR_GET_REASON(code) == ERR_R_INTERRUPTED_OR_CANCELLED
      || (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_BAD_PASSWORD_READ))
    return "it is encrypted by a pass phrase";
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace nomad::net
