#include "runtime/storage/data_dir_lock.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::storage {
namespace {

std::string path_in(const std::string& data_dir) {
  return data_dir + "/agent.lock";
}

/// The pid of who took the lock last; "" when it is not said.
std::string holder(int file) {
  char text[32];
  const auto count = ::pread(file, text, sizeof text, 0);
  std::string pid;
  for (ssize_t at = 0; at < count && is_digit(text[at]); ++at)
    pid.push_back(text[at]);
  return pid;
}

/// Whether that agent is gone. What it was starting when it was killed has the lock until it has
/// begun.
bool is_gone(const std::string& pid) {
  pid_t number = 0;
  const auto read = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  return read.ec == std::errc{} && number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
}

/// 0 or errno. Waits for what a killed agent has left behind, two seconds at most.
int lock_file(int file) {
  constexpr auto pause = std::chrono::milliseconds{10};
  for (int left = 200;; --left) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return 0;
    const int failure = errno;
    if (failure != EWOULDBLOCK || left == 0 || !is_gone(holder(file))) return failure;
    std::this_thread::sleep_for(pause);
  }
}

/// The pid is for the message to a second agent only.
Result<> note_holder(int file, const std::string& path) {
  const auto pid = std::to_string(::getpid()) + "\n";
  // Written over what is there: on a full disk there may be no other place for it.
  if (::pwrite(file, pid.data(), pid.size(), 0) < 0
      || ::ftruncate(file, static_cast<off_t>(pid.size())) != 0)
    return errno_error("cannot write \"" + path + "\"", errno);
  return {};
}

}  // namespace

bool DataDirLock::is_in(const std::string& data_dir) {
  std::error_code failure;
  return std::filesystem::exists(path_in(data_dir), failure);
}

Result<DataDirLock> DataDirLock::take(const std::string& data_dir) {
  NOMAD_TRY(make_directory(data_dir, passable_mode));
  const auto path = path_in(data_dir);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno_error("cannot open \"" + path + "\"", errno);
  DataDirLock lock{file};
  if (const int failure = lock_file(file); failure != 0) {
    if (failure != EWOULDBLOCK) return errno_error("cannot lock \"" + path + "\"", failure);
    const auto pid = holder(file);
    return Error{Errc::conflict, "data_dir \"" + data_dir + "\" is in use by another agent"
                                     + (pid.empty() ? "" : " (pid " + pid + ")")};
  }
  NOMAD_TRY(note_holder(file, path));
  return lock;
}

DataDirLock::DataDirLock(DataDirLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DataDirLock& DataDirLock::operator=(DataDirLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

DataDirLock::~DataDirLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace nomad::storage
