#include "runtime/host/executor_client.hpp"

#include <algorithm>
#include <cstdio>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <dirent.h>

#include "runtime/base/text.hpp"
#include "runtime/host/executor_loop.hpp"

namespace nomad::host {

namespace {

// FNV-1a: names only need to differ among the tasks of one allocation.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (unsigned char c : text)
    value = (value ^ c) * 0x100000001b3;
  return value;
}

bool is_plain(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest && text.front() != '.'
         && std::all_of(text.begin(), text.end(),
                        [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
}

std::string plain_or_hashed(std::string_view text) {
  if (is_plain(text)) return std::string{text};
  char digits[20];
  std::snprintf(digits, sizeof digits, ".%016llx", static_cast<unsigned long long>(hash(text)));
  return digits;
}

Result<> make_state_dir(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos && at < path.size();) {
    at = path.find('/', at + 1);
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error("making the directory " + part, errno);
  }
  return {};
}

}  // namespace

std::string executor_key(std::string_view alloc_id, std::string_view task) {
  // The hash's name begins with a dot, which no plain one does, so the two kinds never meet.
  std::string alloc = plain_or_hashed(alloc_id);
  if (alloc.front() == '.') alloc.front() = 'x';
  return alloc + '.' + plain_or_hashed(task);
}

ExecutorClient::ExecutorClient(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

ExecutorClient::~ExecutorClient() = default;

Result<std::unique_ptr<ExecutorClient>> ExecutorClient::open(const Options& options) {
  NOMAD_TRY(make_state_dir(options.state_dir));
  UniqueFd directory{
      ::open(options.state_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (!directory || ::fchmod(directory.get(), 0700) != 0)
    return errno_error("opening the directory " + options.state_dir, errno);
  UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!epoll || !wake) return errno_error("making the executors' loop", errno);
  auto loop = std::make_unique<Loop>(options,
                                     Cgroups::open({.parent = options.cgroup_parent,
                                                    .enabled = options.use_cgroups,
                                                    .limits = options.limits}),
                                     std::move(directory), std::move(epoll), std::move(wake));
  loop->run_thread();
  return std::unique_ptr<ExecutorClient>(new ExecutorClient(std::move(loop)));
}

void ExecutorClient::start(std::string key, TaskCommand command, TaskListener listener) {
  loop_->post([loop = loop_.get(), key = std::move(key), command = std::move(command),
               listener = std::move(listener)]() mutable {
    loop->start(std::move(key), std::move(command), std::move(listener));
  });
}

void ExecutorClient::attach(std::string key, std::string run_id, TaskListener listener) {
  loop_->post([loop = loop_.get(), key = std::move(key), run_id = std::move(run_id),
               listener = std::move(listener)]() mutable {
    loop->attach(std::move(key), std::move(run_id), std::move(listener));
  });
}

void ExecutorClient::signal(std::string key, int number, ExecutorDone done) {
  loop_->post([loop = loop_.get(), key = std::move(key), number, done = std::move(done)]() mutable {
    loop->signal(key, number, std::move(done));
  });
}

void ExecutorClient::stop(std::string key,
                          int number,
                          std::chrono::milliseconds grace,
                          ExecutorDone done) {
  loop_->post(
      [loop = loop_.get(), key = std::move(key), number, grace, done = std::move(done)]() mutable {
        loop->stop(key, number, grace, std::move(done));
      });
}

void ExecutorClient::exec(std::string key,
                          ExecCommand command,
                          std::string directory,
                          ExecReady ready) {
  loop_->post([loop = loop_.get(), key = std::move(key), command = std::move(command),
               directory = std::move(directory),
               ready = std::move(ready)] { loop->exec(key, command, directory, ready); });
}

void ExecutorClient::acknowledge(std::string key, ExecutorDone done) {
  loop_->post([loop = loop_.get(), key = std::move(key), done = std::move(done)]() mutable {
    loop->acknowledge(key, std::move(done));
  });
}

void ExecutorClient::purge(std::string key, ExecutorDone done) {
  loop_->post([loop = loop_.get(), key = std::move(key), done = std::move(done)]() mutable {
    loop->purge(std::move(key), std::move(done));
  });
}

Result<std::vector<std::string>> ExecutorClient::keys() const {
  const std::string& path = loop_->options().state_dir;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno_error("listing " + path, errno);
  std::vector<std::string> keys;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.' && entry->d_type == DT_DIR) keys.emplace_back(entry->d_name);
  }
  ::closedir(directory);
  std::sort(keys.begin(), keys.end());
  return keys;
}

const Cgroups& ExecutorClient::cgroups() const {
  return loop_->cgroups();
}

}  // namespace nomad::host
