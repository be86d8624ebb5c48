#include "runtime/text/bcrypt.hpp"

#include <memory>

#include <crypt.h>
#include <fmt/format.h>

namespace nomad {

namespace {

/// bcrypt's own base64.
std::string encode_salt(std::string_view bytes) {
  constexpr std::string_view alphabet
      = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char byte : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(byte);
    for (have += 8; have >= 6; have -= 6)
      out += alphabet[bits >> static_cast<unsigned>(have - 6) & 0x3FU];
  }
  return out + alphabet[bits << static_cast<unsigned>(6 - have) & 0x3FU];
}

}  // namespace

Result<std::string> bcrypt(std::string_view password, int cost, std::string_view salt) {
  constexpr std::size_t longest = 72;
  if (password.size() > longest)
    return Error{Errc::invalid_argument, "bcrypt: password length exceeds 72 bytes"};
  if (password.find('\0') != std::string_view::npos)
    return Error{Errc::invalid_argument, "the password holds a zero byte"};
  const std::string setting = fmt::format("$2a${:02}${}", cost, encode_salt(salt));
  const auto data = std::make_unique<crypt_data>();
  const char* out
      = crypt_rn(std::string{password}.c_str(), setting.c_str(), data.get(), sizeof(crypt_data));
  if (out == nullptr || *out == '*') return Error{Errc::unavailable, "bcrypt is not available"};
  return std::string{out};
}

}  // namespace nomad
