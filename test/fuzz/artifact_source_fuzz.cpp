// Sources of artifacts, their checksums, redirects and answers of buckets: whatever the bytes, the
// parser ends, what it takes is never an option or a file of the node, and nothing escapes.
#include <cstdint>

#include "runtime/artifact/rules/checksum.hpp"
#include "runtime/artifact/rules/redirect_policy.hpp"
#include "runtime/artifact/rules/s3.hpp"
#include "runtime/artifact/rules/source.hpp"
#include "test/fuzz/input.hpp"

using namespace nomad;
using namespace nomad::artifact;

namespace {

void check(bool holds) {
  fuzz::require(holds, "sources are what they seem");
}

void look_at(const Source& source) {
  check(!source.url.host.empty());
  check(source.url.scheme != "file" && source.url.scheme != "ext");
  check(!source.ref.starts_with('-') && !source.rev.starts_with('-'));
  check(source.subdir.find("..") == source.subdir.npos
        || ("/" + source.subdir + "/").find("/../") == std::string::npos);
  check(source.file_name.find('/') == source.file_name.npos);
  // What is shown can be parsed again, and shows the same.
  const auto shown = source.url.shown();
  if (const auto again = parse_url(shown)) check(again->shown() == shown);
  if (source.getter == Getter::s3) {
    if (const auto position = find_s3(source.url)) {
      check(!position->bucket.empty() && !position->key.empty());
      check(same_origin(position->object(position->key), source.url));
    }
  }
  if (!source.checksum.empty()) (void)parse_checksum(source.checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto source = parse_source(text);
  if (source) look_at(*source);
  (void)redact_url(text);
  (void)parse_s3_list(text);
  (void)s3_error(text);
  if (source) (void)find_checksum(text, source->url, source->url);
  RedirectPolicy policy{*parse_url("http://me:pw@a/x")};
  for (int i = 0; i < 3; ++i) {
    if (!policy.follow(302, text)) break;
    check(policy.here().scheme == "http" || policy.here().scheme == "https");
    check(policy.carries_secrets() || policy.here().userinfo.empty());
  }
  return 0;
}
