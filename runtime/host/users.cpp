#include "runtime/host/users.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include "runtime/base/whole_number.hpp"

namespace nomad::host {

namespace {

using Clock = std::chrono::steady_clock;

struct Remembered {
  Result<TaskUser> answer;
  Clock::time_point until;
};

/// Beyond it a kernel's "as before" (-1) would be near.
constexpr std::uint32_t largest_id = 0x7fff'ffff;

std::optional<std::uint32_t> number_of(const std::string& text) {
  const auto number = whole_number<std::uint32_t>(text);
  return number <= largest_id ? number : std::nullopt;
}

Error lookup_error(const std::string& what, const std::string& name, int status) {
  if (status != 0 && status != ENOENT && status != ESRCH)
    return errno_error(fmt::format("looking up {} \"{}\"", what, name), status);
  return {Errc::invalid_argument, fmt::format("unknown {} \"{}\"", what, name)};
}

/// A user that no account has belongs to nobody's group: root's would be that of many files.
Result<TaskUser> nameless(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  const int status = ::getpwnam_r("nobody", &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return lookup_error("user", "nobody", status);
  return TaskUser{uid, found->pw_gid, {found->pw_gid}, {}, "/"};
}

Result<TaskUser> look_up_user(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  const auto uid = number_of(name);
  int status = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr && uid) {
    status = ::getpwuid_r(*uid, &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr && (status == 0 || status == ENOENT || status == ESRCH))
      return nameless(*uid);
  }
  if (found == nullptr) return lookup_error("user", name, status);
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

struct Group {
  gid_t gid = 0;
  bool has_entry = false;
};

Result<Group> look_up_group(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  const auto gid = number_of(name);
  int status = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr && gid)
    status = ::getgrgid_r(*gid, &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return Group{found->gr_gid, true};
  if (gid && (status == 0 || status == ENOENT || status == ESRCH)) return Group{*gid, false};
  return lookup_error("group", name, status);
}

/// "user" or "user:group". The group gives no rights that the user has not: it is one of its own,
/// or a number that no group of this machine has.
Result<TaskUser> look_up(const std::string& text) {
  const auto colon = text.find(':');
  auto user = NOMAD_TRY(look_up_user(text.substr(0, colon)));
  if (colon == std::string::npos) return user;
  const auto group = NOMAD_TRY(look_up_group(text.substr(colon + 1)));
  if (group.has_entry && std::ranges::find(user.groups, group.gid) == user.groups.end())
    return Error{Errc::invalid_argument,
                 fmt::format("user \"{}\" is not in group \"{}\"", text.substr(0, colon),
                             text.substr(colon + 1))};
  user.gid = group.gid;
  user.groups = {group.gid};
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
