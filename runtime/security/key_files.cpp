#include "runtime/security/key_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

namespace nomad::security {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view own_name = "holder.key";
constexpr std::size_t text_bytes = 2 * key_bytes;
constexpr std::size_t sum_text_bytes = 16;

/// Closes what it holds.
class File {
public:
  File(const std::string& path, int flags)
      : number_{::open(path.c_str(), flags | O_CLOEXEC, 0600)} {}

  File(const File&) = delete;

  ~File() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }

  bool is_open() const { return number_ >= 0; }

private:
  int number_;
};

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
  const File file{path, O_RDONLY};
  if (!file.is_open()) return errno_error(path, errno);

  struct stat status {};

  if (fstat(file.number(), &status) != 0) return errno_error(path, errno);
  if ((status.st_mode & 077) != 0)
    return Error{Errc::permission_denied,
                 path + ": a key file must be readable by its owner only (mode 0600)"};
  Secret text{text_bytes + sum_text_bytes + 1};
  const auto count = ::read(file.number(), text.bytes().data(), text.size());
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

Result<> sync(const std::string& path, int flags) {
  const File file{path, flags};
  if (!file.is_open() || fsync(file.number()) != 0) return errno_error(path, errno);
  return {};
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
  {
    const File file{unfinished, O_WRONLY | O_CREAT | O_TRUNC};
    if (!file.is_open()
        || ::write(file.number(), text.bytes().data(), text_bytes)
               != static_cast<ssize_t>(text_bytes)
        || ::write(file.number(), sum.data(), sum.size()) != static_cast<ssize_t>(sum.size())
        || fsync(file.number()) != 0)
      return errno_error(unfinished, errno);
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return errno_error(path, errno);
  return sync(directory, O_RDONLY | O_DIRECTORY);
}

}  // namespace

Result<std::vector<KeyPair>> load_key_pairs(const std::string& directory,
                                            const FillRandom& random) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) return Error{Errc::io, directory + ": " + failure.message()};
  fs::permissions(directory, fs::perms::owner_all, failure);
  if (failure) return Error{Errc::io, directory + ": " + failure.message()};
  const auto own_path = directory + "/" + std::string{own_name};
  if (!fs::exists(own_path, failure)) NOMAD_TRY(write_pair(directory, make_key_pair(random)));
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator{directory, failure})
    if (entry.path().extension() == ".key") paths.push_back(entry.path().string());
  if (failure) return Error{Errc::io, directory + ": " + failure.message()};
  std::sort(paths.begin(), paths.end());
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
