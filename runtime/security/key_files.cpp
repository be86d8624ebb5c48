#include "runtime/security/key_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>

#include <sodium.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::security {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view own_name = "holder.key";
constexpr std::size_t text_bytes = 2 * key_bytes;
constexpr std::size_t sum_text_bytes = 16;

/// Of a key, behind it in its file: a flipped bit makes another key that looks as good.
std::string sum_text(const Secret& key) {
  unsigned char sum[crypto_generichash_BYTES_MIN];
  crypto_generichash(sum, sizeof sum, reinterpret_cast<const unsigned char*>(key.bytes().data()),
                     key.size(), nullptr, 0);
  char text[2 * sizeof sum + 1];
  sodium_bin2hex(text, sizeof text, sum, sizeof sum);
  return {text, sum_text_bytes};
}

Result<KeyPair> read_pair(const std::string& path) {
  const auto [text, count]
      = NOMAD_TRY(read_key_text(path, text_bytes + sum_text_bytes + 1, "a key file"));
  Secret key{key_bytes};
  std::size_t length = 0;
  const bool sound
      = (count == text_bytes || count == text_bytes + sum_text_bytes)
        && sodium_hex2bin(reinterpret_cast<unsigned char*>(key.bytes().data()), key.size(),
                          text.text().data(), text_bytes, nullptr, &length, nullptr)
               == 0
        && length == key.size()
        // Files of earlier versions have no sum.
        && (count == text_bytes || text.text().substr(text_bytes, sum_text_bytes) == sum_text(key));
  if (!sound)
    return Error{Errc::corrupt, path + ": holds no key, or a damaged one: put back a sound copy"};
  return key_pair_of(std::move(key));
}

/// Complete and durable under its name, or not there.
Result<> write_pair(const std::string& directory, const KeyPair& pair) {
  const auto path = directory + "/" + std::string{own_name};
  const auto unfinished = path + ".unfinished";
  Secret text{text_bytes + 1};
  sodium_bin2hex(reinterpret_cast<char*>(text.bytes().data()), text.size(),
                 reinterpret_cast<const unsigned char*>(pair.secret_key.bytes().data()),
                 pair.secret_key.size());
  const auto sum = sum_text(pair.secret_key);
  const auto file = NOMAD_TRY(storage::File::open(unfinished, O_WRONLY | O_CREAT | O_TRUNC));
  NOMAD_TRY(file.write(text.bytes().first(text_bytes), 0));
  NOMAD_TRY(file.write(std::as_bytes(std::span{sum}), text_bytes));
  NOMAD_TRY(file.sync());
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return errno_error(path, errno);
  return storage::sync_directory(directory);
}

}  // namespace

Result<KeyText> read_key_text(const std::string& path, std::size_t most, std::string_view what) {
  const auto file = NOMAD_TRY(storage::File::open(path, O_RDONLY));
  std::error_code failure;
  const auto mode = fs::status(path, failure).permissions();
  if (failure) return Error{Errc::io, path + ": " + failure.message()};
  if ((mode & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none)
    return Error{Errc::permission_denied, path + ": " + std::string{what}
                                              + " must be readable by its owner only (mode 0600)"};
  KeyText read{Secret{most}};
  read.size = NOMAD_TRY(file.read(read.text.bytes(), 0));
  return read;
}

Result<std::vector<KeyPair>> load_key_pairs(const std::string& directory,
                                            const FillRandom& random) {
  NOMAD_TRY(storage::make_private_directory(directory));
  std::error_code failure;
  const auto own_path = directory + "/" + std::string{own_name};
  if (!fs::exists(own_path, failure)) NOMAD_TRY(write_pair(directory, make_key_pair(random)));
  std::vector<std::string> paths;
  for (const auto& name : NOMAD_TRY(names_in(directory)))
    if (fs::path{name}.extension() == ".key") paths.push_back(directory + '/' + name);
  std::stable_partition(paths.begin(), paths.end(),
                        [&](const std::string& path) { return path == own_path; });
  std::vector<KeyPair> pairs;
  for (const auto& path : paths) {
    auto pair = NOMAD_TRY(read_pair(path));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace nomad::security
