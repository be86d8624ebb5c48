// Hashes, passwords, RSA and UUIDs.
#include <algorithm>
#include <array>
#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/bcrypt.hpp"
#include "runtime/text/digest.hpp"
#include "runtime/text/no_password.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;
using Bytes16 = std::array<std::uint8_t, 16>;

template <std::string (*digest)(std::string_view)>
FunctionResult hash(Args args) {
  return text(to_hex(digest(args[0].as_string())));
}

// --- bcrypt ------------------------------------------------------------------------------------

constexpr std::int64_t lowest_cost = 4;
constexpr std::int64_t highest_cost = 14;  // above, one hash takes seconds

FunctionResult bcrypt(Args args, const FunctionOptions& options) {
  std::int64_t cost = args.size() > 1 ? NOMAD_TRY(to_int(args[1])) : bcrypt_default_cost;
  if (args.size() > 2) return fail("bcrypt() takes no more than two arguments");
  const std::string prefix = "error occured generating password ";
  if (cost < lowest_cost) cost = bcrypt_default_cost;
  if (cost > 31)
    return fail(prefix + "crypto/bcrypt: cost " + std::to_string(cost)
                + " is outside allowed range (4,31)");
  if (cost > highest_cost)
    return fail(prefix + "a cost of " + std::to_string(cost) + " takes too long, the limit is "
                + std::to_string(highest_cost));
  Bytes16 random{};
  options.random(random);
  const auto hash = nomad::bcrypt(args[0].as_string(), static_cast<int>(cost),
                                  {reinterpret_cast<const char*>(random.data()), random.size()});
  return hash ? text(*hash) : fail(prefix + hash.error().what);
}

// --- RSA ---------------------------------------------------------------------------------------

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

/// The message in a decrypted PKCS #1 v1.5 block: 00 02, eight or more bytes not zero, 00, message.
std::optional<std::string_view> unpad(std::string_view block) {
  constexpr std::size_t least_padding = 8;
  if (block.size() < least_padding + 3 || block[0] != '\0' || block[1] != '\x02')
    return std::nullopt;
  const std::size_t zero = block.find('\0', 2);
  if (zero == std::string_view::npos || zero < 2 + least_padding) return std::nullopt;
  return block.substr(zero + 1);
}

FunctionResult rsa_decrypt(Args args) {
  const std::string_view cipher = args[0].as_string();
  const auto bytes = decode_base64(cipher);
  if (!bytes)
    return fail("failed to decode input " + quote(cipher) + ": cipher text must be base64-encoded");
  const std::string_view pem = args[1].as_string();
  if (pem.find("-----BEGIN ") == std::string_view::npos)
    return fail("failed to parse key: no key found");
  if (pem.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos)
    return fail(
        "failed to parse key: password protected keys are not supported. Please decrypt the key "
        "prior to use");
  const Memory memory{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
  const Key key{PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr),
                &EVP_PKEY_free};
  if (key == nullptr) return fail("failed to parse key: no key found");
  const KeyContext context{EVP_PKEY_CTX_new(key.get(), nullptr), &EVP_PKEY_CTX_free};
  std::string block(static_cast<std::size_t>(EVP_PKEY_get_size(key.get())), '\0');
  std::size_t size = block.size();
  const auto* in = reinterpret_cast<const unsigned char*>(bytes->data());
  const bool decrypted
      = context != nullptr && EVP_PKEY_decrypt_init(context.get()) > 0
        && EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_NO_PADDING) > 0
        && EVP_PKEY_decrypt(context.get(), reinterpret_cast<unsigned char*>(block.data()), &size,
                            in, bytes->size())
               > 0;
  const auto message = decrypted ? unpad(std::string_view{block}.substr(0, size)) : std::nullopt;
  return message ? text(*message) : fail("crypto/rsa: decryption error");
}

// --- UUIDs -------------------------------------------------------------------------------------

/// Plain, in braces, as a URN, or 32 digits.
Outcome<Bytes16> parse_uuid(std::string_view text) {
  constexpr std::size_t plain = 36;
  constexpr std::string_view urn = "urn:uuid:";
  if (text.size() == plain + urn.size()) {
    if (to_lower(text.substr(0, urn.size())) != urn)
      return fail("invalid urn prefix: " + quote(text.substr(0, urn.size())));
    text.remove_prefix(urn.size());
  } else if (text.size() == plain + 2) {
    text = text.substr(1, plain);
  } else if (text.size() != plain && text.size() != plain - 4) {
    return fail("invalid UUID length: " + std::to_string(text.size()));
  }
  std::string digits{text};
  if (text.size() == plain) std::erase(digits, '-');
  if ((text.size() == plain && !is_uuid(text)) || !std::ranges::all_of(digits, is_hex_digit))
    return fail("invalid UUID format");
  Bytes16 out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i]
        = static_cast<std::uint8_t>(hex_value(digits[2 * i]) * 16 + hex_value(digits[2 * i + 1]));
  return out;
}

/// The last two digits of the first group tell the well-known namespaces apart.
std::optional<Bytes16> known_namespace(std::string_view name) {
  Bytes16 out{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
              0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
  if (name == "dns") return out;
  out[3] = name == "url" ? 0x11 : name == "oid" ? 0x12 : name == "x500" ? 0x14 : 0;
  return out[3] == 0 ? std::nullopt : std::optional{out};
}

FunctionResult uuid_v5(Args args) {
  const std::string name_space{args[0].as_string()};
  Bytes16 prefix{};
  if (const auto known = known_namespace(name_space)) {
    prefix = *known;
  } else {
    auto parsed = parse_uuid(name_space);
    if (parsed.has_error())
      return fail("uuidv5() doesn't support namespace " + name_space + " (" + parsed.error().message
                  + ")");
    prefix = std::move(parsed).take();
  }
  std::string input{reinterpret_cast<const char*>(prefix.data()), prefix.size()};
  input += args[1].as_string();
  return text(uuid_of(sha1(input).substr(0, prefix.size()), 5));
}

}  // namespace

void add_crypto_functions(std::vector<Function>& out, const FunctionOptions& options) {
  const Type string = Type::string();
  const std::vector<Parameter> one{{"str", string}};
  out.push_back({"md5", one, std::nullopt, hash<md5>});
  out.push_back({"sha1", one, std::nullopt, hash<sha1>});
  out.push_back({"sha256", one, std::nullopt, hash<sha256>});
  out.push_back({"sha512", one, std::nullopt, hash<sha512>});
  Function password{"bcrypt", {{"str", string}}, Parameter{"cost", Type::number()}};
  password.call = [options](Args args) { return bcrypt(args, options); };
  password.cost = [](Args args) {
    const std::int64_t cost
        = args.size() > 1 ? args[1].as_number().to_int64().value_or(0) : bcrypt_default_cost;
    constexpr std::uint64_t steps_per_round = 500;
    return steps_per_round << static_cast<unsigned>(
               std::clamp<std::int64_t>(cost, bcrypt_default_cost, highest_cost));
  };
  out.push_back(std::move(password));
  Function decrypt{
      "rsadecrypt", {{"ciphertext", string}, {"privatekey", string}}, std::nullopt, rsa_decrypt};
  decrypt.cost = [](Args) { return std::uint64_t{20'000}; };
  out.push_back(std::move(decrypt));
  out.push_back({"uuidv5", {{"namespace", string}, {"name", string}}, std::nullopt, uuid_v5});
  Function random_id{"uuidv4"};
  random_id.call = [options](Args) {
    Bytes16 bytes{};
    options.random(bytes);
    return text(uuid_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 4));
  };
  out.push_back(std::move(random_id));
}

}  // namespace nomad::hcl
