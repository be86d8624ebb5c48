// Source: what the text of an artifact's source means, with go-getter's shorthand, forced getters,
// subdirectories and magic parameters.
//
//   https://host/app.tar.gz?checksum=sha256:…      by http(s), unpacked
//   github.com/owner/repository//folder?ref=v1     a shorthand, for git::https://github.com/…
//   git::ssh://git@host/repository.git             a forced getter
//   s3::https://s3.amazonaws.com/bucket/key        by Amazon's signatures
//
// Nothing is fetched from the node's own file system, as in Nomad: "file" is no getter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/artifact/rules/archive_kind.hpp"
#include "runtime/base/result.hpp"
#include "runtime/text/url.hpp"

namespace nomad::artifact {

enum class Getter { http, git, hg, s3, gcs };

/// What an artifact is to become: a file or a directory, or whichever it is.
enum class Mode { any, file, dir };

/// "any", "file" and "dir"; "" is any. `invalid_argument` for another.
Result<Mode> parse_mode(std::string_view text);

struct Source {
  Getter getter = Getter::http;
  Url url;                             ///< What to ask for, without the parameters below.
  std::string subdir;                  ///< Of what is fetched, may be a pattern; empty: all of it.
  std::optional<ArchiveKind> archive;  ///< Empty: what is fetched is left as it is.
  std::string checksum;                ///< As it was given; empty: none.
  std::string file_name;               ///< In mode any, of a file.

  // git
  std::string ref;
  std::string ssh_key;  ///< The key itself, not encoded.
  unsigned depth = 0;   ///< 0: all of the history.

  std::string rev;  ///< hg
};

/// The source with an artifact's options in place of, or beside, its own parameters.
Result<std::string> with_options(std::string_view source,
                                 const std::map<std::string, std::string>& options);

/// `invalid_argument` for what is no source, with go-getter's words where it has some; `rejected`
/// for one that nothing may fetch: another getter, or what a program would take for an option.
Result<Source> parse_source(std::string_view text);

}  // namespace nomad::artifact
