#include "runtime/artifact/rules/source.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

/// Longer ones are nobody's; what is parsed and shown is bounded by it.
constexpr std::size_t longest_source = 64 * 1024;

struct Forced {
  std::string_view getter;  ///< Empty: none.
  std::string_view rest;
};

Forced split_forced(std::string_view text) {
  const auto colons = text.find("::");
  if (colons == text.npos || colons == 0 || colons + 2 >= text.size()) return {{}, text};
  const auto name = text.substr(0, colons);
  if (!std::ranges::all_of(name, is_alphanumeric)) return {{}, text};
  return {name, text.substr(colons + 2)};
}

struct Parted {
  std::string source;
  std::string subdir;
};

/// "host/path//sub?q=1" is "host/path?q=1" and "sub".
Parted split_subdir(std::string_view text) {
  const auto mark = std::min(text.find('?'), text.size());
  const auto head = text.substr(0, mark);
  const auto scheme = head.find("://");
  const auto slashes = head.find("//", scheme == head.npos ? 0 : scheme + 3);
  if (slashes == head.npos) return {std::string{text}, ""};
  return {std::string{head.substr(0, slashes)} + std::string{text.substr(mark)},
          std::string{head.substr(slashes + 2)}};
}

/// "github.com/owner/repository/folder" for git.
Result<std::string> hosted_repository(std::string_view text, std::string_view site) {
  const auto mark = std::min(text.find('?'), text.size());
  const auto parts = split(text.substr(0, mark), '/');
  if (parts.size() < 3 || parts[1].empty() || parts[2].empty())
    return Error{Errc::invalid_argument,
                 std::string{site} + " URLs should be " + std::string{parts[0]} + "/username/repo"};
  auto out = "git::https://" + join(std::vector(parts.begin(), parts.begin() + 3), "/");
  if (!out.ends_with(".git")) out += ".git";
  if (parts.size() > 3) out += "//" + join(std::vector(parts.begin() + 3, parts.end()), "/");
  return out + std::string{text.substr(mark)};
}

/// "git@host:path" for git; empty for anything else.
std::string scp_like(std::string_view text) {
  const auto mark = std::min(text.find('?'), text.size());
  const auto head = text.substr(0, mark);
  const auto at = head.find('@');
  const auto colon = head.find(':', at == head.npos ? 0 : at);
  if (at == head.npos || colon == head.npos || head.substr(0, at) != "git") return {};
  auto path = head.substr(colon + 1);
  if (path.starts_with('/')) path.remove_prefix(1);
  const auto host = head.substr(at + 1, colon - at - 1);
  if (host.empty() || path.empty()) return {};
  return "git::ssh://git@" + std::string{host} + "/" + std::string{path}
         + std::string{text.substr(mark)};
}

Result<std::string> bucket_of_s3(std::string_view text) {
  const Error wrong{Errc::invalid_argument,
                    "URL is not a valid S3 URL; expected "
                    "https://s3-<region>.amazonaws.com/<bucket>/<key>"};
  const auto slash = text.find('/');
  const auto host = split(text.substr(0, slash), '.');
  const auto rest = std::string{text.substr(slash + 1)};
  const auto at = [](std::string_view region) {
    return "s3::https://" + std::string{region} + ".amazonaws.com/";
  };
  if (host.size() == 3) return at(host[0]) + rest;
  if (host.size() == 4) return at(host[1]) + std::string{host[0]} + "/" + rest;
  if (host.size() == 5 && host[1] == "s3")
    return at("s3." + std::string{host[2]}) + std::string{host[0]} + "/" + rest;
  return wrong;
}

Result<std::string> object_of_gcs(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() < 5)
    return Error{Errc::invalid_argument,
                 "URL is not a valid GCS URL; expected "
                 "https://www.googleapis.com/storage/v1/<bucket>/<object>"};
  return "gcs::https://www.googleapis.com/storage/"
         + join(std::vector(parts.begin() + 2, parts.end()), "/");
}

/// What a text without a scheme is short for.
Result<std::string> expand(std::string_view text) {
  if (text.starts_with("github.com/")) return hosted_repository(text, "GitHub");
  if (text.starts_with("gitlab.com/")) return hosted_repository(text, "GitLab");
  // go-getter asks Bitbucket which of git and hg it is; all there is git since 2020.
  if (text.starts_with("bitbucket.org/")) return hosted_repository(text, "BitBucket");
  if (auto git = scp_like(text); !git.empty()) return git;
  if (text.find(".amazonaws.com/") != text.npos) return bucket_of_s3(text);
  if (text.find("googleapis.com/") != text.npos) return object_of_gcs(text);
  if (text.starts_with('/'))
    return Error{Errc::rejected,
                 "download not supported for scheme 'file': files of the node are not fetched; "
                 "mount them by a host volume"};
  return Error{Errc::invalid_argument,
               "invalid source string: \"" + redact_url(text)
                   + "\" has no scheme and is no known shorthand; write it as https://…"};
}

struct Detected {
  std::string getter;  ///< As it was forced; empty: the scheme's.
  std::string source;
  std::string subdir;
};

Result<Detected> detect(std::string_view text) {
  const auto [forced, rest] = split_forced(text);
  auto [source, subdir] = split_subdir(rest);
  Detected found{std::string{forced}, std::move(source), std::move(subdir)};
  const auto parsed = parse_url(found.source);
  if (parsed && !parsed->scheme.empty()) return found;
  if (!parsed && found.source.find("://") != found.source.npos) return parsed.error();
  const auto longer = NOMAD_TRY(expand(found.source));
  const auto [detected, without] = split_forced(longer);
  auto parted = split_subdir(without);
  if (found.getter.empty()) found.getter = detected;
  found.source = std::move(parted.source);
  if (!parted.subdir.empty())
    found.subdir = found.subdir.empty() ? parted.subdir : parted.subdir + "/" + found.subdir;
  return found;
}

Result<std::string> clean_subdir(std::string_view subdir) {
  std::vector<std::string_view> kept;
  for (const auto part : split(subdir, '/')) {
    if (part == "..")
      return Error{Errc::rejected,
                   "subdirectory component contain path traversal out of the repository"};
    if (!part.empty() && part != ".") kept.push_back(part);
  }
  return join(kept, "/");
}

struct KnownGetter {
  std::string_view name;
  Getter getter;
  std::array<std::string_view, 4> schemes;  ///< What it may be asked for.
};

constexpr std::array<KnownGetter, 6> getters{{
    {"http", Getter::http, {"http", "https"}},
    {"https", Getter::http, {"http", "https"}},
    {"git", Getter::git, {"http", "https", "ssh", "git"}},
    {"hg", Getter::hg, {"http", "https", "ssh"}},
    {"s3", Getter::s3, {"http", "https"}},
    {"gcs", Getter::gcs, {"http", "https"}},
}};

Result<Getter> choose_getter(const std::string& forced, const Url& url) {
  const auto name = forced.empty() ? url.scheme : to_lower(forced);
  const auto found = std::ranges::find(getters, name, &KnownGetter::name);
  if (found == getters.end())
    return Error{Errc::rejected, "download not supported for scheme '" + name
                                     + "'; known are http, https, git, hg, s3 and gcs"};
  if (!url.scheme.empty() && std::ranges::find(found->schemes, url.scheme) == found->schemes.end())
    return Error{Errc::rejected, name + " can't fetch by the scheme '" + url.scheme + "'"};
  if (url.host.empty())
    return Error{Errc::invalid_argument, "\"" + url.shown() + "\" names no host"};
  return found->getter;
}

/// What programs are given must not begin like an option of theirs.
Result<> refuse_options(const Source& source) {
  const auto path = std::string_view{source.url.path};
  const std::array<std::pair<std::string_view, std::string_view>, 5> given{{
      {"ref", source.ref},
      {"rev", source.rev},
      {"host", source.url.host},
      {"user", source.url.userinfo},
      {"path", path.substr(std::min<std::size_t>(1, path.size()))},
  }};
  for (const auto& [what, value] : given) {
    if (value.starts_with('-'))
      return Error{Errc::rejected, "the " + std::string{what} + " \"" + std::string{value}
                                       + "\" begins with a dash: it would be an option"};
    if (std::ranges::any_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      return Error{Errc::rejected, "the " + std::string{what} + " has control characters"};
  }
  return {};
}

Result<> take_git(UrlQuery& query, Source& into) {
  into.ref = query.take("ref");
  const auto depth = query.take("depth");
  if (is_digits(depth)) std::from_chars(depth.data(), depth.data() + depth.size(), into.depth);
  if (const auto key = query.take("sshkey"); !key.empty())
    into.ssh_key = NOMAD_TRY(decode_base64(key).within("sshkey"));
  return {};
}

/// Go's strconv.ParseBool for what is false.
bool is_false(std::string_view text) {
  constexpr std::array<std::string_view, 6> falses{"0", "f", "F", "false", "FALSE", "False"};
  return std::ranges::find(falses, text) != falses.end();
}

bool climbs(std::string_view name) {
  std::string same{name};
  std::ranges::replace(same, '\\', '/');
  return std::ranges::any_of(split(same, '/'), [](auto part) { return part == ".."; });
}

}  // namespace

Result<Mode> parse_mode(std::string_view text) {
  if (text.empty() || text == "any") return Mode::any;
  if (text == "file") return Mode::file;
  if (text == "dir") return Mode::dir;
  return Error{Errc::invalid_argument, "invalid artifact mode \"" + std::string{text}
                                           + "\"; must be one of: any, file, dir"};
}

Result<std::string> with_options(std::string_view source,
                                 const std::map<std::string, std::string>& options) {
  if (options.empty()) return std::string{source};
  const auto hash = std::min(source.find('#'), source.size());
  const auto mark = std::min(source.find('?'), hash);
  auto query = UrlQuery::parse(mark == hash ? std::string_view{}
                                            : source.substr(mark + 1, hash - mark - 1));
  for (const auto& [name, value] : options)
    query.set(name, value);
  return std::string{source.substr(0, mark)} + "?" + query.encode()
         + std::string{source.substr(hash)};
}

Result<Source> parse_source(std::string_view text) {
  if (text.size() > longest_source)
    return Error{Errc::invalid_argument, "the source has more than 65536 bytes"};
  if (text.empty()) return Error{Errc::invalid_argument, "the source is empty"};
  auto found = NOMAD_TRY(detect(text));
  Source source;
  source.subdir = NOMAD_TRY(clean_subdir(found.subdir));
  source.url = NOMAD_TRY(parse_url(found.source));
  source.getter = NOMAD_TRY(choose_getter(found.getter, source.url));
  auto query = UrlQuery::parse(source.url.query);
  const auto before = query.values().size();
  const auto archive = query.take("archive");
  if (archive.empty())
    source.archive = archive_of_path(percent_decode(source.url.path));
  else if (!is_false(archive))
    source.archive = archive_by_name(archive);
  source.checksum = query.take("checksum");
  source.file_name = query.take("filename");
  if (climbs(source.file_name) || source.file_name.find('/') != source.file_name.npos)
    return Error{Errc::rejected, "filename query parameter contain path traversal"};
  if (source.getter == Getter::git) NOMAD_TRY(take_git(query, source));
  if (source.getter == Getter::hg) source.rev = query.take("rev");
  // What nothing was taken of stays as it was written: signatures may cover it.
  if (query.values().size() != before) source.url.query = query.encode();
  if (source.getter == Getter::git || source.getter == Getter::hg)
    NOMAD_TRY(refuse_options(source));
  return source;
}

}  // namespace nomad::artifact
