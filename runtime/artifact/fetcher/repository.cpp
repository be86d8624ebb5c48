#include "runtime/artifact/fetcher/repository.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/artifact/fetcher/tool.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/text/shell_word.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_of(std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) return Clock::now() + std::chrono::hours{24 * 365};
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
}

Result<std::string> write_key(const std::string& key, const std::string& workplace) {
  auto file = workplace + "/key";
  const host::UniqueFd made{
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!made || ::write(made.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size()))
    return errno_error("writing the ssh key", errno);
  if (char* const whole = ::realpath(file.c_str(), nullptr); whole != nullptr) {
    file = whole;
    std::free(whole);
  }
  return file;
}

class Git {
public:
  Git(const Source& source, std::string into, Clock::time_point deadline)
      : source_{source}, into_{std::move(into)}, deadline_{deadline} {}

  Result<> clone(const std::string& workplace);

private:
  Result<> run(std::vector<std::string> arguments) const;

  const Source& source_;
  std::string into_;
  Clock::time_point deadline_;
  std::string ssh_ = "ssh -o BatchMode=yes";
};

Result<> Git::run(std::vector<std::string> arguments) const {
  // Neither the repository nor a server it names makes git run anything or read local ones.
  std::vector<std::string> all{"-c", "core.hooksPath=/dev/null", "-c", "protocol.file.allow=never",
                               "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false",
                               "-c", "advice.detachedHead=false"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_tool({.program = "git",
                   .arguments = std::move(all),
                   .environment = {"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=http:https:ssh:git",
                                   "GIT_SSH_COMMAND=" + ssh_, "LC_ALL=C"},
                   .deadline = deadline_});
}

Result<> Git::clone(const std::string& workplace) {
  if (const char* const own = std::getenv("GIT_SSH_COMMAND"); own != nullptr && *own != '\0')
    ssh_ = own;
  if (!source_.ssh_key.empty())
    ssh_ += " -o IdentitiesOnly=yes -i "
            + shell_word(NOMAD_TRY(write_key(source_.ssh_key, workplace)));
  std::vector<std::string> words{"clone", "--quiet"};
  if (source_.depth > 0) {
    words.insert(words.end(), {"--depth", std::to_string(source_.depth)});
    if (!source_.ref.empty()) words.insert(words.end(), {"--branch", source_.ref});
  }
  words.insert(words.end(), {"--", source_.url.text(), into_});
  NOMAD_TRY(run(std::move(words)));
  if (source_.depth == 0 && !source_.ref.empty())
    NOMAD_TRY(run({"-C", into_, "checkout", "--quiet", source_.ref, "--"}));
  if (::access((into_ + "/.gitmodules").c_str(), F_OK) != 0) return {};
  words = {"-C", into_, "submodule", "--quiet", "update", "--init", "--recursive"};
  if (source_.depth > 0) words.insert(words.end(), {"--depth", std::to_string(source_.depth)});
  return run(std::move(words));
}

Result<> clone_by_hg(const Source& source, const std::string& into, Clock::time_point deadline) {
  const auto run = [deadline](std::vector<std::string> words) {
    std::vector<std::string> all{"--config", "ui.interactive=false"};
    all.insert(all.end(), words.begin(), words.end());
    return run_tool({.program = "hg",
                     .arguments = std::move(all),
                     .environment = {"HGPLAIN=1", "LC_ALL=C"},
                     .deadline = deadline});
  };
  NOMAD_TRY(run({"clone", "-U", "--", source.url.text(), into}));
  std::vector<std::string> words{"update", "-R", into};
  if (!source.rev.empty()) words.insert(words.end(), {"--", source.rev});
  return run(std::move(words));
}

/// Programs repeat the address that they were given.
Error without_password(Error error, const Url& url) {
  for (const auto& password : {url.userinfo.substr(url.userinfo.find(':') + 1), url.password()}) {
    if (password.empty() || url.userinfo.find(':') == std::string::npos) continue;
    for (auto at = error.what.find(password); at != std::string::npos;
         at = error.what.find(password, at + secret_mask.size()))
      error.what.replace(at, password.size(), secret_mask);
  }
  return error;
}

}  // namespace

Result<> clone_repository(const Source& source,
                          const std::string& workplace,
                          const std::string& into,
                          std::chrono::nanoseconds timeout) {
  const auto deadline = deadline_of(timeout);
  const auto cloned = source.getter == Getter::hg ? clone_by_hg(source, into, deadline)
                                                  : Git{source, into, deadline}.clone(workplace);
  if (!cloned) return without_password(cloned.error(), source.url);
  return {};
}

}  // namespace nomad::artifact
