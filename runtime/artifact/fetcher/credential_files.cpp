#include "runtime/artifact/fetcher/credential_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/artifact/rules/checksum.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

constexpr std::size_t longest_file = std::size_t{1} << 20U;

/// The file that the environment names; empty: none.
std::string location_of(const char* variable, std::string_view below_home) {
  if (const char* const file = std::getenv(variable); file != nullptr && *file != '\0') return file;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string{home} + "/" + std::string{below_home};
}

/// Nothing where there is no such file.
Result<std::optional<std::string>> read_file(const std::string& path) {
  const host::UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>{};
  if (!file) return errno_error("opening " + path, errno);

  struct stat status {};

  if (::fstat(file.get(), &status) != 0) return errno_error("looking at " + path, errno);
  if (S_ISDIR(status.st_mode)) return std::optional<std::string>{};
  if (!S_ISREG(status.st_mode)) return Error{Errc::rejected, path + " is no file"};
  std::string text;
  char part[4096];
  for (;;) {
    const auto got = ::read(file.get(), part, sizeof part);
    if (got < 0) return errno_error("reading " + path, errno);
    if (got == 0) return std::optional{std::move(text)};
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > longest_file) return Error{Errc::too_large, path + " is too long"};
  }
}

Result<> read_logins(const Source& source, Credentials& into) {
  const auto path = location_of("NETRC", ".netrc");
  if (path.empty()) return {};
  const auto text = NOMAD_TRY(read_file(path).within("netrc"));
  if (!text) return {};
  std::vector<Url> urls{source.url};
  if (const auto spec = parse_checksum(source.checksum); spec && !spec->file.empty())
    if (const auto list = parse_source(spec->file); list && list->getter == Getter::http)
      urls.push_back(list->url);
  for (const auto& url : urls) {
    const auto login = NOMAD_TRY(find_login(*text, url.host).within("parsing " + path));
    if (login) into.logins.emplace(url.host, *login);
  }
  return {};
}

Result<> read_profile(const Source& source, Credentials& into) {
  const auto location = find_s3(source.url);
  if (!location || location->profile.empty() || location->keys.are_given()) return {};
  const auto path = location_of("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
  const auto text = path.empty() ? std::optional<std::string>{}
                                 : NOMAD_TRY(read_file(path).within("aws_profile"));
  if (!text)
    return Error{
        Errc::rejected,
        "aws_profile: there is no file of credentials; name one by "
        "AWS_SHARED_CREDENTIALS_FILE or HOME in the agent's environment and let that in by "
        "client.artifact.set_environment_variables"};
  into.profile = NOMAD_TRY(find_profile(*text, location->profile).within(path));
  return {};
}

}  // namespace

Url Credentials::with_login(Url url) const {
  const auto login = logins.find(url.host);
  if (!url.userinfo.empty() || login == logins.end()) return url;
  url.userinfo = percent_encode(login->second.user) + ":" + percent_encode(login->second.password);
  return url;
}

Result<Credentials> read_credentials(const Source& source) {
  Credentials credentials;
  if (source.getter == Getter::http) NOMAD_TRY(read_logins(source, credentials));
  if (source.getter == Getter::s3) NOMAD_TRY(read_profile(source, credentials));
  return credentials;
}

}  // namespace nomad::artifact
