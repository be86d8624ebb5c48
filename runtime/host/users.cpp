#include "runtime/host/users.hpp"

#include <charconv>
#include <chrono>
#include <map>
#include <mutex>

#include <grp.h>
#include <pwd.h>

namespace nomad::host {

namespace {

using Clock = std::chrono::steady_clock;

struct Remembered {
  Result<TaskUser> answer;
  Clock::time_point until;
};

Result<TaskUser> look_up(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  uid_t uid = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), uid);
  bool numeric = !name.empty() && error == std::errc{} && end == name.data() + name.size();
  int status = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr && numeric)
    status = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    if (status != 0 && status != ENOENT && status != ESRCH)
      return errno_error("looking up user \"" + name + "\"", status);
    return Error{Errc::invalid_argument, "unknown user \"" + name + "\""};
  }
  TaskUser user{found->pw_uid, found->pw_gid, {}, found->pw_name, found->pw_dir};
  int count = 64;
  user.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(), &count) < 0) {
    constexpr int kernel_limit = 65536;
    if (count > kernel_limit) return Error{Errc::io, "user \"" + name + "\" has too many groups"};
    user.groups.resize(static_cast<std::size_t>(count));
  }
  user.groups.resize(static_cast<std::size_t>(count));
  return user;
}

}  // namespace

Result<TaskUser> find_user(std::string_view name) {
  // The only state of the process here: name services are one per process, too.
  static std::mutex mutex;
  static std::map<std::string, Remembered, std::less<>> remembered;
  constexpr std::size_t most = 1024;
  std::lock_guard lock{mutex};
  auto now = Clock::now();
  auto found = remembered.find(name);
  if (found != remembered.end() && now < found->second.until) return found->second.answer;
  std::string key{name};
  Result<TaskUser> answer = look_up(key);
  auto lifetime = answer.has_error() ? std::chrono::minutes{1} : std::chrono::minutes{60};
  if (remembered.size() >= most) remembered.clear();
  remembered.insert_or_assign(std::move(key), Remembered{answer, now + lifetime});
  return answer;
}

}  // namespace nomad::host
