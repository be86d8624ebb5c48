#include "runtime/artifact/fetcher/buckets.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

#include "runtime/artifact/rules/unpack_policy.hpp"
#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

/// Endless lists end.
constexpr std::size_t most_objects = 1'000'000;

/// Where a machine of Amazon's asks who it is, and its containers do.
constexpr std::string_view machine_metadata = "http://169.254.169.254";
constexpr std::string_view container_metadata = "http://169.254.170.2";
/// Elsewhere nobody answers there.
constexpr std::chrono::milliseconds metadata_patience{1500};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string amazon_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

/// The text of a member of a JSON object without nested ones, as roles' keys come.
std::string json_text(std::string_view json, std::string_view name) {
  const auto at = json.find("\"" + std::string{name} + "\"");
  const auto colon = at == json.npos ? at : json.find(':', at);
  const auto begin = colon == json.npos ? colon : json.find('"', colon);
  const auto end = begin == json.npos ? begin : json.find('"', begin + 1);
  if (end == json.npos) return {};
  return std::string{json.substr(begin + 1, end - begin - 1)};
}

AwsKeys keys_of(std::string_view json) {
  return {.id = json_text(json, "AccessKeyId"),
          .secret = json_text(json, "SecretAccessKey"),
          .token = json_text(json, "Token")};
}

/// "www.googleapis.com/storage/v1/bucket/object", as go-getter writes it.
Result<BucketLocation> find_google(const Url& url) {
  const auto parts = split(url.path, '/');
  if (!url.host_name().ends_with("googleapis.com") || parts.size() < 5 || parts[3].empty())
    return Error{Errc::invalid_argument,
                 "URL is not a valid GCS URL; expected "
                 "https://www.googleapis.com/storage/v1/<bucket>/<object>"};
  BucketLocation location;
  location.bucket = percent_decode(parts[3]);
  location.key = percent_decode(join(std::vector(parts.begin() + 4, parts.end()), "/"));
  location.version = url.fragment;
  if (!location.version.empty() && !is_digits(location.version))
    return Error{Errc::invalid_argument,
                 "\"" + location.version + "\" is no generation of an object"};
  auto endpoint = std::string{"https://storage.googleapis.com"};
  if (const auto other = environment("STORAGE_EMULATOR_HOST"); !other.empty())
    endpoint = other.find("://") == other.npos ? "http://" + other : other;
  location.endpoint = NOMAD_TRY(parse_url(endpoint).within("STORAGE_EMULATOR_HOST"));
  location.endpoint.path = "/" + percent_encode(location.bucket);
  return location;
}

Request metadata_request(Url url) {
  return {.url = std::move(url),
          .deadline = std::chrono::steady_clock::now() + 4 * metadata_patience,
          .connect_timeout = metadata_patience,
          .counts = false,
          .is_operators = true};
}

/// Keys of the role of this container or machine; not given where there is none.
AwsKeys keys_of_role(Transfers& transfers) {
  auto relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) {
    auto url = parse_url(std::string{container_metadata} + relative);
    const auto json = url ? transfers.get_text(metadata_request(*url)) : url.error();
    return json ? keys_of(*json) : AwsKeys{};
  }
  if (environment("AWS_EC2_METADATA_DISABLED") == "true") return {};
  auto at = environment("AWS_METADATA_URL");
  if (at.empty()) at = machine_metadata;
  while (at.ends_with('/'))
    at.pop_back();
  if (at.ends_with("/latest")) at.resize(at.size() - 7);
  const auto base = parse_url(at);
  if (!base) return {};
  const auto ask
      = [&](std::string_view path, Headers headers, const char* method, Answer* answer = nullptr) {
          Url url = *base;
          url.path += path;
          auto request = metadata_request(std::move(url));
          request.headers = std::move(headers);
          request.method = method;
          return transfers.get_text(std::move(request), answer);
        };
  // Version 2 wants a token first; machines that know version 1 alone answer without.
  Headers proof;
  Answer refusal;
  if (auto token = ask("/latest/api/token",
                       {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}, {"Content-Length", "0"}},
                       "PUT", &refusal))
    proof = {{"X-aws-ec2-metadata-token", *token}};
  else if (refusal.status == 0)
    return {};
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  const auto role = ask(roles, proof, "GET");
  if (!role || trim(*role).empty()) return {};
  const auto json = ask(roles + percent_encode(trim(split(*role, '\n')[0])), proof, "GET");
  return json ? keys_of(*json) : AwsKeys{};
}

}  // namespace

Result<Bucket> Bucket::open(const Source& source,
                            const AwsKeys& profile,
                            Transfers& transfers,
                            Deadline deadline,
                            std::uint64_t max_bytes) {
  const bool is_google = source.getter == Getter::gcs;
  Bucket bucket{NOMAD_TRY(is_google ? find_google(source.url) : find_s3(source.url)), is_google,
                transfers, deadline, max_bytes};
  if (!is_google) NOMAD_TRY(bucket.find_keys(profile));
  return bucket;
}

Result<> Bucket::find_keys(const AwsKeys& profile) {
  auto& keys = location_.keys;
  if (keys.id.empty() != keys.secret.empty())
    return Error{Errc::invalid_argument,
                 "aws_access_key_id and aws_access_key_secret belong together"};
  if (!keys.are_given()) keys = profile;
  if (keys.are_given()) return {};
  keys = {.id = environment("AWS_ACCESS_KEY_ID"),
          .secret = environment("AWS_SECRET_ACCESS_KEY"),
          .token = environment("AWS_SESSION_TOKEN")};
  if (!keys.are_given()) keys = keys_of_role(*transfers_);
  return {};
}

Request Bucket::request(const Url& url) const {
  Request request{.url = url, .deadline = deadline_, .max_bytes = max_bytes_};
  if (is_google_) {
    if (const auto token = environment("GOOGLE_OAUTH_ACCESS_TOKEN"); !token.empty())
      request.headers = {{"Authorization", "Bearer " + token}};
  } else if (location_.keys.are_given()) {
    const auto time = amazon_time();
    request.headers
        = sign({.url = url, .region = location_.region, .time = time, .keys = location_.keys});
  }
  return request;
}

Result<> Bucket::read(const std::string& key, const Sink& sink) {
  auto url = location_.object(key);
  if (is_google_ && !location_.version.empty()) url.query = "generation=" + location_.version;
  const auto answer = NOMAD_TRY(transfers_->get(request(url), sink));
  if (!answer.is_success()) return bad_response(answer);
  return {};
}

Result<S3List> Bucket::list(std::string_view marker) {
  auto asked = request(location_.listing(marker));
  const auto xml = NOMAD_TRY(transfers_->get_text(std::move(asked)));
  return parse_s3_list(xml);
}

Result<bool> Bucket::is_directory() {
  if (location_.key.ends_with('/')) return true;
  const auto found = list({});
  if (!found) return false;  // Who may read an object may not always list them; reading will tell.
  for (const auto& key : found->keys)
    if (key == location_.key) return false;
  return std::ranges::any_of(
      found->keys, [this](const auto& key) { return key.starts_with(location_.key + "/"); });
}

Result<> Bucket::each(
    const std::function<Result<>(const std::string& key, const std::string& path)>& take) {
  const auto above = location_.key.ends_with('/') ? location_.key : location_.key + "/";
  std::size_t count = 0;
  for (std::string marker;;) {
    const auto found = NOMAD_TRY(list(marker));
    for (const auto& key : found.keys) {
      // A list that goes back would never end.
      if (!marker.empty() && key <= marker)
        return Error{Errc::corrupt, "the list of objects is not in their order"};
      marker = key;
      if (!key.starts_with(above) || key.ends_with('/')) continue;
      if (++count > most_objects)
        return Error{Errc::too_large, "there are more than 1000000 objects"};
      const auto path = key.substr(above.size());
      NOMAD_TRY(parts_within(path));
      NOMAD_TRY(take(key, path));
    }
    if (!found.is_truncated) break;
  }
  if (count == 0)
    return Error{Errc::unavailable,
                 "no objects below \"" + above + "\" in the bucket \"" + location_.bucket + "\""};
  return {};
}

}  // namespace nomad::artifact
