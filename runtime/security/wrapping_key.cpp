#include "runtime/security/wrapping_key.hpp"

#include <cstdio>
#include <filesystem>

#include <fcntl.h>

#include <sodium.h>

#include "runtime/security/key_files.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::security {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_start = "keyring ";

/// With the NUL that libsodium writes.
constexpr std::size_t base64_bytes
    = sodium_base64_ENCODED_LEN(key_bytes, sodium_base64_VARIANT_ORIGINAL);

/// The fingerprint is a keyed hash cut to eight bytes: it tells two keys apart, and nothing of
/// either.
std::string name_of_file_key(const Secret& key) {
  const auto print = derive_key(key.bytes(), "nomadctl fingerprint of a wrapping key");
  char digits[2 * 8 + 1] = {};
  sodium_bin2hex(digits, sizeof digits,
                 reinterpret_cast<const unsigned char*>(print.bytes().data()), 8);
  return std::string{name_start} + "file " + digits;
}

class FileKey : public WrappingKey {
public:
  FileKey(Secret key, FillRandom random)
      : key_{std::move(key)}, name_{name_of_file_key(key_)}, random_{std::move(random)} {}

  const std::string& name() const override { return name_; }

  bool is_local() const override { return true; }

  void wrap(std::string_view location, const Secret& content, Wrapped done) override {
    done(seal(key_, location, content.bytes(), random_));
  }

  void unwrap(std::string_view location,
              std::span<const std::byte> sealed,
              Unwrapped done) override {
    done(unseal(key_, location, sealed));
  }

private:
  Secret key_;
  std::string name_;
  FillRandom random_;
};

Result<> make_key_file(const std::string& path, const FillRandom& random) {
  Secret key{key_bytes};
  random(key.bytes());
  Secret text{base64_bytes};
  sodium_bin2base64(reinterpret_cast<char*>(text.bytes().data()), text.size(),
                    reinterpret_cast<const unsigned char*>(key.bytes().data()), key.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  text.bytes().back() = std::byte{'\n'};
  const auto unfinished = path + ".unfinished";
  const auto file = NOMAD_TRY(storage::File::open(unfinished, O_WRONLY | O_CREAT | O_TRUNC));
  NOMAD_TRY(file.write(text.bytes(), 0));
  NOMAD_TRY(file.sync());
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return errno_error(path, errno);
  return storage::sync_directory(fs::path{path}.parent_path().string());
}

Result<Secret> read_key_file(const std::string& path) {
  // One byte more than a key with a line's end: too much is seen, too.
  const auto [text, count] = NOMAD_TRY(read_key_text(path, base64_bytes + 2, "a wrapping key"));
  Secret key{key_bytes};
  std::size_t length = 0;
  const bool sound = count < text.size()
                     && sodium_base642bin(reinterpret_cast<unsigned char*>(key.bytes().data()),
                                          key.size(), text.text().data(), count, "\r\n", &length,
                                          nullptr, sodium_base64_VARIANT_ORIGINAL)
                            == 0
                     && length == key.size();
  if (!sound)
    return Error{Errc::corrupt,
                 path + ": expected base64 of 32 bytes, as \"nomadctl operator keygen\" makes it"};
  return key;
}

}  // namespace

Result<std::shared_ptr<WrappingKey>> open_file_key(const FileKeyOptions& options,
                                                   const FillRandom& random) {
  if (sodium_init() < 0) return Error{Errc::internal, "libsodium cannot be initialized"};
  if (!fs::path{options.path}.is_absolute())
    return Error{Errc::invalid_argument,
                 "path: expected an absolute path of a wrapping key's file"};
  std::error_code failure;
  const bool is_there = fs::exists(options.path, failure);
  if (!is_there && !failure && options.create) NOMAD_TRY(make_key_file(options.path, random));
  auto key = NOMAD_TRY(read_key_file(options.path));
  return std::shared_ptr<WrappingKey>{std::make_shared<FileKey>(std::move(key), random)};
}

}  // namespace nomad::security
