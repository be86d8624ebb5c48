#include "runtime/text/digest.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace nomad {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string text_of(const Digest& digest, unsigned size) {
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string digest_of(const EVP_MD* algorithm, std::string_view bytes) {
  Digest out{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, algorithm, nullptr);
  return text_of(out, size);
}

constexpr std::string_view base32_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

}  // namespace

std::string md5(std::string_view bytes) {
  return digest_of(EVP_md5(), bytes);
}

std::string sha1(std::string_view bytes) {
  return digest_of(EVP_sha1(), bytes);
}

std::string sha256(std::string_view bytes) {
  return digest_of(EVP_sha256(), bytes);
}

std::string sha512(std::string_view bytes) {
  return digest_of(EVP_sha512(), bytes);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest out{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size);
  return text_of(out, size);
}

std::string adler32(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return std::to_string(b << 16U | a);
}

std::string encode_base32(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (held += 8; held >= 5; held -= 5)
      out += base32_letters[bits >> (held - 5) & 31U];
  }
  if (held > 0) out += base32_letters[bits << (5 - held) & 31U];
  while (out.size() % 8 != 0)
    out += '=';
  return out;
}

Result<std::string> decode_base32(std::string_view text) {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain),
                       [](char c) { return c != '\n' && c != '\r'; });
  const auto bad = [](std::size_t at) {
    return Error{Errc::invalid_argument, "illegal base32 data at input byte " + std::to_string(at)};
  };
  const std::size_t padding = std::min(plain.find('='), plain.size());
  if (plain.size() % 8 != 0) return bad(plain.size() - plain.size() % 8);
  for (std::size_t i = padding; i < plain.size(); ++i)
    if (plain[i] != '=') return bad(i);
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (std::size_t i = 0; i < padding; ++i) {
    const std::size_t value = base32_letters.find(plain[i]);
    if (value == std::string_view::npos) return bad(i);
    bits = bits << 5U | static_cast<std::uint32_t>(value);
    held += 5;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 255U);
  }
  return out;
}

}  // namespace nomad
