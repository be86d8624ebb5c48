#include "runtime/artifact/rules/s3.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

namespace {

BucketLocation place(const char* url) {
  return find_s3(*parse_url(url)).value();
}

std::string header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

// Amazon's own examples (Signature Calculations for the Authorization Header, AWS Signature
// Version 4), with its example keys.
const AwsKeys example{.id = "AKIAIOSFODNN7EXAMPLE",
                      .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};

std::string signature(const char* address, Headers headers = {}) {
  const auto url = *parse_url(address);
  const auto all = sign({.url = url,
                         .region = "us-east-1",
                         .time = "20130524T000000Z",
                         .keys = example,
                         .headers = std::move(headers)});
  const auto authorization = header(all, "Authorization");
  return authorization.substr(authorization.find("SignedHeaders="));
}

}  // namespace

TEST_CASE("s3: Amazon's examples are signed as Amazon signs them") {
  CHECK(signature("https://examplebucket.s3.amazonaws.com/test.txt", {{"Range", "bytes=0-9"}})
        == "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
           "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(signature("https://examplebucket.s3.amazonaws.com/?lifecycle")
        == "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
           "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J")
        == "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
           "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("s3: a role's token is signed, too") {
  const auto url = *parse_url("https://h/b/k");
  auto keys = example;
  keys.token = "a token";
  const auto headers = sign({.url = url, .region = "r", .time = "20130524T000000Z", .keys = keys});
  CHECK(header(headers, "x-amz-security-token") == "a token");
  CHECK(header(headers, "Authorization").find("x-amz-date;x-amz-security-token")
        != std::string::npos);
}

TEST_CASE("s3: where objects are") {
  auto found = place("https://s3.amazonaws.com/bucket/a/b");
  CHECK(found.region == "us-east-1");
  CHECK(found.bucket == "bucket");
  CHECK(found.key == "a/b");
  CHECK(found.object("a b/ü").text() == "https://s3.amazonaws.com/bucket/a%20b/%C3%BC");
  CHECK(place("https://s3-eu-west-1.amazonaws.com/bucket/k").region == "eu-west-1");
  CHECK(place("https://s3.eu-west-1.amazonaws.com/bucket/k").region == "eu-west-1");
  found = place("https://bucket.s3-eu-west-1.amazonaws.com/a/b?version=7");
  CHECK(found.region == "eu-west-1");
  CHECK(found.bucket == "bucket");
  CHECK(found.object(found.key).text()
        == "https://bucket.s3-eu-west-1.amazonaws.com/a/b?versionId=7");
  CHECK(place("https://bucket.s3.eu-west-1.amazonaws.com/k").region == "eu-west-1");
  found = place(
      "http://127.0.0.1:9000/bucket/k%20l?region=here&aws_access_key_id=i"
      "&aws_access_key_secret=s&aws_access_token=t");
  CHECK(found.region == "here");
  CHECK(found.keys.id == "i");
  CHECK(found.keys.secret == "s");
  CHECK(found.keys.token == "t");
  CHECK(found.listing("m").text() == "http://127.0.0.1:9000/bucket?marker=m&prefix=k%20l");
  for (const char* bad : {"https://s3.amazonaws.com/", "https://s3.amazonaws.com/bucket",
                          "https://s3.amazonaws.com/bucket/", "http://h//k", "http://h"})
    CHECK(
        find_s3(*parse_url(bad)).error().what
        == "URL is not a valid S3 URL; expected https://s3-<region>.amazonaws.com/<bucket>/<key>");
}

TEST_CASE("s3: lists and errors are read") {
  const auto list = parse_s3_list(
      "<?xml?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated>"
      "<Contents><Key>a&amp;b</Key></Contents><Contents><Key>c&#39;</Key>"
      "</Contents></ListBucketResult>");
  REQUIRE(list);
  CHECK(list->is_truncated);
  CHECK(list->keys == std::vector<std::string>{"a&b", "c'"});
  CHECK(parse_s3_list("<html>").error().what == "the answer is no list of objects");
  CHECK(parse_s3_list("<ListBucketResult><IsTruncated>true</IsTruncated>").error().what
        == "a list of objects goes on and has none");
  CHECK(s3_error("<Error><Code>NoSuchKey</Code><Message>It is not.</Message></Error>")
        == "NoSuchKey: It is not.");
  CHECK(s3_error("plain").empty());
}
