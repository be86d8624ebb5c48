#include "runtime/artifact/fetcher/fetch.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glob.h>

#include "runtime/artifact/fetcher/buckets.hpp"
#include "runtime/artifact/fetcher/connect_guard.hpp"
#include "runtime/artifact/fetcher/repository.hpp"
#include "runtime/artifact/fetcher/transfer.hpp"
#include "runtime/artifact/fetcher/unpack.hpp"
#include "runtime/artifact/rules/checksum.hpp"
#include "runtime/artifact/rules/digest.hpp"
#include "runtime/artifact/rules/source.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* workplace = "work";  ///< For what is not the result.
constexpr mode_t file_mode = 0644;

Clock::time_point after(std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) return Clock::now() + std::chrono::hours{24 * 365};
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
}

std::string in_work(std::string_view name) {
  return std::string{workplace} + "/" + std::string{name};
}

Result<> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return errno_error("making the directory " + path, errno);
  return {};
}

Result<> move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return errno_error("moving " + from + " to " + to, errno);
  return {};
}

/// Whether no link lies on the way: those of a repository lead anywhere.
bool descends(const std::string& tree, std::string_view way) {
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  host::UniqueFd here{::open(tree.c_str(), flags)};
  for (const auto part : split(way, '/')) {
    if (!here) return false;
    here.reset(::openat(here.get(), std::string{part}.c_str(), flags));
  }
  return static_cast<bool>(here);
}

/// A file that is written as it comes, and its digest.
class Written {
public:
  static Result<Written> make(const std::string& path, std::optional<Checksum::Kind> digest) {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Written file{::open(path.c_str(), flags, file_mode), digest};
    if (!file.file_) return errno_error("making the file " + path, errno);
    return file;
  }

  Result<> add(std::string_view bytes) {
    if (digest_) digest_->add(bytes);
    while (!bytes.empty()) {
      const auto written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno_error("writing to the disk", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  std::string digest() { return digest_ ? digest_->finish() : std::string{}; }

private:
  Written(int file, std::optional<Checksum::Kind> digest) : file_{file} {
    if (digest) digest_.emplace(*digest);
  }

  host::UniqueFd file_;
  std::optional<Digest> digest_;
};

class Fetch {
public:
  Fetch(const FetchOrder& order,
        const Credentials& credentials,
        Source source,
        Mode mode,
        const ReachJudge& judge,
        Reporter& reporter)
      : order_{order},
        credentials_{credentials},
        source_{std::move(source)},
        mode_{mode},
        judge_{judge},
        reporter_{reporter},
        transfers_{judge, reporter} {}

  Result<FetchDone> run();

private:
  std::chrono::nanoseconds timeout() const;
  Headers headers_for(const Url& url) const;
  Result<std::optional<Checksum>> wanted_checksum();
  Result<Bucket> bucket();
  Result<bool> is_directory();
  Result<> fetch_file(const std::string& into);
  Result<> read_into(const Source& source, Written& file);
  Result<> fetch_directory(const std::string& into);
  Result<> fetch_objects(const std::string& into);
  Result<> fetch_from_repository(const std::string& into);
  Result<> clone(const Source& repository, const std::string& into);
  Result<FetchDone> fetch_archive();
  Result<> take_subdir(const std::string& tree);

  const FetchOrder& order_;
  const Credentials& credentials_;
  Source source_;
  Mode mode_;
  const ReachJudge& judge_;
  Reporter& reporter_;
  Transfers transfers_;
};

std::chrono::nanoseconds Fetch::timeout() const {
  const auto& limits = order_.limits;
  switch (source_.getter) {
    case Getter::http:
      return limits.http_read_timeout;
    case Getter::git:
      return limits.git_timeout;
    case Getter::hg:
      return limits.hg_timeout;
    case Getter::s3:
      return limits.s3_timeout;
    case Getter::gcs:
      return limits.gcs_timeout;
  }
  return limits.http_read_timeout;
}

Headers Fetch::headers_for(const Url& url) const {
  return same_origin(url, source_.url) ? Headers{order_.headers} : Headers{};
}

Result<Bucket> Fetch::bucket() {
  return Bucket::open(source_, credentials_.profile, transfers_, after(timeout()),
                      order_.limits.http_max_bytes);
}

Result<bool> Fetch::is_directory() {
  switch (source_.getter) {
    case Getter::http:
      return source_.url.path.ends_with('/');
    case Getter::git:
    case Getter::hg:
      return true;
    case Getter::s3:
    case Getter::gcs: {
      auto of = NOMAD_TRY(bucket());
      return of.is_directory();
    }
  }
  return false;
}

/// What the artifact's file has to have; the file of checksums is fetched for it.
Result<std::optional<Checksum>> Fetch::wanted_checksum() {
  if (source_.checksum.empty()) return std::optional<Checksum>{};
  const auto spec = NOMAD_TRY(parse_checksum(source_.checksum));
  if (spec.value) return spec.value;
  const auto list = NOMAD_TRY(parse_source(spec.file).within("checksum"));
  if (list.getter != Getter::http)
    return Error{Errc::rejected, "a file of checksums is fetched by http or https alone"};
  auto text = transfers_.get_text({.url = credentials_.with_login(list.url),
                                   .headers = headers_for(list.url),
                                   .deadline = after(timeout()),
                                   .insecure = order_.insecure});
  if (!text) return text.error().within("Error downloading checksum file");
  return std::optional{NOMAD_TRY(find_checksum(*text, source_.url, list.url))};
}

Result<> Fetch::read_into(const Source& source, Written& file) {
  const Sink sink = [&file](std::string_view bytes) { return file.add(bytes); };
  if (source.getter != Getter::http) {
    auto of = NOMAD_TRY(bucket());
    return of.read(sink);
  }
  const auto answer = NOMAD_TRY(transfers_.get({.url = credentials_.with_login(source.url),
                                                .headers = headers_for(source.url),
                                                .deadline = after(timeout()),
                                                .max_bytes = order_.limits.http_max_bytes,
                                                .insecure = order_.insecure},
                                               sink));
  if (!answer.is_success()) return bad_response(answer);
  return {};
}

Result<> Fetch::fetch_file(const std::string& into) {
  if (source_.getter == Getter::git || source_.getter == Getter::hg)
    return fetch_from_repository(into);
  const auto wanted = NOMAD_TRY(wanted_checksum());
  auto file = NOMAD_TRY(Written::make(into, wanted ? std::optional{wanted->kind} : std::nullopt));
  NOMAD_TRY(read_into(source_, file));
  if (!wanted) return {};
  if (const auto digest = file.digest(); digest != wanted->digits)
    return Error{Errc::rejected, "Checksums (" + std::string{to_string(wanted->kind)}
                                     + ") did not match. Expected: " + wanted->digits
                                     + " Got: " + digest + " of " + source_.url.shown()};
  return {};
}

/// By a program that connects by itself, to whatever the repository leads it to.
Result<> Fetch::clone(const Source& repository, const std::string& into) {
  if (judge_.refuses_any())
    if (const auto guarded = guard_connections(judge_); !guarded)
      reporter_.warn("git and hg can't be kept from addresses that are refused: "
                     + guarded.error().what);
  auto cloned = clone_repository(repository, workplace, into, timeout());
  if (const auto why = refused_connection(); !cloned && !why.empty())
    return Error{Errc::rejected, why + " (" + cloned.error().what + ")"};
  return cloned;
}

/// The last part of the path is a file in the repository that the rest names.
Result<> Fetch::fetch_from_repository(const std::string& into) {
  if (!source_.checksum.empty())
    return Error{Errc::rejected, "checksum cannot be specified for files of repositories"};
  auto repository = source_;
  const auto name = source_.url.base_name();
  repository.url.path.resize(std::min(repository.url.path.rfind('/'), repository.url.path.size()));
  if (repository.url.path.empty() || name == ".." || name.find('/') != name.npos)
    return Error{Errc::invalid_argument, source_.url.shown() + " names no file of a repository"};
  const auto tree = in_work("repository");
  NOMAD_TRY(clone(repository, tree));
  return move(tree + "/" + name, into).within("the repository has no such file");
}

Result<> Fetch::fetch_objects(const std::string& into) {
  auto of = NOMAD_TRY(bucket());
  NOMAD_TRY(make_directory(into));
  return of.each([&](const std::string& key, const std::string& path) -> Result<> {
    const auto parts = NOMAD_TRY(parts_within(path));
    auto file = into;
    for (const auto& part : parts) {
      if (file != into) NOMAD_TRY(make_directory(file));
      file += "/" + part;
    }
    auto written = NOMAD_TRY(Written::make(file, std::nullopt));
    return of.read(key, [&written](std::string_view bytes) { return written.add(bytes); });
  });
}

Result<> Fetch::fetch_directory(const std::string& into) {
  if (!source_.checksum.empty())
    return Error{Errc::rejected, "checksum cannot be specified for directory download"};
  switch (source_.getter) {
    case Getter::http:
      return Error{Errc::rejected,
                   source_.url.shown()
                       + " is no archive: by http a directory comes as one (zip, tar.gz and others), "
                         "and a file is fetched with mode = \"file\" or \"any\""};
    case Getter::git:
    case Getter::hg:
      return clone(source_, into);
    case Getter::s3:
    case Getter::gcs:
      return fetch_objects(into);
  }
  return {};
}

/// Moves the part that is wanted to the result; the whole without a subdirectory.
Result<> Fetch::take_subdir(const std::string& tree) {
  if (source_.subdir.empty()) return move(tree, result_name);
  ::glob_t found{};
  const auto pattern = tree + "/" + source_.subdir;
  const int outcome = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  const auto count = outcome == 0 ? found.gl_pathc : 0;
  const std::string first = count > 0 ? found.gl_pathv[0] : "";
  ::globfree(&found);
  if (count == 0)
    return Error{Errc::not_found,
                 "subdir \"" + source_.subdir + "\" not found in " + source_.url.shown()};
  if (count > 1)
    return Error{Errc::rejected, "subdir \"" + source_.subdir + "\" matches multiple paths"};

  struct stat status {};

  if (::lstat(first.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return Error{Errc::rejected, "subdir \"" + source_.subdir + "\" is no directory"};
  if (!descends(tree, std::string_view{first}.substr(tree.size() + 1)))
    return Error{Errc::rejected, "subdir \"" + source_.subdir + "\" leads over a link"};
  return move(first, result_name);
}

Result<FetchDone> Fetch::fetch_archive() {
  const auto archive = in_work("archive");
  if (mode_ != Mode::file && source_.archive->holds_one_file())  // Before anything is fetched.
    return Error{Errc::rejected, std::string{source_.archive->name}
                                     + "-compressed files can only unarchive to a single file: "
                                       "set mode = \"file\", or the option archive = \"false\""};
  NOMAD_TRY(fetch_file(archive));
  const UnpackLimits limits{.files = order_.limits.unpacked_files,
                            .bytes = order_.limits.unpacked_bytes};
  if (mode_ == Mode::file) {
    NOMAD_TRY(
        unpack_file(archive, *source_.archive, result_name, limits).within(source_.url.shown()));
    return FetchDone{.is_file = true, .files = 1};
  }
  const auto tree = in_work("tree");
  NOMAD_TRY(make_directory(tree));
  const auto files
      = NOMAD_TRY(unpack(archive, *source_.archive, tree, limits).within(source_.url.shown()));
  NOMAD_TRY(take_subdir(tree));
  return FetchDone{.is_file = false, .files = files};
}

Result<FetchDone> Fetch::run() {
  NOMAD_TRY(make_directory(workplace));
  if (source_.archive) return fetch_archive();
  const bool directory = mode_ == Mode::dir || (mode_ == Mode::any && NOMAD_TRY(is_directory()));
  if (directory) {
    const auto tree = in_work("tree");
    NOMAD_TRY(fetch_directory(tree));
    NOMAD_TRY(take_subdir(tree));
    return FetchDone{};
  }
  if (!source_.subdir.empty())
    return Error{Errc::rejected, source_.url.shown() + " is a file and has no subdirectory \""
                                     + source_.subdir + "\""};
  if (mode_ == Mode::file) {
    NOMAD_TRY(fetch_file(result_name));
    return FetchDone{.is_file = true, .files = 1};
  }
  const auto name = source_.file_name.empty() ? source_.url.base_name() : source_.file_name;
  const auto parts = NOMAD_TRY(parts_within(name));
  if (parts.size() != 1)
    return Error{Errc::rejected, source_.url.shown() + " names no file: set the option filename"};
  NOMAD_TRY(make_directory(result_name));
  NOMAD_TRY(fetch_file(std::string{result_name} + "/" + parts.front()));
  return FetchDone{.is_file = false, .files = 1};
}

}  // namespace

Result<FetchDone> fetch(const FetchOrder& order,
                        const Credentials& credentials,
                        const ReachJudge& judge,
                        Reporter& reporter) {
  auto source = NOMAD_TRY(parse_source(order.source));
  const auto mode = NOMAD_TRY(parse_mode(order.mode));
  return Fetch{order, credentials, std::move(source), mode, judge, reporter}.run();
}

}  // namespace nomad::artifact
