#include "runtime/storage/reserve.hpp"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/storage/directory.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::storage {

Result<> require_room(const std::string& directory) {
  std::error_code failure;  // then the attempt itself will tell
  const auto room = std::filesystem::space(directory, failure);
  if (failure || room.available >= 2 * Reserve::bytes) return {};
  return Error{Errc::overloaded, "no room in \"" + directory
                                     + "\": " + std::to_string(room.available) + " bytes are left"};
}

Result<> Reserve::take() {
  // Asked first: whoever writes meanwhile must not find the disk full for the sake of a trial.
  std::error_code failure;
  if (!std::filesystem::exists(path_, failure)) NOMAD_TRY(require_room(directory_of(path_)));
  auto file = NOMAD_TRY(File::open(path_, O_WRONLY | O_CREAT));
  Result<> outcome = file.allocate(2 * bytes);
  if (outcome) outcome = file.shrink(bytes);
  if (!outcome) give_back();
  return outcome;
}

bool Reserve::give_back() {
  return ::unlink(path_.c_str()) == 0;
}

}  // namespace nomad::storage
