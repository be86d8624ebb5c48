// Amazon's S3 and what speaks like it: where an object is, requests signed by version 4 of their
// signatures, and the lists of objects that they answer.
//
// Pure but for digests (libcrypto). Times are arguments.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/text/url.hpp"

namespace nomad::artifact {

struct AwsKeys {
  std::string id;
  std::string secret;
  std::string token{};  ///< Of a role; empty: none.

  bool are_given() const { return !id.empty() && !secret.empty(); }
};

/// An object, or what begins with its key.
struct BucketLocation {
  std::string region;
  std::string bucket;
  std::string key;        ///< Decoded, without a leading slash.
  std::string version{};  ///< Empty: the newest.
  Url endpoint{};         ///< Of the bucket: requests add to its path.
  AwsKeys keys{};         ///< Of the source itself; not given: of the environment.
  std::string profile{};  ///< Of the source.

  /// Where the object is read.
  Url object(std::string_view of_key) const;

  /// Where keys that begin with `key` are listed, after `marker`.
  Url listing(std::string_view marker) const;
};

/// By go-getter's rules: of amazonaws.com path and virtual-host styles with the region in the name,
/// of any other host "/bucket/key" with the parameter `region`. `invalid_argument` for others.
Result<BucketLocation> find_s3(const Url& url);

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Signing {
  std::string_view method = "GET";
  const Url& url;
  std::string_view region;
  std::string_view service = "s3";
  std::string_view time;  ///< "20130524T000000Z", UTC.
  const AwsKeys& keys;
  Headers headers{};  ///< Further ones that are signed, with their values.
  std::string_view body{};
};

/// The headers that sign a request, those of `headers` among them.
Headers sign(const Signing& request);

struct S3List {
  std::vector<std::string> keys;
  bool is_truncated = false;
};

/// Answers of ListObjects. `corrupt` for anything else.
Result<S3List> parse_s3_list(std::string_view xml);

/// The sentence of an error answer: "NoSuchKey: The specified key does not exist."; empty when it
/// is none.
std::string s3_error(std::string_view xml);

}  // namespace nomad::artifact
