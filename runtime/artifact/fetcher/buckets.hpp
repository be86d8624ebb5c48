// Objects of S3 and of Google's Cloud Storage, and of what speaks like them.
//
// Keys for S3 come from the source, or from the profile that it names, or else from the environment
// that the agent's configuration lets in, or else from the role of the machine or container;
// without any, requests are not signed, which reads public buckets. For Google's it is a token in
// GOOGLE_OAUTH_ACCESS_TOKEN.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/artifact/fetcher/transfer.hpp"
#include "runtime/artifact/rules/s3.hpp"
#include "runtime/artifact/rules/source.hpp"

namespace nomad::artifact {

class Bucket {
public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// `profile`: the keys of the profile that the source names, if it names one.
  /// `invalid_argument` for a source that names no object.
  static Result<Bucket> open(const Source& source,
                             const AwsKeys& profile,
                             Transfers& transfers,
                             Deadline deadline,
                             std::uint64_t max_bytes);

  /// Whether objects lie below the key, and none is the key itself.
  Result<bool> is_directory();

  /// The object that the source names.
  Result<> read(const Sink& sink) { return read(location_.key, sink); }

  Result<> read(const std::string& key, const Sink& sink);

  /// Calls with the key and the path below the source's key of each object there is, in their
  /// order.
  Result<> each(
      const std::function<Result<>(const std::string& key, const std::string& path)>& take);

private:
  Bucket(BucketLocation location,
         bool is_google,
         Transfers& transfers,
         Deadline deadline,
         std::uint64_t max_bytes)
      : location_{std::move(location)},
        is_google_{is_google},
        transfers_{&transfers},
        deadline_{deadline},
        max_bytes_{max_bytes} {}

  Result<> find_keys(const AwsKeys& profile);
  Result<S3List> list(std::string_view marker);
  Request request(const Url& url) const;

  BucketLocation location_;
  bool is_google_;
  Transfers* transfers_;
  Deadline deadline_;
  std::uint64_t max_bytes_;
};

}  // namespace nomad::artifact
