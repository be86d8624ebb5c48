#include "runtime/artifact/rules/source.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

namespace {

std::string shape(const char* text) {
  const auto source = parse_source(text);
  if (!source) return "error: " + source.error().what;
  constexpr const char* names[] = {"http", "git", "hg", "s3", "gcs"};
  return std::string{names[static_cast<int>(source->getter)]} + " " + source->url.text()
         + (source->subdir.empty() ? "" : " sub=" + source->subdir)
         + (source->archive ? " archive=" + std::string{source->archive->name} : "")
         + (source->ref.empty() ? "" : " ref=" + source->ref)
         + (source->depth == 0 ? "" : " depth=" + std::to_string(source->depth))
         + (source->checksum.empty() ? "" : " sum=" + source->checksum)
         + (source->file_name.empty() ? "" : " name=" + source->file_name);
}

}  // namespace

TEST_CASE("source: go-getter's forms are understood") {
  for (const auto& [text, wanted] : {
           std::pair{"https://h/a", "http https://h/a"},
           {"http::https://h/a", "http https://h/a"},
           {"https://h/a.tar.gz", "http https://h/a.tar.gz archive=tar.gz"},
           {"https://h/a.tgz?archive=false", "http https://h/a.tgz"},
           {"https://h/a.bin?archive=zip&x=1", "http https://h/a.bin?x=1 archive=zip"},
           {"https://h/a.bin?archive=nothing", "http https://h/a.bin"},
           {"https://h/a.gz", "http https://h/a.gz archive=gz"},
           {"https://h/gz", "http https://h/gz"},
           {"https://h/a?checksum=md5:00&filename=b", "http https://h/a sum=md5:00 name=b"},
           // A query that nothing was taken of stays as it was written.
           {"https://h/a?z=1&a=%2F%2f", "http https://h/a?z=1&a=%2F%2f"},
           {"https://h/a.zip//b/./c", "http https://h/a.zip sub=b/c archive=zip"},
           {"https://h/a.zip//b?x=http://y//z",
            "http https://h/a.zip?x=http://y//z sub=b archive=zip"},
           {"github.com/a/b", "git https://github.com/a/b.git"},
           {"github.com/a/b.git//c?ref=v1&depth=1",
            "git https://github.com/a/b.git sub=c ref=v1 depth=1"},
           {"github.com/a/b/c/d", "git https://github.com/a/b.git sub=c/d"},
           {"github.com/a/b/c//d", "git https://github.com/a/b.git sub=c/d"},
           {"gitlab.com/a/b", "git https://gitlab.com/a/b.git"},
           {"bitbucket.org/a/b", "git https://bitbucket.org/a/b.git"},
           {"git@github.com:a/b.git?ref=x", "git ssh://git@github.com/a/b.git ref=x"},
           {"git::git@h:a/b.git//c", "git ssh://git@h/a/b.git sub=c"},
           {"git::https://h/a.git//b?ref=v1.0", "git https://h/a.git sub=b ref=v1.0"},
           {"git::ssh://git@h:2222/a.git", "git ssh://git@h:2222/a.git"},
           {"hg::https://h/a?rev=3", "hg https://h/a"},
           {"s3::https://s3.amazonaws.com/b/k.zip",
            "s3 https://s3.amazonaws.com/b/k.zip archive=zip"},
           {"s3::http://127.0.0.1:9000/b/k?region=x", "s3 http://127.0.0.1:9000/b/k?region=x"},
           {"s3.amazonaws.com/b/k", "s3 https://s3.amazonaws.com/b/k"},
           {"b.s3.amazonaws.com/k", "s3 https://s3.amazonaws.com/b/k"},
           {"b.s3-eu-west-1.amazonaws.com/k/l", "s3 https://s3-eu-west-1.amazonaws.com/b/k/l"},
           {"b.s3.eu-west-1.amazonaws.com/k", "s3 https://s3.eu-west-1.amazonaws.com/b/k"},
           {"www.googleapis.com/storage/v1/b/o/p",
            "gcs https://www.googleapis.com/storage/v1/b/o/p"},
           {"gcs::https://www.googleapis.com/storage/v1/b/o#12",
            "gcs https://www.googleapis.com/storage/v1/b/o#12"},
       }) {
    const auto& shown = text;
    CHECK_MESSAGE(shape(text) == wanted, shown);
  }
}

TEST_CASE("source: what is none, or what nothing may fetch, says so") {
  for (const auto& [text, why] : {
           std::pair{"", "empty"},
           {"/etc/shadow", "download not supported for scheme 'file'"},
           {"file:///etc/shadow", "download not supported for scheme 'file'"},
           {"git::file:///srv/x.git", "can't fetch by the scheme 'file'"},
           {"git::ext::sh -c id", "can't fetch by the scheme 'ext'"},
           {"git::/srv/x.git", "scheme 'file'"},
           {"ftp::http://h/x", "not supported for scheme 'ftp'"},
           {"ftp://h/x", "not supported for scheme 'ftp'"},
           {"s3::ssh://h/b/k", "can't fetch by the scheme 'ssh'"},
           {"some/path", "no known shorthand"},
           {"http:///x", "names no host"},
           {"github.com/a", "GitHub URLs should be"},
           {"https://h/a.zip//../x", "path traversal"},
           {"https://h/a?filename=../x", "path traversal"},
           {"https://h/a?filename=x/y", "path traversal"},
           {"git::https://h/a?ref=--upload-pack=id", "begins with a dash"},
           {"git::ssh://-oProxyCommand=id/a", "begins with a dash"},
           {"git::ssh://h/-x", "begins with a dash"},
           {"hg::https://h/a?rev=--config=x", "begins with a dash"},
           {"git::https://h/a?ref=a%0ab", "control characters"},
           {"git::https://h/a?sshkey=%2A%2A", "sshkey"},
           {"http://h/\x01", "invalid control character"},
       }) {
    const auto source = parse_source(text);
    const auto& shown = text;
    REQUIRE_MESSAGE(!source, shown);
    CHECK_MESSAGE(source.error().what.find(why) != std::string::npos, source.error().what);
  }
  CHECK(!parse_source(std::string(70'000, 'a')));
}

TEST_CASE("source: what is wrong is said whole, with what would do") {
  for (const auto& [text, wanted] : {
           std::pair{"", "the source is empty"},
           {"some/path",
            "invalid source string: \"some/path\" has no scheme and is no known shorthand; write "
            "it "
            "as https://…"},
           {"file:///etc/passwd",
            "download not supported for scheme 'file'; known are http, https, git, hg, s3 and gcs"},
           {"/etc/passwd",
            "download not supported for scheme 'file': files of the node are not fetched; mount "
            "them by a host volume"},
           {"ftp://h/x",
            "download not supported for scheme 'ftp'; known are http, https, git, hg, s3 and gcs"},
           {"s3::ssh://h/b/k", "s3 can't fetch by the scheme 'ssh'"},
           {"http:///x", "\"http:///x\" names no host"},
           {"https://h/a.zip//../x",
            "subdirectory component contain path traversal out of the repository"},
           {"https://h/a?filename=../x", "filename query parameter contain path traversal"},
           {"git::https://h/a?ref=--upload-pack=id",
            "the ref \"--upload-pack=id\" begins with a dash: it would be an option"},
           {"git::https://h/a?ref=a%0ab", "the ref has control characters"},
           {"a.b.c.s3.d.amazonaws.com/x",
            "URL is not a valid S3 URL; expected "
            "https://s3-<region>.amazonaws.com/<bucket>/<key>"},
           {"www.googleapis.com/storage",
            "URL is not a valid GCS URL; expected "
            "https://www.googleapis.com/storage/v1/<bucket>/<object>"},
       })
    CHECK(shape(text) == "error: " + std::string{wanted});
  CHECK(parse_source(std::string(70'000, 'a')).error().what
        == "the source has more than 65536 bytes");
}

TEST_CASE("source: a key for ssh is decoded, options take the place of parameters") {
  CHECK(parse_source("git::ssh://h/x?sshkey=a2V5")->ssh_key == "key");
  CHECK(with_options("https://h/x?b=1#f", {{"a", "2&"}, {"b", "3"}}).value()
        == "https://h/x?a=2%26&b=3#f");
  CHECK(with_options("github.com/a/b", {{"ref", "v1"}}).value() == "github.com/a/b?ref=v1");
  CHECK(with_options("https://h/x?b=%2f", {}).value() == "https://h/x?b=%2f");
}

TEST_CASE("source: modes") {
  CHECK(parse_mode("").value() == Mode::any);
  CHECK(parse_mode("file").value() == Mode::file);
  CHECK(parse_mode("dir").value() == Mode::dir);
  CHECK(!parse_mode("tree"));
}
