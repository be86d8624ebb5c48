// Archives of artifacts: whatever the bytes, unpacking ends within its bounds, and nothing is made
// outside of the directory. The first byte chooses the kind of archive.
#include <array>
#include <cstdint>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/artifact/fetcher/unpack.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "test/fuzz/input.hpp"

using namespace nomad::artifact;
namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 8> kinds{"tar",    "zip",     "tar.gz", "tar.bz2",
                                           "tar.xz", "tar.zst", "gz",     "xz"};

/// A directory of memory with nothing in it but the archive and "out".
const std::string& place() {
  static const std::string made = [] {
    std::string pattern = "/dev/shm/nomadctl-unpack-XXXXXX";
    fuzz::require(::mkdtemp(pattern.data()) != nullptr, "a directory can be made");
    return pattern;
  }();
  return made;
}

std::uint64_t bytes_below(const std::string& directory) {
  std::uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator{directory})
    if (entry.is_regular_file() && !entry.is_symlink()) sum += entry.file_size();
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto archive = place() + "/archive";
  const auto out = place() + "/out";
  fs::remove_all(out);
  fs::create_directory(out);
  {
    const nomad::host::UniqueFd file{
        ::open(archive.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    fuzz::require(::write(file.get(), data + 1, size - 1) == static_cast<ssize_t>(size - 1),
                  "the archive can be written");
  }
  const auto kind = *archive_by_name(kinds.at(data[0] % kinds.size()));
  const UnpackLimits limits{.files = 50, .bytes = 1'000'000, .ratio = 100, .ratio_from = 100'000};
  if (kind.holds_one_file() || (data[0] & 0x80U) != 0)
    (void)unpack_file(archive, kind, out + "/file", limits);
  else
    (void)unpack(archive, kind, out, limits);
  for (const auto& entry : fs::directory_iterator{place()})
    fuzz::require(entry.path() == archive || entry.path() == out, "nothing lies outside");
  fuzz::require(bytes_below(out) <= 2 * limits.bytes, "the limit of bytes holds");
  for (const auto& entry : fs::recursive_directory_iterator{out})
    fuzz::require(entry.is_symlink() || entry.is_regular_file() || entry.is_directory(),
                  "nothing but files, directories and links is made");
  fs::remove_all(out);
  return 0;
}
