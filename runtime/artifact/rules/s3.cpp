#include "runtime/artifact/rules/s3.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

Error not_s3() {
  return {Errc::invalid_argument,
          "URL is not a valid S3 URL; expected https://s3-<region>.amazonaws.com/<bucket>/<key>"};
}

std::string without(std::string_view text, std::string_view prefix) {
  return std::string{text.starts_with(prefix) ? text.substr(prefix.size()) : text};
}

/// "eu-west-1" of "s3-eu-west-1" and of "s3".
std::string region_of(std::string_view label) {
  return without(without(label, "s3-"), "s3");
}

std::string sha256(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  ::EVP_Digest(data.data(), data.size(), out.data(), &size, ::EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string hmac(std::string_view key, std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(data.data()), data.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

/// Names and values as they are signed: encoded, and sorted by both.
std::string canonical_query(std::string_view query) {
  std::vector<std::string> parts;
  const auto parsed = UrlQuery::parse(query);
  for (const auto& [name, value] : parsed.values())
    parts.push_back(percent_encode(name) + "=" + percent_encode(value));
  std::ranges::sort(parts);
  return join(parts, "&");
}

std::string unescape_xml(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> names{
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto end = text[at] == '&' ? text.find(';', at) : text.npos;
    if (end == text.npos || end - at > 10) {
      out += text[at];
      continue;
    }
    const auto name = text.substr(at + 1, end - at - 1);
    const auto* const known
        = std::ranges::find(names, name, &std::pair<std::string_view, char>::first);
    if (known != names.end()) {
      out += known->second;
    } else if (name.starts_with('#') && is_digits(name.substr(1))
               && leading_number(name.substr(1)) < 128) {
      out += static_cast<char>(leading_number(name.substr(1)));
    } else {
      out += text.substr(at, end - at + 1);
    }
    at = end;
  }
  return out;
}

/// The text of the next <name> from `at` on, which goes behind it.
std::optional<std::string_view> next_element(std::string_view xml,
                                             std::string_view name,
                                             std::size_t& at) {
  const auto open = "<" + std::string{name} + ">";
  const auto begin = xml.find(open, at);
  if (begin == xml.npos) return {};
  const auto text = begin + open.size();
  const auto end = xml.find("</" + std::string{name} + ">", text);
  if (end == xml.npos) return {};
  at = end;
  return xml.substr(text, end - text);
}

std::string element(std::string_view xml, std::string_view name) {
  std::size_t at = 0;
  const auto found = next_element(xml, name, at);
  return found ? unescape_xml(*found) : std::string{};
}

/// "/bucket/key": the bucket, and what comes behind it.
Result<std::pair<std::string, std::string>> split_bucket(std::string_view path) {
  const auto slash = path.find('/', 1);
  if (slash == path.npos || slash == 1 || slash + 1 == path.size()) return not_s3();
  return std::pair{percent_decode(path.substr(1, slash - 1)),
                   percent_decode(path.substr(slash + 1))};
}

}  // namespace

Url BucketLocation::object(std::string_view of_key) const {
  Url url = endpoint;
  url.path += "/" + percent_encode(of_key, "/");
  url.query = version.empty() ? "" : "versionId=" + percent_encode(version);
  return url;
}

Url BucketLocation::listing(std::string_view marker) const {
  Url url = endpoint;
  if (url.path.empty()) url.path = "/";
  url.query = "prefix=" + percent_encode(key);
  if (!marker.empty()) url.query = "marker=" + percent_encode(marker) + "&" + url.query;
  return url;
}

Result<BucketLocation> find_s3(const Url& url) {
  BucketLocation location;
  const auto query = UrlQuery::parse(url.query);
  location.version = query.get("version");
  location.endpoint.scheme = url.scheme;
  location.endpoint.host = url.host;
  const auto host = url.host_name();
  const auto labels = split(host, '.');
  const bool is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
  if (is_amazon && labels.size() > 3 && labels[0] != "s3") {  // The bucket is in the name.
    location.bucket = labels[0];
    location.region = labels.size() == 4 ? region_of(labels[1]) : std::string{labels[2]};
    if (location.region.empty()) location.region = "us-east-1";
    location.key = percent_decode(std::string_view{url.path}.substr(url.path.empty() ? 0 : 1));
  } else {
    auto [bucket, key] = NOMAD_TRY(split_bucket(url.path));
    location.endpoint.path = "/" + percent_encode(bucket);
    location.bucket = std::move(bucket);
    location.key = std::move(key);
    location.region = !is_amazon           ? std::string{query.get("region")}
                      : labels.size() == 3 ? region_of(labels[0])
                                           : std::string{labels[1]};
    if (location.region.empty()) location.region = "us-east-1";
  }
  if (location.bucket.empty() || location.key.empty()) return not_s3();
  location.keys = {.id = std::string{query.get("aws_access_key_id")},
                   .secret = std::string{query.get("aws_access_key_secret")},
                   .token = std::string{query.get("aws_access_token")}};
  location.profile = query.get("aws_profile");
  return location;
}

Headers sign(const Signing& request) {
  const auto date = request.time.substr(0, 8);
  const auto body_digest = to_hex(sha256(request.body));
  std::map<std::string, std::string> signed_headers{{"host", request.url.host},
                                                    {"x-amz-date", std::string{request.time}},
                                                    {"x-amz-content-sha256", body_digest}};
  if (!request.keys.token.empty()) signed_headers["x-amz-security-token"] = request.keys.token;
  for (const auto& [name, value] : request.headers)
    signed_headers[to_lower(name)] = trim(value);
  std::string names;
  std::string lines;
  for (const auto& [name, value] : signed_headers) {
    names += (names.empty() ? "" : ";") + name;
    lines += name + ":" + value + "\n";
  }
  const auto path = request.url.path.empty() ? std::string{"/"} : request.url.path;
  const auto canonical = std::string{request.method} + "\n" + path + "\n"
                         + canonical_query(request.url.query) + "\n" + lines + "\n" + names + "\n"
                         + body_digest;
  const auto scope = std::string{date} + "/" + std::string{request.region} + "/"
                     + std::string{request.service} + "/aws4_request";
  const auto to_sign = "AWS4-HMAC-SHA256\n" + std::string{request.time} + "\n" + scope + "\n"
                       + to_hex(sha256(canonical));
  auto key = hmac("AWS4" + request.keys.secret, date);
  for (const std::string_view step :
       {request.region, request.service, std::string_view{"aws4_request"}})
    key = hmac(key, step);
  Headers headers;
  for (const auto& [name, value] : signed_headers)
    if (name != "host") headers.emplace_back(name, value);
  headers.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=" + request.keys.id + "/"
                                            + scope + ", SignedHeaders=" + names
                                            + ", Signature=" + to_hex(hmac(key, to_sign)));
  return headers;
}

Result<S3List> parse_s3_list(std::string_view xml) {
  if (xml.find("<ListBucketResult") == xml.npos)
    return Error{Errc::corrupt, "the answer is no list of objects"};
  S3List list;
  list.is_truncated = element(xml, "IsTruncated") == "true";
  for (std::size_t at = 0; const auto key = next_element(xml, "Key", at);)
    list.keys.push_back(unescape_xml(*key));
  if (list.is_truncated && list.keys.empty())
    return Error{Errc::corrupt, "a list of objects goes on and has none"};
  return list;
}

std::string s3_error(std::string_view xml) {
  const auto code = element(xml, "Code");
  const auto message = element(xml, "Message");
  if (code.empty()) return message;
  return message.empty() ? code : code + ": " + message;
}

}  // namespace nomad::artifact
